// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/memory_size.hpp>

#include <cstdint>

using namespace bough::detail;

namespace {
constexpr std::uint64_t most = ~std::uint64_t{0};
} // namespace

static_assert(memory_size<std::uint32_t>(7) == 7);
static_assert(memory_size<std::uint32_t>(0xffff'ffffu) == 0xffff'ffffu);
static_assert(memory_size<std::uint32_t>(0x1'0000'0040) == 0xffff'ffffu);
static_assert(memory_size<std::uint64_t>(most) == most);
static_assert(capped_sum(3, 4) == 7 && capped_sum(most - 1, 1) == most && capped_sum(most, 2) == most);
static_assert(capped_sum(2, most) == most);
static_assert(capped_product(3, 4) == 12 && capped_product(0, most) == 0 && capped_product(most, 0) == 0);
static_assert(capped_product(std::uint64_t{1} << 32, std::uint64_t{1} << 32) == most);
static_assert(capped_product(std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1) == most - 0xffff'ffffu);
static_assert(fits_memory<std::uint32_t>(0x7fff'ffff) && !fits_memory<std::uint32_t>(0x8000'0000));
static_assert(!fits_memory<std::uint32_t>(0x1'0000'0040) && !fits_memory<std::uint64_t>(most));

TEST_CASE("memory_size: a length that does not fit is the longest, and not what is left when it is cut") {
    const std::uint64_t five_gib = std::uint64_t{5} << 30;
    CHECK(memory_size<std::uint32_t>(five_gib) == 0xffff'ffffu);
    CHECK(memory_size<std::uint64_t>(five_gib) == five_gib);
}
