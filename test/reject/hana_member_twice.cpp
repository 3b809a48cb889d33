// SPDX-License-Identifier: BSL-1.0
// expect: bough: a member of the struct is named twice
#include <bough/hana/fuse.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>

struct stats {
    double sum;
    double low;
};
constexpr auto merge = bough::fuse(bough::field<&stats::sum>(bough::plus{}), bough::field<&stats::sum>(bough::plus{}));
