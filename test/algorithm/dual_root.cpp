// SPDX-License-Identifier: BSL-1.0
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/dual_root.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

template <rank_t Arity, bool Slack, block_t Blocks>
constexpr auto of = [](rank_t size) {
    return plan_allreduce(dual_root_allreduce{.arity = Arity, .slack = Slack}, {.size = size, .blocks = Blocks});
};
static_assert(test::proven_everywhere<of<2, true, 3>>());
static_assert(test::proven_everywhere<of<1, false, 2>>());
static_assert(test::proven_for<of<3, true, 1>, 1, 5, 7, 9>());
static_assert(test::proven_for<of<2, false, 0>, 1, 2, 5>());

// The depth of the larger half's tree: of the ranks below a root, the largest of `arity` equal parts goes on.
rank_t depth_of(rank_t size, rank_t arity) {
    rank_t depth = 0;
    for (rank_t ranks = size - size / 2; ranks > 1; ++depth) ranks = (ranks - 1 + arity - 1) / arity;
    return depth;
}

plan_traits prove(const dual_root_allreduce& algorithm, const dimensions& at) {
    return test::prove_with_claims(plan_allreduce(algorithm, at));
}

// Runs all ranks, a step each in turn, with strings: an op that shows the order of its operands.
std::vector<std::vector<std::string>> run_with_strings(const dual_root_allreduce& algorithm, const dimensions& at,
                                                       bool in_place) {
    const auto plan = plan_allreduce(algorithm, at);
    std::vector<schedule> steps;
    std::vector<std::size_t> next(at.size, 0);
    std::vector<std::vector<std::vector<std::string>>> memory(at.size); // input, output, scratch
    std::vector<std::vector<std::string>> channel(std::size_t{at.size} * at.size);
    std::vector<std::size_t> taken(channel.size(), 0);
    for (rank_t r = 0; r != at.size; ++r) {
        steps.push_back(plan.schedule_of(r));
        memory[r].assign(3 + algorithm.arity, std::vector<std::string>(at.blocks, "unwritten"));
        for (block_t b = 0; b != at.blocks; ++b)
            memory[r][in_place ? 1 : 0][b] = "<" + std::to_string(r) + "." + std::to_string(b) + ">";
    }
    const auto place = [&](rank_t r, const slice& s) -> std::string& {
        REQUIRE(s.count == 1);
        return memory[r][in_place && s.buffer == input ? 1 : s.buffer.index][s.first];
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (rank_t r = 0; r != at.size; ++r) {
            if (next[r] == steps[r].size()) continue;
            const step& s = steps[r][next[r]];
            if (s.verb == verb::send) {
                channel[std::size_t{r} * at.size + s.peer].push_back(place(r, s.a));
            } else if (s.verb == verb::receive) {
                const std::size_t from = std::size_t{s.peer} * at.size + r;
                if (taken[from] == channel[from].size()) continue;
                place(r, s.out) = channel[from][taken[from]++];
            } else if (s.verb == verb::combine) {
                place(r, s.out) = place(r, s.a) + place(r, s.b);
            } else {
                for (block_t b = s.a.first; b != s.a.last(); ++b) {
                    const slice one{s.a.buffer, b, 1};
                    place(r, one.in(s.out.buffer)) = place(r, one);
                }
            }
            ++next[r];
            moved = true;
        }
    }
    std::vector<std::vector<std::string>> results;
    for (rank_t r = 0; r != at.size; ++r) {
        REQUIRE(next[r] == steps[r].size());
        results.push_back(memory[r][1]);
    }
    return results;
}

} // namespace

TEST_CASE("dual root: places of a half are a tree whose subtrees are runs of places") {
    for (rank_t size = 1; size <= 80; ++size)
        for (const rank_t arity : {1u, 2u, 3u, 16u}) {
            CAPTURE(size, arity);
            rank_t deepest = 0;
            std::vector<rank_t> children_of(size, 0);
            for (rank_t v = 0; v != size; ++v) {
                const detail::dual_root_place here(v, size, arity);
                deepest = std::max(deepest, here.depth);
                REQUIRE((here.parent == no_rank) == (v == 0));
                if (v != 0) ++children_of[here.parent];
                rank_t end = v + 1; // the subtrees of its children follow it without a gap
                for (rank_t i = 0; i != here.children(arity); ++i) {
                    const detail::dual_root_place child(here.child(arity, i), size, arity);
                    REQUIRE(child.at == end);
                    REQUIRE(child.parent == v);
                    REQUIRE(child.depth == here.depth + 1);
                    end += 1 + child.below;
                }
                REQUIRE(end == v + 1 + here.below);
            }
            for (rank_t v = 0; v != size; ++v)
                REQUIRE(children_of[v] == detail::dual_root_place(v, size, arity).children(arity));
            CHECK(deepest == depth_of(2 * size, arity));
        }
}

TEST_CASE("dual root: any number of ranks and blocks, in the rounds of the header") {
    std::uint64_t number = 0;
    for (rank_t p = 2; p <= 64; ++p)
        for (const rank_t arity : {1u, 2u, 3u})
            for (const block_t n : {1u, 2u, 5u, 21u})
                for (const bool slack : {false, true}) {
                    if (!bough_test::sampled(++number, 4)) continue;
                    CAPTURE(p, arity, n, slack);
                    const dual_root_allreduce algorithm{arity, slack};
                    const dimensions at{.size = p, .root = p / 3, .blocks = n};
                    const plan_traits traits = prove(algorithm, at);
                    const std::uint32_t rounds = 2 * arity * (depth_of(p, arity) + 1) + (arity + 1) * (n - 1) + 1;
                    CHECK(traits.rounds <= rounds - (n == 1 ? 2 * arity : 0));
                    CHECK(test::rounds_in_order(plan_allreduce(algorithm, at)) <= rounds);
                    CHECK(traits.volume == 2 * std::uint64_t{p - 1} * n);
                    CHECK(traits.volume_max <= std::uint64_t{arity + 1} * n);
                    CHECK(traits.combines == std::uint64_t{p} * n);
                    CHECK(traits.combines_max <= std::uint64_t{arity + 1} * n);
                    CHECK(traits.peers_max <= arity + 1);
                    CHECK(traits.rank_consistent);
                    CHECK_FALSE(traits.needs_commutative);
                }
}

TEST_CASE("dual root: the formula of the header against the walk") {
    for (const model::alpha_beta_gamma& m :
         {model::alpha_beta_gamma{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25},
          model::alpha_beta_gamma{.alpha_ns = 0, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 2}})
        for (rank_t p = 3; p <= 64; ++p)
            for (const rank_t arity : {1u, 2u, 3u})
                for (const block_t n : {1u, 2u, 20u}) {
                    CAPTURE(p, arity, n, m.alpha_ns);
                    const double t = m.exchange_ns(1000), g = m.combine_ns(0, 1000);
                    const double a = arity, d = depth_of(p, arity);
                    const double most = (a * d + 1) * (t + g) + a * d * t + (n - 1) * (a + 1) * (t + g);
                    const auto plan = plan_allreduce(dual_root_allreduce{arity, false}, {.size = p, .blocks = n});
                    const double walked = model::walk(plan, m, 1000 * n).makespan_ns;
                    CHECK(walked <= Approx(most));
                    // Both halves are complete.
                    const bool complete = arity == 1 || (arity == 2 && p == 2 * ((2u << depth_of(p, 2)) - 1));
                    if (complete) CHECK(walked == Approx(most));
                }
}

TEST_CASE("dual root: results are those of a sequential fold, in place and not") {
    for (rank_t p = 1; p <= 33; ++p)
        for (const rank_t arity : {1u, 2u, 5u})
            for (const bool slack : {false, true})
                for (const bool in_place : {false, true}) {
                    const dimensions at{.size = p, .blocks = 3};
                    CAPTURE(p, arity, slack, in_place);
                    std::vector<std::string> fold(at.blocks);
                    for (rank_t r = 0; r != p; ++r)
                        for (block_t b = 0; b != at.blocks; ++b)
                            fold[b] += "<" + std::to_string(r) + "." + std::to_string(b) + ">";
                    for (const auto& result : run_with_strings({arity, slack}, at, in_place)) REQUIRE(result == fold);
                }
}

TEST_CASE("dual root: one rank, no blocks, and an arity out of range") {
    for (const rank_t p : {1u, 2u, 6u})
        for (const block_t n : {0u, 1u, 5u}) prove({}, {.size = p, .blocks = n});
    CHECK(dual_root_allreduce{.arity = 1}.natural_blocks(6) == 6);
    CHECK(dual_root_allreduce{}.natural_blocks(6) == 12);
    for (const rank_t arity : {0u, 17u}) {
        const status bad = dual_root_allreduce{arity}.check({.size = 4});
        CHECK(bad.code == errc::invalid_argument);
        CHECK(std::string(bad.argument).find("arity") == 0);
    }
    CHECK_FALSE(dual_root_allreduce{16}.check({.size = 4}));
    CHECK(std::string(label_of(dual_root_allreduce{}).c_str()) == "dual_root_allreduce");
    CHECK(std::string(label_of(dual_root_allreduce{1, false}).c_str()) ==
          "dual_root_allreduce{.arity = 1, .slack = 0}");
}

TEST_CASE("no mutant of a dual root passes for it") {
    for (const rank_t p : {2u, 3u, 6u, 7u})
        for (const rank_t arity : {1u, 2u}) {
            CAPTURE(p, arity);
            CHECK(test::spoil(plan_allreduce(dual_root_allreduce{arity}, {.size = p, .blocks = 3})) != 0);
        }
}
