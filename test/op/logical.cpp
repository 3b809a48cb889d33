// SPDX-License-Identifier: BSL-1.0
// Logical ops: truth tables on any integer, results 0 and 1.
#include "support/catch.hpp"
#include <bough/concepts/explain_op.hpp>
#include <bough/op/logical.hpp>

#include <cstdint>

namespace {

template <class T>
constexpr bool truth() {
    const T yes = static_cast<T>(5);
    return bough::logical_and{}(yes, yes) == T(1) && bough::logical_and{}(yes, T(0)) == T(0) &&
           bough::logical_or{}(yes, T(0)) == T(1) && bough::logical_or{}(T(0), T(0)) == T(0) &&
           bough::logical_xor{}(yes, T(1)) == T(0) && bough::logical_xor{}(T(0), yes) == T(1);
}
static_assert(truth<bool>() && truth<std::int8_t>() && truth<std::uint64_t>() && truth<int>());
static_assert(bough::explain_op<bough::logical_and, bool>());
static_assert(!bough::Op<bough::logical_and, double>);
static_assert(bough::is_exact_v<bough::logical_xor, int> && !bough::is_idempotent_v<bough::logical_xor>);

TEST_CASE("bits that do not overlap are both true", "[op]") {
    CHECK(bough::logical_and{}(2, 4) == 1); // 2 & 4 would be 0
}

} // namespace
