// SPDX-License-Identifier: BSL-1.0
// expect: bough: the op of a field must take its member: two of it give one of it
#include <bough/hana/fuse.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>

struct stats {
    double sum;
    double low;
};
constexpr auto merge =
    bough::fuse(bough::field<&stats::sum>(bough::plus{}), bough::field<&stats::low>(bough::bit_or{}));
