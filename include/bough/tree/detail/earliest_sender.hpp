// SPDX-License-Identifier: BSL-1.0
// deliver: gives the message to ranks in a given order, each from the sender that is done first.
//
// By lemma 1 of Banikazemi et al. 1998, this makes an optimal tree if the order is right. So a
// builder only has to choose an order.
#ifndef BOUGH_TREE_DETAIL_EARLIEST_SENDER_HPP
#define BOUGH_TREE_DETAIL_EARLIEST_SENDER_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/table.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A queue of senders, by the end of their next send; among equals, the one that got the message
// first is first.
template <class Time>
class sender_queue {
public:
    struct sender {
        Time done;
        std::uint32_t who;
    };
    constexpr void clear() noexcept { heap_.clear(); }
    constexpr void reserve(std::size_t count) { heap_.reserve(count); }
    constexpr const sender& first() const noexcept { return heap_.front(); }
    // The first sender sends once more.
    constexpr void postpone(Time done) noexcept {
        const sender moved{done, heap_.front().who};
        std::size_t at = 0;
        for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
            if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
            if (!before(heap_[child], moved)) break;
            heap_[at] = heap_[child];
            at = child;
        }
        heap_[at] = moved;
    }
    constexpr void push(Time done, std::uint32_t who) {
        heap_.push_back({done, who});
        std::size_t at = heap_.size() - 1;
        for (; at != 0 && before({done, who}, heap_[(at - 1) / 2]); at = (at - 1) / 2) heap_[at] = heap_[(at - 1) / 2];
        heap_[at] = {done, who};
    }

private:
    static constexpr bool before(const sender& a, const sender& b) noexcept {
        return a.done < b.done || (!(b.done < a.done) && a.who < b.who);
    }
    std::vector<sender> heap_;
};

// Calls each(parent, child) in the order of time of sending; returns when the last rank has the
// message. Stops early, with a time not below `enough`, when that time is reached.
template <class Time, class F>
constexpr Time deliver(const node_times<Time>& times, rank_t root, std::span<const rank_t> order,
                       sender_queue<Time>& queue, const Time* enough, F&& each) {
    queue.clear();
    queue.push(times.send[root], 0);
    Time last{};
    for (std::uint32_t i = 0; i != order.size(); ++i) {
        const auto [done, who] = queue.first();
        const rank_t parent = who == 0 ? root : order[who - 1];
        const rank_t child = order[i];
        const Time ready = done + times.arrive[child];
        each(parent, child);
        if (last < ready) last = ready;
        if (enough != nullptr && !(last < *enough)) return last;
        queue.postpone(done + times.send[parent]);
        queue.push(ready + times.send[child], i + 1);
    }
    return last;
}

template <class Time>
constexpr table delivered(const node_times<Time>& times, rank_t root, std::span<const rank_t> order) {
    std::vector<tree_edge> edges;
    edges.reserve(order.size());
    sender_queue<Time> queue;
    queue.reserve(order.size() + 1);
    deliver(times, root, order, queue, static_cast<const Time*>(nullptr), [&](rank_t parent, rank_t child) {
        edges.push_back({parent, child});
    });
    return table(times.size(), root, edges);
}

} // namespace bough::detail

#endif
