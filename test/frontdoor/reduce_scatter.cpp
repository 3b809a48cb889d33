// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "frontdoor/forms.hpp"
#include "support/direct.hpp"
#include "support/guarded.hpp"
#include "support/packed.hpp"
#include <bough/algorithm/packed_trees.hpp>
#include <bough/core/random.hpp>
#include <bough/exscan.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using test::check_forms;

namespace {

// Maps x -> a x + b modulo 2^64, of which composition reveals the order.
struct affine {
    std::uint64_t a, b;
    friend bool operator==(const affine&, const affine&) = default;
};
struct then {
    affine operator()(const affine& f, const affine& g) const { return {g.a * f.a, g.a * f.b + g.b}; }
};
constexpr affine guard{77, 77};

affine value(rank_t r, std::size_t i, std::uint64_t call) { return {2 * r + 3 + 2 * call, i * 31 + r * 7 + 1}; }
affine folded(rank_t ranks, std::size_t i, std::uint64_t call) {
    affine all = value(0, i, call);
    for (rank_t r = 1; r != ranks; ++r) all = then{}(all, value(r, i, call));
    return all;
}

using endpoint = in_process::endpoint;

// Out of place, in place, and with the output in its place in the input; `regular`: by reduce_scatter.
template <class Choice>
void check(communicator<endpoint>& comm, const std::vector<std::size_t>& counts, const Choice& choice, bool regular,
           test::faults& faults) {
    static thread_local std::uint64_t call = 0;
    ++call;
    const rank_t me = comm.rank();
    const std::size_t total = test::length_of(counts, comm.size());
    const std::size_t first = test::length_of(counts, me);
    const std::string where = test::where(comm, counts, regular);
    const auto is_result = [&](std::span<const affine> block) {
        for (std::size_t i = 0; i != counts[me]; ++i)
            if (!(block[i] == folded(comm.size(), first + i, call))) return false;
        return true;
    };
    const auto filled = [&](test::guarded<affine>& memory) {
        for (std::size_t i = 0; i != total; ++i) memory.span()[i] = value(me, i, call);
        return memory.span();
    };
    test::guarded<affine> in(total, guard, guard), out(counts[me], guard, guard), data(total, guard, guard),
        half(total, guard, guard);
    const std::span<const affine> from(filled(in));
    const std::vector<affine> before(from.begin(), from.end());
    regular ? reduce_scatter(comm, from, out.span(), then{}, choice)
            : reduce_scatterv(comm, from, out.span(), counts, then{}, choice);
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    faults.expect(std::equal(before.begin(), before.end(), from.begin()), "the input is only read: " + where);
    faults.expect(is_result(out.span()), "result: " + where);

    regular ? reduce_scatter(comm, filled(data), then{}, choice)
            : reduce_scatterv(comm, filled(data), counts, then{}, choice);
    faults.expect(data.intact() && is_result(data.span().subspan(first)), "in place: " + where);

    const std::span<affine> whole = filled(half), own = whole.subspan(first, counts[me]);
    regular ? reduce_scatter(comm, whole, own, then{}, choice)
            : reduce_scatterv(comm, whole, own, counts, then{}, choice);
    faults.expect(half.intact() && is_result(own), "output in its place: " + where);
}

template <class Choice>
void check_all(const Choice& choice) {
    test::in_groups([&](auto& comm, test::faults& faults) {
        for (const auto& [counts, regular] : test::cuts(comm.size(), 300, {0, 1, 2}))
            check(comm, counts, choice, regular, faults);
    });
}

// A vector of one number, in 3 bytes where memory takes more; its op is a sum modulo 2^24.
struct boxed {
    std::vector<std::uint32_t> value{0};
};
struct add {
    boxed operator()(const boxed& a, const boxed& b) const { return {{(a.value[0] + b.value[0]) % (1u << 24)}}; }
};

} // namespace

template <>
struct bough::wire<boxed> {
    static constexpr std::size_t size = 3;
    static void encode(const boxed& b, std::span<std::byte, size> out) {
        for (unsigned i = 0; i != 3; ++i) out[i] = static_cast<std::byte>(b.value[0] >> 8 * i);
    }
    static boxed decode(std::span<const std::byte, size> in) {
        boxed b;
        for (unsigned i = 0; i != 3; ++i) b.value[0] |= static_cast<std::uint32_t>(in[i]) << 8 * i;
        return b;
    }
};

TEST_CASE("reduce_scatter: any size and counts, in rank order") {
    SECTION("automatic") { check_all(automatic{}); }
    SECTION("an algorithm") { check_all(test::direct_reduce_scatter{}); }
}

TEST_CASE("reduce_scatter: a plan that cuts the block of each rank") {
    test::in_groups([](auto& comm, test::faults& faults) {
        const rank_t p = comm.size(), me = comm.rank();
        const auto given = [](rank_t r, std::size_t i) { return mix_bits(std::uint64_t{r} << 32 | i); };
        const packed_trees_reduce_scatter natural{test::packed_from_all(p)};
        const auto planned = plan_reduce_scatter(natural, {.size = p, .blocks = 3 * p});
        const auto run = [&](const std::vector<std::size_t>& counts, bool regular, const auto& choice) {
            const std::size_t total = test::length_of(counts, p), first = test::length_of(counts, me);
            test::guarded<std::uint64_t> in(total, 0, 77), out(counts[me], 0, 77), data(total, 0, 77);
            for (std::size_t i = 0; i != total; ++i) in.span()[i] = data.span()[i] = given(me, i);
            const std::span<const std::uint64_t> from(in.span());
            regular ? reduce_scatter(comm, from, out.span(), plus{}, choice)
                    : reduce_scatterv(comm, from, out.span(), counts, plus{}, choice);
            regular ? reduce_scatter(comm, data.span(), plus{}, choice)
                    : reduce_scatterv(comm, data.span(), counts, plus{}, choice);
            const std::string where = test::where(comm, counts, regular);
            faults.expect(in.intact() && out.intact() && data.intact(), "guards: " + where);
            for (std::size_t i = 0; i != counts[me]; ++i) {
                std::uint64_t sum = 0;
                for (rank_t r = 0; r != p; ++r) sum += given(r, first + i);
                faults.expect(out.span()[i] == sum, "result: " + where);
                faults.expect(data.span()[first + i] == sum, "in place: " + where);
            }
        };
        for (const auto& [counts, regular] : test::cuts(p, 100, {0, 1})) {
            run(counts, regular, natural);
            run(counts, regular, planned);
        }
    });
}

TEST_CASE("reduce_scatter: elements with a wire form of their own") {
    test::faults faults;
    in_process{5}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const auto made = [&](std::size_t i) { return boxed{{static_cast<std::uint32_t>(comm.rank() * 1000 + i)}}; };
        std::vector<boxed> in, data, out(2);
        for (std::size_t i = 0; i != 10; ++i) in.push_back(made(i)), data.push_back(made(i));
        reduce_scatter(comm, std::span(in), std::span(out), add{});
        reduce_scatter(comm, std::span(data), add{});
        for (std::size_t i = 0; i != 2; ++i) {
            const auto expected = static_cast<std::uint32_t>(10'000 + 5 * (2 * comm.rank() + i));
            faults.expect(out[i].value[0] == expected, "out of place");
            faults.expect(data[2 * comm.rank() + i].value[0] == expected, "in place");
        }
    });
    CHECK(faults.text() == "");
}

TEST_CASE("reduce_scatter: a plan, static spans, and elements that look like counts") {
    communicator comm{self{}};
    std::size_t in[] = {1, 2}, out[] = {0, 0};
    const std::vector<std::size_t> counts{2};
    const auto plan = plan_reduce_scatter(test::direct_reduce_scatter{}, {.size = 1});
    reduce_scatter(comm, std::span(in), std::span(out), plus{}, plan);
    CHECK(out[1] == 2);
    std::error_code ec;
    reduce_scatterv(comm, std::span(in), std::span(out), counts, plus{});
    reduce_scatterv(comm, std::span(in), std::span(out), counts, plus{}, ec);
    reduce_scatterv(comm, std::span(in), std::span(out), counts, plus{}, plan, ec);
    reduce_scatterv(comm, std::span(in), counts, plus{});
    reduce_scatterv(comm, std::span(in), std::span(counts), plus{}, ec);
    reduce_scatterv(comm, std::span(in), std::span(counts), plus{}, plan, ec);
    CHECK_FALSE(ec);
}

namespace {
struct any_order { // like direct_reduce_scatter, but it says nothing about the order
    constexpr void emit(const dimensions& at, rank_t r, StepSink auto& out) const {
        test::direct_reduce_scatter{}.emit(at, r, out);
    }
    constexpr block_t natural_blocks(rank_t size) const noexcept { return size; }
    constexpr block_t scratch(const dimensions& at, rank_t r) const noexcept {
        return test::direct_reduce_scatter{}.scratch(at, r);
    }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const any_order&, const any_order&) = default;
};
} // namespace

TEST_CASE("reduce_scatter: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> x(4, 1), y(4), longer(5);
    const std::span<int> in(x), out(y);
    const std::span<int> null(static_cast<int*>(nullptr), 4), none;
    const std::span<int> huge(x.data(), ~std::size_t{0} / 4);
    const std::vector<std::size_t> no_counts, three{3}, four{4}, two{4, 0};
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { reduce_scatter(comm, in, std::span(longer), plus{}, r...); }, bad,
                "in: must hold one block for every rank");
    check_forms([&](auto&... r) { reduce_scatter(comm, in, none, plus{}, r...); }, bad,
                "in: must hold one block for every rank");
    check_forms([&](auto&... r) { reduce_scatter(comm, null, out, plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { reduce_scatter(comm, null, plus{}, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { reduce_scatter(comm, huge, plus{}, r...); }, errc::size_overflow, "data:");
    check_forms(
        [&](auto&... r) { reduce_scatter(comm, std::span(longer).first(4), std::span(longer).last(4), plus{}, r...); },
        bad, "out: overlaps the input, but not as this rank's own block in its place");
    check_forms([&](auto&... r) { reduce_scatterv(comm, in, out, no_counts, plus{}, r...); }, bad,
                "counts: one per rank");
    check_forms([&](auto&... r) { reduce_scatterv(comm, in, out, two, plus{}, r...); }, bad, "counts: one per rank");
    check_forms([&](auto&... r) { reduce_scatterv(comm, in, out, three, plus{}, r...); }, bad,
                "counts: this rank's block is not as long");
    check_forms([&](auto&... r) { reduce_scatterv(comm, in, three, plus{}, r...); }, bad,
                "data: its length is not the sum of counts");
    check_forms([&](auto&... r) { reduce_scatter(comm, in, out, plus{}, any_order{}, r...); }, errc::ok);
    const auto unknown = [](int a, int) { return a; };
    check_forms([&](auto&... r) { reduce_scatter(comm, in, out, unknown, any_order{}, r...); }, errc::unsupported,
                "op: ");
    check_forms([&](auto&... r) { reduce_scatter(comm, in, out, unknown, test::direct_reduce_scatter{}, r...); },
                errc::ok);
    check_forms([&](auto&... r) { reduce_scatter(comm, in, out, unknown, r...); }, errc::ok);
    const auto of_two = plan_reduce_scatter(test::direct_reduce_scatter{}, {.size = 2});
    check_forms([&](auto&... r) { reduce_scatter(comm, in, out, plus{}, of_two, r...); }, bad, "plan: its size");
    const auto in_none = plan_reduce_scatter(any_order{}, {.size = 1, .blocks = 0});
    check_forms([&](auto&... r) { reduce_scatter(comm, in, out, plus{}, in_none, r...); }, bad,
                "plan: must have as many blocks for every rank");
    check_forms([&](auto&... r) { reduce_scatterv(comm, in, out, four, plus{}, r...); }, errc::ok);
    check_forms([&](auto&... r) { reduce_scatter(comm, none, plus{}, r...); }, errc::ok);
    CHECK_FALSE(comm.poison());

    const status seen = test::status_of_odd_length(
        1, [](auto& pair, std::span<int> data, status& s) { reduce_scatter(pair, data, plus{}, s); });
    CHECK(seen == invalid_argument("data: its length is not a multiple of the number of ranks"));
}

TEST_CASE("reduce_scatter and scans: ops that combine states") {
    test::faults faults;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        // 1e100 + 1 - 1e100 in any order: exactly 1.
        const double mine[] = {1e100, 1, -1e100};
        std::vector<double> in(6, mine[me]), out(2, 7), data(6, mine[me]);
        reduce_scatter(comm, std::span(in), std::span(out), exact_sum{});
        faults.expect(out[0] == 1 && out[1] == 1, "reduce_scatter");
        const std::vector<std::size_t> counts{3, 1, 2};
        reduce_scatterv(comm, std::span(data), counts, exact_sum{});
        faults.expect(data[me == 0 ? 2 : me == 1 ? 3 : 5] == 1, "in place");
        status s;
        reduce_scatter(comm, std::span(in), std::span(in).subspan(1, 2), exact_sum{}, s);
        faults.expect(s.code == errc::invalid_argument, "overlap");

        const double in_order[] = {1, 1e100, -1e100}, sums[] = {1, 1e100, 1};
        double x = in_order[me], y = 7;
        scan(comm, std::span<const double>(&x, 1), std::span(&y, 1), exact_sum{});
        faults.expect(y == sums[me], "scan");
        exscan(comm, std::span(&x, 1), exact_sum{});
        faults.expect(x == (me == 0 ? 1 : sums[me - 1]), "exscan");
    });
    CHECK(faults.text() == "");
}
