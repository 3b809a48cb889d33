// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "frontdoor/forms.hpp"
#include "support/direct.hpp"
#include "support/guarded.hpp"
#include "support/packed.hpp"
#include <bough/algorithm/packed_trees.hpp>
#include <bough/allgather.hpp>
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
using test::tagged;

namespace {

constexpr long guard = -77;

// Element i of what rank r gives in call number `call`.
constexpr long value(rank_t r, std::size_t i, long call) {
    return static_cast<long>(r) * 100'000 + static_cast<long>(i) * 7 + call;
}

using endpoint = in_process::endpoint;

// Out of place, in place, and with the input in its place in the output; `regular`: by allgather.
template <class Choice>
void check(communicator<endpoint>& comm, const std::vector<std::size_t>& counts, const Choice& choice, bool regular,
           test::faults& faults) {
    static thread_local long call = 0;
    ++call;
    const rank_t me = comm.rank();
    const std::size_t total = test::length_of(counts, comm.size());
    const std::size_t first = test::length_of(counts, me);
    const std::string where = test::where(comm, counts, regular);
    const auto fill = [&](std::span<long> block) {
        for (std::size_t i = 0; i != block.size(); ++i) block[i] = value(me, i, call);
    };
    const auto is_result = [&](std::span<const long> whole) {
        std::size_t at = 0;
        for (rank_t r = 0; r != comm.size(); ++r)
            for (std::size_t i = 0; i != counts[r]; ++i)
                if (whole[at++] != value(r, i, call)) return false;
        return true;
    };
    test::guarded<long> in(counts[me], -1, guard), out(total, -1, guard), data(total, -1, guard),
        half(total, -1, guard);
    fill(in.span());
    const std::span<const long> from(in.span());
    regular ? allgather(comm, from, out.span(), choice) : allgatherv(comm, from, out.span(), counts, choice);
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    for (std::size_t i = 0; i != from.size(); ++i)
        faults.expect(from[i] == value(me, i, call), "the input is only read: " + where);
    faults.expect(is_result(out.span()), "result: " + where);

    fill(data.span().subspan(first, counts[me]));
    regular ? allgather(comm, data.span(), choice) : allgatherv(comm, data.span(), counts, choice);
    faults.expect(data.intact() && is_result(data.span()), "in place: " + where);

    const std::span<long> own = half.span().subspan(first, counts[me]);
    fill(own);
    regular ? allgather(comm, own, half.span(), choice) : allgatherv(comm, own, half.span(), counts, choice);
    faults.expect(half.intact() && is_result(half.span()), "input in its place: " + where);
}

template <class Make>
void check_with(const Make& make) {
    test::in_groups([&](auto& comm, test::faults& faults) {
        const auto choice = make(comm.size());
        for (const auto& [counts, regular] : test::cuts(comm.size(), 1000, {0, 1, 2}))
            check(comm, counts, choice, regular, faults);
    });
}
template <class Choice>
void check_all(const Choice& choice) {
    check_with([&](rank_t) { return choice; });
}

} // namespace

TEST_CASE("allgather: any size and counts, out of place and in place") {
    SECTION("automatic") { check_all(automatic{}); }
    SECTION("an algorithm") { check_all(test::direct_allgather{}); }
    SECTION("one that cuts the block of each rank") {
        check_with([](rank_t p) { return packed_trees_allgather{test::packed_from_all(p)}; });
    }
    SECTION("a plan that cuts the block of each rank") {
        check_with([](rank_t p) {
            return plan_allgather(packed_trees_allgather{test::packed_from_all(p)}, {.size = p, .blocks = 3 * p});
        });
    }
}

TEST_CASE("allgather: elements with a wire form of their own") {
    test::faults faults;
    in_process{6}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const auto text = [](rank_t r, int i) { return tagged{"r" + std::to_string(r) + std::to_string(i)}; };
        const std::vector<tagged> in{text(comm.rank(), 0), text(comm.rank(), 1)};
        std::vector<tagged> out(12), data(12, tagged{"---"});
        allgather(comm, std::span(in), std::span(out));
        for (rank_t r = 0; r != 6; ++r)
            faults.expect(out[2 * r] == text(r, 0) && out[2 * r + 1] == text(r, 1), "rank " + std::to_string(r));
        std::copy(in.begin(), in.end(), data.begin() + 2 * comm.rank());
        allgather(comm, std::span(data));
        faults.expect(data == out, "in place");
        const std::vector<std::size_t> counts(6, 2);
        std::vector<tagged> cut(12);
        allgatherv(comm, std::span(in), std::span(cut), counts);
        faults.expect(cut == out, "with counts");
        std::vector<tagged> packed(12);
        allgather(comm, std::span(in), std::span(packed), packed_trees_allgather{test::packed_from_all(6)});
        faults.expect(packed == out, "in pieces");
    });
    CHECK(faults.text() == "");
}

TEST_CASE("allgather: a plan, static spans, and elements that look like counts") {
    communicator comm{self{}};
    std::size_t in[] = {1, 2}, out[] = {0, 0};
    const std::vector<std::size_t> counts{2};
    const auto plan = plan_allgather(test::direct_allgather{}, {.size = 1});
    allgather(comm, std::span(in), std::span(out), plan);
    CHECK(out[1] == 2);
    std::error_code ec;
    allgather(comm, std::span(in), std::span(out), ec);
    allgatherv(comm, std::span(in), std::span(out), counts);
    allgatherv(comm, std::span(in), std::span(out), counts, ec);
    allgatherv(comm, std::span(in), std::span(out), counts, plan, ec);
    allgatherv(comm, std::span(in), counts);
    allgatherv(comm, std::span(in), std::span(counts), ec);
    allgatherv(comm, std::span(in), std::span(counts), plan, ec);
    CHECK_FALSE(ec);
}

TEST_CASE("allgather: what breaks a rule is named") {
    communicator comm{self{}};
    std::vector<int> x(4, 1), y(4), longer(5);
    const std::span<int> in(x), out(y);
    const std::span<int> null(static_cast<int*>(nullptr), 4), none;
    const std::span<int> huge(x.data(), ~std::size_t{0} / 4);
    const std::vector<std::size_t> no_counts, three{3}, four{4}, two{4, 0};
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { allgather(comm, in, std::span(longer), r...); }, bad,
                "out: must hold one block for every rank");
    check_forms([&](auto&... r) { allgather(comm, in, none, r...); }, bad, "out: must hold one block for every rank");
    check_forms([&](auto&... r) { allgather(comm, null, out, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { allgather(comm, in, null, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { allgather(comm, null, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { allgather(comm, huge, r...); }, errc::size_overflow, "data:");
    check_forms([&](auto&... r) { allgather(comm, std::span(longer).first(4), std::span(longer).last(4), r...); }, bad,
                "out: overlaps the input, but not as this rank's own block in its place");
    check_forms([&](auto&... r) { allgatherv(comm, in, out, no_counts, r...); }, bad, "counts: one per rank");
    check_forms([&](auto&... r) { allgatherv(comm, in, out, two, r...); }, bad, "counts: one per rank");
    check_forms([&](auto&... r) { allgatherv(comm, in, out, three, r...); }, bad,
                "counts: this rank's block is not as long");
    check_forms([&](auto&... r) { allgatherv(comm, in, three, r...); }, bad,
                "data: its length is not the sum of counts");
    const auto of_two = plan_allgather(test::direct_allgather{}, {.size = 2});
    check_forms([&](auto&... r) { allgather(comm, in, out, of_two, r...); }, bad, "plan: its size");
    const packed_trees_allgather of_three{test::packed_from_all(3)};
    check_forms([&](auto&... r) { allgather(comm, in, out, of_three, r...); }, bad,
                "trees: they were made for another number of ranks");
    check_forms([&](auto&... r) { allgatherv(comm, in, out, four, r...); }, errc::ok);
    check_forms([&](auto&... r) { allgather(comm, in, in, r...); }, errc::ok); // of one rank: the whole vector
    check_forms([&](auto&... r) { allgather(comm, none, r...); }, errc::ok);
    CHECK_FALSE(comm.poison());

    const status seen =
        test::status_of_odd_length(1, [](auto& pair, std::span<int> data, status& s) { allgather(pair, data, s); });
    CHECK(seen == invalid_argument("data: its length is not a multiple of the number of ranks"));
}
