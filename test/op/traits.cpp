// SPDX-License-Identifier: BSL-1.0
// Ids of ops and element types: stable between compilers where they claim to be, different where they should be.
// Compiled alone: names are hashed with their namespaces.
#include "support/catch.hpp"
#include <bough/op/builtin_op.hpp>
#include <bough/op/location.hpp>
#include <bough/op/traits.hpp>

#include <concepts>
#include <cstdint>
#include <set>

namespace users {
struct blend {
    int operator()(int a, int b) const { return a + b; }
};
struct mix : blend {};
} // namespace users

namespace {

struct hidden {};

// Golden: every compiler, for ever. They travel in call signatures.
static_assert(bough::op_id<bough::plus> == 0xfcb2'2a4c'9012'fed0u);
static_assert(bough::op_id<bough::min> == 0xa5ac'87c5'e016'c58cu);
static_assert(bough::op_id<bough::bit_xor> == 0x5f9d'1d8b'9de3'2e21u);
static_assert(bough::type_id<double>.hash == 0x5d67'5699'a17e'13c6u);

// Hashed from the name, equal for g++ and clang++.
static_assert(bough::op_id<users::blend> == bough::hash_name("users::blend"));
static_assert(bough::op_id<hidden> == bough::hash_name("::hidden"));
static_assert(bough::op_id<users::blend> != bough::op_id<users::mix>);

// Ops are values: copied, kept in plans and batches, and compared.
template <class... O>
inline constexpr bool are_values = (std::regular<O> && ...) && ((O{} == O{}) && ...);
static_assert(are_values<bough::plus, bough::multiplies, bough::min, bough::max, bough::min_number, bough::max_number>);
static_assert(are_values<bough::logical_and, bough::logical_or, bough::logical_xor>);
static_assert(are_values<bough::bit_and, bough::bit_or, bough::bit_xor, bough::min_location, bough::max_location>);

static_assert(bough::type_id<long> == bough::type_id<long long> || sizeof(long) != sizeof(long long));
static_assert(bough::type_id<int> != bough::type_id<unsigned> && bough::type_id<float> != bough::type_id<std::int32_t>);
static_assert(bough::type_id<double>.size == 8 && bough::type_id<double>.category == bough::type_category::floating);
static_assert(bough::type_id<bough::value_location<float>>.size == 12, "the size on the wire");
static_assert(bough::type_id<users::blend>.category == bough::type_category::other);

TEST_CASE("the shipped ops have different ids", "[op]") {
    const std::set<std::uint64_t> ids{
        bough::op_id<bough::plus>,         bough::op_id<bough::multiplies>,  bough::op_id<bough::min>,
        bough::op_id<bough::max>,          bough::op_id<bough::min_number>,  bough::op_id<bough::max_number>,
        bough::op_id<bough::logical_and>,  bough::op_id<bough::logical_or>,  bough::op_id<bough::logical_xor>,
        bough::op_id<bough::bit_and>,      bough::op_id<bough::bit_or>,      bough::op_id<bough::bit_xor>,
        bough::op_id<bough::min_location>, bough::op_id<bough::max_location>};
    CHECK(ids.size() == 14);
}

TEST_CASE("lambdas with other parameters have other ids", "[op]") {
    const auto a = [](int x, int y) { return x + y; };
    const auto b = [](double x, double) { return x; };
    CHECK(bough::op_id<decltype(a)> != bough::op_id<decltype(b)>);
    static_assert(bough::detail::hash_type_text<decltype(a)>().is_unnamed);
    static_assert(!bough::detail::hash_type_text<users::mix>().is_unnamed);
}

} // namespace
