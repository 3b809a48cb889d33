// SPDX-License-Identifier: BSL-1.0
// Every rank gets the same bits: NaNs with different payloads, signed zeros, infinities, denormals, on any rank.
#include "simulated/party.hpp"
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

using bough::rank_t;
using test::make_call;
using test::one_call;

template <class T>
using bits_of = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Awkward values; rank r has its own in every place.
template <class T>
std::vector<T> awkward(rank_t r, std::uint64_t seed) {
    using limits = std::numeric_limits<T>;
    const auto nan = [](std::uint64_t payload, bool negative) {
        auto b = std::bit_cast<bits_of<T>>(limits::quiet_NaN());
        b = static_cast<bits_of<T>>(b | (payload & 0xfffff) | (negative ? ~(~bits_of<T>{0} >> 1) : 0));
        return std::bit_cast<T>(b);
    };
    std::vector<T> v;
    for (std::uint64_t i = 0; i != 48; ++i) {
        switch (bough_test::mixed(seed + i * 101 + r) % 9) {
        case 0: v.push_back(nan(r + 1 + i, false)); break;
        case 1: v.push_back(nan(r + 77, true)); break;
        case 2: v.push_back(T(0)); break;
        case 3: v.push_back(-T(0)); break;
        case 4: v.push_back(limits::infinity()); break;
        case 5: v.push_back(-limits::infinity()); break;
        case 6: v.push_back(limits::denorm_min() * static_cast<T>(r + 1)); break;
        case 7: v.push_back(T(1) / static_cast<T>(r + 3)); break;
        default: v.push_back(-limits::min() / 2); break;
        }
    }
    for (rank_t k = 0; k != 13; ++k) v.push_back(k == r ? nan(1000 + r, r % 2 != 0) : T(1)); // one NaN, on rank k
    for (rank_t k = 0; k != 13; ++k) v.push_back(k == r ? -T(0) : T(0));                     // one -0
    for (rank_t k = 0; k != 13; ++k) v.push_back(k == r ? limits::denorm_min() : -T(0));     // one denormal
    return v;
}

template <class T, class O>
void check_op(rank_t size, std::uint64_t seed) {
    const O op{};
    const auto run = [&](auto& all, std::vector<one_call>& calls, std::uint32_t number) {
        for (const bough::status& s : all.run(calls, number)) CHECK_FALSE(s);
    };
    const auto all_equal = [&](const std::vector<one_call>& calls) {
        for (const one_call& c : calls)
            if (c.data != calls[0].data) return false;
        return true;
    };
    std::vector<std::byte> known; // of exact ops: the same for every plan
    const auto same_as_known = [&](const std::vector<std::byte>& data) {
        if (!bough::is_exact_v<O, T>) return true;
        if (known.empty()) known = data;
        return known == data;
    };
    const auto check_allreduce = [&](const char* name, const auto& plan) {
        CAPTURE(name, size, seed);
        test::party<bough::simulated> all(size, seed);
        std::vector<one_call> calls;
        for (rank_t r = 0; r != size; ++r) calls.push_back(make_call(plan, r, awkward<T>(r, seed), op));
        run(all, calls, 1);
        CHECK(all_equal(calls));
        CHECK(same_as_known(calls[0].data));
    };
    const bough::dimensions at{.size = size, .root = size / 2};
    check_allreduce("recursive doubling", bough::plan_allreduce(bough::recursive_doubling{}, {.size = size}));
    test::for_each_source(at, [&](const char* name, const auto& source, bool) {
        check_allreduce(name, bough::plan_allreduce(source, at));
        test::party<bough::simulated_taking> all(size, seed);
        std::vector<one_call> up, down;
        for (rank_t r = 0; r != size; ++r)
            up.push_back(make_call(bough::plan_reduce(source, at), r, awkward<T>(r, seed), op));
        run(all, up, 1);
        for (rank_t r = 0; r != size; ++r) {
            down.push_back(make_call(bough::plan_broadcast(source, at), r, awkward<T>(r, seed), op));
            down[r].data = up[r].data;
        }
        run(all, down, 2);
        CHECK(all_equal(down));
        CHECK(same_as_known(down[0].data));
    });
}

} // namespace

TEST_CASE("same bits on every rank, for every plan") {
    for (rank_t size = 2; size <= 13; ++size) {
        const std::uint64_t seed = bough_test::seed() * 1000 + size;
        check_op<double, bough::plus>(size, seed);
        check_op<double, bough::min>(size, seed);
        check_op<double, bough::max>(size, seed);
        check_op<double, bough::min_number>(size, seed);
        check_op<double, bough::max_number>(size, seed);
        if (!bough_test::sampled(size, 3)) continue;
        check_op<float, bough::plus>(size, seed);
        check_op<float, bough::min>(size, seed);
        check_op<float, bough::max_number>(size, seed);
    }
}

// The canary: an op that keeps the payload of whatever NaN it meets first gives other bits to other plans.
namespace {
struct first_nan {
    double operator()(double a, double b) const { return a != a ? a : b != b ? b : a < b ? a : b; }
};
} // namespace
template <>
inline constexpr bool bough::is_exact_v<first_nan, double> = true; // a lie

TEST_CASE("same bits: an op that lies is found") {
    std::vector<std::vector<std::byte>> seen;
    for (const rank_t root : {0u, 6u}) {
        test::party<bough::simulated> all(7, 1);
        std::vector<one_call> calls;
        for (rank_t r = 0; r != 7; ++r)
            calls.push_back(make_call(bough::plan_allreduce(bough::kary{.arity = 2}, {.size = 7, .root = root}), r,
                                      awkward<double>(r, 5), first_nan{}));
        for (const bough::status& s : all.run(calls, 1)) CHECK_FALSE(s);
        seen.push_back(calls[0].data);
    }
    CHECK(seen[0] != seen[1]);
}
