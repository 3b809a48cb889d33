// SPDX-License-Identifier: BSL-1.0
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/exscan/chain.hpp>
#include <bough/algorithm/exscan/inclusive_then_exclusive.hpp>
#include <bough/algorithm/exscan/recursive_doubling.hpp>
#include <bough/algorithm/scan/chain.hpp>
#include <bough/algorithm/scan/recursive_doubling.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

// Two algorithms are no values of one type, though they share what they say of themselves.
template <class A, class B>
concept comparable = requires(const A& a, const B& b) {
    a == b;
};
static_assert(comparable<chain_scan, chain_scan> && !comparable<chain_scan, chain_exscan>);

template <block_t Blocks>
constexpr auto scan_of =
    [](rank_t size) { return plan_scan(recursive_doubling_scan{}, {.size = size, .blocks = Blocks}); };
template <block_t Blocks>
constexpr auto exscan_of =
    [](rank_t size) { return plan_exscan(recursive_doubling_exscan{}, {.size = size, .blocks = Blocks}); };
template <block_t Blocks>
constexpr auto fast_exscan_of =
    [](rank_t size) { return plan_exscan(inclusive_then_exclusive{}, {.size = size, .blocks = Blocks}); };
static_assert(test::proven_everywhere<scan_of<1>>());
static_assert(test::proven_for<scan_of<0>, 1, 2, 5>());
static_assert(test::proven_everywhere<exscan_of<1>>());
static_assert(test::proven_everywhere<fast_exscan_of<1>>());
static_assert(test::proven_for<fast_exscan_of<3>, 1, 2, 5, 8>());
template <block_t Blocks>
constexpr auto chain_scan_of = [](rank_t size) { return plan_scan(chain_scan{}, {.size = size, .blocks = Blocks}); };
template <block_t Blocks>
constexpr auto chain_exscan_of =
    [](rank_t size) { return plan_exscan(chain_exscan{}, {.size = size, .blocks = Blocks}); };
static_assert(test::proven_everywhere<chain_scan_of<1>>());
static_assert(test::proven_everywhere<chain_exscan_of<1>>());
static_assert(test::proven_for<chain_scan_of<3>, 1, 2, 3, 5>());
static_assert(test::proven_for<chain_exscan_of<3>, 1, 2, 3, 5>());

// The smallest t with 2^t >= x, by doubling.
constexpr std::uint32_t ceil_log2(std::uint64_t x) {
    std::uint32_t t = 0;
    for (std::uint64_t power = 1; power < x; power *= 2) ++t;
    return t;
}

// k: the smallest number of rounds with the sender's own vector with which all need ceil(log2 p) rounds. Every
// round doubles what a rank has, and these add one.
constexpr std::uint32_t fewest_inclusive(rank_t p) {
    const std::uint32_t rounds = ceil_log2(p);
    for (std::uint32_t k = 0;; ++k) {
        std::uint64_t covered = 0;
        for (std::uint32_t round = 0; round != rounds; ++round) covered = 2 * covered + (round < k);
        if (covered >= p - 1) return k;
    }
}
static_assert(fewest_inclusive(2) == 1 && fewest_inclusive(5) == 1 && fewest_inclusive(6) == 2);
static_assert(fewest_inclusive(13) == 2 && fewest_inclusive(14) == 3 && fewest_inclusive(64) == 6);

// As few rounds of doubling that add one as any order of the two kinds of rounds has: as many as there are ones in a
// number of that many bits that is at least p - 1.
constexpr std::uint32_t fewest_in_any_order(rank_t p) {
    std::uint32_t least = 64;
    for (std::uint64_t covered = p - 1; covered != std::uint64_t{1} << ceil_log2(p); ++covered) {
        std::uint32_t ones = 0;
        for (std::uint64_t rest = covered; rest != 0; rest &= rest - 1) ++ones;
        if (ones < least) least = ones;
    }
    return least;
}

template <Plan P>
plan_traits prove(const P& plan) {
    const plan_traits traits = test::prove_with_claims(plan);
    REQUIRE(traits.rounds == test::rounds_in_order(plan));
    CHECK_FALSE(traits.needs_commutative);
    return traits;
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

TEST_CASE("exscan, inclusive then exclusive, takes ceil(log2 p) rounds, as few of them inclusive as can be") {
    for (rank_t p = 2; p <= 513; ++p) {
        CAPTURE(p);
        const std::uint32_t q = ceil_log2(p);
        const auto k = static_cast<std::uint32_t>(inclusive_then_exclusive::inclusive_rounds(p));
        CHECK(k == fewest_inclusive(p));
        CHECK(k == fewest_in_any_order(p));
        CHECK((k == 1) == (1 + ceil_log2(p - 1) == q)); // then the conventional one is as fast
        const auto plan = plan_exscan(inclusive_then_exclusive{}, {.size = p, .root = p - 1});
        CHECK(test::rounds_in_order(plan) == q);
        if (p > 64 && !bough_test::sampled(p, 8)) continue;
        const plan_traits traits = prove(plan);
        CHECK(traits.rounds == q);
        std::uint64_t more = 0; // by the ranks that in round i have received and send on, with their own vector
        for (std::uint32_t i = 1; i < k; ++i) more += p - 3 * (std::uint64_t{1} << (i - 1));
        CHECK(traits.combines == traits.messages - (p - 1) + more);
    }
    CHECK(prove(plan_exscan(inclusive_then_exclusive{}, {.size = 1})).messages == 0);
    constexpr rank_t most = 0xffff'ffff;
    static_assert(inclusive_then_exclusive::inclusive_rounds(most) == 31);
    static_assert(inclusive_then_exclusive::inclusive_rounds(rank_t{1} << 31) == 31);
    static_assert(inclusive_then_exclusive::inclusive_rounds((rank_t{1} << 31) + 1) == 1);
}

TEST_CASE("scan and exscan along the chain take p - 2 + n rounds for n blocks, and as few messages as can be") {
    for (rank_t p = 2; p <= 40; ++p)
        for (const block_t n : {1u, 2u, 5u}) {
            CAPTURE(p, n);
            const plan_traits inclusive = prove(plan_scan(chain_scan{}, {.size = p, .root = p / 2, .blocks = n}));
            const plan_traits exclusive = prove(plan_exscan(chain_exscan{}, {.size = p, .blocks = n}));
            for (const plan_traits& traits : {inclusive, exclusive}) {
                CHECK(traits.rounds == p - 2 + n);
                CHECK(traits.messages == std::uint64_t{p - 1} * n);
            }
            CHECK(inclusive.combines == std::uint64_t{p - 1} * n);
            CHECK(exclusive.combines == std::uint64_t{p - 2} * n);
            CHECK(inclusive.scratch_max == n);
            CHECK(exclusive.scratch_max == (p == 2 ? 0 : 2 * n));
        }
    CHECK(prove(plan_scan(chain_scan{}, {.size = 1})).messages == 0);
    CHECK(prove(plan_exscan(chain_exscan{}, {.size = 1})).messages == 0);
}

TEST_CASE("chains: the formulas of their headers against the walk") {
    for (model::alpha_beta_gamma m : {model::alpha_beta_gamma{5000, 1, 0.25}, model::alpha_beta_gamma{0, 1, 1},
                                      model::alpha_beta_gamma{3000, 0.5, 3}})
        for (rank_t p = 2; p <= 33; ++p)
            for (const block_t n : {1u, 2u, 7u, 40u})
                for (const bool early : {false, true}) {
                    CAPTURE(p, n, early, m.alpha_ns);
                    m.early = early;
                    const double t = m.exchange_ns(1000), g = m.combine_ns(0, 1000);
                    const double next = early ? (t > g ? t : g) : t + g;
                    const auto walked = [&](const auto& plan) { return model::walk(plan, m, n * 1000).makespan_ns; };
                    CHECK(walked(plan_scan(chain_scan{}, {.size = p, .blocks = n})) ==
                          Approx((p - 1) * (t + g) + (n - 1) * next));
                    CHECK(walked(plan_exscan(chain_exscan{}, {.size = p, .blocks = n})) ==
                          Approx((p - 1) * t + (p - 2) * g + (n - 1) * (p == 2 ? t : next)));
                }
}

TEST_CASE("exscans: the formulas of their headers against the walk") {
    for (model::alpha_beta_gamma m : {model::alpha_beta_gamma{5000, 1, 0.25}, model::alpha_beta_gamma{0, 1, 1},
                                      model::alpha_beta_gamma{3000, 0.5, 3}})
        for (rank_t p = 2; p <= 130; ++p)
            for (const std::uint64_t bytes : {0u, 8u, 1000u}) {
                CAPTURE(p, bytes, m.alpha_ns);
                const double transfer = m.exchange_ns(bytes);
                const double combine = m.combine_ns(0, bytes);
                const double q = ceil_log2(p);
                const double k = fewest_inclusive(p);
                const auto walked = [&](const auto& algorithm, bool early) {
                    m.early = early;
                    return model::walk(plan_exscan(algorithm, {.size = p}), m, bytes).makespan_ns;
                };
                const double conventional = transfer + ceil_log2(p - 1) * (transfer + combine);
                CHECK(walked(recursive_doubling_exscan{}, false) == Approx(conventional));
                const bool hidden = std::has_single_bit(p) && p >= 8; // the last of the combines for messages
                CHECK(walked(inclusive_then_exclusive{}, false) ==
                      Approx(q * transfer + (q + k - 2 - hidden) * combine));
                if (combine > transfer) continue; // otherwise the transfers hide the combines for messages
                const double early = walked(inclusive_then_exclusive{}, true);
                CHECK(early <= Approx(q * (transfer + combine) - (k == 1 ? combine : 0)));
                CHECK(early >= Approx(q * (transfer + combine) - combine)); // the last message may land early, too
            }
}

TEST_CASE("scans are those of a sequential fold, in place and not; rank 0 gets nothing of an exscan") {
    for (rank_t p = 1; p <= 33; ++p)
        for (const bool in_place : {false, true}) {
            CAPTURE(p, in_place);
            const auto inclusive = run_with_strings(plan_scan(recursive_doubling_scan{}, {.size = p}), in_place);
            const auto exclusive = run_with_strings(plan_exscan(recursive_doubling_exscan{}, {.size = p}), in_place);
            const auto fast = run_with_strings(plan_exscan(inclusive_then_exclusive{}, {.size = p}), in_place);
            const auto chained = run_with_strings(plan_scan(chain_scan{}, {.size = p}), in_place);
            const auto chained_below = run_with_strings(plan_exscan(chain_exscan{}, {.size = p}), in_place);
            std::string below = in_place ? "<0>" : "unwritten";
            std::string fold;
            for (rank_t r = 0; r != p; ++r) {
                REQUIRE(exclusive[r] == below);
                REQUIRE(fast[r] == below);
                REQUIRE(chained_below[r] == below);
                fold += "<" + std::to_string(r) + ">";
                below = fold;
                REQUIRE(inclusive[r] == fold);
                REQUIRE(chained[r] == fold);
            }
        }
}

TEST_CASE("several blocks, and none") {
    for (const rank_t p : {1u, 2u, 3u, 6u, 8u, 13u})
        for (const block_t blocks : {0u, 1u, 4u}) {
            CAPTURE(p, blocks);
            CHECK(verify(plan_scan(recursive_doubling_scan{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_exscan(recursive_doubling_exscan{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_exscan(inclusive_then_exclusive{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_scan(chain_scan{}, {.size = p, .blocks = blocks})));
            CHECK(verify(plan_exscan(chain_exscan{}, {.size = p, .blocks = blocks})));
        }
}

TEST_CASE("no mutant of a scan passes for it") {
    for (const rank_t p : {2u, 3u, 5u, 8u}) {
        CAPTURE(p);
        CHECK(test::spoil(plan_scan(recursive_doubling_scan{}, {.size = p})) != 0);
        CHECK(test::spoil(plan_exscan(recursive_doubling_exscan{}, {.size = p})) != 0);
        CHECK(test::spoil(plan_exscan(inclusive_then_exclusive{}, {.size = p, .blocks = 2})) != 0);
        CHECK(test::spoil(plan_scan(chain_scan{}, {.size = p, .blocks = 2})) != 0);
        CHECK(test::spoil(plan_exscan(chain_exscan{}, {.size = p, .blocks = 2})) != 0);
    }
}
