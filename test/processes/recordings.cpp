// SPDX-License-Identifier: BSL-1.0
// A process is stopped or killed in the middle of a loop of collectives: what the ranks have recorded in
// files names it, while the others hang and after they have given up.
//   BOUGH_TEST_ALL=1: 80 of each over each transport
#include "processes/links.hpp"
#include "processes/loop.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/report.hpp>
#include <bough/report/read.hpp>
#include <bough/report/recording_file.hpp>
#include <bough/tree/chain.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace bough;
using bough_test::clock_ns;
using bough_test::over_each_link;
using bough_test::processes;
using bough_test::report;

namespace {

constexpr std::uint64_t ms = 1'000'000;

std::string recording_of(rank_t r) {
    return "/tmp/bough_test_" + std::to_string(::getppid()) + "." + std::to_string(r) + ".bough";
}

template <class X>
status recorded_call(communicator<X>& comm, std::uint64_t dice) {
    std::vector<int> x(std::array<std::size_t, 3>{1, 60, 3'000}[dice / 8 % 3], 1);
    status s;
    switch (dice % 3) {
    case 0: allreduce(comm, std::span(x), plus{}, s); break;
    case 1: broadcast(comm, std::span(x), root{static_cast<rank_t>(dice / 64 % comm.size())}, s); break;
    default: barrier(comm, s); break;
    }
    return s;
}

struct strike {
    rank_t ranks, victim;
    std::uint64_t seed;
    unsigned after_us;
    int signal;
};

// What the files of all ranks, or of all but one, say.
diagnosis read_files(rank_t ranks, rank_t but, std::string& text) {
    merged_reports all;
    for (rank_t r = 0; r != ranks; ++r) {
        if (r == but) continue;
        const std::string name = "/tmp/bough_test_" + std::to_string(::getpid()) + "." + std::to_string(r) + ".bough";
        std::ifstream in(name, std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        std::string fault;
        all.add(std::as_bytes(std::span(bytes.data(), bytes.size())), name, fault);
        text += fault;
    }
    text += all.text();
    return all.find();
}
bool names(const diagnosis& d, rank_t r) { return d.ranks == std::vector<rank_t>{r}; }

// Returns what was wrong, or nothing.
template <class Link>
std::string strike_one(const strike& what) {
    processes group(what.ranks, [&](auto& wire, report& told) {
        communicator comm{Link::join(wire),
                          {.timeout_ns = 3'000 * ms, .report = {.file = recording_file(recording_of(wire.rank()))}}};
        auto other = duplicate(comm);
        bough_test::call_until_one_fails(comm, other, told, what.seed,
                                         [](auto& on, std::uint64_t dice) { return recorded_call(on, dice); });
    });
    if (!group.reached(1)) return "the group was not made";
    std::this_thread::sleep_for(std::chrono::microseconds(what.after_us));
    group.kill(what.victim, what.signal);
    std::string wrong;
    using cause = diagnosis::cause;
    if (what.signal == SIGSTOP) {                          // the others hang
        const std::uint64_t end = clock_ns() + 2'500 * ms; // before their own deadline
        std::string text;
        for (bool is_named = false; !is_named && text.empty();) {
            const bool is_last = clock_ns() >= end;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const diagnosis d = read_files(what.ranks, no_rank, text);
            is_named = names(d, what.victim) && (d.what == cause::not_called || d.what == cause::stuck);
            if (is_named || !is_last) text.clear();
        }
        if (!text.empty()) wrong += "while they hang:\n" + text;
    }
    const std::uint64_t last = clock_ns() + 60'000 * ms;
    for (rank_t r = 0; r != what.ranks; ++r) {
        while (r != what.victim && group.of(r).phase != 2 && clock_ns() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (r != what.victim && group.of(r).phase != 2) wrong += "rank " + std::to_string(r) + " does not end\n";
    }
    for (const rank_t but : {no_rank, what.victim}) { // with the file of the victim, and without it
        std::string text;
        const diagnosis d = read_files(what.ranks, but, text);
        const bool is_right =
            what.signal == SIGKILL ? d.what == cause::died : d.what == cause::not_called || d.what == cause::stuck;
        if (!names(d, what.victim) || !is_right)
            wrong += (but == no_rank ? "afterwards:\n" : "of the survivors:\n") + text;
    }
    if (what.signal == SIGSTOP) {
        group.kill(what.victim, SIGCONT);
        while (group.of(what.victim).phase != 2 && clock_ns() < last)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (group.of(what.victim).phase != 2) wrong += "the victim does not end\n";
    }
    for (rank_t r = 0; r != what.ranks; ++r) {
        group.of(r).phase = 3;
        ::unlink(("/tmp/bough_test_" + std::to_string(::getpid()) + "." + std::to_string(r) + ".bough").c_str());
    }
    group.wait();
    return wrong;
}

} // namespace

TEST_CASE("processes: a recording in the place of another one leaves that one's memory alone") {
    const std::string name = "/tmp/bough-recording-" + std::to_string(::getpid());
    const auto first = recording_file(name);
    std::byte* const memory = first->take(10'000);
    REQUIRE(memory != nullptr);
    const auto second = recording_file(name); // a rank that took the number of a lost one, for instance
    memory[9'999] = std::byte{7};             // of a file that was cut off, it would be a bus error
    CHECK(second->take(20'000) != nullptr);
    CHECK(std::filesystem::file_size(name) == 20'000);
    ::unlink(name.c_str());
}

namespace {

// The number of the call in which a rank has noted that it waits; 0: it has not.
std::uint32_t noted_call(rank_t r) {
    const std::string name = "/tmp/bough_test_" + std::to_string(::getpid()) + "." + std::to_string(r) + ".bough";
    std::ifstream in(name, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    std::span<const std::byte> rest = std::as_bytes(std::span(bytes.data(), bytes.size()));
    detail::recording its;
    std::string fault;
    if (!detail::read_recording(rest, its, fault) || its.latest() == nullptr) return 0;
    const std::uint32_t n = its.latest()->number;
    const detail::waiting_record* w = its.waits_of(n);
    return its.latest()->its.state == call_state::in_flight && w != nullptr && w->count != 0 ? n : 0;
}

} // namespace

// Its recording says that it waits, like all others.
TEST_CASE("processes: the recordings name a rank that was stopped after it had noted that it waits") {
    over_each_link([]<class Link>(Link) {
        constexpr rank_t ranks = 3, victim = 1, late = 2;
        processes group(ranks, [&](auto& wire, report& told) {
            communicator comm{
                Link::join(wire),
                {.timeout_ns = 600'000 * ms, .report = {.file = recording_file(recording_of(wire.rank()))}}};
            barrier(comm);
            told.phase = 1;
            while (wire.rank() == late && told.phase != 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            std::vector<int> x(10, 1); // from rank 2 to 1 to 0, and back
            allreduce(comm, std::span(x), plus{}, tree_allreduce{chain{}});
        });
        CAPTURE(Link::name);
        REQUIRE(group.reached(1));
        const std::uint64_t last = clock_ns() + 60'000 * ms;
        while (noted_call(victim) == 0 && clock_ns() < last) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        REQUIRE(noted_call(victim) != 0);
        group.kill(victim, SIGSTOP);
        group.of(late).phase = 2;
        std::string text;
        diagnosis d;
        do {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            text.clear();
            d = read_files(ranks, no_rank, text);
        } while (!names(d, victim) && clock_ns() < last);
        INFO(text);
        CHECK(names(d, victim));
        CHECK(d.what == diagnosis::cause::stuck);
        CHECK(d.sentence.find("has given no sign for") != std::string::npos);
        for (rank_t r = 0; r != ranks; ++r)
            ::unlink(("/tmp/bough_test_" + std::to_string(::getpid()) + "." + std::to_string(r) + ".bough").c_str());
    });
}

TEST_CASE("processes: the recordings of a job name a rank that was stopped or killed") {
    const int trials = bough_test::all() ? 80 : 2;
    over_each_link([&]<class Link>(Link) {
        for (const int signal : {SIGSTOP, SIGKILL}) {
            int right = 0;
            for (int trial = 0; trial != trials; ++trial) {
                const std::uint64_t dice =
                    bough_test::mixed(bough_test::seed() * 90'000 + static_cast<std::uint64_t>(trial));
                const auto ranks = static_cast<rank_t>(3 + dice % 5);
                const strike what{ranks, static_cast<rank_t>(dice / 8 % ranks), dice,
                                  static_cast<unsigned>(dice / 64 % 20'000), signal};
                const std::string wrong = strike_one<Link>(what);
                CAPTURE(Link::name, trial, what.ranks, what.victim, what.after_us, signal);
                CHECK(wrong == "");
                right += wrong.empty();
            }
            std::printf("%s: the recordings named %d of %d %s ranks\n", Link::name, right, trials,
                        signal == SIGKILL ? "killed" : "stopped");
        }
    });
}
