// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/exscan/one_two_three_doubling.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/verify/verify_claims.hpp>

#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

template <block_t Blocks>
constexpr auto scan_of =
    [](rank_t size) { return plan_scan(recursive_doubling_scan{}, {.size = size, .blocks = Blocks}); };
template <block_t Blocks>
constexpr auto exscan_of =
    [](rank_t size) { return plan_exscan(recursive_doubling_exscan{}, {.size = size, .blocks = Blocks}); };
template <block_t Blocks>
constexpr auto fast_exscan_of =
    [](rank_t size) { return plan_exscan(one_two_three_doubling{}, {.size = size, .blocks = Blocks}); };
static_assert(test::proven_everywhere<scan_of<1>>());
static_assert(test::proven_for<scan_of<0>, 1, 2, 5>());
static_assert(test::proven_everywhere<exscan_of<1>>());
static_assert(test::proven_everywhere<fast_exscan_of<1>>());
static_assert(test::proven_for<fast_exscan_of<3>, 1, 2, 5>());

// The smallest t with 2^t >= x, by doubling.
constexpr std::uint32_t ceil_log2(std::uint64_t x) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 1; power < x; power *= 2) ++t;
    return t;
}

// ceil(log2(p - 1) + log2(4/3)): the smallest t with 3 * 2^t >= 4 (p - 1).
constexpr std::uint32_t one_two_three_rounds(rank_t p) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 3; power < 4 * (std::uint64_t{p} - 1); power *= 2) ++t;
    return t;
}
static_assert(one_two_three_rounds(3) == 2 && one_two_three_rounds(7) == 3 && one_two_three_rounds(8) == 4);

template <Plan P>
plan_traits prove(const P& plan) {
    const claim_verdict found = verify_claims(plan);
    REQUIRE(found);
    REQUIRE(verify(plan, {.eager_slots = 2}));
    REQUIRE(found.proof.traits.rounds == test::rounds_in_order(plan));
    CHECK_FALSE(found.proof.traits.needs_commutative);
    for (rank_t r = 0; r != plan.size(); ++r) { // neither more nor less scratch than declared
        block_t used = 0;
        std::vector<std::uint32_t> planes;
        for (const step& s : plan.schedule_of(r))
            if (s.writes() && is_scratch(s.out.buffer)) {
                bool is_new = true;
                for (const std::uint32_t p : planes) is_new &= p != s.out.buffer.index;
                if (is_new) planes.push_back(s.out.buffer.index), used += s.out.count;
            }
        REQUIRE(used == plan.scratch(r));
    }
    return found.proof.traits;
}

// Runs the schedules one step at a time with strings: an op that shows the order of its operands.
template <Plan P>
std::vector<std::string> run_with_strings(const P& plan, bool in_place) {
    const rank_t size = plan.size();
    std::vector<std::vector<std::string>> memory(size); // input, output, scratch0, scratch1
    std::vector<schedule> steps;
    std::vector<std::size_t> next(size, 0);
    std::vector<std::vector<std::string>> channel(std::size_t{size} * size);
    std::vector<std::size_t> taken(channel.size(), 0);
    for (rank_t r = 0; r != size; ++r) {
        steps.push_back(plan.schedule_of(r));
        const std::string own = "<" + std::to_string(r) + ">";
        memory[r] = {own, in_place ? own : "unwritten", "", ""};
    }
    const auto place = [&](rank_t r, const slice& s) -> std::string& {
        return memory[r][in_place && s.buffer == input ? 1 : s.buffer.index];
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (rank_t r = 0; r != size; ++r) {
            if (next[r] == steps[r].size()) continue;
            const step& s = steps[r][next[r]];
            if (s.verb == verb::send) {
                channel[std::size_t{r} * size + s.peer].push_back(place(r, s.a));
            } else if (s.verb == verb::receive) {
                const std::size_t from = std::size_t{s.peer} * size + r;
                if (taken[from] == channel[from].size()) continue;
                place(r, s.out) = channel[from][taken[from]++];
            } else if (s.verb == verb::combine) {
                place(r, s.out) = place(r, s.a) + place(r, s.b);
            } else {
                place(r, s.out) = place(r, s.a);
            }
            ++next[r];
            moved = true;
        }
    }
    std::vector<std::string> results;
    for (rank_t r = 0; r != size; ++r) {
        REQUIRE(next[r] == steps[r].size());
        results.push_back(memory[r][1]);
    }
    return results;
}

} // namespace

TEST_CASE("scan by recursive doubling takes ceil(log2 p) rounds") {
    for (rank_t p = 1; p <= 256; ++p) {
        if (p > 64 && !bough_test::sampled(p, 8)) continue;
        CAPTURE(p);
        const plan_traits traits = prove(plan_scan(recursive_doubling_scan{}, {.size = p, .root = p / 2}));
        const std::uint32_t q = ceil_log2(p);
        CHECK(traits.rounds == q);
        CHECK(traits.messages == std::uint64_t{p} * q - ((std::uint64_t{1} << q) - 1));
        CHECK(traits.combines == traits.messages);
        CHECK(traits.depth == q);
        CHECK(traits.scratch_max == (p == 1 ? 0 : 1));
    }
}

TEST_CASE("exscan by recursive doubling takes 1 + ceil(log2(p - 1)) rounds") {
    for (rank_t p = 2; p <= 256; ++p) {
        if (p > 64 && !bough_test::sampled(p, 8)) continue;
        CAPTURE(p);
        const plan_traits traits = prove(plan_exscan(recursive_doubling_exscan{}, {.size = p}));
        CHECK(traits.rounds == 1 + ceil_log2(p - 1));
        CHECK(traits.combines == traits.messages - (p - 1));
    }
}

TEST_CASE("exscan by skips 1, 2, 3, 6, ... takes ceil(log2(p - 1) + log2(4/3)) rounds") {
    for (rank_t p = 3; p <= 512; ++p) {
        CAPTURE(p);
        const auto plan = plan_exscan(one_two_three_doubling{}, {.size = p, .root = p - 1});
        CHECK(test::rounds_in_order(plan) == one_two_three_rounds(p));
        CHECK(one_two_three_rounds(p) <= 1 + ceil_log2(p - 1)); // the conventional one
        if (p > 64 && !bough_test::sampled(p, 8)) continue;
        const plan_traits traits = prove(plan);
        CHECK(traits.rounds == one_two_three_rounds(p));
        CHECK(traits.combines == traits.messages - (p - 1) + (p - 3));
    }
    CHECK(prove(plan_exscan(one_two_three_doubling{}, {.size = 2})).rounds == 1);
    CHECK(prove(plan_exscan(one_two_three_doubling{}, {.size = 1})).messages == 0);
}

TEST_CASE("scans are those of a sequential fold, in place and not; rank 0 gets nothing of an exscan") {
    for (rank_t p = 1; p <= 33; ++p)
        for (const bool in_place : {false, true}) {
            CAPTURE(p, in_place);
            const auto inclusive = run_with_strings(plan_scan(recursive_doubling_scan{}, {.size = p}), in_place);
            const auto exclusive = run_with_strings(plan_exscan(recursive_doubling_exscan{}, {.size = p}), in_place);
            const auto fast = run_with_strings(plan_exscan(one_two_three_doubling{}, {.size = p}), in_place);
            std::string below = in_place ? "<0>" : "unwritten";
            std::string fold;
            for (rank_t r = 0; r != p; ++r) {
                REQUIRE(exclusive[r] == below);
                REQUIRE(fast[r] == below);
                fold += "<" + std::to_string(r) + ">";
                below = fold;
                REQUIRE(inclusive[r] == fold);
            }
        }
}

TEST_CASE("several blocks, and none") {
    for (const rank_t p : {1u, 2u, 3u, 6u, 13u})
        for (const block_t blocks : {0u, 1u, 4u}) {
            CAPTURE(p, blocks);
            CHECK(verify(plan_scan(recursive_doubling_scan{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_exscan(recursive_doubling_exscan{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_exscan(one_two_three_doubling{}, {.size = p, .blocks = blocks})));
        }
}

TEST_CASE("no mutant of a scan passes for it") {
    for (const rank_t p : {2u, 3u, 5u, 8u}) {
        CAPTURE(p);
        CHECK(test::spoil(plan_scan(recursive_doubling_scan{}, {.size = p})) != 0);
        CHECK(test::spoil(plan_exscan(recursive_doubling_exscan{}, {.size = p})) != 0);
        CHECK(test::spoil(plan_exscan(one_two_three_doubling{}, {.size = p, .blocks = 2})) != 0);
    }
}
