// SPDX-License-Identifier: BSL-1.0
// Combining in place, against the definition and against what it promises: on random steps, nobody sees a difference.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/schedule/in_place.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using steps = std::vector<step>;
using pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>; // a receive and its combine, or no_step

constexpr std::uint32_t sole_of(const steps& all, std::uint32_t i) {
    return bough::detail::sole_combine(all, bough::detail::dependents_of(infer_dependences(all)).view(), i);
}
constexpr pairs in_place_of(const steps& all) {
    pairs found;
    bough::detail::for_each_in_place(all, bough::detail::dependents_of(infer_dependences(all)).view(),
                                     [&](std::uint32_t receive, std::uint32_t combine) {
                                         found.push_back({receive, combine});
                                     });
    return found;
}

constexpr slice in0{input, 0, 1}, out0{output, 0, 1}, out2{output, 0, 2};
constexpr slice s0{scratch(0), 0, 1}, s1{scratch(1), 0, 1}, both{scratch(0), 0, 2};

static_assert(in_place_of({}).empty());
static_assert(in_place_of({receive_step(1, s0), combine_step(in0, s0, out0)}) == pairs{{0, 1}});
static_assert(in_place_of({receive_step(1, s0), combine_step(s0, in0, out0)}) == pairs{{0, 1}});
// A plane that serves two messages in turn.
static_assert(in_place_of({receive_step(1, s0), combine_step(in0, s0, out0), receive_step(2, s0),
                           combine_step(out0, s0, out0)}) == pairs{{0, 1}, {2, 3}});
// Of two messages, the one whose receive stands first, whoever sent it.
static_assert(in_place_of({receive_step(2, s0), receive_step(1, s1), combine_step(s1, s0, out0)}) == pairs{{0, 2}});
static_assert(in_place_of({receive_step(2, s1), receive_step(1, s0), combine_step(s1, s0, out0)}) == pairs{{0, 2}});
// Not a result; not what is read twice, in part, together with more, on both sides, or by another verb.
static_assert(sole_of({receive_step(1, out0), combine_step(s0, out0, s1)}, 0) == no_step);
static_assert(sole_of({receive_step(1, s0), combine_step(in0, s0, out0), send_step(2, s0)}, 0) == no_step);
static_assert(sole_of({receive_step(1, both), combine_step(in0, s0, out0)}, 0) == no_step);
static_assert(sole_of({receive_step(1, s0), combine_step(out2, both, out2)}, 0) == no_step);
static_assert(sole_of({receive_step(1, s0), combine_step(s0, s0, out0)}, 0) == no_step);
static_assert(sole_of({receive_step(1, s0), copy_step(s0, out0)}, 0) == no_step);
static_assert(sole_of({receive_step(1, s0)}, 0) == no_step);
// Not where the combine writes, and not if a part is overwritten before it reads; later is no harm.
static_assert(sole_of({receive_step(1, s0), combine_step(in0, s0, s0)}, 0) == no_step);
static_assert(sole_of({receive_step(1, both), copy_step(in0, s0), combine_step(out2, both, out2)}, 0) == no_step);
static_assert(sole_of({receive_step(1, both), receive_step(2, s0), combine_step(out2, both, out2)}, 0) == no_step);
static_assert(sole_of({receive_step(1, both), combine_step(out2, both, out2), copy_step(in0, s0)}, 0) == 1);
// A part of a message may be combined in place, but is no message.
static_assert(sole_of({receive_step(1, s0, true), receive_step(1, s1), combine_step(s0, in0, out0)}, 0) == 2);
static_assert(in_place_of({receive_step(1, s0, true), receive_step(1, s1), combine_step(s0, in0, out0),
                           combine_step(s1, out0, out0)})
                  .empty());

// Lists in which messages are often combined: two planes of scratch and a result, few blocks.
steps random_steps(std::uint64_t seed) {
    std::uint64_t state = seed;
    const auto below = [&](std::uint32_t n) {
        state = bough_test::mixed(state);
        return static_cast<std::uint32_t>((state >> 20) % n);
    };
    const block_t blocks = 1 + below(3);
    const std::uint32_t planes = 1 + below(3);
    const auto any_slice = [&](std::uint32_t buffers) {
        const bool whole = below(2) == 0;
        const block_t first = whole ? 0 : below(blocks);
        return slice{buffer{buffers - planes + below(planes)}, first, whole ? blocks : below(blocks - first + 1)};
    };
    steps all;
    for (std::uint32_t i = 0, size = below(10); i != size; ++i) {
        const slice scratch_part = any_slice(2 + planes);
        const slice any = any_slice(below(3) == 0 ? 2 + planes : planes);
        const slice other{any.buffer, scratch_part.first, scratch_part.count};
        const slice into{below(4) == 0 ? scratch_part.buffer : output, scratch_part.first, scratch_part.count};
        switch (below(8)) {
        case 0: all.push_back(send_step(below(3), any)); break;
        case 1: all.push_back(copy_step({input, any.first, any.count}, any)); break;
        case 2:
        case 3:
        case 4: all.push_back(receive_step(below(3), scratch_part, below(6) == 0)); break;
        default:
            all.push_back(below(2) == 0 ? combine_step(scratch_part, other, into)
                                        : combine_step(other, scratch_part, into));
        }
    }
    for (std::size_t i = 0; i != all.size(); ++i) // only a receive from the same peer goes on a message
        if (all[i].more) {
            const bool goes_on = i + 1 != all.size() && all[i + 1].verb == verb::receive;
            all[i].more = goes_on;
            if (goes_on) all[i + 1].peer = all[i].peer;
        }
    return all;
}

// The definition, by names: who wrote each block last when a step reads it? Every step is looked at
// for every receive; dependences play no part.
using place = std::pair<std::size_t, block_t>;
std::uint32_t sole_by_names(const steps& all, std::uint32_t receive) {
    const slice landed = all[receive].out;
    if (landed.buffer == input || landed.buffer == output) return no_step;
    std::map<place, std::uint32_t> writer;
    std::vector<std::uint32_t> readers;
    bool exact = false;
    for (std::uint32_t i = 0; i != all.size(); ++i) {
        const step& s = all[i];
        const auto reads = [&](const slice& from) {
            block_t its = 0;
            for (block_t b = from.first; b != from.last(); ++b) {
                const auto at = writer.find({storage_of(from.buffer), b});
                its += at != writer.end() && at->second == receive;
            }
            return its;
        };
        const block_t a = s.verb == verb::receive ? 0 : reads(s.a);
        const block_t b = s.verb == verb::combine ? reads(s.b) : 0;
        if (a + b != 0) {
            readers.push_back(i);
            const slice& from = a != 0 ? s.a : s.b;
            exact = s.verb == verb::combine && (a == 0 || b == 0) && a + b == landed.count &&
                    from.count == landed.count && from.first == landed.first &&
                    (s.out.buffer != landed.buffer || s.out.last() <= landed.first || landed.last() <= s.out.first);
        }
        if (s.verb != verb::send)
            for (block_t at = s.out.first; at != s.out.last(); ++at) writer[{storage_of(s.out.buffer), at}] = i;
    }
    return readers.size() == 1 && exact ? readers[0] : no_step;
}

// What can be seen of a run: what is sent, and what stands in the results. A value is a text of how
// it came about. Receives in `in_place` leave scratch alone: their combine is given the message.
std::string seen(const steps& all, const pairs& in_place) {
    std::map<place, std::string> memory;
    std::string told;
    const auto read = [&](const slice& from, block_t k) {
        const auto at = memory.find({storage_of(from.buffer), from.first + k});
        return at == memory.end() ? "?" + std::to_string(storage_of(from.buffer)) : at->second;
    };
    const auto message = [](std::uint32_t i, block_t k) { return "m" + std::to_string(i) + "." + std::to_string(k); };
    for (std::uint32_t i = 0; i != all.size(); ++i) {
        const step& s = all[i];
        std::uint32_t held = no_step;
        bool leaves = false;
        for (const auto& [receive, combine] : in_place) {
            if (combine == i) held = receive;
            leaves = leaves || receive == i;
        }
        std::vector<std::string> made;
        for (block_t k = 0; k != (s.verb == verb::send ? s.a.count : s.out.count); ++k) {
            if (s.verb == verb::receive) {
                made.push_back(message(i, k));
            } else if (s.verb == verb::combine) {
                const bool lower = held != no_step && s.a == all[held].out;
                const bool upper = held != no_step && s.b == all[held].out;
                made.push_back("(" + (lower ? message(held, k) : read(s.a, k)) + "+" +
                               (upper ? message(held, k) : read(s.b, k)) + ")");
            } else {
                made.push_back(read(s.a, k));
            }
        }
        for (block_t k = 0; k != made.size(); ++k)
            if (s.verb == verb::send)
                told += made[k] + ";";
            else if (!leaves)
                memory[{storage_of(s.out.buffer), s.out.first + k}] = made[k];
    }
    for (const auto& [at, value] : memory)
        if (at.first == storage_of(output)) told += value + ";";
    return told;
}

bool in_parts(const steps& all, std::uint32_t i) { return all[i].more || (i != 0 && all[i - 1].more); }

} // namespace

TEST_CASE("in_place: the rule is its definition, and nobody sees a difference", "[schedule][in_place]") {
    std::size_t found = 0, overwritten = 0, of_two = 0;
    for (std::uint64_t trial = 0; trial != (bough_test::all() ? 200'000u : 20'000u); ++trial) {
        const steps all = random_steps(bough_test::seed() * 1'000'003 + trial);
        pairs expected;
        std::map<std::uint32_t, std::uint32_t> taken;
        for (std::uint32_t i = 0; i != all.size(); ++i) {
            if (all[i].verb != verb::receive || all[i].out.count == 0) continue;
            const std::uint32_t combine = sole_by_names(all, i);
            REQUIRE(sole_of(all, i) == combine);
            if (combine == no_step) continue;
            for (std::uint32_t k = combine + 1; k < all.size(); ++k)
                overwritten += all[k].writes() && overlap(all[k].out, all[i].out);
            if (in_parts(all, i)) continue;
            if (taken.emplace(combine, i).second)
                expected.push_back({i, combine});
            else
                ++of_two;
        }
        const pairs in_place = in_place_of(all);
        REQUIRE(in_place == expected);
        REQUIRE(seen(all, in_place) == seen(all, {}));
        found += in_place.size();
    }
    CHECK(found > 1'000); // the lists are worth looking at
    CHECK(overwritten > 100);
    CHECK(of_two > 10);
}
