// SPDX-License-Identifier: BSL-1.0
// alike_ranks: which ranks stand for all others in the walk of a plan, where ranks of one node are near
// each other.
//
// Flat plans of which each rank does what rank 0 does are the same after a shift by one node, if the
// nodes have one size and neighbours on them; and plans over nodes say of themselves that nodes do
// alike (alike_group, bough/schedule/claims.hpp). So the walk visits the ranks of one node, and what
// it finds holds for all (bough/model/folded_ranks.hpp). Of 1024 ranks on nodes of 32 it takes a 32nd of
// the steps.
#ifndef BOUGH_SELECT_ALIKE_RANKS_HPP
#define BOUGH_SELECT_ALIKE_RANKS_HPP

#include <bough/core/contract.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/folded_ranks.hpp>
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/select/any_cost_model.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class alike_ranks {
public:
    // Where a rank is late, or costs differ by more than nodes, no rank stands for others.
    alike_ranks(const any_cost_model& costs, rank_t size, const problem& what)
        : near_(what.late == no_rank ? costs.groups_of_ranks() : nullptr), size_(size) {}

    // The ranks that stand for all, or null if all are to be visited. It is valid until the next question.
    const model::folded_ranks* of(const any_algorithm& algorithm, const dimensions& at) {
        if (near_ == nullptr || size_ < 4) return nullptr;
        if (algorithm.claims(at).symmetric)
            return found_for(algorithm, at,
                             [this](bool by_xor) { return model::folded_ranks(size_, fewest(by_xor), by_xor); });
        if (algorithm.alike_group(at, 0) == no_rank) return nullptr;
        plain_list<rank_t> group_of(size_, rank_t{0});
        rank_t members = 0;
        for (rank_t r = 0; r != size_; ++r) members += (group_of[r] = algorithm.alike_group(at, r)) == 0 ? 1u : 0u;
        return found_for(algorithm, at, [&](bool by_xor) { return model::folded_ranks(group_of, members, by_xor); });
    }

private:
    // Ranks that are moved by shift, or else by xor: `made` makes the groups.
    template <class F>
    const model::folded_ranks* found_for(const any_algorithm& algorithm, const dimensions& at, const F& made) {
        for (const bool by_xor : {false, true}) {
            found_ = made(by_xor);
            if (found_.groups() < 2 || (by_xor && !std::has_single_bit(found_.groups()))) continue;
            if (leaves_near(found_, by_xor) && does_alike(algorithm, at)) return &found_;
        }
        return nullptr;
    }
    // The fewest neighbours that may stand for all.
    rank_t fewest(bool by_xor) const {
        for (rank_t members = 1; members <= size_ / 2; ++members) {
            // By xor, the group to which one is moved exists only if there is a power of two of them.
            if (size_ % members != 0 || (by_xor && !(std::has_single_bit(members) && std::has_single_bit(size_))))
                continue;
            const model::folded_ranks tried(size_, members, by_xor);
            if (leaves_near(tried, by_xor)) return members;
        }
        return size_;
    }
    // Are ranks that are near each other so when they are moved, and no others?
    bool leaves_near(const model::folded_ranks& moving, bool by_xor) const {
        BOUGH_EXPECTS(!by_xor || std::has_single_bit(moving.groups()), "groups: a power of two is needed for xor");
        plain_list<rank_t> becomes;
        for (rank_t by = 1; by < (by_xor ? moving.groups() : 2); by *= 2) {
            becomes.clear();
            becomes.resize(size_, no_rank);
            for (rank_t r = 0; r != size_; ++r) {
                const rank_t its = near_[r], then = near_[moving.moved(r, by)];
                if (its >= size_ || (becomes[its] != no_rank && becomes[its] != then)) return false;
                becomes[its] = then;
            }
        }
        return true;
    }
    // A claim does not say whether ranks are moved by shift or by xor. One more rank shows it.
    bool does_alike(const any_algorithm& algorithm, const dimensions& at) const {
        plain_list<std::size_t> first;
        std::size_t next = 0;
        bool same = true;
        for (const rank_t by : {rank_t{0}, found_.groups() - 1}) {
            const rank_t rank = found_.moved(found_.member_of_first(0), by);
            auto peers = step_sink{[&](const step& s) {
                if (!s.communicates() || s.more) return; // parts may be cut otherwise
                const std::size_t seen = found_.seen_from(rank, s.peer) * 2 + (s.verb == verb::send ? 1 : 0);
                if (by == 0)
                    first.push_back(seen);
                else
                    same = same && next != first.size() && first[next++] == seen;
            }};
            algorithm.emit(at, rank, peers);
        }
        return same && next == first.size();
    }

    const rank_t* near_; // by rank: the group of those that are near it; null: nothing is to be found
    rank_t size_;
    model::folded_ranks found_;
};

} // namespace bough::inline BOUGH_ABI::detail

#endif
