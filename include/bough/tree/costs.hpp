// SPDX-License-Identifier: BSL-1.0
// tree_costs: what sending and receiving costs each rank; and broadcast_time: how long a broadcast
// over a tree then takes.
//
// A rank that has the message sends it to its children one after the other; each send takes the
// rank's `send`. The message is there `latency` later. The child is busy for its `receive`, and can
// then send at once. A broadcast has ended when the last rank has the message. With send costs
// alone this is the model of Banikazemi et al. 1998 (t_ini), with all three costs that of
// Banikazemi et al. 1999. Sums of integers are exact (64 bits); floating-point numbers are added as
// doubles, in the order of time.
//
// Costs are plain numbers, not negative, in any one unit. A multicast is a broadcast to fewer: give
// the costs of the participants, and number them as they stand. A reduction takes the same time
// backwards: `send` is then what a rank needs to take in and combine one message of a child, and
// `receive` what it needs to send its own result up.
#ifndef BOUGH_TREE_COSTS_HPP
#define BOUGH_TREE_COSTS_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

// A number for times: an integer (not bool) or a floating-point number.
template <class C>
concept CostNumber = (std::integral<C> || std::floating_point<C>)&&!std::same_as<C, bool>;

template <CostNumber C>
struct tree_costs {
    std::span<const C> send{};    // by rank
    std::span<const C> receive{}; // by rank; empty: receiving costs nothing
    C latency{};
};

// Times are sums of costs.
template <CostNumber C>
using time_of = std::conditional_t<std::floating_point<C>, double, std::int64_t>;

namespace detail {

// The costs as times, checked.
template <class Time>
struct node_times {
    std::vector<Time> send;
    std::vector<Time> arrive; // latency and receive cost: from the end of a send until the child is ready
    bool sends_only = true;   // is all of `arrive` zero?

    template <CostNumber C>
    constexpr explicit node_times(const tree_costs<C>& given) {
        BOUGH_EXPECTS(given.receive.empty() || given.receive.size() == given.send.size(),
                      "costs: as many receive costs as send costs, or none");
        BOUGH_EXPECTS(given.send.size() < no_rank, "costs: too many ranks");
        BOUGH_EXPECTS(given.latency >= C{}, "costs: the latency must not be negative");
        send.reserve(given.send.size());
        arrive.reserve(given.send.size());
        for (std::size_t i = 0; i != given.send.size(); ++i) {
            BOUGH_EXPECTS(given.send[i] >= C{}, "costs: a send cost must not be negative");
            const C receive = given.receive.empty() ? C{} : given.receive[i];
            BOUGH_EXPECTS(receive >= C{}, "costs: a receive cost must not be negative");
            send.push_back(static_cast<Time>(given.send[i]));
            arrive.push_back(static_cast<Time>(given.latency) + static_cast<Time>(receive));
            sends_only = sends_only && !(arrive.back() > Time{});
        }
    }
    constexpr rank_t size() const noexcept { return static_cast<rank_t>(send.size()); }
};

template <class Time, Tree T>
constexpr Time node_broadcast_time(const T& tree, const node_times<Time>& times) {
    BOUGH_EXPECTS(tree.size() == times.size(), "costs: one for each rank of the tree");
    Time last{};
    std::vector<rank_t> ranks{tree.root()};
    std::vector<Time> ready{Time{}};
    for (std::size_t i = 0; i != ranks.size(); ++i) {
        Time sent = ready[i];
        const rank_t children = tree.child_count(ranks[i]);
        for (rank_t c = 0; c != children; ++c) {
            const rank_t child = tree.child(ranks[i], c);
            sent += times.send[ranks[i]];
            ranks.push_back(child);
            ready.push_back(sent + times.arrive[child]);
            if (last < ready.back()) last = ready.back();
        }
    }
    return last;
}

} // namespace detail

// When the last rank has the message. Pre: a tree (see table::check). Time and memory O(size).
template <Tree T, CostNumber C>
constexpr time_of<C> broadcast_time(const T& tree, const tree_costs<C>& costs) {
    return detail::node_broadcast_time(tree, detail::node_times<time_of<C>>(costs));
}
template <Tree T, class C, std::size_t Extent>
requires CostNumber<std::remove_const_t<C>>
constexpr auto broadcast_time(const T& tree, std::span<C, Extent> send) {
    return broadcast_time(tree, tree_costs<std::remove_const_t<C>>{.send = send});
}

} // namespace bough

#endif
