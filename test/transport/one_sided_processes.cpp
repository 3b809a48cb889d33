// SPDX-License-Identifier: BSL-1.0
// Messages by remote writes between processes: the rules, collectives, deaths.
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include "support/priced.hpp"
#include "support/sample.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/measure/one_sided.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/shared_memory.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/tree/degree_k.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <optional>
#include <span>
#include <thread>
#include <vector>

using namespace bough;
using link_type = one_sided<shared_memory_regions>;

namespace {

template <class W>
link_type link_of(W& wire, const one_sided_options& options = {}, std::uint64_t heap_bytes = 0) {
    return link_type(shared_memory_regions{wire, {.region_bytes = one_sided_bytes(wire.size(), options) + heap_bytes}},
                     options);
}
std::vector<link_type> ends_of(rank_t ranks, const one_sided_options& options) {
    return bough_test::joined_ends<link_type>(
        ranks, [&](rank_t, auto& wire, status&) { return std::optional(link_of(wire, options)); });
}

} // namespace

TEST_CASE("one_sided: its plans are chosen by what its medium costs") {
    const std::vector<link_type> ends = ends_of(1, {});
    using bough_test::price;
    CHECK(price(default_costs_of(ends[0])) == price(shared_memory::default_costs()));
    CHECK_FALSE(price(default_costs_of(ends[0])) == price(thread_costs));
    CHECK(switch_ns_of(ends[0]) == shared_memory::switch_ns());
    in_process_regions threads(1, {.region_bytes = one_sided_bytes(1)});
    CHECK(price(default_costs_of(one_sided(threads.connect(0)))) == price(thread_costs));
}

TEST_CASE("one_sided: keeps the rules of a transport over shared memory") {
    for (const one_sided_options& shape :
         {one_sided_options{.blocks = 1, .block_bytes = 24, .piece_bytes = 64}, one_sided_options{}}) {
        const auto fault = testing::check_transport([&](rank_t n) { return ends_of(n, shape); }, {.messages = 2'000});
        CAPTURE(shape.blocks, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

TEST_CASE("one_sided: keeps them between processes") {
    for (const rank_t ranks : {2u, 3u, 5u}) {
        bough_test::processes group(ranks, [&](auto& wire, bough_test::report& told) {
            const one_sided_options shape{.blocks = ranks == 3 ? 2u : 8u, .block_bytes = ranks == 5 ? 64u : 0u};
            const auto fault =
                testing::check_transport_process(link_of(wire, shape), {.seed = bough_test::seed(), .messages = 200});
            told.check(!fault);
            if (fault) std::fprintf(stderr, "rank %u: %s\n", fault.rank, fault.sentence);
        });
        group.wait();
        for (rank_t r = 0; r != ranks; ++r) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
    }
}

TEST_CASE("one_sided: sums over processes, short, in blocks, in pieces and where they are wanted") {
    for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u}) {
        bough_test::processes group(ranks, [&](auto& wire, bough_test::report& told) {
            communicator comm{link_of(wire, {}, 1u << 20)};
            for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{2000}, std::size_t{50'000}}) {
                const std::span<std::byte> lent = comm.transport().allocate(count * sizeof(double));
                std::vector<double> own(count);
                for (const std::span<double> x :
                     {std::span<double>(own), std::span<double>(reinterpret_cast<double*>(lent.data()), count)}) {
                    for (std::size_t i = 0; i != count; ++i) x[i] = static_cast<double>(i % 100 + comm.rank());
                    allreduce(comm, x, plus{});
                    const double add = static_cast<double>(ranks * (ranks - 1) / 2);
                    for (std::size_t i = 0; i != count; ++i)
                        told.check(x[i] == static_cast<double>(ranks * (i % 100)) + add);
                    if (comm.rank() == ranks - 1) std::fill(x.begin(), x.end(), 7.0);
                    broadcast(comm, x, root{ranks - 1});
                    told.check(static_cast<std::size_t>(std::count(x.begin(), x.end(), 7.0)) == count);
                }
                comm.transport().deallocate(lent);
            }
        });
        group.wait();
        for (rank_t r = 0; r != ranks; ++r) {
            CAPTURE(ranks, r, group.of(r).wrong);
            CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
        }
    }
}

TEST_CASE("one_sided: who is killed is missed, and nobody hangs") {
    bough_test::processes group(4, [&](auto& wire, bough_test::report& told) {
        communicator comm{link_of(wire)};
        double x = 1;
        for (int i = 0; i != 100; ++i) x = 1, allreduce(comm, std::span(&x, 1), plus{});
        if (comm.rank() == 2) ::raise(SIGKILL);
        status why;
        for (int i = 0; i != 100 && !why; ++i) allreduce(comm, std::span(&x, 1), plus{}, why);
        told.result = why;
        told.check((why.cause != errc::ok ? why.cause : why.code) == errc::peer_dead);
    });
    group.wait();
    for (const rank_t r : {0u, 1u, 3u}) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
    CHECK(group.exit_code(2) == 256 + SIGKILL);
}

TEST_CASE("one_sided: the threshold is measured") {
    bough_test::processes group(3, [&](auto& wire, bough_test::report& told) {
        auto link = link_of(wire, {.blocks = 4, .block_bytes = 4096}, 1u << 16);
        const one_sided_tuning found = tune_one_sided(link, wire, {.rounds = 20, .in_region = link.rank() == 1});
        told.check(!found.result);
        if (link.rank() == 2) {
            told.check(found.samples.empty() && link.static_bytes() == 4096); // nobody to measure with
        } else {
            told.check(found.samples.size() == 7 && found.samples.back().bytes == 4096);
            for (const auto& s : found.samples) told.check(s.block_ns > 0 && s.wait_ns > 0);
            told.check(link.static_bytes() == found.static_bytes && found.static_bytes >= 63);
        }
        communicator comm{std::move(link)};
        double x = 1;
        allreduce(comm, std::span(&x, 1), plus{});
        told.check(x == 3);
    });
    group.wait();
    for (rank_t r = 0; r != 3; ++r) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
}

TEST_CASE("one_sided: the paper's counters serve one root and one degree, and refuse others") {
    const one_sided_options options{.blocks = 4, .block_bytes = 512};
    in_process_regions world(4, {.region_bytes = one_sided_bytes(4, options)});
    std::vector<std::thread> ranks;
    std::vector<int> wrong(4, 0);
    std::atomic<int> through{0};
    for (rank_t r = 0; r != 4; ++r)
        ranks.emplace_back([&, r] {
            communicator comm{one_sided<in_process_regions::endpoint, notified_blocks>(world.connect(r), options)};
            for (int i = 0; i != 2000; ++i) { // wraps
                double x = r == 1 ? i : -1;
                broadcast(comm, std::span(&x, 1), root{1}, degree_k{.k = 3});
                wrong[r] += x != i;
            }
            // Who is refused poisons the group, also for who is behind.
            for (++through; through != 4;) std::this_thread::yield();
            comm.set_timeout_ns(2'000'000'000);
            double x = 0;
            status s;
            broadcast(comm, std::span(&x, 1), root{1}, degree_k{.k = 1}, s);
            const bool first = s.code != errc::ok;
            status again;
            broadcast(comm, std::span(&x, 1), root{1}, degree_k{.k = 3}, again);
            wrong[r] += !first && !again; // a leaf of both may have had the first one
        });
    for (std::thread& t : ranks) t.join();
    for (const int w : wrong) CHECK(w == 0);
}
