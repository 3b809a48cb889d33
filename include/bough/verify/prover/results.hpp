// SPDX-License-Identifier: BSL-1.0
// results_check: compares the results of all ranks with what the goal wants, and adds up the
// traits that follow from them.
#ifndef BOUGH_VERIFY_PROVER_RESULTS_HPP
#define BOUGH_VERIFY_PROVER_RESULTS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/bracket.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/symbolic_memory.hpp>
#include <bough/verify/rules.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Goal>
class results_check {
public:
    constexpr results_check(const Goal& goal, const dimensions& at, const symbolic_memory<Goal>& memory,
                            findings& found, const verify_options& options)
        : goal_(goal), at_(at), memory_(memory), found_(found), options_(options), of_block_(at.blocks, no_bracket) {}

    // False: a fault was found.
    constexpr bool run() {
        for (rank_t r = 0; r != at_.size; ++r)
            for (block_t b = 0; b != at_.blocks; ++b)
                if (const contributions wanted = goal_.result(at_, r, b); !wanted.empty())
                    if (!is_right(r, b, wanted) || !add(r, b)) return false;
        plan_traits& traits = found_.traits();
        if (traits.depth != 0)
            traits.bracket = traits.position_invariant && traits.rank_consistent ? first_hash_ : all_hashes_;
        return true;
    }

private:
    constexpr bool fail(fault what, rank_t r, block_t b, rank_t peer = no_rank) {
        return found_.fail(what, r, no_step, b, peer);
    }
    // Does the result hold the contributions that are wanted?
    constexpr bool is_right(rank_t r, block_t b, const contributions& wanted) {
        const symbolic_block& got = memory_.result(r, b);
        if (got.bracket == no_bracket) return fail(fault::missing_result, r, b);
        if (got.block != b) return fail(fault::wrong_result, r, b);
        if (memory_.brackets().covers(got.bracket, wanted.first, wanted.last)) return true;
        return fail(fault::wrong_result, r, b, memory_.brackets().odd_one_out(got.bracket, wanted.first, wanted.last));
    }
    // Adds a result to the traits. False: the options demand another trait.
    constexpr bool add(rank_t r, block_t b) {
        const std::uint32_t got = memory_.result(r, b).bracket;
        const bough::detail::brackets& all = memory_.brackets();
        plan_traits& traits = found_.traits();
        const bool in_order = all.in_order(got) && !all.repeats(got);
        if (options_.in_rank_order && !in_order) return fail(fault::not_in_rank_order, r, b);
        traits.needs_commutative |= !in_order;
        traits.needs_idempotent |= all.repeats(got);
        traits.depth = std::max(traits.depth, all.depth(got));
        if (of_block_[b] == no_bracket) of_block_[b] = got;
        traits.rank_consistent &= of_block_[b] == got;
        if (options_.same_bits && !traits.rank_consistent) return fail(fault::different_bits, r, b);
        const std::uint64_t hash = all.hash(got);
        if (!any_) first_hash_ = hash;
        any_ = true;
        traits.position_invariant &= hash == first_hash_;
        all_hashes_ = mix(all_hashes_, hash);
        return true;
    }

    const Goal& goal_;
    dimensions at_;
    const symbolic_memory<Goal>& memory_;
    findings& found_;
    const verify_options& options_;
    std::vector<std::uint32_t> of_block_; // the bracket of the first result that is this block
    std::uint64_t first_hash_ = 0;        // of the first result
    std::uint64_t all_hashes_ = 0;        // of all results so far, mixed
    bool any_ = false;                    // has there been a result?
};

} // namespace bough::detail

#endif
