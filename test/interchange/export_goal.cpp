// SPDX-License-Identifier: BSL-1.0
// GOAL, there and back: what is written, what is read, what is proved, and that damage is refused on its line.
#include "support/catch.hpp"
#include "support/golden.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/interchange/export_goal.hpp>
#include <bough/interchange/import_goal_check.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/verify/verify.hpp>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

using namespace bough;

namespace {

struct per_byte { // combines cost a ns per byte, copies a half
    constexpr double start_ns() const { return 0; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t) const { return 0; }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t) const { return 0; }
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t) const { return 0; }
    constexpr double combine_ns(rank_t, std::uint64_t bytes) const { return static_cast<double>(bytes); }
    constexpr double copy_ns(rank_t, std::uint64_t bytes) const { return static_cast<double>(bytes) / 2; }
};

template <Plan P>
std::string goal_text(const P& plan, bool annotate, std::uint64_t bytes = 64) {
    std::ostringstream out;
    export_goal(out, plan, per_byte{}, {.bytes = bytes, .annotate = annotate});
    return out.str();
}

// The number of the first line that contains `what`, from 1.
std::size_t line_of(const std::string& text, const std::string& what, std::size_t nth = 0) {
    std::istringstream in(text);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.find(what) != std::string::npos && nth-- == 0) return number;
    }
    return 0;
}
std::string with(std::string text, std::size_t line, const std::string& instead) {
    std::istringstream in(text);
    std::string made;
    std::size_t number = 0;
    for (std::string l; std::getline(in, l);) made += (++number == line ? instead : l) + '\n';
    return made;
}
std::string line_at(const std::string& text, std::size_t line) {
    std::istringstream in(text);
    std::string l;
    while (line-- != 0) std::getline(in, l);
    return l;
}

template <Plan P>
void there_and_back(const P& plan, std::uint64_t bytes) {
    const goal_file file = read_goal(goal_text(plan, true, bytes));
    INFO(to_string(file.fault));
    REQUIRE(file.fault.none());
    const goal_check proof = check_goal(file);
    INFO(to_string(proof.fault));
    REQUIRE(proof.fault.none());
    imported_schedules back;
    const import_fault fault = schedules_of(file, back);
    INFO(to_string(fault));
    REQUIRE(fault.none());
    CHECK(back.kind == decltype(plan.goal())::kind);
    CHECK(back.at == dimensions{plan.size(), plan.root(), plan.blocks()});
    std::uint64_t messages = 0;
    for (rank_t r = 0; r != plan.size(); ++r) {
        const schedule steps = plan.schedule_of(r);
        CHECK(back.schedules[r] == steps);
        step_counts counts;
        plan.emit(r, counts);
        messages += counts.sends;
    }
    CHECK(proof.messages == messages);
    const verdict judged = verify_schedules(plan.goal(), back.at, back.schedules, back.scratch);
    CHECK(judged.traits == verify(plan).traits);
    CHECK(proof.hops >= judged.traits.hops); // also chains that carry no data, by reused memory
    CHECK_FALSE(proof.ambiguous_matching);
    CHECK(back.fault_of(judged).none());
    // Without annotations, the same structure.
    const goal_file bare = read_goal(goal_text(plan, false, bytes));
    REQUIRE(bare.fault.none());
    CHECK_FALSE(bare.annotated());
    const goal_check bare_proof = check_goal(bare);
    CHECK(bare_proof.fault.none());
    CHECK(bare_proof.messages == messages);
    CHECK(bare_proof.bytes == proof.bytes);
}

} // namespace

TEST_CASE("GOAL of a plan, as kept in golden/") {
    const std::string path = bough_test::golden_path("export_allreduce_recursive_doubling_of_3.goal");
    const std::string now = goal_text(plan_allreduce(recursive_doubling{}, {.size = 3}), true);
    if (const char* regold = std::getenv("BOUGH_REGOLD"); regold != nullptr && *regold == '1')
        std::ofstream(path, std::ios::binary) << now;
    std::ifstream file(path, std::ios::binary);
    const std::string kept{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    CHECK(now == kept);
}

TEST_CASE("GOAL of two ranks, written by hand") {
    CHECK(goal_text(plan_reduce(binomial{}, {.size = 2}), false, 8) == "num_ranks 2\n"
                                                                       "\nrank 0 {\n"
                                                                       "l0: recv 8b from 1 tag 0\n"
                                                                       "l1: calc 8\n"
                                                                       "l1 requires l0\n"
                                                                       "}\n"
                                                                       "\nrank 1 {\n"
                                                                       "l0: send 8b to 0 tag 0\n"
                                                                       "}\n");
}

TEST_CASE("GOAL there and back: the same steps, the same proof") {
    for (const rank_t p : {1u, 2u, 3u, 5u, 7u, 8u, 13u}) {
        CAPTURE(p);
        there_and_back(plan_allreduce(recursive_doubling{}, {.size = p}), 64);
        there_and_back(plan_allreduce(ring{}, {.size = p}), 1000);
        there_and_back(plan_allgather(circulant{}, {.size = p}), 100); // messages in parts
        there_and_back(plan_reduce_scatter(circulant{}, {.size = p}), 7);
        there_and_back(plan_reduce(fnomial{.degree = 3}, {.size = p, .root = p / 2, .blocks = 3}), 10);
        for (const block_t limit : {1u, 4u}) { // packed planes
            there_and_back(plan_reduce_scatter(lowest_bit_first{.aggregation_limit = limit}, {.size = p}), 100);
            there_and_back(plan_allgather(lowest_bit_first{.aggregation_limit = limit}, {.size = p}), 100);
        }
    }
}

TEST_CASE("a file that was damaged is refused on its line") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 5});
    const std::string good = goal_text(plan, true);
    const auto refused = [&](const std::string& text) -> import_fault {
        const goal_file file = read_goal(text);
        if (!file.fault.none()) return file.fault;
        if (const goal_check proof = check_goal(file); !proof.fault.none()) return proof.fault;
        imported_schedules made;
        if (const import_fault f = schedules_of(file, made); !f.none()) return f;
        return made.fault_of(verify_schedules(plan.goal(), made.at, made.schedules, made.scratch));
    };
    REQUIRE(refused(good).none());
    // Any line that is not blank and no comment, dropped or damaged, is missed.
    std::size_t lines = static_cast<std::size_t>(std::count(good.begin(), good.end(), '\n')), damaged = 0;
    for (std::size_t line = 1; line <= lines; ++line) {
        const std::string old = line_at(good, line);
        // irequires adds nothing to what is proved: the tags say it too.
        if (old.empty() || old.find("irequires") != std::string::npos) continue;
        CAPTURE(line, old);
        if (old.find(" requires ") != std::string::npos) {
            const import_fault f = refused(with(good, line, ""));
            if (f.none()) continue; // what follows from another
            CHECK(f.sentence.find("does not require line") != std::string::npos);
            CHECK(line_at(good, f.line).starts_with(old.substr(0, old.find(' ')) + ":"));
        } else {
            CHECK_FALSE(refused(with(good, line, "")).none());
        }
        ++damaged;
    }
    CHECK(damaged > 60);

    const std::size_t send = line_of(good, ": send ");
    const std::string label = line_at(good, send).substr(0, line_at(good, send).find(':'));
    import_fault f = refused(with(good, send, label + ": send 63b to 4 tag 0"));
    CHECK_FALSE(f.none());
    f = refused(with(good, send, label + ": send 64b to 0 tag 0"));
    CHECK(f.line == send);
    CHECK(f.sentence == "a message to oneself");
    f = refused(with(good, send, label + ": sent 64b to 1 tag 0"));
    CHECK(f.line == send);
    CHECK(f.sentence == "an operation is send, recv or calc");
    f = refused(with(good, send, label + ": send 64 to 1 tag 0"));
    CHECK(f.line == send);
    f = refused(with(good, send, label + ": send 99999999999999999999b to 1 tag 0"));
    CHECK(f.line == send);
    f = refused(with(good, line_of(good, ": recv "), "l0: recv 64b from -1 tag 0"));
    CHECK(f.sentence.find("from any") == 0);
    CHECK(refused("").sentence == "there is no num_ranks: this is no GOAL");
    CHECK(refused("num_ranks 2\nrank 0 {\n}\n").sentence == "there is no rank 1, of 2");
    CHECK(refused("num_ranks 1\nrank 0 {\n").sentence == "the file ends before the rank's closing bracket");
    CHECK(refused("num_ranks 1\nrank 0 {\nl1 requires l2\n}\n").line == 3);
}

TEST_CASE("a foreign file: matching, deadlock and volume") {
    // In the manner of LogGOPSim's own examples: no annotation, labels of its own, comments, cpu and nic.
    const std::string text = "/* two\nlines */ num_ranks 2\n"
                             "rank 0 { // not the end\n}\n"
                             "rank 1 {\n}\n";
    CHECK(read_goal(text).fault.line == 3); // a comment stands at the start of a line, as for LogGOPSim

    const auto check = [](const std::string& body0, const std::string& body1) {
        return check_goal(read_goal("num_ranks 2\n\nrank 0 {\n" + body0 + "}\n\nrank 1 {\n" + body1 + "}\n"));
    };
    goal_check c = check("a: send 8b to 1 tag 7 cpu 1 nic 0\nb: recv 16b from 1\ncalc 5 cpu 2\nb requires a\n",
                         "x: recv 8b from 0 tag 7\ny: send 16b to 0\ny requires x\n");
    INFO(to_string(c.fault));
    CHECK(c.fault.none());
    CHECK(c.operations == 5);
    CHECK(c.messages == 2);
    CHECK(c.bytes == 24);
    CHECK(c.volume_max == 16);
    CHECK(c.hops == 2);

    c = check("a: send 8b to 1\nb: recv 8b from 1\nb requires a\n",
              "x: send 8b to 0\ny: recv 8b from 0\ny requires x\n");
    CHECK(c.fault.sentence == "deadlock: waits for ever for line 11"); // both send first, and wait
    CHECK(c.fault.line == 4);
    c = check("a: calc 1\nb: calc 2\na requires b\nb requires a\n", "");
    CHECK(c.fault.sentence == "deadlock: requires and irequires go in a circle");
    CHECK(c.fault.line == 4);
    c = check("send 8b to 1\nsend 8b to 1\n", "recv 8b from 0\nrecv 8b from 0\n");
    CHECK(c.fault.none());
    CHECK(c.ambiguous_matching);
    c = check("send 8b to 1 tag 1\n", "recv 8b from 0 tag 2\n");
    CHECK(c.fault.sentence == "no receive for this send");
    CHECK(c.fault.line == 4);
    c = check("send 8b to 1\n", "recv 9b from 0\n");
    CHECK(c.fault.sentence == "receives 9 bytes, but the message of line 4 has 8");
    CHECK(c.fault.line == 8);
    CHECK(c.fault.rank == 1);
    CHECK(to_string(c.fault).starts_with("line 8, rank 1, step 0: receives"));
}
