// SPDX-License-Identifier: BSL-1.0
// Combine: every aliasing, every remainder, span kernels, misaligned bytes, elements with a wire form of their own.
#include "support/catch.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/location.hpp>
#include <bough/op/small_float.hpp>
#include <bough/testing/op_archetype.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// Associative, not commutative, and it shows which operand was which.
constexpr auto shifted = [](std::uint32_t a, std::uint32_t b) { return 31 * a + b; };

constexpr bool at_compile_time() {
    std::array<int, 3> a{1, 2, 3};
    const std::array<int, 3> b{10, 20, 30};
    bough::combine<int>(bough::plus{}, a.data(), b.data(), a.data(), 3);
    return a == std::array<int, 3>{11, 22, 33};
}
static_assert(at_compile_time());

template <class T>
inline constexpr bool quiet = noexcept(bough::combine<T>(bough::plus{}, static_cast<const T*>(nullptr), nullptr,
                                                         static_cast<T*>(nullptr), 0));
static_assert(quiet<double> && !quiet<std::string>);

TEST_CASE("combine for every count and aliasing", "[op]") {
    for (std::size_t count = 0; count != 70; ++count) {
        std::vector<std::uint32_t> lower(count + 1, 77);
        std::vector<std::uint32_t> upper(count + 1, 77);
        std::vector<std::uint32_t> expected(count + 1, 77);
        std::vector<std::uint32_t> squared(count + 1, 77);
        for (std::uint32_t i = 0; i != count; ++i) {
            lower[i] = 3 * i + 1;
            upper[i] = 5 * i + 2;
            expected[i] = shifted(lower[i], upper[i]);
            squared[i] = shifted(lower[i], lower[i]);
        }
        std::vector<std::uint32_t> out(count + 1, 77);
        bough::combine(shifted, lower.data(), upper.data(), out.data(), count);
        CHECK(out == expected);
        out = lower;
        bough::combine(shifted, out.data(), upper.data(), out.data(), count);
        CHECK(out == expected);
        out = upper;
        bough::combine(shifted, lower.data(), out.data(), out.data(), count);
        CHECK(out == expected);
        out = lower;
        bough::combine(shifted, out.data(), out.data(), out.data(), count);
        CHECK(out == squared);
        bough::combine(shifted, lower.data(), lower.data(), upper.data(), count);
        CHECK(upper == squared);
    }
}

TEST_CASE("an op's own kernel is used once, over everything", "[op]") {
    struct counting {
        int* calls;
        int operator()(int a, int b) const { return a - b; }
        void combine(std::span<const int> lower, std::span<const int> upper, std::span<int> out) const {
            ++*calls;
            for (std::size_t i = 0; i != out.size(); ++i) out[i] = lower[i] - upper[i];
        }
    };
    static_assert(bough::KernelOp<counting, int>);
    int calls = 0;
    int a[] = {5, 6};
    const int b[] = {1, 1};
    bough::combine(counting{&calls}, a, b, a, 2);
    CHECK((a[0] == 4 && a[1] == 5 && calls == 1));
    bough::combine(counting{&calls}, a, b, a, 0);
    CHECK(calls == 1);
}

TEST_CASE("narrow results of integer promotion and throwing ops are fine", "[op]") {
    std::int8_t a[] = {100, -100};
    const std::int8_t b[] = {27, -28};
    bough::combine([](std::int8_t x, std::int8_t y) { return x + y; }, a, b, a, 2);
    CHECK((a[0] == 127 && a[1] == -128));
    const auto refuses = [](int, int) -> int { throw std::domain_error("no"); };
    int x = 1;
    CHECK_THROWS_AS(bough::combine(refuses, &x, &x, &x, 1), std::domain_error);
}

TEST_CASE("the archetypes suffice", "[op]") {
    using element = bough::testing::element_archetype;
    const bough::testing::op_archetype op(1);
    const element lower[] = {element(2, 1), element(1, 0)};
    element upper[] = {element(3, 5), element(7, 9)};
    bough::combine(op, lower, upper, upper, 2);
    CHECK((upper[0].scale() == 6 && upper[0].shift() == 8)); // 3 * (2x + 1) + 5
    CHECK((upper[1].scale() == 7 && upper[1].shift() == 9));
}

// Numbers are combined as they lie, other types by way of aligned memory.
template <class T>
void check_alignments() {
    constexpr std::size_t count = 150; // more than one staging chunk of doubles, and no multiple of a block
    std::vector<T> a(count);
    std::vector<T> b(count);
    for (std::size_t i = 0; i != count; ++i) {
        a[i] = T(float(7 * i % 100));
        b[i] = T(float(i % 25));
    }
    std::vector<T> expected(count);
    std::vector<T> doubled(count);
    bough::combine<T>(bough::plus{}, a.data(), b.data(), expected.data(), count);
    bough::combine<T>(bough::plus{}, a.data(), a.data(), doubled.data(), count);
    constexpr std::size_t bytes = count * sizeof(T);
    for (std::size_t shift = 0; shift != 8; ++shift) {
        for (int form = 0; form != 5; ++form) { // 4: all three are one
            std::vector<std::byte> lower(bytes + 8);
            std::vector<std::byte> upper(bytes + 16);
            std::vector<std::byte> apart(bytes + 8);
            std::byte* l = lower.data() + shift;
            std::byte* u = form >= 3 ? l : upper.data() + (shift + 3) % 8;
            std::byte* out = form == 0 || form == 3 ? apart.data() : form == 1 ? l : u;
            std::memcpy(u, b.data(), bytes);
            std::memcpy(l, a.data(), bytes);
            bough::combine_bytes<bough::plus, T>(nullptr, l, u, out, count);
            CHECK(std::memcmp(out, (form >= 3 ? doubled : expected).data(), bytes) == 0);
        }
    }
    bough::combine_bytes<bough::plus, T>(nullptr, nullptr, nullptr, nullptr, 0);
}
TEST_CASE("bytes at any alignment give the same bytes", "[op]") {
    check_alignments<double>();
    check_alignments<float>();
    check_alignments<std::int16_t>();
    check_alignments<std::uint32_t>();
    check_alignments<std::int64_t>();
    check_alignments<std::complex<double>>();
    check_alignments<bough::fp16>();
    check_alignments<bough::bf16>();
}

TEST_CASE("elements with a wire form of their own are combined in it", "[op]") {
    using pair = bough::value_location<float>;
    constexpr std::size_t size = bough::wire_size_v<pair>;
    static_assert(size == 12);
    std::array<std::byte, 2 * size> a{};
    std::array<std::byte, 2 * size> b{};
    const auto put = [](std::byte* at, pair p) { bough::wire<pair>::encode(p, std::span<std::byte, size>(at, size)); };
    put(a.data(), {1.0f, 4});
    put(a.data() + size, {3.0f, 4});
    put(b.data(), {2.0f, 9});
    put(b.data() + size, {2.0f, 9});
    bough::combine_bytes<bough::min_location, pair>(nullptr, a.data(), b.data(), b.data(), 2);
    const std::span<const std::byte> out(b);
    CHECK(bough::wire<pair>::decode(out.subspan<0, size>()) == pair{1.0f, 4});
    CHECK(bough::wire<pair>::decode(out.subspan<size, size>()) == pair{2.0f, 9});
}

} // namespace
