// SPDX-License-Identifier: BSL-1.0
// Quantised_sum: how near its codes are, the same bits from all loops, and what becomes of values that have no code.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/op/detail/int8_blocks.hpp>
#include <bough/op/quantised_sum.hpp>
#include <bough/op/traits.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

using namespace bough;

namespace {

static_assert(BlockCodec<int8_blocks<>> && BlockCodec<int8_blocks<16>>);
static_assert(int8_blocks<>::bytes == 260 && quantised_sum<>::blocks_of(0) == 0 &&
              quantised_sum<>::blocks_of(256) == 1 && quantised_sum<>::blocks_of(257) == 2);

using values = std::array<float, 64>;
using codec = int8_blocks<64>;
using block = std::array<std::byte, codec::bytes>;

values random_values(std::mt19937_64& random, int exponent) {
    std::uniform_real_distribution<float> some(-1, 1);
    values made{};
    for (float& x : made) x = std::ldexp(some(random), exponent);
    return made;
}
float largest(const values& x) {
    float most = 0;
    for (const float v : x) most = std::max(most, std::fabs(v));
    return most;
}
block encoded(const values& x) {
    block made{};
    codec{}.encode(x.data(), made.data());
    return made;
}
values decoded(const block& b) {
    values made{};
    codec{}.decode(b.data(), made.data());
    return made;
}

} // namespace

TEST_CASE("quantised_sum: a code is as near as half a scale, at every magnitude") {
    std::mt19937_64 random(bough_test::seed());
    for (int exponent = -149; exponent <= 127; ++exponent) {
        const values x = random_values(random, exponent);
        const values y = decoded(encoded(x));
        // Below 2^-126 a scale has fewer bits.
        const double within = largest(x) / 253.0 + (largest(x) < std::ldexp(1.0, -126) ? std::ldexp(1.0, -135) : 0);
        CAPTURE(exponent);
        for (std::size_t i = 0; i != x.size(); ++i) CHECK(std::fabs(double{x[i]} - y[i]) <= within);
    }
}

TEST_CASE("quantised_sum: the largest floats stay finite") {
    for (const float most : {std::numeric_limits<float>::max(), std::nextafter(std::numeric_limits<float>::max(), 0.0f),
                             -std::numeric_limits<float>::max()}) {
        values x{};
        x[3] = most, x[4] = most / 3;
        const values y = decoded(encoded(x));
        CHECK(std::isfinite(y[3]));
        for (std::size_t i = 0; i != x.size(); ++i)
            CHECK(std::fabs(double{x[i]} - y[i]) <= std::fabs(double{most}) / 253);
        values sums{};
        sums[3] = -most / 2;
        codec{}.add(encoded(x).data(), sums.data());
        CHECK(sums[3] == -most / 2 + y[3]);
    }
}

TEST_CASE("quantised_sum: the largest magnitude has code 127, zeros are zeros, ties go to even") {
    values x{};
    CHECK(decoded(encoded(x)) == x);
    x[0] = 127, x[1] = 0.5f, x[2] = 1.5f, x[3] = -2.5f, x[4] = -127;
    const values y = decoded(encoded(x));
    CHECK((y[0] == 127 && y[1] == 0 && y[2] == 2 && y[3] == -2 && y[4] == -127));
}

TEST_CASE("quantised_sum: a block with a NaN or an infinity is NaN, and its neighbours are not") {
    for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
        std::vector<float> x(192, 1.0f), y(192);
        x[70] = odd;
        const quantised_sum<codec> op;
        std::vector<std::byte> blocks(3 * codec::bytes);
        op.encode(x, blocks.data());
        op.decode(blocks.data(), y, false);
        for (std::size_t i = 0; i != y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 64 && i < 128));
        // Also if only one rank has it.
        std::vector<std::byte> others(blocks.size());
        op.encode(std::vector<float>(192, 2.0f), others.data());
        const std::byte* operands[] = {others.data(), blocks.data()};
        op.combine_blocks(operands, 2, others.data(), 3);
        op.decode(others.data(), y, false);
        for (std::size_t i = 0; i != y.size(); ++i)
            CHECK((i >= 64 && i < 128 ? std::isnan(y[i]) : y[i] == Approx(3).epsilon(0.01)));
    }
}

TEST_CASE("quantised_sum: sums are as near as promised, and have the bits of a sum in order") {
    std::mt19937_64 random(bough_test::seed());
    for (std::size_t size = 1; size != 9; ++size) {
        const float after = size % 2 == 0 ? 1.0f : 0.37f;
        const quantised_sum<codec> op{.after = after};
        std::vector<values> x;
        std::vector<block> blocks;
        std::vector<const std::byte*> operands;
        for (std::size_t k = 0; k != size; ++k) x.push_back(random_values(random, static_cast<int>(random() % 9)));
        for (const values& v : x) blocks.push_back(encoded(v));
        for (const block& b : blocks) operands.push_back(b.data());
        block made{};
        op.combine_blocks(operands.data(), size, made.data(), 1);
        const values y = decoded(made);
        values sums{}, exact{};
        double within = 0;
        for (std::size_t k = 0; k != size; ++k) {
            const values part = decoded(blocks[k]);
            within += largest(x[k]);
            for (std::size_t i = 0; i != sums.size(); ++i) {
                sums[i] = k == 0 ? part[i] : sums[i] + part[i];
                exact[i] += x[k][i];
            }
        }
        for (float& s : sums) s *= after;
        CHECK(made == encoded(sums));
        within = (within * after + largest(sums)) / 253;
        CAPTURE(size);
        for (std::size_t i = 0; i != y.size(); ++i)
            CHECK(std::fabs(double{exact[i]} * after - y[i]) <= within + 1e-5 * largest(exact));
        op.combine_blocks(operands.data(), size, blocks[size - 1].data(), 1); // in place of an operand
        CHECK(blocks[size - 1] == made);
    }
}

TEST_CASE("quantised_sum: all loops give the same bits, at any address") {
    using loops = detail::int8_block<64>;
    std::mt19937_64 random(bough_test::seed());
    std::vector<std::uint32_t> bits(64);
    for (int i = 0; i != 2'000; ++i) {
        for (std::uint32_t& b : bits) b = static_cast<std::uint32_t>(random());
        if (i % 2 == 0) // finite ones, of like magnitudes
            for (std::uint32_t& b : bits) b = (b & 0x87ff'ffffu) | static_cast<std::uint32_t>(i % 14) << 27;
        std::array<std::byte, 256 + 3> from{}, plain{}, fast{};
        std::memcpy(from.data() + 1, bits.data(), 256);
        block a{}, b{};
        const auto portable = loops::kernels_for(detail::vector_unit::portable);
        for (int unit = 1; unit <= static_cast<int>(detail::best_vector_unit()); ++unit) {
            const auto best = loops::kernels_for(static_cast<detail::vector_unit>(unit));
            portable.encode(from.data() + 1, a.data());
            best.encode(from.data() + 1, b.data());
            float scale = 0;
            std::memcpy(&scale, a.data(), sizeof scale);
            if (scale != scale) { // whatever its codes are
                CHECK(std::memcmp(a.data(), b.data(), 4) == 0);
                continue;
            }
            CHECK(a == b);
            portable.decode(a.data(), plain.data() + 3);
            best.decode(a.data(), fast.data() + 3);
            CHECK(plain == fast);
            std::memcpy(plain.data() + 3, from.data() + 1, 256);
            fast = plain;
            portable.add(a.data(), plain.data() + 3);
            best.add(a.data(), fast.data() + 3);
            CHECK(plain == fast);
        }
    }
}

// A fused multiply-add, or a reciprocal in place of a division, would change some of them.
TEST_CASE("quantised_sum: the bits are the same for every compiler, with and without fused multiply-add") {
    std::mt19937_64 random(7);
    std::uint64_t hash = detail::fnv_offset;
    for (int i = 0; i != 500; ++i) {
        std::vector<float> x(4 * 64);
        for (float& v : x) {
            v = static_cast<float>(static_cast<std::int32_t>(random()));
            v = std::ldexp(v, static_cast<int>(random() % 8) - 31);
        }
        std::vector<std::byte> blocks(4 * codec::bytes);
        const quantised_sum<codec> op{.after = 0.3f};
        op.encode(x, blocks.data());
        const std::byte* operands[4];
        for (std::size_t k = 0; k != 4; ++k) operands[k] = blocks.data() + k * codec::bytes;
        op.combine_blocks(operands, 4, blocks.data(), 1);
        op.decode(blocks.data(), x, true);
        for (const float v : x)
            for (int at = 0; at != 32; at += 8)
                hash = detail::fnv1a(hash, static_cast<char>(std::bit_cast<std::uint32_t>(v) >> at & 0xff));
    }
    CHECK(hash == 0x5e51'de81'536a'e515u);
}
