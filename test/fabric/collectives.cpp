// SPDX-License-Identifier: BSL-1.0
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/scan.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <vector>

using namespace bough;
using namespace test_fabric;

namespace {

// A product that does not commute: 2 x 2 matrices modulo a prime. So the fold over ranks is exact, and unique.
struct matrix {
    std::uint32_t a = 1, b = 0, c = 0, d = 1;
    friend bool operator==(const matrix&, const matrix&) = default;
};
struct product {
    matrix operator()(const matrix& x, const matrix& y) const {
        const auto dot = [](std::uint64_t p, std::uint64_t q, std::uint64_t r, std::uint64_t s) {
            return static_cast<std::uint32_t>((p * q + r * s) % 1'000'003);
        };
        return {dot(x.a, y.a, x.b, y.c), dot(x.a, y.b, x.b, y.d), dot(x.c, y.a, x.d, y.c), dot(x.c, y.b, x.d, y.d)};
    }
};
matrix of(rank_t rank, std::size_t i) {
    const auto k = static_cast<std::uint32_t>(rank * 1009 + i % 997);
    return {k + 1, k * 3 % 71, k % 5, k % 13 + 1};
}

// How many results are wrong.
int collectives(fabric link, const std::vector<std::size_t>& counts) {
    communicator comm{std::move(link)};
    comm.set_timeout_ns(60'000'000'000);
    const rank_t me = comm.rank(), size = comm.size();
    int wrong = 0;
    const auto check = [&](bool right, const char* what, std::size_t count) {
        if (right) return;
        ++wrong;
        std::printf("rank %u of %u: %s of %zu is wrong\n", me, size, what, count);
    };
    for (const std::size_t count : counts) {
        std::vector<matrix> mine(count), fold(count), up_to_me(count);
        for (std::size_t i = 0; i != count; ++i) {
            fold[i] = of(0, i);
            if (me == 0) up_to_me[i] = fold[i];
            for (rank_t r = 1; r != size; ++r) {
                fold[i] = product{}(fold[i], of(r, i));
                if (r == me) up_to_me[i] = fold[i];
            }
            mine[i] = of(me, i);
        }
        std::vector<matrix> x = mine;
        allreduce(comm, std::span(x), product{});
        check(x == fold, "allreduce", count);
        x = mine;
        const rank_t root = static_cast<rank_t>(count % size);
        reduce(comm, std::span(x), product{}, bough::root{root});
        check(me != root || x == fold, "reduce", count);
        x = mine;
        scan(comm, std::span(x), product{});
        check(x == up_to_me, "scan", count);
        x = me == root ? fold : std::vector<matrix>(count);
        broadcast(comm, std::span(x), bough::root{root});
        check(x == fold, "broadcast", count);
        std::vector<matrix> all(count * size);
        allgather(comm, std::span<const matrix>(mine), std::span(all));
        bool right = true;
        for (rank_t r = 0; r != size; ++r)
            for (std::size_t i = 0; i != count; ++i) right &= all[r * count + i] == of(r, i);
        check(right, "allgather", count);
        // Floating point: every rank has the same bits.
        std::vector<double> sums(count);
        for (std::size_t i = 0; i != count; ++i) sums[i] = 1.0 / static_cast<double>(1 + me + i);
        allreduce(comm, std::span(sums), plus{});
        std::vector<double> first = sums;
        broadcast(comm, std::span(first), bough::root{0});
        check(count == 0 || std::memcmp(sums.data(), first.data(), count * sizeof(double)) == 0, "bits", count);
        barrier(comm);
    }
    return wrong;
}

} // namespace

TEST_CASE("fabric: collectives are folds, bit by bit, for any number of ranks, over every provider") {
    for (const fabric_options& provider : offered_here())
        for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u}) {
            fabric_options options = provider;
            options.linger_ns = 1'000'000'000;
            const std::size_t longest = bough_test::all() ? 300'000 : 20'000;
            const launch_report report = launch(ranks, [&](job world) {
                return collectives(fabric{world, options}, {0, 1, 7, 600, longest}) == 0 ? 0 : 1;
            });
            CAPTURE(options.provider, ranks, describe(report));
            CHECK(report.ok());
        }
}

TEST_CASE("fabric: the provider that libfabric thinks best runs too") {
    if (detail::fabric_device{}.open({})) {
        WARN("skipped: libfabric has no provider here");
        return;
    }
    const launch_report report = launch(3, [&](job world) {
        return collectives(fabric{world}, {1, 5'000}) == 0 ? 0 : 1;
    });
    CAPTURE(describe(report));
    CHECK(report.ok());
}
