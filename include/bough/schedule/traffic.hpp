// SPDX-License-Identifier: BSL-1.0
// Traffic: how much of what a plan sends stays within groups of ranks (nodes, racks), and how much
// crosses their borders.
//
//   const auto node = [](rank_t r) { return r / 16; };
//   traffic(plan_reduce_scatter(circulant{}, {.size = 1024}), node).across.blocks
// Blocks are the plan's: if it cuts the vector into p blocks, p blocks are one vector.
#ifndef BOUGH_SCHEDULE_TRAFFIC_HPP
#define BOUGH_SCHEDULE_TRAFFIC_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

struct group_traffic {
    struct amount {
        std::uint64_t messages = 0;
        std::uint64_t blocks = 0;
        friend constexpr bool operator==(const amount&, const amount&) = default;
    };
    amount within; // sent to ranks of the same group
    amount across; // sent to ranks of other groups
    friend constexpr bool operator==(const group_traffic&, const group_traffic&) = default;
};

namespace detail {

template <class GroupOf>
class traffic_sink {
public:
    constexpr traffic_sink(group_traffic& sum, const GroupOf& group_of, rank_t rank)
        : sum_(sum), group_of_(group_of), rank_(rank) {}
    constexpr void send_part(rank_t to, slice from) { amount(to).blocks += from.count; }
    constexpr void send(rank_t to, slice from) {
        send_part(to, from);
        ++amount(to).messages;
    }
    constexpr void receive_part(rank_t, slice) {}
    constexpr void receive(rank_t, slice) {}
    constexpr void combine(slice, slice, slice) {}
    constexpr void copy(slice, slice) {}

private:
    constexpr group_traffic::amount& amount(rank_t to) const {
        return group_of_(rank_) == group_of_(to) ? sum_.within : sum_.across;
    }
    group_traffic& sum_;
    const GroupOf& group_of_;
    rank_t rank_;
};

} // namespace detail

// Counts what all ranks send. `group_of(rank)` is a value that is equal for ranks of one group.
template <Plan P, class GroupOf>
requires requires(const GroupOf& group_of, rank_t r) {
    { group_of(r) } -> std::equality_comparable;
}
constexpr group_traffic traffic(const P& plan, const GroupOf& group_of) {
    group_traffic sum;
    for (rank_t r = 0; r != plan.size(); ++r) plan.emit(r, detail::traffic_sink<GroupOf>(sum, group_of, r));
    return sum;
}

} // namespace bough

#endif
