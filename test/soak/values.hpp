// SPDX-License-Identifier: BSL-1.0
// Elements of the soak's calls: types and ops that are known at run time only, what each rank gives, and
// the fold over ranks.
#ifndef BOUGH_TEST_SOAK_VALUES_HPP
#define BOUGH_TEST_SOAK_VALUES_HPP

#include "support/process_collectives.hpp"
#include "support/sample.hpp"
#include <bough/batch.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/run_time_type.hpp>
#include <bough/op/small_float.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace soak {

// The smallest key, and of equal keys the lowest rank.
struct bid {
    std::int32_t key = 0, rank = 0;
};
struct best {
    bid operator()(const bid& a, const bid& b) const {
        return b.key < a.key || (b.key == a.key && b.rank < a.rank) ? b : a;
    }
};

struct op_kind {
    const char* name;
    bough::any_op op;
    void (*fold)(std::byte* left, const std::byte* right, std::size_t count);              // left = left op right
    void (*add)(bough::batch& to, const std::byte* in, std::byte* out, std::size_t count); // in == out: in place
};
struct type_kind {
    const char* name;
    bough::run_time_type type;
    // What a rank gives in a call.
    void (*fill)(std::byte* to, std::size_t count, std::uint64_t seed, bough::rank_t rank);
    std::vector<op_kind> ops;
};

// Sums of these over 9 ranks are exact in every type, so each bracket gives the same bits.
template <class T>
T value_of(std::uint64_t dice, bough::rank_t rank) {
    if constexpr (std::is_same_v<T, bough_test::matrix>)
        return bough_test::matrix_of(rank, dice);
    else if constexpr (std::is_same_v<T, bid>)
        return {static_cast<std::int32_t>(dice % 5), static_cast<std::int32_t>(rank)};
    else if constexpr (std::is_same_v<T, bough::bf16>)
        return bough::bf16{static_cast<float>(dice % 16)};
    else
        return static_cast<T>(dice % 100'000);
}
template <class T>
void fill(std::byte* to, std::size_t count, std::uint64_t seed, bough::rank_t rank) {
    const std::uint64_t mine = bough_test::mixed(seed * 64 + rank);
    for (std::size_t i = 0; i != count; ++i) {
        const T x = value_of<T>((mine + i * 0x9e37'79b9) >> 7, rank);
        std::memcpy(to + i * sizeof(T), &x, sizeof(T));
    }
}
template <class T, class O>
void fold(std::byte* left, const std::byte* right, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        T a, b;
        std::memcpy(&a, left + i * sizeof(T), sizeof(T));
        std::memcpy(&b, right + i * sizeof(T), sizeof(T));
        const T both = O{}(a, b);
        std::memcpy(left + i * sizeof(T), &both, sizeof(T));
    }
}
template <class T, class O>
void add(bough::batch& to, const std::byte* in, std::byte* out, std::size_t count) {
    const std::span<T> results(reinterpret_cast<T*>(out), count);
    if (in == out)
        to.add(results, O{});
    else
        to.add(std::span<const T>(reinterpret_cast<const T*>(in), count), results, O{});
}
template <class T, class O>
op_kind op_of(const char* name) {
    return {name, bough::make_any_op<T>(O{}), fold<T, O>, add<T, O>};
}
template <class T>
type_kind type_of(const char* name, std::vector<op_kind> ops) {
    return {name, bough::run_time_type_of<T>(), fill<T>, std::move(ops)};
}

inline const std::vector<type_kind>& types() {
    using namespace bough;
    static const std::vector<type_kind> all{
        type_of<std::int32_t>("int32", {op_of<std::int32_t, plus>("plus"), op_of<std::int32_t, max>("max")}),
        type_of<std::int64_t>("int64", {op_of<std::int64_t, plus>("plus"), op_of<std::int64_t, min>("min"),
                                        op_of<std::int64_t, bit_xor>("bit_xor")}),
        type_of<double>("double", {op_of<double, plus>("plus"), op_of<double, max>("max")}),
        type_of<bf16>("bf16", {op_of<bf16, plus>("plus"), op_of<bf16, max>("max")}),
        type_of<bough_test::matrix>("matrix", {op_of<bough_test::matrix, bough_test::product>("product")}),
        type_of<bid>("bid", {op_of<bid, best>("best")}),
    };
    return all;
}
inline std::vector<std::uint8_t> op_counts() {
    std::vector<std::uint8_t> counts;
    for (const type_kind& t : types()) counts.push_back(static_cast<std::uint8_t>(t.ops.size()));
    return counts;
}

} // namespace soak

#endif
