// SPDX-License-Identifier: BSL-1.0
// steady_pricer: the price of a large plan, from walks of smaller ones.
//
// Some algorithms say that their time grows steadily (bough/schedule/claims.hpp): with each further
// block of the same length (steady_in_blocks), or with each doubling of the ranks
// (steady_in_ranks). Then two or three small plans show how much, and a plan of 1024 ranks and 128
// blocks need not be walked step by step.
//
//   in blocks   T(n) = T(m) + (n - m) / d (T(m) - T(m - d)),  with blocks of the length that n have.
//               Circulant plans repeat themselves after log2 p blocks, and two trees take blocks in
//               turns. So d is the first multiple of 2 log2 p that is 8 or more; so is n - m.
//   in ranks    p = 2^q: T(q) = a + b q + c / p. The last term is there if each message is a share of
//               the vector that gets smaller with p; a, b and c are those of 32, 64 and 128 ranks.
//               Otherwise 32 and 64 do, unless ranks share cores.
//
// In ranks only where all pairs of ranks are alike; not at all where one comes late. A pure function of
// its arguments, as the walk is.
// *Error*: none as long as the same rank is the last one; test/select/steady_price.cpp has the bounds.
#ifndef BOUGH_SELECT_STEADY_PRICE_HPP
#define BOUGH_SELECT_STEADY_PRICE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/taped_plan.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class steady_pricer {
public:
    // `at` has the number of blocks.
    steady_pricer(const any_cost_model& costs, const candidate& of, const dimensions& at, const problem& what,
                  plan_tapes& memory)
        : costs_(costs), of_(of), at_(at), what_(what), memory_(memory) {
        if (what.late != no_rank) return;
        const claims& said = of.algorithm.fixed_claims();
        shares_ = of.blocks == natural_blocks && at.blocks != 1;
        in_ranks_ = costs.homogeneous() && said.steady_in_ranks && std::has_single_bit(at.size) && at.size > 128 &&
                    (shares_ || what.cores >= at.size) && !of.algorithm.check({128, root_in(128), blocks_in(128)});
        const rank_t few = in_ranks_ ? 64 : at.size;
        const auto period = 2 * static_cast<block_t>(few <= 2 ? 1 : std::bit_width(few - 1));
        step_ = (7 / period + 1) * period;
        most_ = 8 + (at.blocks - 8) % period + step_;
        in_blocks_ = said.steady_in_blocks && !shares_ && at.blocks > most_ && what.bytes % at.blocks == 0 &&
                     what.bytes / at.blocks % what.element_bytes == 0;
    }
    // Is there a shorter way than the walk?
    explicit operator bool() const noexcept { return in_ranks_ || in_blocks_; }

    // How many steps it walks, if each block takes as many.
    std::uint64_t steps(std::uint64_t of_all_blocks) const noexcept {
        return in_blocks_ ? of_all_blocks / at_.blocks * (2 * most_ - step_) : 0;
    }

    // Negative if it turns out that there is none.
    double ns() const {
        if (!in_blocks_) return in_all_ranks(at_.blocks);
        const rank_t few = in_ranks_ ? 64 : at_.size;
        const double more = static_cast<double>(at_.blocks - most_) / step_;
        const double most_ns = walked(few, most_), step_ns = most_ns - walked(few, most_ - step_);
        // Where pairs of ranks differ, a long pipe seems to be in step while it fills, and is not yet.
        if (!costs_.homogeneous() && most_ns > 2 * step_ns / step_ * most_) return -1;
        return (in_ranks_ ? in_all_ranks(most_) : most_ns) + more * step_ns;
    }

private:
    rank_t root_in(rank_t size) const noexcept { return at_.root == 0 ? 0 : size - 1; }
    block_t blocks_in(rank_t size) const { return shares_ ? of_.algorithm.natural_blocks(size) : at_.blocks; }

    // The price with these blocks of the length that they are to have.
    double in_all_ranks(block_t blocks) const {
        if (!in_ranks_) return walked(at_.size, blocks);
        const double doublings = std::bit_width(at_.size) - 7.0, t5 = walked(32, blocks), t6 = walked(64, blocks);
        if (!shares_) return t6 + doublings * (t6 - t5);
        const double t7 = walked(128, blocks), bend = t7 - t6 - (t6 - t5);
        return t7 + (doublings - 1) * (t7 - t6 + bend) + bend * (128.0 / at_.size - 1);
    }
    double walked(rank_t size, block_t blocks) const {
        problem what = what_;
        dimensions at{size, size == at_.size ? at_.root : root_in(size), blocks};
        if (shares_)
            at.blocks = blocks_in(size);
        else if (blocks != at_.blocks)
            what.bytes = what.bytes / at_.blocks * blocks;
        taped_plan plan(plan_ref(of_.algorithm, at), what.bytes, what.element_bytes, memory_);
        return costs_.price_ns(plan, what, at_.size);
    }

    const any_cost_model& costs_;
    const candidate& of_;
    dimensions at_;
    const problem& what_;
    plan_tapes& memory_;
    block_t step_ = 8, most_ = 16; // d and m
    bool shares_ = false;          // each rank has its share of the vector
    bool in_ranks_ = false, in_blocks_ = false;
};

} // namespace bough::detail

#endif
