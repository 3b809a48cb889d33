// SPDX-License-Identifier: BSL-1.0
// expect: bough: an array that is a member of a fused struct must be a std::array
#include <bough/hana/fuse.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>

struct stats {
    double sums[4];
};
constexpr auto merge = bough::fuse(bough::field<&stats::sums>(bough::plus{}));
