// SPDX-License-Identifier: BSL-1.0
// Add_all, limbs_of: many numbers of one rank, added into one limb_state.
#ifndef BOUGH_OP_DETAIL_LIMBS_HPP
#define BOUGH_OP_DETAIL_LIMBS_HPP

#include <bough/op/detail/fixed_point.hpp>
#include <bough/op/limb_state.hpp>

#include <bit>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// sum += all of `many`; it ends normalised, so that it counts as one number wherever it is added.
// Pre: sum.addends() <= capacity, and fewer than 2^42 numbers in all.
template <binary_float T>
constexpr void add_all(limb_state<bits_format<T>>& sum, std::span<const T> many) noexcept {
    for (const T x : many) {
        if (sum.addends() == sum.capacity) sum.normalise();
        sum.add(std::bit_cast<bits_of<T>>(x));
    }
    sum.normalise();
}

template <binary_float T>
constexpr limb_state<bits_format<T>> limbs_of(std::span<const T> many) noexcept {
    limb_state<bits_format<T>> sum;
    add_all(sum, many);
    return sum;
}

} // namespace bough::detail

#endif
