// SPDX-License-Identifier: BSL-1.0
// Memory runs out at any one allocation of one rank, in calls of every kind that take lists: the call ends with an error
// there, and nowhere with a wrong answer. (allreduce: allocation.cpp)
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/allgather.hpp>
#include <bough/alltoall.hpp>
#include <bough/batch.hpp>
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace bough;
using bough_test::until_failure;

constexpr rank_t ranks = 3, poor = 2;

// May a rank have this result while the poor one lacks memory?
bool may_be(const status& s, bool is_poor) {
    if (!s || is_poor) return !s || s.code == errc::no_resources;
    return s.code == errc::peer_dead ||
           ((s.code == errc::peer_aborted || s.code == errc::group_poisoned) && s.cause == errc::no_resources);
}

// call(comm, status, poorly) -> whether the result is right, if the call ended well. It makes the call by poorly(f).
template <class F>
void check_without_memory(const char* what, const F& call) {
    bool ran_through = false;
    std::size_t failures = 0;
    for (long n = 0; !ran_through && n < 100'000; n += 1 + n / 24) { // a choice allocates for every candidate
        std::atomic<int> wrong{0};
        in_process{ranks}.run([&](auto transport) {
            communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
            const bool is_poor = comm.rank() == poor;
            status s;
            const bool is_right = call(comm, s, [&](const auto& make) {
                if (is_poor) until_failure = n;
                make();
                if (is_poor) ran_through = until_failure >= 0;
                until_failure = -1;
            });
            if (is_poor && s) ++failures;
            if (!may_be(s, is_poor) || (!s && !is_right)) ++wrong;
        });
        CAPTURE(what, n);
        REQUIRE(wrong == 0);
    }
    CAPTURE(what);
    CHECK(ran_through);
    CHECK(failures != 0);
}

using numbers = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("memory runs out at any one allocation of a multicast: an error") {
    for (const bool takes_part : {true, false})
        check_without_memory(
            takes_part ? "multicast, member" : "multicast, no member", [&](auto& comm, status& s, const auto& poorly) {
                const std::vector<rank_t> members = takes_part ? std::vector<rank_t>{2, 1} : std::vector<rank_t>{1};
                numbers x(5, comm.rank() == 0 ? 7 : 0);
                poorly([&] { multicast(comm, x, members, root{0}, s); });
                return x[4] == (comm.rank() != poor || takes_part ? 7u : 0u);
            });
    check_without_memory("multicasts", [](auto& comm, status& s, const auto& poorly) {
        const std::vector<multicast_request> wanted{{.root = 0, .members = {2, 1}}, {.root = 2, .members = {1}}};
        numbers x(2, comm.rank());
        poorly([&] { multicasts(comm, x, wanted, s); });
        return x == (comm.rank() == 0 ? numbers{0, 0} : numbers{0, 2});
    });
}

TEST_CASE("memory runs out at any one allocation among neighbours: an error") {
    const neighbourhood grid = grid_neighbours{.extents = {ranks}, .offsets = {{1}, {-1}}};
    const neighbourhood graph = graph_neighbours{.destinations = {{1, 2}, {2, 0}, {0, 1}}};
    for (const neighbourhood* around : {&grid, &graph}) {
        check_without_memory("neighbour_allgather", [&](auto& comm, status& s, const auto& poorly) {
            const numbers in(2, comm.rank());
            numbers out(4, 9);
            poorly([&] { neighbour_allgather(comm, in, out, *around, s); });
            return out[0] + out[2] == ranks - comm.rank();
        });
        check_without_memory("neighbour_alltoall", [&](auto& comm, status& s, const auto& poorly) {
            const numbers in(4, comm.rank());
            numbers out(4, 9);
            poorly([&] { neighbour_alltoall(comm, in, out, *around, s); });
            return out[0] + out[2] == ranks - comm.rank();
        });
        check_without_memory("neighbour_alltoallv", [&](auto& comm, status& s, const auto& poorly) {
            const numbers in(4, comm.rank());
            numbers out(4, 9);
            const std::vector<std::size_t> counts(2, 2);
            poorly([&] { neighbour_alltoallv(comm, in, counts, out, counts, *around, s); });
            return out[0] + out[2] == ranks - comm.rank();
        });
    }
}

TEST_CASE("memory runs out at any one allocation of a v-form or a batch: an error") {
    const std::vector<std::size_t> counts{1, 0, 4};
    const auto gathers = [&](const auto& choice) {
        return [&](auto& comm, status& s, const auto& poorly) {
            const numbers in(counts[comm.rank()], comm.rank() + 1);
            numbers out(5);
            poorly([&] { gatherv(comm, in, out, counts, root{2}, choice, s); });
            return comm.rank() != 2 || out == numbers{1, 3, 3, 3, 3};
        };
    };
    check_without_memory("gatherv", gathers(automatic{}));
    check_without_memory("gatherv, counts at the root", gathers(counts_at_root{}));
    const auto scatters = [&](const auto& choice) {
        return [&](auto& comm, status& s, const auto& poorly) {
            const numbers in{5, 6, 7, 8, 9};
            numbers out(counts[comm.rank()]);
            poorly([&] { scatterv(comm, in, out, counts, root{2}, choice, s); });
            return out == (comm.rank() == 0 ? numbers{5} : comm.rank() == 1 ? numbers{} : numbers{6, 7, 8, 9});
        };
    };
    check_without_memory("scatterv", scatters(automatic{}));
    check_without_memory("scatterv, counts at the root", scatters(counts_at_root{}));
    check_without_memory("reduce_scatterv", [&](auto& comm, status& s, const auto& poorly) {
        const numbers in(5, 1);
        numbers out(counts[comm.rank()]);
        poorly([&] { reduce_scatterv(comm, in, out, counts, plus{}, s); });
        return out == numbers(counts[comm.rank()], ranks);
    });
    check_without_memory("allgatherv", [&](auto& comm, status& s, const auto& poorly) {
        const numbers in(counts[comm.rank()], comm.rank() + 1);
        numbers out(5);
        poorly([&] { allgatherv(comm, in, out, counts, s); });
        return out == numbers{1, 3, 3, 3, 3};
    });
    check_without_memory("alltoallv", [&](auto& comm, status& s, const auto& poorly) {
        const std::vector<std::size_t> mine(ranks, counts[comm.rank()]);
        const numbers in(ranks * counts[comm.rank()], comm.rank() + 1);
        numbers out(5);
        poorly([&] { alltoallv(comm, in, mine, out, counts, s); });
        return out == numbers{1, 3, 3, 3, 3};
    });
    check_without_memory("allreduce of a batch", [&](auto& comm, status& s, const auto& poorly) {
        std::uint64_t sum = comm.rank();
        double least = comm.rank() + 1.0;
        batch all;
        all.add(sum, plus{}).add(least, min{});
        poorly([&] { allreduce(comm, all, s); });
        return sum == 3 && least == 1.0;
    });
}
