// SPDX-License-Identifier: BSL-1.0
#include "matrix/matrix.hpp"
#include "support/catch.hpp"
#include <bough/engine/prepared.hpp>
#include <bough/op/arithmetic.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

namespace test::matrix {
namespace {

using number = std::uint64_t;

struct matrix {
    number a, b, c, d;
};
struct product { // modulo 2^64: associative, exact, does not commute
    constexpr matrix operator()(const matrix& x, const matrix& y) const {
        return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
    }
};
struct summary {
    number sum, low, high;
};
struct merge {
    constexpr summary operator()(const summary& x, const summary& y) const {
        return {x.sum + y.sum, std::min(x.low, y.low), std::max(x.high, y.high)};
    }
};

} // namespace
} // namespace test::matrix

template <>
inline constexpr bool bough::is_commutative_v<test::matrix::merge> = true;

namespace test::matrix {

std::span<const kind> kinds() {
    static const kind all[] = {{"plus", bough::make_any_op<number>(bough::plus{})},
                               {"matrix product", bough::make_any_op<matrix>(product{})},
                               {"fused", bough::make_any_op<summary>(merge{})}};
    return all;
}

void fill(const kind& k, std::span<std::byte> data, bough::rank_t rank, std::uint64_t salt, std::uint64_t first) {
    const number key = bough_test::mixed(salt * 1000 + rank);
    for (std::size_t i = 0; i != data.size(); i += sizeof key) {
        const number x = bough_test::mixed(key + (first + i) * 2);
        std::memcpy(data.data() + i, &x, sizeof x);
    }
    for (std::size_t i = 0; k.make != nullptr && i != data.size(); i += k.op.element_size) k.make(data.data() + i);
}

std::vector<std::uint64_t> offsets_of(std::uint64_t count, bough::block_t blocks, bool random, std::uint64_t salt) {
    std::vector<std::uint64_t> offsets{0};
    for (bough::block_t b = 1; b != blocks; ++b)
        offsets.push_back(random ? bough_test::mixed(salt * 10'000 + b / 2 * 2) % (count + 1)
                                 : bough::block_begin(count, blocks, b));
    offsets.push_back(count);
    std::sort(offsets.begin(), offsets.end()); // where two are equal, a block is empty
    return offsets;
}

bytes fold(const kind& k, std::uint64_t count, bough::rank_t size, std::uint64_t salt) {
    // Kept: every rank of a case asks for the same.
    static std::recursive_mutex guard;
    static std::map<std::tuple<const kind*, std::uint64_t, bough::rank_t, std::uint64_t>, bytes> known;
    const std::scoped_lock lock(guard);
    bytes& result = known[{&k, count, size, salt}];
    if (!result.empty() || count == 0 || size == 0) return result;
    bytes next(static_cast<std::size_t>(count) * k.op.element_size);
    fill(k, next, size - 1, salt);
    if (size == 1) return result = next;
    result = fold(k, count, size - 1, salt);
    k.op(result.data(), next.data(), result.data(), static_cast<std::size_t>(count));
    return result;
}

guarded::guarded(std::size_t size, std::byte content) : memory_(size + 2 * guard, std::byte{0xa5}), size_(size) {
    std::fill(data().begin(), data().end(), content);
}
bool guarded::intact() const noexcept {
    for (std::size_t i = 0; i != guard; ++i)
        if (memory_[i] != std::byte{0xa5} || memory_[guard + size_ + i] != std::byte{0xa5}) return false;
    return true;
}
bool guarded::holds(std::span<const std::byte> expected) noexcept {
    return std::equal(data().begin(), data().end(), expected.begin(), expected.end());
}

} // namespace test::matrix

TEST_CASE("matrix: the order of ranks shows in the product of matrices") {
    using namespace test::matrix;
    const kind& k = kinds()[1];
    bytes a(k.op.element_size), b(k.op.element_size), ab(k.op.element_size), ba(k.op.element_size);
    fill(k, a, 0, 1);
    fill(k, b, 1, 1);
    k.op(a.data(), b.data(), ab.data(), 1);
    k.op(b.data(), a.data(), ba.data(), 1);
    CHECK(ab != ba);
    CHECK(fold(k, 1, 2, 1) == ab);
    CHECK_FALSE(k.op.traits.commutative);
    CHECK((kinds()[0].op.traits.commutative && kinds()[2].op.traits.commutative));
}
