// SPDX-License-Identifier: BSL-1.0
// A lower bound of a broadcast's time, from the number of sends that there can be: the earliest
// time S(k) at which the k-th send can end, in any tree. It is found by induction over k.
//
// Before a time T the root ends a certain number of sends. A rank that got the message with the
// i-th send, at time S(i) at the earliest, ends at most (T - S(i) - what its receive takes) / (its
// cost) sends, rounded down. Only the first k - 1 receivers can have ended one of the first k
// sends. So if no assignment of ranks to the places 1 to k - 1 yields k sends before T, then S(k)
// >= T. Every place counts as if it were as early as possible. No tree has all of them so early, so
// this is a bound. If cheaper bounds do not decide, the best assignment is found exactly, as far as
// `steps` allows. Times of integers are exact; with floating-point costs S(k) is found to 2^-24 of
// the interval in question.
//
// Time: k assignments of at most k places each, O(k^3) an assignment; memory O(k^2).
// Source: bough.
#ifndef BOUGH_TREE_DETAIL_DELIVERY_TIMES_HPP
#define BOUGH_TREE_DETAIL_DELIVERY_TIMES_HPP

#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/detail/assignment.hpp>
#include <bough/tree/detail/earliest_sender.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Time>
class delivery_times {
public:
    // `order`: all ranks but the root, fastest first.
    constexpr delivery_times(const node_times<Time>& times, rank_t root, std::span<const rank_t> order,
                             std::uint64_t steps)
        : times_(times), root_(root), root_send_(times.send[root]), order_(order), steps_(steps) {
        for (const rank_t r : order_) {
            least_send_ = least_send_ < times.send[r] ? least_send_ : times.send[r];
            least_arrive_ = least_arrive_ < times.arrive[r] ? least_arrive_ : times.arrive[r];
        }
    }

    // No broadcast ends before that.
    constexpr Time bound() {
        if (order_.empty()) return {};
        find();
        // The last sends meet the ranks that are ready the soonest.
        std::vector<Time> arrive;
        for (const rank_t r : order_) arrive.push_back(times_.arrive[r]);
        std::sort(arrive.begin(), arrive.end());
        Time last{};
        for (std::size_t k = 0; k != earliest_.size(); ++k) {
            const Time ready = earliest_[k] + arrive[arrive.size() - 1 - k];
            if (last < ready) last = ready;
        }
        return last;
    }

    // Pre: bound(). [k]: no tree ends its (k + 1)-th send before.
    constexpr const std::vector<Time>& earliest() const noexcept { return earliest_; }

private:
    constexpr void find() {
        // The search need not go beyond what a tree achieves.
        std::vector<Time> upper;
        sender_queue<Time> queue;
        deliver(times_, root_, order_, queue, static_cast<const Time*>(nullptr),
                [&](rank_t, rank_t) { upper.push_back(queue.first().done); });
        earliest_.clear();
        for (std::size_t k = 1; k <= order_.size(); ++k) {
            Time low = k == 1 ? Time{} : earliest_.back(); // not before that
            Time high = upper[k - 1];                      // but by then
            if (!possible(k, high)) low = high;
            while (low < high) {
                const Time middle = between(low, high);
                if (!(low < middle) || !(middle < high)) break;
                if (possible(k, middle))
                    high = middle;
                else
                    low = middle;
            }
            earliest_.push_back(low);
        }
    }
    static constexpr Time between(Time low, Time high) {
        if constexpr (std::floating_point<Time>)
            return high - low <= high * 0x1p-24 ? low : low + (high - low) / 2;
        else
            return low + (high - low) / 2;
    }

    constexpr std::uint32_t sends_of(std::size_t place, std::size_t rank, Time end, std::uint32_t most) const {
        const rank_t r = order_[rank];
        return sends_before(end, earliest_[place] + times_.arrive[r], times_.send[r], most);
    }
    // May k sends end before `end`?
    constexpr bool possible(std::size_t k, Time end) {
        const auto wanted = static_cast<std::uint32_t>(k);
        const std::uint32_t of_root = sends_before(end, Time{}, root_send_, wanted);
        if (of_root >= wanted) return true;
        std::uint32_t needed = wanted - of_root;
        // The places from which some rank could end a send, and how many sends at most.
        std::size_t places = 0;
        std::uint64_t at_most = 0;
        while (places + 1 < k) {
            const std::uint32_t count = sends_before(end, earliest_[places] + least_arrive_, least_send_, needed);
            if (count == 0) break;
            at_most += count;
            ++places;
        }
        if (at_most < needed) return false;
        // The fastest rank first: if that is enough, no assignment need be looked for.
        std::uint64_t in_order = 0;
        for (std::size_t i = 0; i != places; ++i) in_order += sends_of(i, i, end, needed);
        if (in_order >= needed) return true;
        // With send costs alone, a faster rank in the place of a slower one never ends less.
        const std::size_t ranks = times_.sends_only ? places : order_.size();
        const std::uint64_t work = std::uint64_t{places} * places * ranks;
        if (work > steps_) return true; // not known, so assume that they can
        steps_ -= work;
        weight_.assign(places * ranks, 0);
        for (std::size_t i = 0; i != places; ++i)
            for (std::size_t j = 0; j != ranks; ++j) weight_[i * ranks + j] = sends_of(i, j, end, needed);
        return most_assigned(weight_, places, ranks) >= needed;
    }
    const node_times<Time>& times_;
    rank_t root_;
    Time root_send_;
    std::span<const rank_t> order_;
    std::uint64_t steps_;
    Time least_send_ = std::numeric_limits<Time>::max(), least_arrive_ = std::numeric_limits<Time>::max();
    std::vector<std::int64_t> weight_;
    std::vector<Time> earliest_;
};

} // namespace bough::detail

#endif
