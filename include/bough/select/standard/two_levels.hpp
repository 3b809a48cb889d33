// SPDX-License-Identifier: BSL-1.0
// The candidates of two levels: one leader for each group while vectors are short, and where groups
// differ in size; lanes through all ranks of a group for long vectors. The levels take the forms
// that the standard candidates of flat groups take. For alltoall: few messages between groups, whatever
// the groups' sizes.
//
//   make_two_levels(listed_groups{{0, 0, 0, 1, 1, 1}}, near, far)
//
// Only transports that know groups include this header, so other programs compile none of it.
#ifndef BOUGH_SELECT_STANDARD_TWO_LEVELS_HPP
#define BOUGH_SELECT_STANDARD_TWO_LEVELS_HPP

#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/alltoall/grouped.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/groups.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/concepts/cost_model.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/two_level.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/standard/alltoall.hpp>
#include <bough/select/two_levels.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class Goal>
struct two_level_set {
    const listed_groups& groups;
    candidate_list& made;

    template <class Inner, class Outer>
    void add_leaders(const Inner& inner, const Outer& outer) {
        made.add(bough::leaders<Goal, Inner, Outer, listed_groups>{inner, outer, groups});
    }
    template <class Inner, class Outer>
    void add_lanes(const Inner& inner, const Outer& outer) {
        made.add(bough::lanes<Goal, Inner, Outer, listed_groups>{inner, outer, groups});
    }
};

template <class Goal>
void add_two_levels(const listed_groups& groups, candidate_list& made, const dimensions& at, const problem& what) {
    two_level_set<Goal> set{groups, made};
    rank_t most = 0, least = no_rank;
    const rank_t count = groups.groups(at.size);
    for (rank_t k = 0; k != count; ++k) {
        most = std::max(most, groups.members(at.size, k));
        least = std::min(least, groups.members(at.size, k));
    }
    const bool is_long = what.bytes / at.size != 0; // every block has some bytes
    constexpr bool by_rank = std::same_as<Goal, goal::reduce_scatter> || std::same_as<Goal, goal::allgather>;
    if constexpr (!by_rank)
        for (const rank_t degree : {2u, 4u, 0u}) { // in the groups; 0: flat
            if (degree >= most) continue;
            const fnomial inner{degree == 0 ? std::max(most, rank_t{2}) : degree};
            if constexpr (std::same_as<Goal, goal::allreduce>) {
                set.add_leaders(inner, recursive_doubling{});
                set.add_leaders(inner, fnomial{count}); // flat across
                if (is_long) set.add_leaders(inner, circulant{});
            } else {
                set.add_leaders(inner, fnomial{2});
                if (count > 3) set.add_leaders(inner, fnomial{count});
            }
        }
    if (most != least || !is_long) return;
    if constexpr (std::same_as<Goal, goal::allreduce>) {
        set.add_lanes(circulant{}, recursive_doubling{});
        set.add_lanes(circulant{}, circulant{});
    } else if constexpr (by_rank) {
        set.add_lanes(circulant{}, circulant{});
    } else {
        set.add_lanes(circulant{}, fnomial{2});
    }
}

// One message between each two groups, or several, up to one for each rank that gets something.
template <int = 0>
void add_grouped_alltoall(const listed_groups& groups, candidate_list& made, const dimensions& at,
                          const problem& what) {
    if (what.bytes / at.size >= standard_set<goal::alltoall>::most_row_bytes) return;
    rank_t most = 0;
    for (rank_t k = 0; k != groups.groups(at.size); ++k) most = std::max(most, groups.members(at.size, k));
    for (rank_t lanes = 1; lanes < most; lanes *= 2) made.add(grouped_alltoall<listed_groups>{groups, lanes});
    made.add(grouped_alltoall<listed_groups>{groups, most});
}

// The groups of some of the ranks, which are numbered in the order given.
inline listed_groups groups_among(const listed_groups& all, std::span<const rank_t> members) {
    const std::vector<rank_t>& group_of = all.group_of_rank();
    std::vector<rank_t> number(group_of.size(), no_rank), among;
    rank_t next = 0;
    among.reserve(members.size());
    for (const rank_t r : members) {
        rank_t& mine = number[group_of[r]];
        if (mine == no_rank) mine = next++;
        among.push_back(mine);
    }
    return listed_groups(std::move(among));
}

// A model that lies elsewhere, and outlives this.
template <CostModel M>
struct model_elsewhere {
    static constexpr bool homogeneous = is_homogeneous_v<M>;
    const M* model;

    double start_ns() const noexcept { return model->start_ns(); }
    double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return model->send_ns(from, to, bytes);
    }
    double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return model->latency_ns(from, to, bytes);
    }
    double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return model->receive_ns(from, to, bytes);
    }
    double combine_ns(rank_t rank, std::uint64_t bytes) const noexcept { return model->combine_ns(rank, bytes); }
    double copy_ns(rank_t rank, std::uint64_t bytes) const noexcept { return model->copy_ns(rank, bytes); }
    double port_ns(rank_t from, rank_t to, std::uint64_t bytes,
                   bool duplex) const noexcept requires PortedCostModel<M> {
        return model->port_ns(from, to, bytes, duplex);
    }
    bool lands_early() const noexcept requires PortedCostModel<M> { return model->lands_early(); }
    std::uint64_t eager_bytes(rank_t from, rank_t to) const requires model::has_rendezvous_v<M> {
        return bough::model::eager_bytes(*model, from, to);
    }
};

template <CostModel Near, CostModel Far>
class modelled_levels final : public two_levels {
public:
    modelled_levels(listed_groups groups, const Near& near, const Far& far)
        : groups_(std::move(groups)), near_(near), far_(far) {}

    const listed_groups& groups() const noexcept override { return groups_; }
    any_cost_model costs() const noexcept override {
        if (count() == 1) return near_;
        if (count() == size()) return far_;
        const rank_t* const group_of = groups_.group_of_rank().data();
        if constexpr (sizeof(model::two_level<Near, Far>) <= any_cost_model::capacity)
            return model::two_level{near_, far_, group_of};
        else // who uses them keeps this alive, and so both models
            return model::two_level{model_elsewhere<Near>{&near_}, model_elsewhere<Far>{&far_}, group_of};
    }
    void add(candidate_list& made, const dimensions& at, const problem& what) const override {
        if (count() == 1 || count() == size() || at.size != size()) return;
        switch (made.kind) {
        case goal::allreduce::kind: return add_two_levels<goal::allreduce>(groups_, made, at, what);
        case goal::reduce::kind: return add_two_levels<goal::reduce>(groups_, made, at, what);
        case goal::broadcast::kind: return add_two_levels<goal::broadcast>(groups_, made, at, what);
        case goal::reduce_scatter::kind: return add_two_levels<goal::reduce_scatter>(groups_, made, at, what);
        case goal::allgather::kind: return add_two_levels<goal::allgather>(groups_, made, at, what);
        case goal::alltoall::kind: return add_grouped_alltoall(groups_, made, at, what);
        default: return;
        }
    }
    std::shared_ptr<const two_levels> among(std::span<const rank_t> members) const override {
        return std::make_shared<modelled_levels>(groups_among(groups_, members), near_, far_);
    }

private:
    rank_t size() const noexcept { return static_cast<rank_t>(groups_.group_of_rank().size()); }
    rank_t count() const noexcept { return groups_.groups(size()); }

    listed_groups groups_;
    Near near_;
    Far far_;
};

} // namespace detail

// Groups of ranks, and what messages cost inside a group and between groups: homogeneous models,
// such as model::loggops. Equal on all ranks.
// Pre: groups.check(number of ranks) is ok. Throws: std::bad_alloc.
template <CostModel Near, CostModel Far>
std::shared_ptr<const two_levels> make_two_levels(const listed_groups& groups, const Near& near, const Far& far) {
    BOUGH_EXPECTS(!groups.check(static_cast<rank_t>(groups.group_of_rank().size())),
                  "groups: a number for each rank, from 0 and without a gap");
    return std::make_shared<detail::modelled_levels<Near, Far>>(groups, near, far);
}

} // namespace bough

#endif
