// SPDX-License-Identifier: BSL-1.0
// Every rank gets the same bits from a plan that claims so, whatever comes in: NaNs with payloads of their own, zeros of both
// signs, infinities, numbers without an exponent. And an exact op gives the same bits whatever the plan.
#include "matrix/matrix.hpp"
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/transport/in_process.hpp>

#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

using namespace bough;

namespace {

using end_type = in_process::endpoint;

// Awkward numbers; NaNs tell their rank.
template <class T, class Bits>
T awkward(std::uint64_t which, rank_t rank) {
    using limits = std::numeric_limits<T>;
    const auto nan = std::bit_cast<Bits>(limits::quiet_NaN());
    const Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
    const Bits quiet = Bits{1} << (limits::digits - 2);
    switch (which % 14) {
    case 0: return std::bit_cast<T>(static_cast<Bits>(nan | (rank + 1)));
    case 1: return std::bit_cast<T>(static_cast<Bits>(nan | sign | (rank + 9)));
    case 2: return std::bit_cast<T>(static_cast<Bits>((nan & ~quiet) | (rank + 1))); // signals
    case 3: return T(0);
    case 4: return -T(0);
    case 5: return limits::infinity();
    case 6: return -limits::infinity();
    case 7: return limits::denorm_min();
    case 8: return -limits::min() / 2;
    case 9: return limits::max();
    case 10: return limits::lowest();
    case 11: return limits::epsilon() * static_cast<T>(rank + 1);
    case 12: return static_cast<T>(rank) + T(1) / 3;
    default: return -static_cast<T>(rank + 1) / 7;
    }
}

// Runs every plan of allreduce with `op`, or those that claim to be rank consistent if it is not exact; returns the bits of rank 0 for each, and how often a rank had others.
template <class T, class Bits, class O>
std::vector<std::vector<Bits>> results(rank_t size, const O& op, int& differ, bool few_kinds) {
    auto plans = test::matrix::plans_of<end_type, goal::allreduce>(size);
    std::uint64_t number = 0;
    std::erase_if(plans, [&](const auto& p) {
        return !bough_test::sampled(++number * 64 + size, 4) || !(is_exact_v<O, T> || p.consistent);
    });
    REQUIRE(!plans.empty());
    constexpr std::size_t count = 150;
    std::vector<std::vector<Bits>> first(plans.size());
    std::vector<std::vector<std::vector<Bits>>> all(size, first);
    in_process(size).run([&](auto end) {
        communicator comm{std::move(end)};
        const any_op any = make_any_op<T>(op);
        for (std::size_t p = 0; p != plans.size(); ++p) {
            std::vector<T> x(count);
            for (std::size_t i = 0; i != count; ++i) {
                // A few elements see only some kinds, so that not every result is NaN.
                const std::uint64_t k = bough_test::mixed(i * 64 + comm.rank());
                x[i] = awkward<T, Bits>(few_kinds || i % 3 != 0 ? 3 + k % 11 : k, comm.rank());
            }
            auto* bytes = reinterpret_cast<std::byte*>(x.data());
            if (plans[p].run(comm, {bytes, bytes, count, sizeof(T), any.function, any.state}, {})) return;
            std::vector<Bits>& mine = all[comm.rank()][p];
            mine.resize(count);
            std::memcpy(mine.data(), x.data(), count * sizeof(T));
        }
    });
    for (std::size_t p = 0; p != plans.size(); ++p) {
        first[p] = all[0][p];
        if (first[p].empty()) ++differ;
        for (rank_t r = 1; r != size; ++r) differ += all[r][p] != first[p];
    }
    return first;
}

template <class T, class Bits>
void check_type() {
    for (rank_t size = 2; size != 10; ++size) {
        CAPTURE(size, sizeof(T));
        int differ = 0;
        (void)results<T, Bits>(size, plus{}, differ, false);
        (void)results<T, Bits>(size, plus{}, differ, true);
        (void)results<T, Bits>(size, multiplies{}, differ, false);
        CHECK(differ == 0);
        const auto check_exact = [&](const auto& op) {
            static_assert(is_exact_v<std::remove_cvref_t<decltype(op)>, T>);
            differ = 0;
            const auto found = results<T, Bits>(size, op, differ, false);
            CHECK(differ == 0);
            for (const auto& f : found) CHECK(f == found[0]); // any plan
        };
        check_exact(bough::min{});
        check_exact(bough::max{});
        check_exact(min_number{});
        check_exact(max_number{});
    }
}

} // namespace

TEST_CASE("allreduce: the same bits on every rank, double") { check_type<double, std::uint64_t>(); }
TEST_CASE("allreduce: the same bits on every rank, float") { check_type<float, std::uint32_t>(); }
