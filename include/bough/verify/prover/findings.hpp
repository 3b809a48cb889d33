// SPDX-License-Identifier: BSL-1.0
// findings: what the parts of the prover have found so far: the first fault, and the traits.
#ifndef BOUGH_VERIFY_PROVER_FINDINGS_HPP
#define BOUGH_VERIFY_PROVER_FINDINGS_HPP

#include <bough/core/rank.hpp>
#include <bough/schedule/traits.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

class findings {
public:
    constexpr bool failed() const noexcept { return verdict_.fault != fault::none; }
    // Only the first fault counts. Returns false.
    constexpr bool fail(fault what, rank_t rank, std::size_t step, block_t block = 0, rank_t peer = no_rank) {
        if (!failed()) {
            verdict_ = {};
            verdict_.fault = what;
            verdict_.rank = rank;
            verdict_.step = static_cast<std::uint32_t>(step);
            verdict_.block = block;
            verdict_.peer = peer;
        }
        return false;
    }
    constexpr plan_traits& traits() noexcept { return verdict_.traits; }
    constexpr const plan_traits& traits() const noexcept { return verdict_.traits; }
    constexpr const verdict& result() const noexcept { return verdict_; }

private:
    verdict verdict_{};
};

} // namespace bough::detail

#endif
