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

} // namespace

TEST_CASE("small_float_many: all kernels give the bits of a plain loop", "[small_float]") {
    for (std::uint64_t seed = bough_test::seed(); seed != bough_test::seed() + 3; ++seed) {
        CAPTURE(seed);
        CHECK(check_all<bf16>(seed) != 0);
        const bool has_half = bough::detail::best_vector_unit() != vector_unit::portable;
        CHECK((check_all<fp16>(seed) != 0) == has_half);
    }
}
