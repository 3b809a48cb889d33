// SPDX-License-Identifier: BSL-1.0
// Packed planes: what they hold, what waits for what there, against a naive relation, and what verify
// sees.
#include "schedule/made.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/packed_loads.hpp>
#include <bough/schedule/print.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

using namespace bough;
using test::in;
using test::judge;
using test::out;
using test::plane;

namespace {

constexpr slice packed(std::uint32_t number, block_t first = 0, block_t count = 1) {
    return {packed_scratch(number), first, count};
}

static_assert(is_scratch(packed_scratch(3)) && scratch_plane(packed_scratch(3)) == 3 &&
              packed_scratch(3) != scratch(3));
static_assert(on_plane(packed_scratch(3), 5) == packed_scratch(5) && on_plane(scratch(3), 5) == scratch(5));
static_assert(sizeof(buffer) == 4);

// Two blocks are put together and leave; the next write begins anew. Counts are of the largest load.
static_assert([] {
    detail::packed_loads<> loads;
    const std::uint32_t a = loads.write(copy_step(in(7), packed(0, 7)));
    const std::uint32_t b = loads.write(copy_step(in(2), packed(0, 2)));
    if (loads[a].place != 0 || loads[b].place != 1 || loads[b].load != loads[a].load) return false;
    if (loads.read(packed(0, 2)) != b || loads.read(packed(0, 7)) != a ||
        loads.read(packed(0, 3)) != detail::not_loaded)
        return false;
    // What the same step reads stays where it is; other writes begin a load, also of a block that is
    // there.
    if (loads.write(combine_step(packed(0, 2), in(2), packed(0, 2))) != b) return false;
    if (loads.write(combine_step(in(2), packed(0, 2), packed(0, 2))) != b) return false;
    if (loads.write(copy_step(packed(0, 2), packed(0, 2))) != b) return false;
    const std::uint32_t c = loads.write(receive_step(1, packed(0, 7)));
    return loads[c].load != loads[a].load && loads.read(packed(0, 2)) == detail::not_loaded &&
           loads.read(packed(0, 7)) == c && loads.most_blocks() == 2 && loads.loads() == 2;
}());

constexpr std::vector<std::uint32_t> waits_of(const std::vector<step>& steps, std::size_t i) {
    const dependences found = infer_dependences(steps);
    std::vector<std::uint32_t> waits(found.of(i).begin(), found.of(i).end());
    std::sort(waits.begin(), waits.end());
    return waits;
}
using numbers = std::vector<std::uint32_t>;

// Another block of the plane waits for all that touched those before it.
static_assert(waits_of({copy_step(in(0), packed(0, 0)), copy_step(in(1), packed(0, 1)),
                        send_step(1, packed(0, 0), true), send_step(1, packed(0, 1)), copy_step(in(2), packed(0, 2))},
                       4) == numbers{0, 1, 2, 3});
// What is added waits for the first write of its load; the parts of one message wait for nothing of each
// other.
static_assert(waits_of({copy_step(in(0), packed(0, 0)), copy_step(in(1), packed(0, 1))}, 1) == numbers{0});
static_assert(waits_of({receive_step(1, packed(0, 0), true), receive_step(1, packed(0, 1))}, 1).empty());
static_assert(waits_of({receive_step(1, packed(0, 0)), receive_step(1, packed(0, 1))}, 1) == numbers{0});
static_assert(waits_of({receive_step(1, packed(0, 0), true), receive_step(1, packed(0, 1)),
                        copy_step(packed(0, 0), out(0)), copy_step(packed(0, 1), out(1)),
                        receive_step(1, packed(0, 1), true), receive_step(1, packed(0, 0))},
                       5)
                  .empty());

TEST_CASE("packed planes have a name of their own") {
    CHECK(to_string(packed(2, 3)) == "packed2[3..4)");
    CHECK(to_string(plane(2, 3)) == "scratch2[3..4)");
}

// --- what verify sees ---

constexpr dimensions pair{.size = 2, .blocks = 3};
constexpr goal::broadcast broadcast{};
const std::vector<step> sends{send_step(1, in(0)), send_step(1, in(1)), send_step(1, in(2))};

TEST_CASE("verify: a packed plane serves one block after the other") {
    const auto via = [&](const std::vector<step>& receiver, block_t scratch) {
        return judge(broadcast, pair, std::vector<test::steps>{sends, receiver}, {}, scratch);
    };
    std::vector<step> good;
    for (block_t b = 0; b != 3; ++b) {
        good.push_back(receive_step(0, packed(0, b)));
        good.push_back(copy_step(packed(0, b), out(b)));
    }
    CHECK(via(good, 1));
    CHECK(via(good, 1).traits.scratch_max == 1);
    CHECK(via(good, 0).fault == fault::scratch_exceeded);
    // All messages first: one load of three blocks.
    const std::vector<step> together{good[0], good[2], good[4], good[1], good[3], good[5]};
    CHECK(via(together, 3).traits.scratch_max == 3);
    CHECK(via(together, 2).fault == fault::scratch_exceeded);
    // Block 0 is read after another load has begun.
    const std::vector<step> late{good[0], good[1], good[2], copy_step(packed(0, 0), out(0)), good[3], good[4], good[5]};
    const verdict gone = via(late, 3);
    CHECK(gone.fault == fault::read_of_nothing);
    CHECK((gone.rank == 1 && gone.step == 3 && gone.block == 0));
}

TEST_CASE("verify: no block twice in a load, none in part, no packed input or output") {
    const auto of_sender = [&](std::vector<step> before) {
        before.insert(before.end(), sends.begin(), sends.end());
        const std::vector<step> receiver{receive_step(0, out(0)), receive_step(0, out(1)), receive_step(0, out(2))};
        return judge(broadcast, pair, std::vector<test::steps>{before, receiver}).fault;
    };
    CHECK(of_sender({copy_step(in(0, 2), packed(0, 0, 2)), copy_step(in(2), packed(0, 2))}) == fault::none);
    CHECK(of_sender({copy_step(in(0), packed(0, 0)), copy_step(in(0), packed(0, 0))}) == fault::bad_load);
    CHECK(of_sender({copy_step(in(0, 2), packed(0, 0, 2)), copy_step(in(1, 2), packed(0, 1, 2))}) == fault::bad_load);
    CHECK(of_sender({copy_step(in(0, 2), packed(0, 0, 2)), copy_step(packed(0, 0), plane(1))}) ==
          fault::read_of_nothing);
    const std::vector<step> to_output{receive_step(0, {buffer{output.index, true}, 0, 1}), receive_step(0, out(1)),
                                      receive_step(0, out(2))};
    CHECK(judge(broadcast, pair, std::vector<test::steps>{sends, to_output}).fault == fault::bad_load);
    CHECK(of_sender({copy_step({buffer{input.index, true}, 0, 1}, plane(0))}) == fault::bad_load);
    // A plane is packed in every step of a rank or in none.
    CHECK(of_sender({copy_step(in(0), packed(0, 0)), copy_step(in(0), plane(1, 0))}) == fault::none);
    CHECK(of_sender({copy_step(in(0), packed(0, 0)), copy_step(in(1), plane(0, 1))}) == fault::bad_load);
    CHECK(of_sender({copy_step(in(0), plane(0)), copy_step(in(1), packed(0, 1))}) == fault::bad_load);
    CHECK(of_sender({copy_step(in(0), packed(0)), send_step(1, plane(0))}) == fault::bad_load);
    CHECK(of_sender({copy_step(in(0), plane(0)), combine_step(in(0), packed(0), plane(1))}) == fault::bad_load);
    CHECK(of_sender({copy_step(in(0), packed(0, 0)), copy_step(plane(0, 0, 0), plane(0, 0, 0))}) == fault::none);
}

TEST_CASE("verify: the parts of a message do not overlap") {
    const std::vector<step> twice{send_step(1, in(0), true), send_step(1, in(0))};
    const auto into = [&](const slice& first, const slice& second) {
        const std::vector<step> receiver{receive_step(0, first, true), receive_step(0, second),
                                         copy_step(second, out(0))};
        return judge(broadcast, {.size = 2, .blocks = 1}, std::vector<test::steps>{twice, receiver}).fault;
    };
    CHECK(into(packed(0), packed(1)) == fault::none);
    CHECK(into(packed(0), plane(1)) == fault::none);
    CHECK(into(plane(0), plane(0)) == fault::deadlock);
    CHECK(into(packed(0), packed(0)) == fault::bad_load);
    CHECK(into(packed(0), plane(0)) == fault::bad_load);
}

// Each needs the other's next message before it lets go of its last one: two loads would do, one does
// not.
TEST_CASE("verify: memory that is used again can be a deadlock") {
    constexpr goal::allgather both{};
    const auto judged = [&](std::uint32_t second) {
        std::vector<test::steps> ranks;
        for (const block_t me : {0u, 1u}) {
            const rank_t peer = 1 - me;
            ranks.push_back({copy_step(in(me), packed(0, me)), copy_step(in(me), out(me)),
                             send_step(peer, packed(0, me)), receive_step(peer, packed(second, peer)),
                             copy_step(packed(second, peer), out(peer))});
        }
        return judge(both, {.size = 2, .blocks = 2}, ranks).fault;
    };
    CHECK(judged(1) == fault::none);
    CHECK(judged(0) == fault::deadlock);
}

// --- dependences, against the definition ---

// What step `j` must wait for, by the load in which each slice was used. A block of a plane that is not
// packed is a load.
struct use {
    std::uint32_t step, plane, load;
    block_t block;
    bool writes, begins, adds;
};
std::vector<use> uses_of(const std::vector<step>& steps) {
    struct state {
        std::uint32_t load = 0;
        std::set<block_t> blocks;
        bool is_read = false;
    };
    std::vector<state> planes(4);
    std::vector<use> made;
    for (std::uint32_t i = 0; i != steps.size(); ++i) {
        const step& s = steps[i];
        const auto read = [&](const slice& from) {
            if (from.buffer.packed == 0) return;
            state& now = planes[scratch_plane(from.buffer)];
            now.is_read = true;
            made.push_back({i, scratch_plane(from.buffer), now.load, from.first, false, false, false});
        };
        if (s.reads_a()) read(s.a);
        if (s.reads_b()) read(s.b);
        if (!s.writes() || s.out.buffer.packed == 0) continue;
        state& now = planes[scratch_plane(s.out.buffer)];
        const bool stays = (s.reads_a() && s.a == s.out) || (s.reads_b() && s.b == s.out);
        const bool begins = !stays && (now.is_read || now.blocks.empty());
        if (begins) now = {now.load + 1, {}, false};
        now.blocks.insert(s.out.first);
        made.push_back({i, scratch_plane(s.out.buffer), now.load, s.out.first, true, begins, !begins && !stays});
    }
    return made;
}

std::vector<step> random_steps(std::uint64_t seed) {
    std::uint64_t state = seed;
    const auto below = [&](std::uint32_t n) {
        state = bough_test::mixed(state);
        return static_cast<std::uint32_t>(state % n);
    };
    std::vector<std::set<block_t>> held(2);
    std::vector<bool> is_read(2, false);
    std::vector<step> steps;
    for (std::uint32_t i = 0, size = 4 + below(20); i != size; ++i) {
        const std::uint32_t p = below(2);
        const block_t b = below(5);
        if (below(2) != 0 && !held[p].empty()) {
            const block_t there = *std::next(held[p].begin(), below(static_cast<std::uint32_t>(held[p].size())));
            is_read[p] = true;
            switch (below(4)) {
            case 0: steps.push_back(send_step(1, packed(p, there))); break;
            case 1: steps.push_back(copy_step(packed(p, there), packed(p, there))); break;
            case 2: steps.push_back(copy_step(packed(p, there), out(there))); break;
            default: steps.push_back(combine_step(packed(p, there), in(there), packed(p, there)));
            }
            continue;
        }
        if (is_read[p]) held[p].clear(), is_read[p] = false;
        if (!held[p].insert(b).second) continue;
        if (below(2) != 0) {
            steps.push_back(copy_step(in(b), packed(p, b)));
            continue;
        }
        const block_t second = below(5);
        const bool more = held[p].insert(second).second;
        steps.push_back(receive_step(1, packed(p, b), more));
        if (more) steps.push_back(receive_step(1, packed(p, second)));
    }
    return steps;
}

using relation = std::vector<std::vector<bool>>;
void close(relation& r) {
    for (std::size_t j = 0; j != r.size(); ++j)
        for (std::size_t i = 0; i != j; ++i)
            if (r[j][i])
                for (std::size_t k = 0; k != i; ++k)
                    if (r[i][k]) r[j][k] = true;
}

} // namespace

TEST_CASE("packed planes: dependences reach the same steps as the naive relation") {
    for (std::uint64_t trial = 0; trial != (bough_test::all() ? 50'000u : 3'000u); ++trial) {
        const std::vector<step> steps = random_steps(bough_test::seed() * 1'000'003 + trial);
        const std::vector<use> uses = uses_of(steps);
        const std::size_t size = steps.size();
        std::vector<std::size_t> message(size); // the first part of the message
        for (std::size_t i = 0; i != size; ++i) message[i] = i != 0 && steps[i - 1].more ? message[i - 1] : i;
        relation naive(size, std::vector<bool>(size)), found = naive;
        for (const use& later : uses)
            for (const use& earlier : uses) {
                if (earlier.step >= later.step || earlier.plane != later.plane) continue;
                const bool same_block =
                    earlier.load == later.load && earlier.block == later.block && (earlier.writes || later.writes);
                const bool emptied = later.begins && earlier.load + 1 == later.load;
                const bool follows = later.adds && earlier.begins && earlier.load == later.load &&
                                     message[earlier.step] != message[later.step];
                if (same_block || emptied || follows) naive[later.step][earlier.step] = true;
            }
        for (std::size_t j = 0; j != size; ++j)
            for (std::size_t i = 0; i != j; ++i) {
                const auto reads = [](const step& s, const slice& w) {
                    return (s.reads_a() && overlap(s.a, w)) || (s.reads_b() && overlap(s.b, w));
                };
                const auto plain = [](const slice& s) { return s.buffer.packed == 0; };
                if (steps[i].writes() && plain(steps[i].out) &&
                    (reads(steps[j], steps[i].out) || (steps[j].writes() && overlap(steps[i].out, steps[j].out))))
                    naive[j][i] = true;
                if (steps[j].writes() && plain(steps[j].out) && reads(steps[i], steps[j].out)) naive[j][i] = true;
            }
        const dependences inferred = infer_dependences(steps);
        std::size_t blocks = 0, edges = 0;
        for (std::size_t j = 0; j != size; ++j) {
            blocks += steps[j].reads_a() + steps[j].reads_b() + steps[j].writes();
            for (const std::uint32_t i : inferred.of(j)) {
                REQUIRE(message[i] != message[j]);
                REQUIRE_FALSE(found[j][i]);
                found[j][i] = true, ++edges;
            }
        }
        REQUIRE(edges <= 2 * blocks); // what a proof in parts makes room for
        // A message waits for what its parts wait for, and what waits for one of them waits for the
        // message.
        std::vector<std::size_t> last(size);
        for (std::size_t i = size; i-- != 0;) last[i] = steps[i].more ? last[i + 1] : i;
        const auto of_messages = [&](const relation& of_steps) {
            relation made(size, std::vector<bool>(size));
            for (std::size_t j = 0; j != size; ++j)
                for (std::size_t i = 0; i != j; ++i)
                    if (of_steps[j][i]) made[last[j]][last[i]] = true;
            close(made);
            return made;
        };
        const relation has = of_messages(found), needs = of_messages(naive);
        for (std::size_t j = 0; j != size; ++j)
            for (std::size_t i = 0; i != j; ++i) {
                if (has[j][i] == needs[j][i]) continue;
                std::string text;
                for (std::size_t k = 0; k != size; ++k) text += std::to_string(k) + "  " + to_string(steps[k]) + "\n";
                FAIL(text << "step " << j << (has[j][i] ? " waits" : " does not wait") << " for step " << i);
            }
    }
}
