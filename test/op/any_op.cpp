// SPDX-License-Identifier: BSL-1.0
// Any_op: the run-time op does what the typed one does, and carries what it claims.
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/testing/op_archetype.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace {

constexpr bough::any_op sum = bough::make_any_op<std::int32_t>(bough::plus{});
static_assert(sum && sum.state == nullptr && sum.element_size == 4);
static_assert(sum.traits == bough::op_traits{.commutative = true, .exact = true, .integer_only = true});
static_assert(sum.id == bough::op_id<bough::plus> && sum.type == bough::type_id<std::int32_t>);
static_assert(!bough::any_op{});
static_assert(std::is_trivially_copyable_v<bough::any_op>);

// A temporary with state is refused, one without is welcome.
template <class O>
concept from_temporary = requires(O&& op) {
    bough::make_any_op<int>(static_cast<O&&>(op));
};
struct scaled {
    int factor;
    int operator()(int a, int b) const { return factor * (a + b); }
};
static_assert(from_temporary<bough::plus> && !from_temporary<scaled> && !from_temporary<const scaled>);
static_assert(from_temporary<scaled&> && from_temporary<const scaled&>);

template <class T>
void call(const bough::any_op& op, std::span<const T> lower, std::span<const T> upper, std::span<T> out) {
    op(std::as_bytes(lower).data(), std::as_bytes(upper).data(), std::as_writable_bytes(out).data(), out.size());
}

TEST_CASE("ops of different types differ", "[op]") {
    CHECK(sum == bough::make_any_op<std::int32_t>(bough::plus{}));
    CHECK(sum != bough::make_any_op<float>(bough::plus{}));
}

TEST_CASE("an op with state is pointed at", "[op]") {
    scaled op{2};
    const bough::any_op any = bough::make_any_op<int>(op);
    const int a[] = {1, 2, 3};
    int b[] = {10, 20, 30};
    call<int>(any, a, b, b);
    CHECK((b[0] == 22 && b[1] == 44 && b[2] == 66));
    op.factor = 1;
    call<int>(any, a, b, b);
    CHECK(b[0] == 23);
}

TEST_CASE("a lambda with captures, and the archetype", "[op]") {
    int weight = 3;
    const auto weighted = [&weight](int a, int b) { return a + weight * b; };
    const bough::any_op any = bough::make_any_op<int>(weighted);
    CHECK(any.traits == bough::op_traits{});
    int a[] = {1};
    const int b[] = {5};
    call<int>(any, a, b, a);
    CHECK(a[0] == 16);

    using element = bough::testing::element_archetype;
    const bough::testing::op_archetype op(1);
    const element lower[] = {element(2, 1)};
    element upper[] = {element(3, 5)};
    call<element>(bough::make_any_op<element>(op), lower, upper, upper);
    CHECK((upper[0].scale() == 6 && upper[0].shift() == 8));
}

TEST_CASE("a runtime brings a function of its own", "[op]") {
    const auto last = [](const void* state, const std::byte*, const std::byte* upper, std::byte* out,
                         std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) out[i] = upper[i] ^ *static_cast<const std::byte*>(state);
    };
    const std::byte key{0x0f};
    const bough::any_op any{.function = last, .state = &key, .element_size = 1};
    const std::byte a[] = {std::byte{1}};
    std::byte b[] = {std::byte{0xf0}};
    any(a, b, b, 1);
    CHECK(b[0] == std::byte{0xff});
}

} // namespace

TEST_CASE("any_op: a null pointer to a function ends the program with a sentence, before anything is combined") {
    using function = int (*)(int, int);
    const auto said = bough_test::last_words_of([] {
        const function none = nullptr;
        (void)bough::make_any_op<int>(none);
    });
    CHECK(said.aborted);
    CHECK(said.has("op: its function is null"));
    const function add = [](int a, int b) { return a + b; };
    CHECK(bough::make_any_op<int>(add));
}
