// SPDX-License-Identifier: BSL-1.0
#include "frontdoor/blocks.hpp"
#include "frontdoor/forms.hpp"
#include "frontdoor/hear.hpp"
#include "frontdoor/neighbours.hpp"
#include <bough/barrier.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/transport/self.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using test::check_forms;
using test::tagged;

namespace {

using endpoint = in_process::endpoint;
constexpr long guard = -77, untouched = -5;

// Element i of block b in call number `call`.
constexpr long value(block_t b, std::size_t i, long call) {
    return static_cast<long>(b) * 10'000 + static_cast<long>(i) * 7 + call;
}

// length(block) elements are in a block, also in one that goes nowhere; `regular`: by neighbour_alltoall.
template <class Choice, class F>
void check(communicator<endpoint>& comm, const neighbourhood& around, F&& length, const Choice& choice, bool regular,
           test::faults& faults) {
    static thread_local long call = 0;
    ++call;
    const rank_t me = comm.rank();
    std::vector<std::size_t> send, receive;
    std::vector<long> from, expected;
    for (block_t k = 0; k != around.sends(me); ++k) {
        const block_t b = around.first_block(me) + k;
        send.push_back(length(b));
        for (std::size_t i = 0; i != send.back(); ++i) from.push_back(value(b, i, call));
    }
    for (block_t k = 0; k != around.receives(me); ++k) {
        const block_t b = around.arriving(me, k);
        receive.push_back(length(b == neighbourhood::no_block ? 3 : b));
        for (std::size_t i = 0; i != receive.back(); ++i)
            expected.push_back(b == neighbourhood::no_block ? untouched : value(b, i, call));
    }
    test::guarded<long> in(from.size(), -1, guard), out(expected.size(), untouched, guard);
    std::copy(from.begin(), from.end(), in.span().begin());
    const std::span<const long> data(in.span());
    regular ? neighbour_alltoall(comm, data, out.span(), around, choice)
            : neighbour_alltoallv(comm, data, send, out.span(), receive, around, choice);
    const std::string where = "rank " + std::to_string(me) + ", " + std::to_string(from.size()) + " out, " +
                              std::to_string(expected.size()) + " in" + (regular ? "" : ", v");
    faults.expect(in.intact() && out.intact(), "guards: " + where);
    faults.expect(std::equal(from.begin(), from.end(), data.begin()), "the input is only read: " + where);
    faults.expect(std::equal(expected.begin(), expected.end(), out.span().begin()), "result: " + where);
}

template <class Choice>
void check_equal(const std::vector<test::sized_neighbourhood>& all, const Choice& choice) {
    test::in_neighbourhoods(all, [&](auto& comm, const neighbourhood& around, test::faults& faults) {
        for (const std::size_t count : {0u, 1u, 5u, 300u, 5u})
            check(
                comm, around, [&](block_t) { return count; }, choice, true, faults);
    });
}
template <class Choice>
void check_lengths(const std::vector<test::sized_neighbourhood>& all, const Choice& choice) {
    test::in_neighbourhoods(all, [&](auto& comm, const neighbourhood& around, test::faults& faults) {
        for (std::uint64_t salt = 0; salt != 4; ++salt) // some are empty, one is long
            check(
                comm, around,
                [&](block_t b) {
                    const std::uint64_t x = bough_test::mixed(salt * 10'000 + b);
                    return static_cast<std::size_t>(x % 3 == 0 ? 0 : x % 100 == 1 ? 2000 : x / 128 % 40);
                },
                choice, false, faults);
        check(
            comm, around, [](block_t) { return std::size_t{4}; }, choice, false, faults);
        check(
            comm, around, [](block_t) { return std::size_t{4}; }, automatic{}, true, faults);
    });
}

} // namespace

TEST_CASE("neighbour_alltoall: grids and graphs, any count") {
    SECTION("automatic") { check_equal(test::grids(), automatic{}); }
    SECTION("straight") { check_equal(test::grids(), direct_neighbours{}); }
    SECTION("by dimension") { check_equal(test::grids(), by_dimension{}); }
    SECTION("graphs, automatic") { check_equal(test::graphs(), automatic{}); }
    SECTION("graphs, straight") { check_equal(test::graphs(), direct_neighbours{}); }
}

TEST_CASE("neighbour_alltoallv: any lengths, with empty blocks") {
    SECTION("grids") { check_lengths(test::grids(), automatic{}); }
    SECTION("graphs") { check_lengths(test::graphs(), automatic{}); }
    SECTION("straight") { check_lengths(test::grids(), direct_neighbours{}); }
}

TEST_CASE("neighbour_alltoallv: lengths of offsets that all ranks know, so that ranks may pass on blocks") {
    const auto check_alike = [](const auto& choice) {
        test::in_neighbourhoods(test::grids(), [&](auto& comm, const neighbourhood& around, test::faults& faults) {
            const rank_t me = comm.rank();
            const block_t places = around.sends(me);
            for (std::uint64_t salt = 0; salt != 5; ++salt) {
                std::vector<std::size_t> counts;
                std::vector<long> in, expected;
                for (block_t k = 0; k != places; ++k)
                    counts.push_back(salt == 0   ? 0
                                     : salt == 4 ? 700
                                                 : bough_test::one_of(7, bough_test::mixed(salt * 100 + k)));
                for (block_t k = 0; k != places; ++k)
                    for (std::size_t i = 0; i != counts[k]; ++i) {
                        const block_t b = around.arriving(me, k);
                        in.push_back(value(around.first_block(me) + k, i, static_cast<long>(salt)));
                        expected.push_back(b == neighbourhood::no_block ? untouched
                                                                        : value(b, i, static_cast<long>(salt)));
                    }
                test::guarded<long> out(expected.size(), untouched, guard);
                const auto right = [&](const char* how) {
                    faults.expect(out.intact() && std::equal(expected.begin(), expected.end(), out.span().begin()),
                                  std::string(how) + ", rank " + std::to_string(me) + ", " + std::to_string(salt));
                    std::fill(out.span().begin(), out.span().end(), untouched);
                };
                neighbour_alltoallv(comm, in, counts, out.span(), around, choice);
                right("blocking");
                start_neighbour_alltoallv(comm, in, counts, out.span(), around, choice).wait();
                right("started");
                auto bound = bind_neighbour_alltoallv(comm, in, std::vector<std::size_t>(counts), out.span(),
                                                      neighbourhood(around), choice);
                for (int run = 0; run != 2; ++run) {
                    bound.start();
                    bound.wait();
                    right("bound");
                }
            }
        });
    };
    SECTION("automatic") { check_alike(automatic{}); }
    SECTION("straight") { check_alike(direct_neighbours{}); }
    SECTION("by dimension") { check_alike(by_dimension{}); }
}

TEST_CASE("neighbour_alltoallv: a halo of faces, edges and corners goes by dimension, long as it is") {
    // 6 faces of 10,000 elements, 12 edges of 100 and 8 corners: nearly all goes over one hop.
    const grid_neighbours cube{.extents = {3, 3, 3}, .offsets = box_offsets(3)};
    std::vector<std::size_t> counts;
    for (const grid_offset& o : cube.offsets) {
        std::size_t each = 1;
        for (std::uint32_t d = 0; d != 3; ++d) each *= o.by[d] == 0 ? 100 : 1;
        counts.push_back(each);
    }
    const model::alpha_beta_gamma model{.alpha_ns = 1000, .beta_ns_per_byte = 1};
    std::atomic<int> wrong{0};
    in_process{27}.run([&](auto transport) {
        communicator comm{std::move(transport), {.costs = model}};
        const auto is_bound = [&](const auto& plan) { return comm.core()->plans.find_plan(plan) != nullptr; };
        std::vector<char> in(6 * 10'000 + 12 * 100 + 8), out(in.size());
        neighbour_alltoallv(comm, in, counts, out, cube);
        wrong += !is_bound(plan_neighbour_alltoall(by_dimension{}, cube, {.size = 27}));
        wrong += is_bound(plan_neighbour_alltoall(direct_neighbours{}, cube, {.size = 27}));
        std::vector<std::size_t> corners; // the longest blocks make three hops
        for (const std::size_t c : counts) corners.push_back(c == 1 ? 10'000 : 1);
        in.resize(8 * 10'000 + 18), out.resize(in.size());
        neighbour_alltoallv(comm, in, corners, out, cube);
        wrong += !is_bound(plan_neighbour_alltoall(direct_neighbours{}, cube, {.size = 27}));
    });
    CHECK(wrong == 0);
}

TEST_CASE("neighbour_alltoall: a plan or an algorithm of this neighbourhood, started and bound") {
    const neighbourhood around = grid_neighbours{.extents = {3, 2}, .offsets = box_offsets(2), .ends = {true}};
    test::faults faults;
    in_process{6}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        std::vector<long> in(8 * 2), out(8 * 2), expected(8 * 2, untouched);
        for (std::size_t i = 0; i != in.size(); ++i) in[i] = value(8 * me + static_cast<block_t>(i / 2), i % 2, 0);
        for (block_t k = 0; k != 8; ++k)
            if (const block_t b = around.arriving(me, k); b != neighbourhood::no_block)
                expected[2 * k] = value(b, 0, 0), expected[2 * k + 1] = value(b, 1, 0);
        const auto check = [&](const char* what) {
            faults.expect(out == expected, what);
            std::fill(out.begin(), out.end(), untouched);
        };
        std::fill(out.begin(), out.end(), untouched);
        neighbour_alltoall(comm, in, out, around, plan_neighbour_alltoall(by_dimension{}, around, {.size = 6}));
        check("plan");
        neighbour_alltoall(comm, in, out, around, direct_neighbour_alltoall{around});
        check("algorithm");
        start_neighbour_alltoall(comm, in, out, around).wait();
        check("started");
        std::vector<std::size_t> twos(8, 2);
        start_neighbour_alltoallv(comm, in, twos, out, twos, around).wait();
        check("started, v");
        auto bound = bind_neighbour_alltoall(comm, in, out, neighbourhood(around), by_dimension{});
        auto bound_v = bind_neighbour_alltoallv(comm, in, std::vector<std::size_t>(8, 2), out,
                                                std::vector<std::size_t>(8, 2), neighbourhood(around));
        for (int run = 0; run != 3; ++run) {
            bound.start();
            bound.wait();
            check("bound");
            bound_v.start();
            bound_v.wait();
            check("bound, v");
        }
    });
    CHECK(faults.text() == "");
}

TEST_CASE("neighbour_alltoall: elements with a wire form of their own; those that nobody sends stay as they are") {
    const neighbourhood line = grid_neighbours{.extents = {4}, .offsets = star_offsets(1), .ends = {true}};
    test::faults faults;
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        const auto text = [](rank_t from, char way) { return tagged{std::to_string(from) + way + way}; };
        // Place 0 sends to the rank below, place 1 to the one above.
        const std::vector<tagged> in{text(me, '-'), text(me, '+')}, kept{{"none"}, {"none"}};
        std::vector<tagged> expected = kept, out = kept;
        if (me != 3) expected[0] = text(me + 1, '-');
        if (me != 0) expected[1] = text(me - 1, '+');
        const auto check = [&](const char* what) {
            faults.expect(out == expected, what);
            out = kept;
        };
        neighbour_alltoall(comm, std::span(in), std::span(out), line);
        check("automatic");
        neighbour_alltoall(comm, std::span(in), std::span(out), line, by_dimension{});
        check("by dimension");
        const std::vector<std::size_t> ones(2, 1);
        neighbour_alltoallv(comm, std::span(in), ones, std::span(out), ones, line);
        check("with counts");
        auto bound = bind_neighbour_alltoallv(comm, std::span(in), ones, std::span(out), ones, line);
        bound.start();
        bound.wait();
        check("bound");
    });
    CHECK(faults.text() == "");
    communicator alone{self{}};
    const neighbourhood nobody = grid_neighbours{.extents = {1}, .offsets = star_offsets(1), .ends = {true}};
    const std::vector<tagged> in{{"abc"}, {"def"}};
    std::vector<tagged> out{{"none"}, {"none"}};
    neighbour_alltoall(alone, std::span(in), std::span(out), nobody);
    CHECK((out[0].text == "none" && out[1].text == "none"));
}

TEST_CASE("neighbour_alltoall: what breaks a rule is named") {
    communicator comm{self{}};
    const neighbourhood around = grid_neighbours{.extents = {1}, .offsets = {{0}, {1}}};
    const neighbourhood of_two = grid_neighbours{.extents = {2}, .offsets = {{0}, {1}}};
    std::vector<int> x(4, 1), y(4), longer(5);
    const std::span<int> in(x), out(y), null(static_cast<int*>(nullptr), 4);
    const std::span<int> huge(x.data(), ~std::size_t{0} / 4 - 1), other_huge(y.data(), ~std::size_t{0} / 4 - 1);
    const errc bad = errc::invalid_argument;
    check_forms([&](auto&... r) { neighbour_alltoall(comm, in, out, of_two, r...); }, bad,
                "neighbours: the product of the extents");
    check_forms([&](auto&... r) { neighbour_alltoall(comm, std::span(longer), out, around, r...); }, bad,
                "in: must hold a block for each place");
    check_forms([&](auto&... r) { neighbour_alltoall(comm, in, std::span(longer), around, r...); }, bad,
                "out: must hold a block for each place");
    check_forms([&](auto&... r) { neighbour_alltoall(comm, null, out, around, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { neighbour_alltoall(comm, in, null, around, r...); }, bad, "data: null");
    check_forms([&](auto&... r) { neighbour_alltoall(comm, in, in, around, r...); }, bad, "out: overlaps the input");
    check_forms([&](auto&... r) { neighbour_alltoall(comm, huge, other_huge, around, r...); }, errc::size_overflow,
                "data:");
    const auto plan_of_two = plan_neighbour_alltoall(by_dimension{}, of_two, {.size = 2});
    check_forms([&](auto&... r) { neighbour_alltoall(comm, in, out, around, plan_of_two, r...); }, bad,
                "neighbours: not those of the given plan");
    const neighbourhood graph = graph_neighbours{.destinations = {{0, 0}}};
    check_forms([&](auto&... r) { neighbour_alltoall(comm, in, out, graph, by_dimension{}, r...); }, bad,
                "neighbours: a graph has no dimensions");
    const auto v = [&](std::span<int> from, std::vector<std::size_t> send, std::span<int> to,
                       std::vector<std::size_t> receive) {
        return [&, from, send, to, receive](auto&... r) {
            neighbour_alltoallv(comm, from, send, to, receive, around, r...);
        };
    };
    check_forms(v(in, {4}, out, {2, 2}), bad, "send_counts: one for each place");
    check_forms(v(in, {2, 2}, out, {4}), bad, "receive_counts: one for each place");
    check_forms(v(in, {2, 1}, out, {2, 2}), bad, "send_counts: their sum");
    check_forms(v(in, {3, 1}, out, {1, 3}), bad, "receive_counts: this rank sends itself");
    check_forms(v(in, {2, 2}, out, {2, 1}), bad, "receive_counts: their sum");
    check_forms(v(in, {2, 2}, std::span(longer), {2, 2}), bad, "receive_counts: their sum");
    check_forms(v(in, {3, 1}, out, {3, 1}), errc::ok);
    const auto alike = [&](std::vector<std::size_t> counts, std::span<int> to, const neighbourhood& where) {
        return [&comm, in, counts, to, where](auto&... r) { neighbour_alltoallv(comm, in, counts, to, where, r...); };
    };
    check_forms(alike({4}, out, around), bad, "counts: one for each offset");
    check_forms(alike({3, 2}, out, around), bad, "counts: their sum is not the length of in");
    check_forms(alike({3, 1}, std::span(longer), around), bad, "counts: their sum is not the length of out");
    check_forms(alike({3, 1}, out, graph), bad, "counts: one list for all ranks is for grids");
    check_forms(alike({3, 1}, out, around), errc::ok);
    CHECK_FALSE(comm.poison());

    std::atomic<int> wrong{0};
    in_process{4}.run([&](auto transport) { // all ranks refuse alike, and go on
        communicator group{std::move(transport)};
        status s;
        std::vector<int> from(4), to(4);
        const std::vector<std::size_t> ones(4, 1);
        const neighbourhood square = grid_neighbours{.extents = {2, 2}, .offsets = {{1}, {0, 1}, {1, 1}, {1}}};
        neighbour_alltoall(group, from, to, grid_neighbours{.extents = {2, 3}, .offsets = {{1}}}, s);
        wrong += s != invalid_argument("neighbours: the product of the extents is not the number of ranks");
        neighbour_alltoallv(group, from, ones, to, ones, square, by_dimension{}, s);
        wrong += s.code != errc::unsupported;
        neighbour_alltoallv(group, from, ones, to, ones, square, s);
        wrong += static_cast<bool>(s);
    });
    CHECK(wrong == 0);
}

TEST_CASE("neighbour_alltoall: ranks that do not make the same call are told so") {
    // Rank 3 deviates. Every rank gets an error, from this call or from a later one.
    const auto seen = [](auto call, mismatch what) {
        std::vector<status> first(4), later(4);
        in_process{4}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout_ns(5'000'000'000);
            status& mine = first[comm.rank()];
            call(comm, mine);
            later[comm.rank()] = mine;
            for (int tries = 0; tries != 100 && !later[comm.rank()]; ++tries) barrier(comm, later[comm.rank()]);
            test::hear_of_failure(comm, later[comm.rank()]);
        });
        bool said = false;
        for (const status& s : later) CHECK(s);
        for (const status& s : first) said |= s.code == errc::call_mismatch && s.mismatch == what;
        CHECK(said);
    };
    const grid_neighbours ring{.extents = {4}, .offsets = star_offsets(1)};
    seen( // another order of offsets
        [&](auto& comm, status& s) {
            grid_neighbours mine = ring;
            if (comm.rank() == 3) std::swap(mine.offsets[0], mine.offsets[1]);
            std::vector<int> in(2), out(2);
            neighbour_alltoall(comm, in, out, mine, s);
        },
        mismatch::plan);
    seen( // another graph, the same on the lists of the rank itself
        [&](auto& comm, status& s) {
            graph_neighbours mine{.destinations = {{1, 2}, {3}, {3}, {0}}};
            if (comm.rank() == 3) mine.destinations[0] = {2, 1};
            std::vector<int> in(mine.destinations[comm.rank()].size()), out(neighbourhood(mine).receives(comm.rank()));
            neighbour_alltoall(comm, in, out, mine, s);
        },
        mismatch::plan);
    seen( // longer blocks
        [&](auto& comm, status& s) {
            const std::size_t each = comm.rank() == 3 ? 2 : 1;
            std::vector<int> in(2 * each), out(2 * each);
            neighbour_alltoall(comm, in, out, ring, s);
        },
        mismatch::count);
    seen( // other lengths of the same sum
        [&](auto& comm, status& s) {
            const std::vector<std::size_t> counts =
                comm.rank() == 3 ? std::vector<std::size_t>{1, 2} : std::vector<std::size_t>{2, 1};
            std::vector<int> in(3), out(3);
            neighbour_alltoallv(comm, in, counts, out, ring, by_dimension{}, s);
        },
        mismatch::plan);
    seen( // rank 3 sends more than its neighbour expects
        [&](auto& comm, status& s) {
            std::vector<std::size_t> send(2, 1), receive(2, 1);
            if (comm.rank() == 3) send[0] = 4;
            std::vector<int> in(send[0] + send[1]), out(2);
            neighbour_alltoallv(comm, in, send, out, receive, ring, s);
        },
        mismatch::count);
}

TEST_CASE("neighbour_alltoall: short blocks of a cube go by dimension, long ones straight") {
    // Under what the communicator's costs say of a cube: 6 alpha + 54 beta b against 26 (alpha + beta b).
    const neighbourhood cube = grid_neighbours{.extents = {3, 3, 3}, .offsets = box_offsets(3)};
    const model::alpha_beta_gamma model{.alpha_ns = 1000, .beta_ns_per_byte = 1};
    std::atomic<int> wrong{0};
    in_process{27}.run([&](auto transport) {
        communicator comm{std::move(transport), {.costs = model}};
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{100'000}}) {
            std::vector<char> in(26 * bytes), out(26 * bytes);
            neighbour_alltoall(comm, in, out, cube);
        }
        const std::vector<std::size_t> none(26, 0); // is no such call of empty blocks
        neighbour_alltoallv(comm, std::span<const char>(), none, std::span<char>(), none, cube);
        wrong += comm.core()->plans.find_plan(plan_neighbour_alltoall(by_dimension{}, cube, {.size = 27})) == nullptr;
        wrong +=
            comm.core()->plans.find_plan(plan_neighbour_alltoall(direct_neighbours{}, cube, {.size = 27})) == nullptr;
    });
    CHECK(wrong == 0);
}
