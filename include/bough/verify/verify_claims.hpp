// SPDX-License-Identifier: BSL-1.0
// verify_claims: proves a plan, and compares what is proved with what its algorithm claims.
//
//   static_assert(verify_claims(plan_allreduce(my_algorithm{}, {.size = 13})));
//
// The bracket class is a claim about two plans: equal classes mean equal bits at equal sizes.
//   static_assert(verify_claims(plan_allreduce(mine{}, at), plan_allreduce(recursive_doubling{}, at)));
#ifndef BOUGH_VERIFY_VERIFY_CLAIMS_HPP
#define BOUGH_VERIFY_VERIFY_CLAIMS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/model/folded_ranks.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/in_place.hpp>
#include <bough/schedule/series.hpp>
#include <bough/verify/verify.hpp>

#include <bit>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI {

enum class claim : std::uint8_t {
    none,       // all claims are true
    plan,       // the plan is wrong: see the proof
    serves,     // the algorithm does not say that it serves the goal
    rank_order, // it says that it keeps rank order, but some result is not in rank order
    same_bits,  // it says that all ranks get the same bits, but they do not
    may_hold,   // it says that messages may stay where they landed, but then it deadlocks
    symmetric,  // it says that all ranks do alike, but `rank` does not
    bracket,    // two algorithms name one bracket class, but do not combine alike
    series,     // it says that it combines in series, but `rank` does not
    alike,      // it says that all groups do what group 0 does, but `rank` does not what that one does
};

// A sentence about the untrue claim, which begins with the argument.
constexpr const char* describe(claim untrue) noexcept {
    switch (untrue) {
    case claim::none: return "algorithm: its claims are true";
    case claim::plan: return "plan: is wrong, verify(plan) says where";
    case claim::serves: return "algorithm: does not say that it serves this collective";
    case claim::rank_order:
        return "algorithm: it (keeps_rank_order) or its shape (rank_ordered) claims rank order, but does not keep it";
    case claim::same_bits:
        return "algorithm: claims that all ranks get the same bits (rank_consistent), but they do not";
    case claim::may_hold: return "algorithm: claims may_hold, but deadlocks if messages stay where they landed";
    case claim::symmetric: return "algorithm: claims that all ranks do alike (symmetric), but they do not";
    case claim::bracket: return "algorithm: claims the bracket class of another one that combines otherwise";
    case claim::series: return "algorithm: claims that it combines in series (combines_in_series), but it does not";
    case claim::alike: return "algorithm: claims that groups of ranks do alike (alike_group), but they do not";
    }
    return "algorithm: unknown claim";
}

// The first claim that is untrue, and the proof that it was compared with.
struct claim_verdict {
    claim untrue = claim::none; // the first one
    rank_t rank = no_rank;      // the rank whose steps or result make it untrue, if there is one
    verdict proof{};

    constexpr explicit operator bool() const noexcept { return untrue == claim::none; }
    friend constexpr bool operator==(const claim_verdict&, const claim_verdict&) = default;
};

namespace detail {

// The outline of what a rank does, without the names of blocks: verbs, how far the peer is, how
// many blocks. A message in parts is one step. Combines (or copies) that follow each other are one
// step, too, since a range that wraps around is combined in two steps. `seen(peer)` says how far a
// peer is.
template <class F>
constexpr std::vector<step> outline_of(const schedule& steps, const F& seen) {
    std::vector<step> made;
    bool goes_on = false;
    for (const step& s : steps) {
        const bool again = !made.empty() && made.back().verb == s.verb && (goes_on || !s.communicates());
        if (!again) made.push_back({.verb = s.verb, .peer = s.communicates() ? seen(s.peer) : no_rank});
        made.back().out.count += s.blocks();
        goes_on = s.more;
    }
    return made;
}

// The first rank whose outline is not that of the rank for which it stands; no_rank: there is none.
template <class P>
constexpr rank_t rank_unlike_others(const P& p, const model::folded_ranks& moved) {
    for (rank_t k = 0; k != moved.members(); ++k) {
        const auto outline = [&](rank_t r) {
            return outline_of(p.schedule_of(r),
                              [&](rank_t peer) { return static_cast<rank_t>(moved.seen_from(r, peer)); });
        };
        const rank_t first = moved.member_of_first(k);
        const auto expected = outline(first);
        for (rank_t by = 1; by < moved.groups(); ++by)
            if (const rank_t r = moved.moved(first, by); !(outline(r) == expected)) return r;
    }
    return no_rank;
}
// The same of groups of this many neighbours, moved by shift or by xor.
template <class P>
constexpr rank_t rank_unlike_others(const P& p, rank_t members) {
    const rank_t found = rank_unlike_others(p, model::folded_ranks(p.size(), members, false));
    if (found == no_rank || !std::has_single_bit(p.size())) return found;
    return rank_unlike_others(p, model::folded_ranks(p.size(), members, true)) == no_rank ? no_rank : found;
}
// The same of the groups that the algorithm names. If these are no groups of one size, it is rank 0.
template <class P>
constexpr rank_t rank_unlike_its_group(const P& p) {
    plain_list<rank_t> group_of(p.size(), no_rank), sizes(p.size(), rank_t{0});
    for (rank_t r = 0; r != p.size(); ++r) {
        group_of[r] = alike_group(p.algorithm(), p.at(), r);
        if (group_of[r] >= p.size()) return r;
        ++sizes[group_of[r]];
    }
    for (rank_t r = 0; r != p.size(); ++r)
        if (sizes[group_of[r]] != sizes[0] || group_of[r] >= p.size() / sizes[0]) return 0;
    const model::folded_ranks by_shift(group_of, sizes[0], false);
    const rank_t found = rank_unlike_others(p, by_shift);
    if (found == no_rank || !std::has_single_bit(by_shift.groups())) return found;
    return rank_unlike_others(p, model::folded_ranks(group_of, sizes[0], true)) == no_rank ? no_rank : found;
}

// The first rank that has a combine outside of a series, or a series that lacks operands; no_rank: none.
// Each result of the plan holds every rank once. So if each of its series has as many operands as there
// are ranks, each operand is what one rank contributes.
template <class P>
constexpr rank_t rank_without_series(const P& p) {
    for (rank_t r = 0; r != p.size(); ++r) {
        const schedule steps = p.schedule_of(r);
        const dependents waiting = dependents_of(infer_dependences(steps));
        const std::uint32_t operands = operands_of_all_series(steps, waiting.view());
        bool combines = false;
        for (const step& s : steps) combines = combines || s.verb == verb::combine;
        if (combines && operands != p.size()) return r;
    }
    return no_rank;
}

// Which claim a verdict speaks of.
constexpr claim claim_of(fault found) noexcept {
    switch (found) {
    case fault::none: return claim::none;
    case fault::not_in_rank_order: return claim::rank_order;
    case fault::different_bits: return claim::same_bits;
    default: return claim::plan;
    }
}
} // namespace detail

template <class Goal, Algorithm A>
constexpr claim_verdict verify_claims(const plan<Goal, A>& p) {
    const claims said = claims_of(p.algorithm(), p.at());
    claim_verdict found;
    found.proof = verify(p, {.same_bits = claims_same_bits(said, Goal::kind)});
    found.untrue = detail::claim_of(found.proof.fault);
    if (found.untrue != claim::none) {
        found.rank = found.proof.rank;
    } else if (!said.serves.contains(Goal::kind)) {
        found.untrue = claim::serves;
    } else if (said.may_hold && !verify(p, {.hold = true})) {
        found.untrue = claim::may_hold;
    } else if (said.combines_in_series && detail::rank_without_series(p) != no_rank) {
        found.untrue = claim::series;
        found.rank = detail::rank_without_series(p);
    } else if (said.symmetric) {
        found.rank = detail::rank_unlike_others(p, rank_t{1});
        if (found.rank != no_rank) found.untrue = claim::symmetric;
    }
    if (found.untrue == claim::none && alike_group(p.algorithm(), p.at(), 0) != no_rank) {
        found.rank = detail::rank_unlike_its_group(p);
        if (found.rank != no_rank) found.untrue = claim::alike;
    }
    return found;
}

// Proves the claims that two plans make about each other. Pre: both have the same size and the same
// number of blocks.
template <class Goal, Algorithm A, Algorithm B>
constexpr claim_verdict verify_claims(const plan<Goal, A>& a, const plan<Goal, B>& b) {
    BOUGH_EXPECTS(a.size() == b.size() && a.blocks() == b.blocks(), "plans: must be of one size and number of blocks");
    const bracket_class said = claims_of(a.algorithm(), a.at()).bracket;
    claim_verdict found;
    found.proof = verify(a);
    if (!found.proof)
        found.untrue = detail::claim_of(found.proof.fault);
    else if (const verdict other = verify(b); !other)
        found.untrue = detail::claim_of(other.fault);
    else if (said.claimed() && said == claims_of(b.algorithm(), b.at()).bracket &&
             found.proof.traits.bracket != other.traits.bracket)
        found.untrue = claim::bracket;
    return found;
}

} // namespace bough

#endif
