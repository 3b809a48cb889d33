// SPDX-License-Identifier: BSL-1.0
// Dependences, against hand-made cases and against the definition itself: quadratic, but too short to be wrong.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/schedule/dependence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr std::vector<std::uint32_t> waits_of(const std::vector<step>& steps, std::size_t i) {
    const dependences found = infer_dependences(steps);
    std::vector<std::uint32_t> waits(found.of(i).begin(), found.of(i).end());
    std::sort(waits.begin(), waits.end());
    return waits;
}
constexpr std::uint32_t channel_of(const std::vector<step>& steps, std::size_t i) {
    return infer_dependences(steps).channel[i];
}
using numbers = std::vector<std::uint32_t>;

constexpr slice in0{input, 0, 1}, in1{input, 1, 1}, out0{output, 0, 1}, out1{output, 1, 1};
constexpr slice s0{scratch(0), 0, 1}, s1{scratch(1), 0, 1};

// Nothing at all; one step.
static_assert(infer_dependences({}).before.empty() && infer_dependences({}).first.size() == 1);
static_assert(waits_of({send_step(1, in0)}, 0).empty());
// Read after write.
static_assert(waits_of({receive_step(1, s0), send_step(2, s0)}, 1) == numbers{0});
// Write after write.
static_assert(waits_of({receive_step(1, s0), receive_step(2, s0)}, 1) == numbers{0});
// Write after read, of every reader since the last write.
static_assert(waits_of({send_step(1, s0), send_step(2, s0), receive_step(3, s0)}, 2) == numbers{0, 1});
static_assert(waits_of({send_step(1, s0), receive_step(3, s0), send_step(2, s0), receive_step(4, s0)}, 3) ==
              numbers{1, 2});
// Two readers need not wait for each other, nor do different planes or different blocks.
static_assert(waits_of({send_step(1, s0), send_step(2, s0)}, 1).empty());
static_assert(waits_of({receive_step(1, s0), receive_step(2, s1)}, 1).empty());
static_assert(waits_of({receive_step(1, out0), receive_step(2, out1)}, 1).empty());
static_assert(waits_of({receive_step(1, s0), send_step(2, {scratch(0), 0, 0})}, 1).empty()); // no blocks, no touch
// Input and output are the same memory in the in-place form.
static_assert(waits_of({send_step(1, in0), receive_step(2, out0)}, 1) == numbers{0});
static_assert(waits_of({receive_step(1, out0), send_step(2, in0)}, 1) == numbers{0});
static_assert(waits_of({send_step(1, in1), receive_step(2, out0)}, 1).empty());
// A step that reads what it writes does not wait for itself; several blocks of one step are one entry.
static_assert(waits_of({combine_step(in0, s0, out0)}, 0).empty());
static_assert(waits_of({receive_step(1, {scratch(0), 0, 2}),
                        combine_step({input, 0, 2}, {scratch(0), 0, 2}, {output, 0, 2})},
                       1) == numbers{0});
// Messages on one channel keep their order; other peers and the other direction are other channels.
static_assert(channel_of({send_step(1, in0), send_step(1, in1)}, 1) == 0);
static_assert(channel_of({send_step(1, in0), send_step(2, in1), send_step(1, in1)}, 2) == 0);
static_assert(channel_of({send_step(1, in0), send_step(2, in1)}, 1) == no_step);
static_assert(channel_of({send_step(1, in0), receive_step(1, s0)}, 1) == no_step);
static_assert(channel_of({receive_step(7, s0), copy_step(in0, out0), receive_step(7, s1)}, 2) == 0);
static_assert(channel_of({receive_step(7, s0), copy_step(in0, out0), receive_step(7, s1)}, 1) == no_step);

// The definition: do i and j touch the same memory, and does one of them write it?
bool conflict(const step& i, const step& j) {
    const auto reads = [](const step& s, const slice& written) {
        return (s.reads_a() && overlap(s.a, written)) || (s.reads_b() && overlap(s.b, written));
    };
    if (i.writes() && (reads(j, i.out) || (j.writes() && overlap(i.out, j.out)))) return true;
    return j.writes() && reads(i, j.out);
}

// closure[j][i]: must j wait for i, directly or not?
using relation = std::vector<std::vector<bool>>;
relation closure_of(std::size_t size, const relation& direct) {
    relation closure = direct;
    for (std::size_t j = 0; j != size; ++j)
        for (std::size_t i = 0; i != j; ++i)
            if (direct[j][i])
                for (std::size_t k = 0; k != i; ++k)
                    if (closure[i][k]) closure[j][k] = true;
    return closure;
}

std::vector<step> random_steps(std::uint64_t seed) {
    std::uint64_t state = seed;
    const auto below = [&](std::uint32_t n) {
        state = bough_test::mixed(state);
        return static_cast<std::uint32_t>(state % n);
    };
    const block_t blocks = 1 + below(5);
    const auto any_slice = [&] {
        const block_t first = below(blocks);
        return slice{buffer{below(4)}, first, below(blocks - first + 1)};
    };
    std::vector<step> steps;
    for (std::uint32_t i = 0, size = below(24); i != size; ++i) {
        const slice a = any_slice();
        const slice b = any_slice();
        const slice out = any_slice();
        switch (below(4)) {
        case 0: steps.push_back(send_step(below(3), a)); break;
        case 1: steps.push_back(receive_step(below(3), out)); break;
        case 2: steps.push_back(combine_step(a, b, out)); break;
        default: steps.push_back(copy_step(a, out)); break;
        }
    }
    return steps;
}

} // namespace

TEST_CASE("dependences reach the same steps as the naive relation") {
    std::size_t edges = 0;
    std::size_t naive_edges = 0;
    for (std::uint64_t trial = 0; trial != (bough_test::all() ? 50'000u : 3'000u); ++trial) {
        const std::vector<step> steps = random_steps(bough_test::seed() * 1'000'003 + trial);
        const dependences found = infer_dependences(steps);
        const std::size_t size = steps.size();
        REQUIRE(found.first.size() == size + 1);
        REQUIRE(found.channel.size() == size);
        relation naive(size, std::vector<bool>(size)), direct = naive;
        for (std::size_t j = 0; j != size; ++j) {
            for (std::size_t i = 0; i != j; ++i) {
                naive[j][i] = conflict(steps[i], steps[j]);
                naive_edges += naive[j][i];
            }
            for (const std::uint32_t i : found.of(j)) {
                REQUIRE(i < j);
                REQUIRE_FALSE(direct[j][i]); // listed once
                REQUIRE(naive[j][i]);        // and for a reason
                direct[j][i] = true;
                ++edges;
            }
            std::uint32_t before = no_step;
            for (std::uint32_t i = 0; i != j; ++i)
                if (steps[j].communicates() && steps[i].verb == steps[j].verb && steps[i].peer == steps[j].peer)
                    before = i;
            REQUIRE(found.channel[j] == before);
        }
        REQUIRE(closure_of(size, direct) == closure_of(size, naive));
    }
    CHECK(edges < naive_edges);
}

TEST_CASE("a long schedule has few dependences") {
    std::vector<step> steps; // a pipeline: the naive relation would have some 10^8 edges
    for (std::uint32_t i = 0; i != 10'000; ++i) {
        steps.push_back(receive_step(1, s0));
        steps.push_back(combine_step(out0, s0, out0));
    }
    const dependences found = infer_dependences(steps);
    CHECK(found.before.size() < 4 * steps.size());
}
