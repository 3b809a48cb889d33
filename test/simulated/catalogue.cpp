// SPDX-License-Identifier: BSL-1.0
#include "simulated/catalogue.hpp"

#include "support/plans.hpp"
#include <bough/engine/bound.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace test {

namespace {

using bough::tree_edge;

struct grower {
    random_bits& random;
    std::vector<tree_edge> edges;

    // Hangs the ranks [first, last) below `root`, which is one of them.
    void grow(rank_t first, rank_t last, rank_t root) {
        rank_t left = root, right = root + 1; // what is joined already
        std::vector<tree_edge> children;      // in the order in which the root receives them
        while (left != first || right != last) {
            const bool go_left = right == last || (left != first && random.below(2) == 0);
            const auto length = static_cast<rank_t>(1 + random.below(go_left ? left - first : last - right));
            const rank_t begin = go_left ? left - length : right;
            const auto child = static_cast<rank_t>(begin + random.below(length));
            children.push_back({root, child});
            grow(begin, begin + length, child);
            (go_left ? left : right) = go_left ? begin : begin + length;
        }
        edges.insert(edges.end(), children.rbegin(), children.rend());
    }
};

template <class P>
void add(std::vector<bound_plan>& plans, const char* name, collective kind, bool keeps_order, const P& plan) {
    bound_plan made;
    made.name = name;
    made.kind = kind;
    made.root = plan.root();
    made.keeps_order = keeps_order;
    for (auto& copy : made.work)
        for (rank_t r = 0; r != plan.size(); ++r)
            copy.push_back(std::make_unique<bough::prepared>(bough::bind_plan(plan, r)));
    plans.push_back(std::move(made));
}

std::vector<bound_plan> make_plans(rank_t size) {
    std::vector<bound_plan> plans;
    random_bits random(size);
    const auto of_source = [&](const char* name, const auto& source, bough::dimensions at, bool keeps_order) {
        add(plans, name, collective::allreduce, keeps_order, bough::plan_allreduce(source, at));
        add(plans, name, collective::reduce, keeps_order, bough::plan_reduce(source, at));
        add(plans, name, collective::broadcast, true, bough::plan_broadcast(source, at));
    };
    for (const bough::block_t blocks : {1u, 3u})
        for (const rank_t root : {rank_t{0}, static_cast<rank_t>(size - 1)}) {
            const bough::dimensions at{.size = size, .root = root, .blocks = blocks};
            if (blocks == 1 || root == 0)
                for_each_source(
                    at, [&](const char* name, const auto& source, bool keeps) { of_source(name, source, at, keeps); });
        }
    for (int i = 0; i != 12; ++i) {
        const bool keeps_order = i % 3 != 0;
        const bough::dimensions at{
            .size = size, .root = static_cast<rank_t>(random.below(size)), .blocks = i % 4 == 3 ? 5u : 1u};
        of_source("random tree", random_tree(size, at.root, keeps_order, random), at, keeps_order);
    }
    for (int copies = 0; copies != 8; ++copies) // no rarer than trees
        add(plans, "recursive doubling", collective::allreduce, true,
            bough::plan_allreduce(bough::recursive_doubling{}, {.size = size, .blocks = copies % 2 == 0 ? 1u : 2u}));
    for (int copies = 0; copies != 4; ++copies)
        add(plans, "dissemination", collective::barrier, true,
            bough::plan_barrier(bough::dissemination{}, {.size = size}));
    // The other collectives work on whole vectors in every memory, their blocks in their places.
    const auto of_goal = [&]<class Goal>(Goal, collective kind) {
        const auto keep = [&](const char* name, const auto& plan) {
            add(plans, name, kind, !Goal::combines || keeps_rank_order(plan.algorithm(), plan.at()), plan);
        };
        // Those that cut the block of each rank have two pieces instead of many: a rank dies at each of
        // their events.
        constexpr bool may_cut =
            Goal::kind == bough::goal::reduce_scatter::kind || Goal::kind == bough::goal::allgather::kind;
        for_each_plan_of<Goal>({.size = size}, [&](const char* name, const auto& plan) {
            if (!may_cut || plan.blocks() == size) keep(name, plan);
        });
        if constexpr (may_cut) for_each_plan_of<Goal>({.size = size, .blocks = 2 * size}, keep);
    };
    of_goal(bough::goal::scan{}, collective::scan);
    of_goal(bough::goal::exscan{}, collective::exscan);
    of_goal(bough::goal::reduce_scatter{}, collective::reduce_scatter);
    of_goal(bough::goal::allgather{}, collective::allgather);
    const auto of_family = [&](const char* name, const auto& family) {
        add(plans, name, collective::allreduce, false, bough::plan_allreduce(family, {.size = size}));
    };
    of_family("halving doubling", bough::halving_doubling{});
    of_family("binary blocks", bough::binary_blocks{});
    of_family("per level", bough::per_level{});
    of_family("double tree", bough::double_tree{});
    of_family("circulant", bough::circulant{});
    of_family("lowest bit first", bough::lowest_bit_first{});
    of_family("ring", bough::ring{});
    of_family("census", bough::inexact_census{});
    return plans;
}

} // namespace

bough::table random_tree(rank_t size, rank_t root, bool keeps_order, random_bits& random) {
    grower tree{random, {}};
    if (keeps_order) {
        tree.grow(0, size, root);
    } else {
        std::vector<rank_t> order(size), joined{root};
        for (rank_t r = 0; r != size; ++r) order[r] = r;
        for (rank_t i = size; i > 1; --i) std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(i))]);
        for (const rank_t r : order) {
            if (r == root) continue;
            tree.edges.push_back({joined[static_cast<std::size_t>(random.below(joined.size()))], r});
            joined.push_back(r);
        }
    }
    return {size, root, tree.edges};
}

const std::vector<bound_plan>& plans_of(rank_t size) {
    static std::map<rank_t, std::vector<bound_plan>> made;
    const auto found = made.find(size);
    return found != made.end() ? found->second : made.emplace(size, make_plans(size)).first->second;
}

std::unique_ptr<bough::prepared> survivors_allreduce(const std::vector<rank_t>& members, rank_t me) {
    const auto size = static_cast<rank_t>(members.size());
    return std::make_unique<bough::prepared>(
        bough::bind_plan(bough::plan_allreduce(bough::recursive_doubling{}, {.size = size}), me, members));
}

} // namespace test
