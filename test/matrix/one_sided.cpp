// SPDX-License-Identifier: BSL-1.0
// A part of the matrix over remote writes: every plan of a collective, with few and small blocks, so that messages wait for
// credits and come in pieces.
#include "matrix/run.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/transport/one_sided.hpp>

#include <thread>
#include <vector>

namespace {

template <class Goal>
std::size_t run_over_remote_writes(std::uint64_t keep_one_in) {
    using namespace bough;
    using end = one_sided<in_process_regions::endpoint>;
    std::size_t total = 0;
    for (const rank_t size : {1u, 2u, 3u, 5u, 8u}) {
        const auto plans = test::matrix::plans_of<end, Goal>(size);
        const auto cases = test::matrix::cases_of<end, Goal>(plans, size, keep_one_in);
        test::matrix::faults seen;
        const one_sided_options options{
            .blocks = size % 2 == 0 ? 2u : 8u, .block_bytes = size % 3 == 0 ? 64u : 2048u, .piece_bytes = 256};
        in_process_regions world(size, {.region_bytes = one_sided_bytes(size, options)});
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != size; ++r)
            threads.emplace_back([&, r] {
                communicator comm{end(world.connect(r), options)};
                test::matrix::run_all<end, Goal>(comm, cases, seen);
            });
        for (std::thread& t : threads) t.join();
        CAPTURE(size, seen.found);
        CHECK(seen.found.empty());
        total += cases.size();
    }
    return total;
}

} // namespace

TEST_CASE("matrix: allreduce over remote writes") { CHECK(run_over_remote_writes<bough::goal::allreduce>(16) > 100); }
TEST_CASE("matrix: broadcast over remote writes") { CHECK(run_over_remote_writes<bough::goal::broadcast>(16) > 100); }
TEST_CASE("matrix: reduce over remote writes") { CHECK(run_over_remote_writes<bough::goal::reduce>(64) > 100); }
TEST_CASE("matrix: scan over remote writes") { CHECK(run_over_remote_writes<bough::goal::scan>(1) > 200); }
TEST_CASE("matrix: alltoall over remote writes") { CHECK(run_over_remote_writes<bough::goal::alltoall>(1) > 200); }
