// SPDX-License-Identifier: BSL-1.0
// Compiled alone: it adapts a struct, which Hana wants in the global namespace.
// A fused op gives every member what its op alone gives, and travels without padding.
#include "frontdoor/hear.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/batch.hpp>
#include <bough/hana/fuse.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/bitwise.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/logical.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>

#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/define_struct.hpp>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace hana_fuse {

// Without padding.
struct stats {
    double sum;
    double low;
    std::array<std::uint64_t, 4> counts;
};

// x -> a x + b, modulo 2^64: associative, not commutative.
struct affine {
    std::uint64_t a, b;
    friend bool operator==(const affine&, const affine&) = default;
};
struct compose {
    constexpr affine operator()(const affine& lower, const affine& upper) const {
        return {upper.a * lower.a, upper.a * lower.b + upper.b};
    }
};
// An op on a whole array.
struct first_of_pair {
    std::uint32_t bias = 0;
    constexpr std::array<std::uint32_t, 2> operator()(const std::array<std::uint32_t, 2>& a,
                                                      const std::array<std::uint32_t, 2>& b) const {
        return a[0] + bias < b[0] + bias ? a : b;
    }
};

// With padding, a struct, arrays of structs, a lifted member, an op with state.
struct report {
    std::int8_t highest;
    double exactly;
    stats inner;
    std::array<affine, 2> maps;
    std::array<std::uint32_t, 2> pair;
    std::array<float, 3> least;
    std::uint8_t flags;
};

struct padded {
    char c;
    affine map;
};
struct adapted {
    std::uint16_t a;
    std::uint16_t b;
};
struct defined {
    BOOST_HANA_DEFINE_STRUCT(defined, (std::uint32_t, hits), (std::uint32_t, misses));
};

} // namespace hana_fuse

BOOST_HANA_ADAPT_STRUCT(hana_fuse::adapted, a, b);

namespace {

using namespace bough;
using namespace hana_fuse;

template <class T>
using bare = std::remove_cv_t<T>;

constexpr auto merge =
    fuse(field<&stats::sum>(plus{}), field<&stats::low>(bough::min{}), field<&stats::counts>(plus{}));
using merge_type = bare<decltype(merge)>;
static_assert(Op<merge_type, stats> && !LiftedOp<merge_type, stats>);
static_assert(std::is_empty_v<merge_type> && detail::is_stateless_v<merge_type>);
static_assert(is_commutative_v<merge_type> && !is_idempotent_v<merge_type>);
static_assert(!is_exact_v<merge_type, stats> && !is_integer_only_v<merge_type, stats>);
static_assert(has_identity_v<merge_type, stats>);
static_assert(merge({1, 2, {1, 2, 3, 4}}, {3, -1, {1, 1, 1, 1}}).low == -1);
static_assert(merge({1, 2, {1, 2, 3, 4}}, merge.identity<stats>()).counts[3] == 4);

constexpr auto summary =
    fuse(field<&report::highest>(bough::max{}), field<&report::exactly>(exact_sum{}), field<&report::inner>(merge),
         field<&report::maps>(compose{}), field<&report::pair>(first_of_pair{7}),
         field<&report::least>(bough::min_number{}), field<&report::flags>(bit_or{}));
using summary_type = bare<decltype(summary)>;
static_assert(!Op<summary_type, report> && LiftedOp<summary_type, report>);
static_assert(sizeof(summary_type::state) == 1 + sizeof(exact_accumulator<double>) + 48 + 32 + 8 + 12 + 1);
static_assert(alignof(summary_type::state) == 1 && travels_as_bytes_v<summary_type::state>);
static_assert(!is_commutative_v<summary_type> && !std::is_empty_v<summary_type>);
static_assert(!has_identity_v<summary_type, summary_type::state>); // compose has none

// Constant expressions, lifted too.
constexpr auto both = fuse(field<&padded::c>(plus{}), field<&padded::map>(compose{}));
constexpr auto two = both(both.lift({1, {2, 3}}), both.lift({4, {5, 6}}));
static_assert(two.bytes.size() == 17 && both.lower(two).c == 5 && both.lower(two).map == affine{10, 21});

// Traits are those of all members, and follow the member's type.
constexpr auto numbers = fuse<adapted>(bough::max{}, bit_and{});
using numbers_type = bare<decltype(numbers)>;
static_assert(is_commutative_v<numbers_type> && is_idempotent_v<numbers_type> && is_exact_v<numbers_type, adapted> &&
              is_integer_only_v<numbers_type, adapted>);
constexpr auto counts = fuse_each<defined>(plus{});
static_assert(counts({1, 2}, {10, 20}).misses == 22);
static_assert(is_exact_v<bare<decltype(counts)>, defined> && !is_idempotent_v<bare<decltype(counts)>>);

// Ids tell ops from each other, and the members they stand on; both ways of naming members give the same one.
constexpr auto swapped = fuse<adapted>(bit_and{}, bough::max{});
constexpr auto by_hand = fuse(field<&adapted::a>(bough::max{}), field<&adapted::b>(bit_and{}));
static_assert(op_id<numbers_type> != op_id<bare<decltype(swapped)>>);
static_assert(op_id<numbers_type> == op_id<bare<decltype(by_hand)>>);

report drawn(rank_t rank, std::uint64_t seed) {
    const auto draw = [&](std::uint64_t i) { return bough_test::mixed(seed * 977 + rank * 64 + i); };
    const auto real = [&](std::uint64_t i) { return static_cast<double>(draw(i) % 100'000) / 1e3 - 1e-9; };
    report r{};
    r.highest = static_cast<std::int8_t>(draw(0));
    r.exactly = real(1) * 1e180;
    r.inner = {real(2), real(3), {draw(4), draw(5), draw(6), draw(7)}};
    r.maps = {affine{draw(8), draw(9)}, affine{draw(10), draw(11)}};
    r.pair = {static_cast<std::uint32_t>(draw(12)), static_cast<std::uint32_t>(draw(13))};
    r.least = {static_cast<float>(real(14)), static_cast<float>(real(15)), static_cast<float>(real(16))};
    r.flags = static_cast<std::uint8_t>(draw(17) & draw(18));
    return r;
}
bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
bool same(const report& a, const report& b) {
    return a.highest == b.highest && same_bits(a.exactly, b.exactly) && same_bits(a.inner.sum, b.inner.sum) &&
           same_bits(a.inner.low, b.inner.low) && a.inner.counts == b.inner.counts && a.maps == b.maps &&
           a.pair == b.pair && a.least == b.least && a.flags == b.flags;
}

} // namespace

TEST_CASE("fuse: every member is what its op alone gives", "[hana]") {
    for (rank_t size = 1; size <= 9; ++size) {
        std::atomic<int> right{0};
        in_process{size}.run([&](auto end) {
            communicator comm{std::move(end), {.timeout_ns = 20'000'000'000}};
            const recursive_doubling how{};
            std::vector<report> mine;
            for (std::uint64_t i = 0; i != 3; ++i) mine.push_back(drawn(comm.rank(), i));
            std::vector<report> alone = mine, later = mine, batched = mine;
            for (report& r : alone) {
                allreduce(comm, std::span(&r.highest, 1), bough::max{}, how);
                allreduce(comm, std::span(&r.exactly, 1), exact_sum{}, how);
                allreduce(comm, std::span(&r.inner.sum, 1), plus{}, how);
                allreduce(comm, std::span(&r.inner.low, 1), bough::min{}, how);
                allreduce(comm, r.inner.counts, plus{}, how);
                allreduce(comm, r.maps, compose{}, how);
                allreduce(comm, std::span(&r.pair, 1), first_of_pair{7}, how);
                allreduce(comm, r.least, bough::min_number{}, how);
                allreduce(comm, std::span(&r.flags, 1), bit_or{}, how);
            }
            allreduce(comm, mine, summary, how);
            operation op = start_allreduce(comm, later, summary, how);
            op.wait();
            batch all;
            all.add(batched, summary);
            allreduce(comm, all, how);
            for (std::size_t i = 0; i != 3; ++i)
                right += same(alone[i], mine[i]) && same(alone[i], later[i]) && same(alone[i], batched[i]);

            stats plain{1.0 / (comm.rank() + 1), double(comm.rank()), {1, comm.rank(), 3, 4}};
            double sum = plain.sum;
            allreduce(comm, std::span(&plain, 1), merge, how);
            allreduce(comm, std::span(&sum, 1), plus{}, how);
            right += same_bits(plain.sum, sum) && plain.low == 0 && plain.counts[1] == size * (size - 1) / 2;
        });
        CAPTURE(size);
        CHECK(right == 4 * static_cast<int>(size));
    }
}

TEST_CASE("fuse: combined() is the fold of two", "[hana]") {
    const report a = drawn(0, 5), b = drawn(1, 5);
    const report c = summary.combined(a, b);
    CHECK(c.highest == std::max(a.highest, b.highest));
    CHECK(c.exactly == a.exactly + b.exactly);
    CHECK(c.inner.sum == a.inner.sum + b.inner.sum);
    CHECK(c.inner.counts[2] == a.inner.counts[2] + b.inner.counts[2]);
    CHECK(c.maps[1] == compose{}(a.maps[1], b.maps[1]));
    CHECK(c.maps[1] != compose{}(b.maps[1], a.maps[1]));
    CHECK(c.pair == first_of_pair{7}(a.pair, b.pair));
    CHECK(c.least[2] == std::min(a.least[2], b.least[2]));
    CHECK(c.flags == (a.flags | b.flags));
}

TEST_CASE("fuse: another op on one member of one rank is told, on every rank", "[hana]") {
    std::atomic<int> failed{0};
    in_process{3}.run([&](auto end) {
        communicator comm{std::move(end), {.timeout_ns = 20'000'000'000}};
        adapted x{1, 2};
        status s;
        if (comm.rank() == 1)
            allreduce(comm, std::span(&x, 1), swapped, recursive_doubling{}, s);
        else
            allreduce(comm, std::span(&x, 1), numbers, recursive_doubling{}, s);
        test::hear_of_failure(comm, s);
        failed += (s.code == errc::call_mismatch || s.cause == errc::call_mismatch) && s.mismatch == mismatch::op;
    });
    CHECK(failed == 3);
}
