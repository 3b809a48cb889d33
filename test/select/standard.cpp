// SPDX-License-Identifier: BSL-1.0
// The standard candidates: plans for all sizes, none of them twice, one that keeps rank order, and census for exact ops only.
#include "support/catch.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/allgather.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/select/standard/exscan.hpp>
#include <bough/select/standard/gather.hpp>
#include <bough/select/standard/reduce.hpp>
#include <bough/select/standard/reduce_scatter.hpp>
#include <bough/select/standard/scan.hpp>
#include <bough/select/standard/scatter.hpp>
#include <bough/select/standard_set.hpp>

#include <string_view>
#include <vector>

using namespace bough;

namespace {

template <class F>
void for_each_standard_goal(F&& f) {
    f(goal::allgather{}), f(goal::allreduce{}), f(goal::alltoall{}), f(goal::broadcast{}), f(goal::exscan{});
    f(goal::gather{}), f(goal::reduce{}), f(goal::reduce_scatter{}), f(goal::scan{}), f(goal::scatter{});
}

std::vector<schedule> schedules_of(const candidate& c, dimensions at) {
    at.blocks = c.blocks == natural_blocks ? c.algorithm.natural_blocks(at.size) : c.blocks;
    std::vector<schedule> all(at.size);
    for (rank_t r = 0; r != at.size; ++r) c.algorithm.emit(at, r, all[r]);
    return all;
}
bool is_tree(const candidate& c) { return std::string_view(c.text().c_str()).substr(0, 5) == "tree_"; }

} // namespace

TEST_CASE("standard: every candidate may be taken, and no tree is there twice", "[select][standard]") {
    for (rank_t p = 1; p <= 20; ++p)
        for (const rank_t from : {rank_t{0}, p / 2})
            for (const std::uint64_t bytes : {0u, 8u, 65536u})
                for_each_standard_goal([&]<class Goal>(Goal) {
                    const dimensions at{.size = p, .root = from};
                    const candidate_list list =
                        standard_candidates<Goal>(at, {.bytes = bytes}, order_preserving | same_bits_for_any_partition);
                    REQUIRE_FALSE(list.list.empty());
                    std::vector<std::vector<schedule>> trees;
                    for (const candidate& c : list.list) {
                        INFO(c.text().c_str() << " over " << p << " ranks, root " << from << ", " << bytes << " bytes");
                        dimensions d = at;
                        d.blocks = c.blocks == natural_blocks ? c.algorithm.natural_blocks(p) : c.blocks;
                        CHECK(c.algorithm.serves_kind(Goal::kind));
                        CHECK_FALSE(c.algorithm.check(d));
                        CHECK_FALSE(c.algorithm.claims(d).needs_exact);
                        if (!is_tree(c) || p == 1 || c.blocks != natural_blocks) continue;
                        std::vector<schedule> now = schedules_of(c, at);
                        for (const auto& known : trees) {
                            const bool twice = known == now;
                            CHECK_FALSE(twice);
                        }
                        trees.push_back(std::move(now));
                    }
                });
}

TEST_CASE("standard: two ranks broadcast in one piece, or in parts of 128 KiB or more", "[select][standard]") {
    for (const std::uint64_t bytes : {0u, 8u, 65536u, 200'000u, 1u << 18, 1u << 20, 1u << 22, 1u << 28}) {
        std::vector<block_t> parts;
        for (const candidate& c : standard_candidates<goal::broadcast>({.size = 2}, {.bytes = bytes}).list)
            if (c.blocks != natural_blocks) parts.push_back(c.blocks);
        CAPTURE(bytes, parts);
        CHECK(parts.empty() == (bytes < 1u << 18));
        for (const block_t n : parts) CHECK((bytes / n >= 1u << 17 && n <= 128));
    }
}

TEST_CASE("standard: there is always one that keeps rank order", "[select][standard]") {
    const model::alpha_beta_gamma network{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    for (rank_t p = 1; p <= 20; ++p)
        for (const std::uint64_t bytes : {0u, 8u, 65536u})
            for_each_standard_goal([&]<class Goal>(Goal) {
                if constexpr (Goal::combines) {
                    const dimensions at{.size = p, .root = p / 2};
                    const problem what{.bytes = bytes};
                    INFO("kind " << int{Goal::kind} << ", " << p << " ranks, " << bytes << " bytes");
                    const bool found{choose(standard_candidates<Goal>(at, what), at, what, network,
                                            {.needed = order_preserving | any_size})};
                    CHECK(found);
                }
            });
}

TEST_CASE("standard: census is there for exact ops, and wins where a message costs most", "[select][standard]") {
    const model::alpha_beta_gamma network{.alpha_ns = 1000};
    const dimensions at{.size = 13};
    problem what{.bytes = 8};
    const decision rounded = choose(standard_candidates<goal::allreduce>(at, what), at, what, network);
    what.exact_op = true;
    const decision exact = choose(standard_candidates<goal::allreduce>(at, what), at, what, network);
    CHECK(exact.winner().what.algorithm.get<census>() != nullptr);
    CHECK(exact.winner().predicted_ns < rounded.winner().predicted_ns);
}

TEST_CASE("standard: a pipeline in rank order is a candidate where rank order is needed, and wins for long vectors") {
    const model::alpha_beta_gamma m{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    const auto dual_root = [](const candidate_list& list) {
        std::size_t count = 0;
        for (const candidate& c : list.list) count += c.algorithm.get<dual_root_allreduce>() != nullptr;
        return count;
    };
    const auto winner = [&](rank_t p, std::uint64_t bytes) {
        const auto from = standard_candidates<goal::allreduce>({.size = p}, {.bytes = bytes}, order_preserving);
        return choose(from, {.size = p}, {.bytes = bytes}, m, {.needed = order_preserving}).winner().what.algorithm;
    };
    CHECK(dual_root(standard_candidates<goal::allreduce>({.size = 7}, {.bytes = 1 << 24})) == 0);
    CHECK(dual_root(standard_candidates<goal::allreduce>({.size = 7}, {.bytes = 1 << 24}, order_preserving)) != 0);
    CHECK(dual_root(standard_candidates<goal::allreduce>({.size = 2}, {.bytes = 1 << 24}, order_preserving)) == 0);
    CHECK(dual_root(standard_candidates<goal::allreduce>({.size = 7}, {.bytes = 512}, order_preserving)) == 0);
    for (const rank_t p : {7u, 13u, 31u}) {
        CHECK(winner(p, 1 << 24) == any_algorithm(dual_root_allreduce{.arity = 1}));
        CHECK(winner(p, 1 << 14).get<dual_root_allreduce>() == nullptr);
    }
    CHECK(winner(16, 1 << 24).get<dual_root_allreduce>() == nullptr); // halving and doubling keep rank order, too
}
