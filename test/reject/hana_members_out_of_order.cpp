// SPDX-License-Identifier: BSL-1.0
// expect: bough: name the members of the struct in the order in which they are declared
#include <bough/hana/fuse.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>

struct stats {
    double sum;
    double low;
};
constexpr auto merge = bough::fuse(bough::field<&stats::low>(bough::plus{}), bough::field<&stats::sum>(bough::plus{}));
