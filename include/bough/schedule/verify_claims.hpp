// SPDX-License-Identifier: BSL-1.0
// verify_claims: proves a plan, and holds what it turns out to be against what its algorithm claims.
//
//   static_assert(verify_claims(plan_allreduce(my_algorithm{}, {.size = 13})));
//
// The bracket class is a claim about two plans: if their algorithms claim equal ones at equal sizes, then their proofs have
// equal traits.bracket.
#ifndef BOUGH_SCHEDULE_VERIFY_CLAIMS_HPP
#define BOUGH_SCHEDULE_VERIFY_CLAIMS_HPP

#include <bough/schedule/claims.hpp>
#include <bough/schedule/verify.hpp>

#include <bit>
#include <cstdint>
#include <vector>

namespace bough {

enum class claim : std::uint8_t {
    none,       // all claims are true
    plan,       // the plan is wrong: see the proof
    serves,     // the algorithm does not say that it serves the goal
    rank_order, // it says that it keeps rank order, but some result is not in rank order
    same_bits,  // it says that all ranks get the same bits, but they do not
    may_hold,   // it says that messages may stay where they landed, but then it deadlocks
    symmetric,  // it says that all ranks do alike, but `rank` does not
};

struct claim_verdict {
    claim untrue = claim::none; // the first one
    rank_t rank = no_rank;      // of claim::symmetric
    verdict proof{};

    constexpr explicit operator bool() const noexcept { return untrue == claim::none; }
    friend constexpr bool operator==(const claim_verdict&, const claim_verdict&) = default;
};

namespace detail {

// What a rank does, up to the names of blocks: verbs, how far the peer is, how many blocks. A message in parts is one; so
// are combines (or copies) that follow each other, since a range that wraps around is combined in two.
// by_xor: how far a peer is in binary digits, not in ranks.
constexpr std::vector<step> outline_of(const schedule& steps, rank_t rank, rank_t size, bool by_xor) {
    std::vector<step> made;
    bool goes_on = false;
    for (const step& s : steps) {
        const bool again = !made.empty() && made.back().verb == s.verb && (goes_on || !s.communicates());
        if (!again)
            made.push_back({.verb = s.verb,
                            .peer = !s.communicates() ? no_rank
                                    : by_xor          ? s.peer ^ rank
                                                      : to_virtual(s.peer, rank, size)});
        made.back().out.count += s.blocks();
        goes_on = s.more;
    }
    return made;
}

} // namespace detail

template <class Goal, Algorithm A>
constexpr claim_verdict verify_claims(const plan<Goal, A>& p) {
    const claims said = claims_of(p.algorithm(), p.at());
    claim_verdict found;
    found.proof = verify(p);
    const plan_traits& traits = found.proof.traits;
    if (!found.proof)
        found.untrue = claim::plan;
    else if (!said.serves.contains(Goal::kind))
        found.untrue = claim::serves;
    else if (said.keeps_rank_order && traits.needs_commutative)
        found.untrue = claim::rank_order;
    else if (said.rank_consistent && !traits.rank_consistent)
        found.untrue = claim::same_bits;
    else if (said.may_hold && !verify(p, {.hold = true}))
        found.untrue = claim::may_hold;
    else if (said.symmetric) {
        const auto other = [&](bool by_xor) { // the first rank that does not do as rank 0
            const auto first = detail::outline_of(p.schedule_of(0), 0, p.size(), by_xor);
            for (rank_t r = 1; r < p.size(); ++r)
                if (!(detail::outline_of(p.schedule_of(r), r, p.size(), by_xor) == first)) return r;
            return no_rank;
        };
        found.rank = other(false);
        if (found.rank != no_rank && std::has_single_bit(p.size()) && other(true) == no_rank) found.rank = no_rank;
        if (found.rank != no_rank) found.untrue = claim::symmetric;
    }
    return found;
}

} // namespace bough

#endif
