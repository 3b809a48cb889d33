// SPDX-License-Identifier: BSL-1.0
// expect: bough: the fields of one fuse\(\.\.\.\) must be members of one struct
#include <bough/hana/fuse.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>

struct stats {
    double sum;
};
struct others {
    double sum;
};
constexpr auto merge = bough::fuse(bough::field<&stats::sum>(bough::plus{}), bough::field<&others::sum>(bough::plus{}));
