// SPDX-License-Identifier: BSL-1.0
// allreduce, reduce_scatter and allgather over threads, by every algorithm on one block a rank, with vectors whose blocks
// differ in length or are empty. Expected values come from a sequential fold.
#include "support/catch.hpp"
#include "support/guarded.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/allgather/neighbour_exchange.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/reverse.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

using namespace bough;

namespace {

using numbers = std::vector<std::uint64_t>;

std::uint64_t value_of(rank_t rank, std::size_t i) { return (rank + 1) * 1'000'003u + i * 7919u; }
numbers data_of(rank_t rank, std::size_t count) {
    numbers data(count);
    for (std::size_t i = 0; i != count; ++i) data[i] = value_of(rank, i);
    return data;
}

// x -> a x + b modulo 2^32: composition is associative, and its order shows.
struct affine {
    std::uint32_t a = 1, b = 0;
    friend bool operator==(const affine&, const affine&) = default;
};
struct compose {
    affine operator()(const affine& f, const affine& g) const { return {f.a * g.a, f.a * g.b + f.b}; }
};
affine map_of(rank_t rank, std::size_t i) {
    return {static_cast<std::uint32_t>(2 * (rank + 3) + 1), static_cast<std::uint32_t>(rank * 31 + i)};
}

const in_process_options tight{.slots = 2, .eager_bytes = 64};

template <class F>
void on_ranks(rank_t p, F f) {
    test::faults faults;
    for (const auto& options : {in_process_options{}, tight})
        in_process(p, options).run([&](auto end) {
            communicator comm{std::move(end)};
            comm.set_timeout_ns(60'000'000'000);
            f(comm, faults);
        });
    CAPTURE(p);
    CHECK(faults.text() == "");
}

constexpr rank_t sizes[] = {1, 2, 3, 4, 7, 13};

} // namespace

TEST_CASE("allreduce in two halves gives the sum, for fewer elements than blocks too", "[frontdoor]") {
    for (const rank_t p : sizes)
        on_ranks(p, [&](auto& comm, test::faults& faults) {
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{p} - 1, std::size_t{p},
                                            std::size_t{p} + 1, std::size_t{1000}}) {
                numbers expected(count, 0);
                for (rank_t r = 0; r != p; ++r)
                    for (std::size_t i = 0; i != count; ++i) expected[i] += value_of(r, i);
                const numbers mine = data_of(comm.rank(), count);
                const auto check = [&](const char* name, const auto& choice) {
                    const std::string what = std::string(name) + ", count " + std::to_string(count);
                    test::guarded<std::uint64_t> in_place(count, 0, 77), apart(count, 0, 77);
                    std::copy(mine.begin(), mine.end(), in_place.span().begin());
                    allreduce(comm, in_place.span(), plus{}, choice);
                    faults.expect(std::equal(expected.begin(), expected.end(), in_place.span().begin()),
                                  what + " in place");
                    numbers in = mine;
                    allreduce(comm, std::span<const std::uint64_t>(in), apart.span(), plus{}, choice);
                    faults.expect(std::equal(expected.begin(), expected.end(), apart.span().begin()), what);
                    faults.expect(in == mine && in_place.intact() && apart.intact(), what + ": memory");
                };
                check("ring", ring{});
                check("circulant", circulant{});
                check("circulant, 2 ports", circulant{.ports = 2});
                check("lowest bit first", lowest_bit_first{});
                check("lowest bit first, 1", lowest_bit_first{.aggregation_limit = 1});
                check("lowest bit first, 4", lowest_bit_first{.aggregation_limit = 4});
                check("lowest bit first, in 12 blocks", lowest_bit_first{.scratch_limit = 12});
                check("pairwise and bruck", reduce_scatter_allgather{pairwise_reduce_scatter{}, bruck_allgather{}});
            }
        });
}

TEST_CASE("reduce_scatter and allgather of uneven blocks", "[frontdoor]") {
    for (const rank_t p : sizes)
        on_ranks(p, [&](auto& comm, test::faults& faults) {
            const rank_t me = comm.rank();
            std::vector<std::size_t> counts(p);
            for (rank_t r = 0; r != p; ++r) counts[r] = r % 3 == 1 ? 0 : std::size_t{r} * r * 11 + 1;
            const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
            const std::size_t first = std::accumulate(counts.begin(), counts.begin() + me, std::size_t{0});

            const auto scatter = [&](const char* name, const auto& choice) {
                const numbers mine = data_of(me, total);
                test::guarded<std::uint64_t> out(counts[me], 0, 77);
                reduce_scatterv(comm, std::span<const std::uint64_t>(mine), out.span(), std::span(counts), plus{},
                                choice);
                bool good = mine == data_of(me, total) && out.intact();
                numbers in_place = mine;
                reduce_scatterv(comm, std::span(in_place), std::span(counts), plus{}, choice);
                for (std::size_t i = 0; i != counts[me]; ++i) {
                    std::uint64_t sum = 0;
                    for (rank_t r = 0; r != p; ++r) sum += value_of(r, first + i);
                    good = good && out.span()[i] == sum && in_place[first + i] == sum;
                }
                faults.expect(good, name);
            };
            scatter("ring", ring{});
            scatter("pairwise", pairwise_reduce_scatter{});
            scatter("circulant", circulant{});
            scatter("circulant, 3 ports", circulant{.ports = 3});
            scatter("lowest bit first", lowest_bit_first{});
            scatter("lowest bit first, 2", lowest_bit_first{.aggregation_limit = 2});
            scatter("lowest bit first, 4", lowest_bit_first{.aggregation_limit = 4});
            scatter("lowest bit first, in 12 blocks", lowest_bit_first{.scratch_limit = 12});
            scatter("bruck, reversed", reverse(bruck_allgather{}, 1));
            if (p % 2 == 0) scatter("neighbour exchange, reversed", reverse(neighbour_exchange{}));

            const auto gather = [&](const char* name, const auto& choice) {
                numbers expected;
                for (rank_t r = 0; r != p; ++r)
                    for (std::size_t i = 0; i != counts[r]; ++i) expected.push_back(value_of(r, i));
                const numbers mine = data_of(me, counts[me]);
                test::guarded<std::uint64_t> out(total, 0, 77);
                allgatherv(comm, std::span<const std::uint64_t>(mine), out.span(), std::span(counts), choice);
                bool good = std::equal(expected.begin(), expected.end(), out.span().begin()) && out.intact();
                numbers in_place(total, 0);
                std::copy(mine.begin(), mine.end(), in_place.begin() + static_cast<std::ptrdiff_t>(first));
                allgatherv(comm, std::span(in_place), std::span(counts), choice);
                faults.expect(good && in_place == expected, name);
            };
            gather("ring", ring{});
            gather("circulant", circulant{});
            gather("circulant, 3 ports", circulant{.ports = 3});
            gather("bruck", bruck_allgather{});
            gather("lowest bit first", lowest_bit_first{});
            gather("lowest bit first, 2", lowest_bit_first{.aggregation_limit = 2});
            gather("lowest bit first, 4", lowest_bit_first{.aggregation_limit = 4});
            gather("lowest bit first, in 12 blocks", lowest_bit_first{.scratch_limit = 12});
            if (p % 2 == 0) gather("neighbour exchange", neighbour_exchange{});
        });
}

TEST_CASE("reduce_scatter says how much scratch memory is too little", "[frontdoor]") {
    on_ranks(7, [](auto& comm, test::faults& faults) {
        const numbers mine = data_of(comm.rank(), 7);
        std::uint64_t sum = 0;
        std::error_code ec;
        reduce_scatter(comm, std::span(mine), std::span(&sum, 1), plus{}, lowest_bit_first{.scratch_limit = 3}, ec);
        faults.expect(ec == errc::invalid_argument, "refused");
        reduce_scatter(comm, std::span(mine), std::span(&sum, 1), plus{}, lowest_bit_first{.scratch_limit = 4});
        std::uint64_t expected = 0;
        for (rank_t r = 0; r != 7; ++r) expected += value_of(r, comm.rank());
        faults.expect(sum == expected, "done in four blocks");
    });
}

TEST_CASE("pairwise exchange keeps the order of an op that does not commute; the others refuse it", "[frontdoor]") {
    for (const rank_t p : sizes)
        on_ranks(p, [&](auto& comm, test::faults& faults) {
            const std::size_t count = 2 * p + 1;
            std::vector<affine> data(count), expected(count);
            for (std::size_t i = 0; i != count; ++i) {
                data[i] = map_of(comm.rank(), i);
                expected[i] = map_of(0, i);
                for (rank_t r = 1; r != p; ++r) expected[i] = compose{}(expected[i], map_of(r, i));
            }
            std::vector<affine> result = data;
            allreduce(comm, std::span(result), compose{},
                      reduce_scatter_allgather{pairwise_reduce_scatter{}, circulant{}});
            faults.expect(result == expected, "pairwise and circulant");
            std::error_code ec;
            allreduce(comm, std::span(result), compose{}, circulant{}, ec);
            faults.expect((ec == errc::unsupported) == (p > 2), "refused");
        });
}

TEST_CASE("neighbour exchange refuses an odd group", "[frontdoor]") {
    on_ranks(3, [](auto& comm, test::faults& faults) {
        std::vector<int> data(3, 1);
        std::error_code ec;
        allgather(comm, std::span(data), neighbour_exchange{}, ec);
        faults.expect(ec == errc::invalid_argument, "refused");
    });
}
