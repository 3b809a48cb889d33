// SPDX-License-Identifier: BSL-1.0
// An op that shows in which order it combined: x -> a x + b, one after the other: associative, exact, and not commutative.
#ifndef BOUGH_TEST_SUPPORT_AFFINE_HPP
#define BOUGH_TEST_SUPPORT_AFFINE_HPP

#include "support/sample.hpp"
#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>

namespace bough_test {

struct affine {
    std::uint64_t a = 1, b = 0;
    bool operator==(const affine&) const = default;
};
struct compose {
    affine operator()(const affine& lower, const affine& upper) const {
        return {lower.a * upper.a, lower.a * upper.b + lower.b};
    }
};
// What rank r brings to operation k, and what comes out.
inline affine value_of(std::uint64_t k, bough::rank_t r, std::size_t i) {
    return {mixed(k * 131 + r) | 1, mixed(k * 17 + r * 7 + i)};
}
inline affine expected(std::uint64_t k, bough::rank_t p, std::size_t i) {
    affine x = value_of(k, 0, i);
    for (bough::rank_t r = 1; r != p; ++r) x = compose{}(x, value_of(k, r, i));
    return x;
}

} // namespace bough_test

#endif
