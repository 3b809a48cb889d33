// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "frontdoor/forms.hpp"
#include "frontdoor/neighbours.hpp"
#include <bough/neighbour_allgather.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using test::check_forms;
using test::tagged;

namespace {

constexpr long guard = -77, untouched = -5;

template <class Choice>
void check_all(const std::vector<test::sized_neighbourhood>& all, const Choice& choice) {
    test::in_neighbourhoods(all, [&](auto& comm, const neighbourhood& around, test::faults& faults) {
        const rank_t me = comm.rank();
        long call = 0;
        for (const std::size_t each : {0u, 1u, 5u, 300u, 5u}) {
            ++call;
            const auto value = [call](rank_t r, std::size_t i) {
                return static_cast<long>(r) * 10'000 + static_cast<long>(i) * 7 + call;
            };
            std::vector<long> expected;
            for (block_t k = 0; k != around.receives(me); ++k)
                for (std::size_t i = 0; i != each; ++i) {
                    const rank_t from = around.source(me, k);
                    expected.push_back(from == no_rank ? untouched : value(from, i));
                }
            test::guarded<long> in(each, -1, guard), out(expected.size(), untouched, guard);
            for (std::size_t i = 0; i != each; ++i) in.span()[i] = value(me, i);
            const auto check = [&](const char* how) {
                const std::string where =
                    std::string(how) + ", rank " + std::to_string(me) + " of " + std::to_string(each);
                faults.expect(in.intact() && out.intact(), "guards: " + where);
                faults.expect(std::equal(expected.begin(), expected.end(), out.span().begin()), "result: " + where);
                std::fill(out.span().begin(), out.span().end(), untouched);
            };
            neighbour_allgather(comm, std::span<const long>(in.span()), out.span(), around, choice);
            check("blocking");
            start_neighbour_allgather(comm, in.span(), out.span(), around, choice).wait();
            check("started");
            auto bound = bind_neighbour_allgather(comm, in.span(), out.span(), neighbourhood(around), choice);
            for (int run = 0; run != 2; ++run) {
                bound.start();
                bound.wait();
                check("bound");
            }
        }
    });
}

} // namespace

TEST_CASE("neighbour_allgather: grids and graphs, any count, also of ranks that are listed twice") {
    SECTION("automatic") { check_all(test::grids(), automatic{}); }
    SECTION("straight") { check_all(test::grids(), direct_neighbours{}); }
    SECTION("by dimension") { check_all(test::grids(), by_dimension{}); }
    SECTION("graphs, automatic") { check_all(test::graphs(), automatic{}); }
    SECTION("graphs, straight") { check_all(test::graphs(), direct_neighbours{}); }
}

TEST_CASE("neighbour_allgather: elements with a wire form of their own, in two places, and in none") {
    const neighbourhood line =
        grid_neighbours{.extents = {4}, .offsets = {{1}, {-1}, {1}}, .ends = {true}}; // place 2 as place 0
    test::faults faults;
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        const auto text = [](rank_t r) { return tagged{"r" + std::to_string(r) + "."}; };
        const std::vector<tagged> in{text(me)};
        std::vector<tagged> expected(3, {"none"});
        if (me != 0) expected[0] = expected[2] = text(me - 1);
        if (me != 3) expected[1] = text(me + 1);
        std::vector<tagged> out(3, {"none"});
        neighbour_allgather(comm, std::span(in), std::span(out), line);
        faults.expect(out == expected, "automatic");
        out.assign(3, {"none"});
        neighbour_allgather(comm, std::span(in), std::span(out), line, by_dimension{});
        faults.expect(out == expected, "by dimension");
    });
    CHECK(faults.text() == "");
}

TEST_CASE("neighbour_allgather: what breaks a rule is named") {
    communicator comm{self{}};
    const neighbourhood around = grid_neighbours{.extents = {1}, .offsets = {{0}, {1}}};
    const neighbourhood of_two = grid_neighbours{.extents = {2}, .offsets = {{0}, {1}}};
    std::vector<int> x(2, 1), y(4), longer(5);
    const std::span<int> in(x), out(y), null(static_cast<int*>(nullptr), 2);
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { neighbour_allgather(comm, in, out, of_two, r...); }, bad,
                "neighbours: the product of the extents");
    check_forms([&](auto&... r) { neighbour_allgather(comm, in, std::span(longer), around, r...); }, bad,
                "out: must hold a block for each place");
    check_forms([&](auto&... r) { neighbour_allgather(comm, in, in, around, r...); }, bad,
                "out: must hold a block for each place");
    check_forms([&](auto&... r) { neighbour_allgather(comm, out.first(2), out, around, r...); }, bad,
                "out: overlaps the input");
    check_forms([&](auto&... r) { neighbour_allgather(comm, null, out, around, r...); }, bad, "data: null");
    check_forms(
        [&](auto&... r) { neighbour_allgather(comm, in, out, around, direct_neighbour_allgather{of_two}, r...); }, bad,
        "neighbours: not those of the given plan");
    const std::span<int> huge(x.data(), ~std::size_t{0} / 2), more(y.data(), ~std::size_t{0} - 1);
    check_forms([&](auto&... r) { neighbour_allgather(comm, huge, more, around, r...); }, errc::size_overflow, "data:");
    check_forms([&](auto&... r) { neighbour_allgather(comm, in, out, around, r...); }, errc::ok);
    CHECK(y == std::vector<int>(4, 1));
}
