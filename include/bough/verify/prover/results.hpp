// SPDX-License-Identifier: BSL-1.0
// results_check: compares the results of all ranks with what the goal wants, and adds up the
// traits that follow from them.
#ifndef BOUGH_VERIFY_PROVER_RESULTS_HPP
#define BOUGH_VERIFY_PROVER_RESULTS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/bracket.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/symbolic_memory.hpp>
#include <bough/verify/rules.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// What the results that were looked at have in common.
struct results_so_far {
    rank_t ranks = 0;                     // whose results were looked at
    std::uint64_t first_hash = 0;         // of the first result
    std::uint64_t all_hashes = 0;         // of all results so far, mixed
    bool any = false;                     // has there been a result?
    plain_list<std::uint32_t> of_block{}; // the bracket of the first result that is this block
};

template <class Goal>
class results_check {
public:
    constexpr results_check(const Goal& goal, const dimensions& at, const symbolic_memory<Goal>& memory,
                            results_so_far& seen, findings& found, const verify_options& options)
        : goal_(goal), at_(at), memory_(memory), seen_(seen), found_(found), options_(options) {
        if (seen_.of_block.empty()) seen_.of_block.assign(at.blocks, no_bracket);
    }

    // Looks at the results of up to `most` more ranks. False: there are more, or a fault was found.
    constexpr bool run(rank_t most) {
        for (rank_t& r = seen_.ranks; r != at_.size; ++r) {
            if (most-- == 0) return false;
            for (block_t b = 0; b != at_.blocks; ++b)
                if (const contributions wanted = goal_.result(at_, r, b); wanted.first != wanted.last)
                    if (!check(r, b, wanted)) return false;
        }
        plan_traits& traits = found_.traits();
        if (traits.depth != 0)
            traits.bracket = traits.position_invariant && traits.rank_consistent ? seen_.first_hash : seen_.all_hashes;
        return true;
    }

private:
    constexpr bool fail(fault what, rank_t r, block_t b, rank_t peer = no_rank) {
        return found_.fail(what, r, no_step, b, peer);
    }
    // Does the result hold the contributions that are wanted? Adds it to the traits. False, too: the
    // options demand another trait.
    constexpr bool check(rank_t r, block_t b, const contributions& wanted) {
        const symbolic_block& got = memory_.result(r, b);
        if (got.bracket == no_bracket) return fail(fault::missing_result, r, b);
        if (got.block != b) return fail(fault::wrong_result, r, b);
        const bough::detail::brackets& all = memory_.brackets();
        const bracket_node& known = all.known(got.bracket);
        if (!all.covers(known, wanted.first, wanted.last))
            return fail(fault::wrong_result, r, b, all.odd_one_out(got.bracket, wanted.first, wanted.last));
        plan_traits& traits = found_.traits();
        if (known.repeats || !known.in_order) {
            if (options_.in_rank_order) return fail(fault::not_in_rank_order, r, b);
            traits.needs_commutative = true;
            traits.needs_idempotent |= known.repeats;
        }
        if (traits.depth < known.depth) traits.depth = known.depth;
        std::uint32_t& first = seen_.of_block.data()[b];
        if (first == no_bracket)
            first = got.bracket;
        else if (first != got.bracket)
            traits.rank_consistent = false;
        if (options_.same_bits && !traits.rank_consistent) return fail(fault::different_bits, r, b);
        if (!seen_.any)
            seen_.any = true, seen_.first_hash = known.hash;
        else if (known.hash != seen_.first_hash)
            traits.position_invariant = false;
        seen_.all_hashes = mix(seen_.all_hashes, known.hash);
        return true;
    }

    const Goal& goal_;
    dimensions at_;
    const symbolic_memory<Goal>& memory_;
    results_so_far& seen_;
    findings& found_;
    const verify_options& options_;
};

} // namespace bough::detail

#endif
