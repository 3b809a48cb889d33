// SPDX-License-Identifier: BSL-1.0
// Sums of many spans of 16 bits, rounded once: every kernel that this processor has gives the bits of a plain
// loop, for all lengths, numbers of operands and scales, with infinities and NaNs among them.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/detail/small_float_many.hpp>
#include <bough/op/small_float.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

using namespace bough;
using bough::detail::vector_unit;

namespace {

// Returns how often a kernel has run.
template <class T>
int check_all(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    int kernels = 0;
    const auto best = bough::detail::best_vector_unit();
    for (const std::size_t size : {1u, 2u, 3u, 8u, 17u}) {
        for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 200u, 1024u}) {
            for (const float scale : {1.f, 0.25f, 1.f / 3, 0.f, std::numeric_limits<float>::infinity(), -1e-30f}) {
                std::vector<std::vector<std::byte>> lists(size);
                std::vector<const std::byte*> operands;
                std::vector<std::vector<T>> values(size, std::vector<T>(count));
                for (std::size_t k = 0; k != size; ++k) {
                    lists[k].resize(count * sizeof(T) + 1);
                    for (T& x : values[k]) {
                        // Any bits in some places: infinities, NaNs, subnormals. Otherwise small numbers, and ties.
                        const auto bits = static_cast<typename T::word>(random());
                        x = random() % 97 == 0 ? T::from_bits(bits) : T(static_cast<float>(bits % 4096) / 64 - 20);
                    }
                    std::byte* const at = lists[k].data() + k % 2; // at odd addresses, too
                    if (count != 0) std::memcpy(at, values[k].data(), count * sizeof(T));
                    operands.push_back(at);
                }
                std::vector<T> expected(count);
                for (std::size_t i = 0; i != count; ++i) {
                    float sum = values[0][i];
                    for (std::size_t k = 1; k != size; ++k) sum = plus{}(sum, float(values[k][i]));
                    expected[i] = T(sum * scale);
                }
                for (int unit = 0; unit <= static_cast<int>(best); ++unit) {
                    std::vector<std::byte> out(count * sizeof(T) + 1);
                    auto* const sum =
                        bough::detail::summer_for<typename T::format, plus>(static_cast<vector_unit>(unit));
                    if (sum == nullptr) continue;
                    ++kernels;
                    sum(operands.data(), size, out.data() + 1, count, scale);
                    for (std::size_t i = 0; i != count; ++i) {
                        T made;
                        std::memcpy(&made, out.data() + 1 + i * sizeof(T), sizeof made);
                        if (made.bits() != expected[i].bits())
                            FAIL("unit " << unit << ", element " << i << " of " << count << ", " << size
                                         << " operands, times " << scale << ": " << made.bits() << ", not "
                                         << expected[i].bits());
                    }
                }
            }
        }
    }
    return kernels;
}

// A kernel gives up a step whose sums are no numbers, and another loop makes them. So what is right at the end does
// not show that the kernel works: here its steps are looked at by themselves.
template <class T, bool (*Step)(const std::byte* const*, std::size_t, std::size_t, std::byte*, float)>
void check_steps() {
    constexpr std::size_t lanes = bough::detail::lane_step, size = 3;
    std::vector<T> values[size], made(lanes);
    std::vector<const std::byte*> operands;
    for (std::size_t k = 0; k != size; ++k) {
        for (std::size_t i = 0; i != lanes; ++i) values[k].push_back(T(static_cast<float>((i + 1) * (k + 1)) / 4));
        operands.push_back(reinterpret_cast<const std::byte*>(values[k].data()));
    }
    const auto step = [&] { return Step(operands.data(), size, 0, reinterpret_cast<std::byte*>(made.data()), 0.5f); };
    CHECK(step());
    for (std::size_t i = 0; i != lanes; ++i) {
        float sum = values[0][i];
        for (std::size_t k = 1; k != size; ++k) sum += float(values[k][i]);
        CHECK(made[i].bits() == T(sum / 2).bits());
    }
    for (std::size_t i = 0; i != lanes; ++i) {
        for (std::vector<T>& list : values) {
            const T before = std::exchange(list[i], T(std::numeric_limits<float>::quiet_NaN()));
            CHECK_FALSE(step());
            list[i] = before;
        }
        const T before = std::exchange(values[1][i], T(std::numeric_limits<float>::infinity()));
        CHECK(step());
        CHECK(made[i].bits() == values[1][i].bits());
        values[1][i] = before;
    }
}
bool portable_step(const std::byte* const* operands, std::size_t size, std::size_t at, std::byte* out, float scale) {
    return bough::detail::brain_sum::step(operands, size, at, out, scale);
}
#if defined(__x86_64__)
__attribute__((target("avx2,f16c"))) bool brain_step(const std::byte* const* operands, std::size_t size, std::size_t at,
                                                     std::byte* out, float scale) {
    return bough::detail::brain_sum_avx2::step(operands, size, at, out, scale);
}
__attribute__((target("avx2,f16c"))) bool half_step(const std::byte* const* operands, std::size_t size, std::size_t at,
                                                    std::byte* out, float scale) {
    return bough::detail::half_sum_f16c::step(operands, size, at, out, scale);
}
#endif

} // namespace

TEST_CASE("small_float_many: a kernel gives up where a sum is no number, and nowhere else", "[small_float]") {
    check_steps<bf16, portable_step>();
#if defined(__x86_64__)
    if (bough::detail::best_vector_unit() == vector_unit::portable) return;
    check_steps<bf16, brain_step>();
    check_steps<fp16, half_step>();
#endif
}

TEST_CASE("small_float_many: all kernels give the bits of a plain loop", "[small_float]") {
    for (std::uint64_t seed = bough_test::seed(); seed != bough_test::seed() + 3; ++seed) {
        CAPTURE(seed);
        CHECK(check_all<bf16>(seed) != 0);
        const bool has_half = bough::detail::best_vector_unit() != vector_unit::portable;
        CHECK((check_all<fp16>(seed) != 0) == has_half);
    }
}
