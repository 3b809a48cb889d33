// SPDX-License-Identifier: BSL-1.0
// optimal_tree: finds an optimal broadcast tree, or the best that it can, and says how far from
// optimal that can be.
//
//   auto best = optimal_tree(std::span(send_cost_ns), root);
//   best.tree                           a table
//   best.certificate.proven()           true: it is optimal
//   best.certificate.gap()              otherwise: at most this much above the optimum, as a
//                                       fraction
//
// There are three ways, as the effort allows; what they prove is exact:
//   few classes of equal ranks, or few ranks    dynamic programming, with send costs alone or with
//                                               receive costs
//   more, with send costs alone                 fnf_search_tree, then branch and bound from there
//   all others                                  fnf_search_tree and lower bounds: from the earliest
//                                               times of deliveries
//                                               (bough/tree/detail/delivery_times.hpp), and from
//                                               ranks made faster
// The dynamic programming takes twice the product of (m+1)(m+2)/2 over classes of m ranks: 2 *
// 3^(n-1) steps for n distinct ranks. With receive costs it takes that times the number of classes
// plus one. `certify` gives the certificate of any other tree. The problem is NP-hard (Khuller, Kim
// 2007).
// Ties are broken by rank, so the tree is the same on all ranks and machines, as long as the costs
// are. Floating costs are added as doubles in the order of time: optimal up to rounding.
// Source: Banikazemi, Moorthy, Panda, "Efficient Collective Communication on Heterogeneous Networks
// of Workstations", ICPP 1998, section 5; and see bough/tree/detail/class_table.hpp.
#ifndef BOUGH_TREE_OPTIMAL_HPP
#define BOUGH_TREE_OPTIMAL_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/detail/class_table.hpp>
#include <bough/tree/detail/lower_bound.hpp>
#include <bough/tree/detail/order_search.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What is known of a tree's broadcast time: the tree takes `found`, and no tree takes less than
// `lower_bound`.
template <class Time>
struct certificate {
    Time lower_bound{};
    Time found{};

    constexpr bool proven() const noexcept { return !(lower_bound < found); }
    // (found - optimum) / optimum is at most this.
    constexpr double gap() const noexcept {
        if (proven()) return 0;
        return static_cast<double>(found - lower_bound) / static_cast<double>(lower_bound);
    }
    friend constexpr bool operator==(const certificate&, const certificate&) = default;
};

// A tree, and what is known about how good it is.
template <class Time>
struct certified_tree {
    table tree;
    bough::certificate<Time> certificate{};
};

// About how many comparisons to spend. The default takes about a second.
struct optimal_effort {
    std::uint64_t steps = 1'000'000'000;
    friend constexpr bool operator==(const optimal_effort&, const optimal_effort&) = default;
};

namespace detail {

// Branch and bound is not tried with more ranks than this, since its recursion is as deep as there
// are ranks.
inline constexpr std::size_t most_ranks_searched = 1024;

template <class Time>
constexpr certified_tree<Time> search_optimal_tree(const node_times<Time>& times, rank_t root,
                                                   const optimal_effort& effort) {
    std::vector<rank_t> order = fastest_first(times, root);
    const auto classes = classes_of(times, std::span<const rank_t>(order));
    if (class_table<Time>::work(classes, times.sends_only) <= effort.steps &&
        class_table<Time>::memory(classes, times.sends_only) <= most_table_entries) {
        class_table<Time> exact(classes, times.send[root], times.sends_only);
        exact.fill();
        table tree(times.size(), root, exact.edges(root));
        const Time found = detail::node_broadcast_time(tree, times);
        return {std::move(tree), {found, found}};
    }
    std::vector<Time> earliest;
    Time bound = detail::lower_bound(times, root, std::span<const rank_t>(order), effort.steps / 16, &earliest);
    Time found = improve_order(times, root, order, effort.steps / 50);
    if (times.sends_only && order.size() <= most_ranks_searched) {
        using search = order_search<Time>;
        search branches(classes, times.send[root], std::move(earliest), effort.steps / 4);
        sender_queue<Time> queue;
        while (bound < found) {
            const auto outcome = branches.before(found);
            if (outcome == search::outcome::none) bound = found;
            if (outcome != search::outcome::found) break;
            order = branches.order();
            found = deliver(times, root, std::span<const rank_t>(order), queue, static_cast<const Time*>(nullptr),
                            [](rank_t, rank_t) {});
        }
    }
    return {delivered(times, root, std::span<const rank_t>(order)), {std::min(bound, found), found}};
}

} // namespace detail

template <CostNumber C>
constexpr certified_tree<time_of<C>> optimal_tree(const tree_costs<C>& costs, rank_t root = 0,
                                                  const optimal_effort& effort = {}) {
    const detail::node_times<time_of<C>> times(costs);
    BOUGH_EXPECTS(root < times.size(), "root: the root of a tree must be one of its ranks, so below size");
    return detail::search_optimal_tree(times, root, effort);
}
template <class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr auto optimal_tree(std::span<C, Extent> send, rank_t root = 0, const optimal_effort& effort = {}) {
    return bough::optimal_tree(tree_costs<std::remove_const_t<C>>{.send = send}, root, effort);
}

// How good is this tree? Pre: a tree. The bound takes up to about `effort`, and is the optimum
// where that suffices for the dynamic programming.
template <Tree T, CostNumber C>
constexpr certificate<time_of<C>> certify(const T& tree, const tree_costs<C>& costs,
                                          const optimal_effort& effort = {}) {
    using time = time_of<C>;
    const detail::node_times<time> times(costs);
    const time found = detail::node_broadcast_time(tree, times);
    const std::vector<rank_t> order = detail::fastest_first(times, tree.root());
    const auto classes = detail::classes_of(times, std::span<const rank_t>(order));
    if (detail::class_table<time>::work(classes, times.sends_only) <= effort.steps &&
        detail::class_table<time>::memory(classes, times.sends_only) <= detail::most_table_entries)
        return {detail::class_table<time>(classes, times.send[tree.root()], times.sends_only).fill(), found};
    return {detail::lower_bound(times, tree.root(), std::span<const rank_t>(order), effort.steps / 16), found};
}
template <Tree T, class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr auto certify(const T& tree, std::span<C, Extent> send, const optimal_effort& effort = {}) {
    return certify(tree, tree_costs<std::remove_const_t<C>>{.send = send}, effort);
}

} // namespace bough

#endif
