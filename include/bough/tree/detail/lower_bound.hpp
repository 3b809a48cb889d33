// SPDX-License-Identifier: BSL-1.0
// Lower bounds of a broadcast's time: the ranks are made faster until the optimum is easy to find.
#ifndef BOUGH_TREE_DETAIL_LOWER_BOUND_HPP
#define BOUGH_TREE_DETAIL_LOWER_BOUND_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/detail/class_table.hpp>
#include <bough/tree/detail/delivery_times.hpp>
#include <bough/tree/detail/earliest_sender.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// How many numbers a class_table may store.
inline constexpr std::uint64_t most_table_entries = std::uint64_t{1} << 25;

// All receivers as fast as the fastest sender and the fastest receiver among them: any order is
// optimal then.
template <class Time>
constexpr Time bound_by_fastest(node_times<Time> times, rank_t root, std::span<const rank_t> order) {
    if (order.empty()) return {};
    Time send = times.send[order[0]], arrive = times.arrive[order[0]];
    for (const rank_t r : order) {
        send = std::min(send, times.send[r]);
        arrive = std::min(arrive, times.arrive[r]);
    }
    for (const rank_t r : order) {
        times.send[r] = send;
        times.arrive[r] = arrive;
    }
    sender_queue<Time> queue;
    return deliver(times, root, order, queue, static_cast<const Time*>(nullptr), [](rank_t, rank_t) {});
}

// Cuts the order, fastest first, into `count` groups whose sizes grow by `growth` per cent, and
// makes each group one class, as fast as its fastest.
template <class Time>
constexpr std::vector<rank_class<Time>> coarse_classes(const node_times<Time>& times, std::span<const rank_t> order,
                                                       std::size_t count, unsigned growth) {
    std::vector<std::size_t> weights;
    std::size_t total = 0;
    for (std::size_t g = 0, weight = 100; g != count; ++g, weight = weight * (100 + growth) / 100) {
        weights.push_back(weight);
        total += weight;
    }
    std::vector<rank_class<Time>> classes;
    std::size_t first = 0, seen = 0;
    for (std::size_t g = 0; g != count; ++g) {
        seen += weights[g];
        const std::size_t last = std::max(first, g + 1 == count ? order.size() : order.size() * seen / total);
        if (first == last) continue;
        rank_class<Time> made{times.send[order[first]], times.arrive[order[first]], {}};
        for (; first != last; ++first) {
            made.arrive = std::min(made.arrive, times.arrive[order[first]]);
            made.ranks.push_back(order[first]);
        }
        // Neighbours may have become alike.
        if (!classes.empty() && !(classes.back().send != made.send) && !(classes.back().arrive != made.arrive))
            classes.back().ranks.insert(classes.back().ranks.end(), made.ranks.begin(), made.ranks.end());
        else
            classes.push_back(made);
    }
    return classes;
}

// The best bound: of several such cuts, whose tables take up to `steps` each, and of the times of
// deliveries. With send costs alone there is one bound more: fnf_tree takes at most 1.5 times the
// optimum (Khuller, Kim 2007). `order` has the fastest first. `earliest`, if given, receives the
// times of delivery_times.
template <class Time>
constexpr Time lower_bound(const node_times<Time>& times, rank_t root, std::span<const rank_t> order,
                           std::uint64_t steps, std::vector<Time>* earliest = nullptr) {
    Time best = bound_by_fastest(times, root, order);
    if (times.sends_only) {
        sender_queue<Time> queue;
        const Time fnf = deliver(times, root, order, queue, static_cast<const Time*>(nullptr), [](rank_t, rank_t) {});
        best = std::max(best, fnf - fnf / 3);
    }
    delivery_times<Time> deliveries(times, root, order, steps);
    best = std::max(best, deliveries.bound());
    if (earliest != nullptr) *earliest = deliveries.earliest();
    for (const unsigned growth : {0u, 100u, 200u}) {
        for (std::size_t count = 8; count != 1; --count) {
            const auto classes = coarse_classes(times, order, count, growth);
            if (class_table<Time>::work(classes, times.sends_only) > steps ||
                class_table<Time>::memory(classes, times.sends_only) > most_table_entries)
                continue;
            best = std::max(best, class_table<Time>(classes, times.send[root], times.sends_only).fill());
            break;
        }
    }
    return best;
}

} // namespace bough::detail

#endif
