// SPDX-License-Identifier: BSL-1.0
// Shared memory inside a node and tcp between nodes: threads for the rules, then processes of two nodes that are not.
#include "support/catch.hpp"
#include "support/process_collectives.hpp"
#include "support/sample.hpp"
#include "transport/shared_memory_world.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/composite_tcp.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/flat.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::is_sum;
using bough_test::ramp;
using bough_test::report;
using bough_test::wrong_allgather;
using bough_test::wrong_broadcast;
using bough_test::wrong_sums;

namespace {

constexpr std::uint64_t ms = 1'000'000;

// Ranks r with r / per_node equal are on one node.
std::string node_of(rank_t r, rank_t per_node) { return "node " + std::to_string(r / per_node); }

// All ends of a group by a thread each. `join`: of a wire-up and a status.
template <class Join>
auto ends_by(rank_t ranks, const Join& join) {
    using made_type = std::invoke_result_t<const Join&, testing::thread_wire_up::end&, status&>;
    testing::thread_wire_up world{ranks};
    std::vector<status> results(ranks);
    std::vector<made_type> made;
    made.reserve(ranks);
    for (rank_t r = 0; r != ranks; ++r) made.emplace_back();
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            if (auto end = join(wire, results[r])) made[r].emplace(std::move(*end));
        });
    for (std::thread& t : threads) t.join();
    std::vector<typename made_type::value_type> ends;
    for (rank_t r = 0; r != ranks; ++r) {
        if (!made[r]) throw error(results[r]);
        ends.push_back(std::move(*made[r]));
    }
    return ends;
}
auto ends_of(rank_t ranks, rank_t per_node) {
    return ends_by(ranks, [per_node](auto& wire, status& s) {
        return join_composite(wire, {.node = node_of(wire.rank(), per_node)}, s);
    });
}

// Flat ones and, by the group map, those of two levels: each is proved, run, and compared element by element.
void some_collectives(communicator<shared_memory_tcp>& comm, std::size_t count, report& told) {
    const listed_groups nodes = comm.transport().groups();
    status s;
    int wrong = wrong_sums(comm, count) + wrong_broadcast(comm, count);
    wrong += wrong_broadcast(comm, count, compose(ring{}, binomial{}, nodes));
    wrong += wrong_broadcast(comm, count, compose_leaders(binomial{}, binomial{}, nodes));
    wrong += wrong_sums(comm, count, compose(ring{}, circulant{}, nodes));
    wrong += wrong_sums(comm, count, compose_leaders(binomial{}, binomial{}, nodes));
    wrong += wrong_allgather(comm, count, compose(ring{}, circulant{}, nodes));
    told.check(wrong == 0);
    barrier(comm, s);
    told.check(!s);
}

} // namespace

TEST_CASE("composite_tcp: keeps the rules of a transport") {
    for (const rank_t ranks : {3u, 5u}) {
        const auto fault = testing::check_transport([](rank_t n) { return ends_of(n, 2); },
                                                    {.ranks = ranks, .messages = bough_test::all() ? 10'000u : 1'000u});
        CAPTURE(ranks, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}
TEST_CASE("composite_tcp: tcp inside and shared memory between keep them too") {
    const auto fault = testing::check_transport(
        [](rank_t n) {
            return ends_by(n, [](auto& wire, status& s) {
                return join_composite(
                    wire, {.node = node_of(wire.rank(), 2)}, s,
                    [](auto& part, status& t) { return tcp::join(part, {}, t); },
                    [](auto& all, status& t) { return shared_memory::join(all, {}, t); });
            });
        },
        {.ranks = 3, .messages = 1'000u});
    CAPTURE(fault.sentence, fault.rank);
    CHECK(fault.rule == testing::transport_rule::none);
}

TEST_CASE("composite_tcp: processes of two nodes keep the rules") {
    bough_test::processes group(6, [](auto& wire, report& told) {
        auto link = make_composite(wire, {.node = node_of(wire.rank(), 3)});
        told.check(link.groups().group_of_rank() == std::vector<rank_t>{0, 0, 0, 1, 1, 1});
        told.check(link.inside().size() == 3 && link.between().size() == 6);
        const auto fault =
            testing::check_transport_process(std::move(link), {.seed = bough_test::seed(), .messages = 150});
        told.check(!fault);
        if (fault) std::fprintf(stderr, "rank %u: %s\n", fault.rank, fault.sentence);
    });
    group.wait();
    for (rank_t r = 0; r != 6; ++r) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
}

TEST_CASE("composite_tcp: collectives over two nodes of three ranks, in two levels by their map") {
    const listed_groups nodes({0, 0, 0, 1, 1, 1});
    CHECK(verify(plan_allreduce(compose(ring{}, circulant{}, nodes), {.size = 6})).fault == fault::none);
    CHECK(verify(plan_allreduce(compose_leaders(binomial{}, binomial{}, nodes), {.size = 6})).fault == fault::none);
    bough_test::processes group(6, [](auto& wire, report& told) {
        communicator comm{make_composite(wire, {.node = node_of(wire.rank(), 3)})};
        for (const std::size_t count : {0u, 1u, 12u, 13u, 1000u, 30'000u, 200'000u})
            some_collectives(comm, count, told);
        for (int i = 0; i != 20; ++i) some_collectives(comm, 3, told);
        auto node = split(comm, comm.transport().groups().group_of(6, comm.rank()));
        int x = 1;
        allreduce(node, std::span(&x, 1), plus{});
        told.check(x == 3);
    });
    group.wait();
    for (rank_t r = 0; r != 6; ++r) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
}

TEST_CASE("composite_tcp: nodes of one rank, of all ranks, of uneven size, and not told by name") {
    for (const rank_t per_node : {1u, 2u, 5u, 0u}) {
        bough_test::processes group(5, [per_node](auto& wire, report& told) {
            communicator comm{make_composite(wire, {.node = per_node != 0 ? node_of(wire.rank(), per_node) : ""})};
            const rank_t nodes = comm.transport().groups().groups(5);
            told.check(nodes == (per_node == 0 ? 1 : (5 + per_node - 1) / per_node)); // all are on this machine
            std::vector<double> x = ramp(5000, comm.rank());
            allreduce(comm, std::span(x), plus{});
            told.check(is_sum(x, 5));
        });
        group.wait();
        for (rank_t r = 0; r != 5; ++r) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
    }
}

TEST_CASE("composite_tcp: an error of one rank's joining is all ranks'") {
    for (int kind = 0; kind != 3; ++kind) {
        bough_test::processes group(4, [kind](auto& wire, report& told) {
            composite_options options{.node = node_of(wire.rank(), 2), .timeout_ns = 3'000 * ms};
            if (wire.rank() == 3 && kind == 0) options.node = std::string(1000, 'x');
            if (wire.rank() == 3 && kind == 1) options.inside.slots = 3;
            if (wire.rank() == 3 && kind == 2) options.between.bind = "nowhere";
            told.check(!join_composite(wire, options, told.result));
        });
        group.wait();
        for (rank_t r = 0; r != 4; ++r) {
            const status& s = group.of(r).result;
            CAPTURE(kind, r, s.code, s.cause, s.peer);
            CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
            CHECK(s.code == (r == 3 ? errc::invalid_argument : errc::peer_aborted));
            if (r != 3) CHECK(s.peer == 3);
        }
    }
}

// The news may come by either, and must not wait for the end of a nap in the other.
TEST_CASE("composite_tcp: a sleeping rank is woken from both sides") {
    bough_test::processes group(3, [](auto& wire, report& told) {
        communicator comm{make_composite(wire, {.node = node_of(wire.rank(), 2)})};
        // Rank 0 hears rank 1 by shared memory, and rank 2 by tcp.
        const bough_test::sleep_report slept = bough_test::sleep_between(comm, {1, 2}, 15, flat{});
        told.check(slept.wrong == 0);
        told.numbers[0] = slept.late_ms[0];
        told.numbers[1] = slept.late_ms[1];
        told.numbers[2] = slept.cpu_s;
        told.numbers[3] = slept.all_s;
    });
    group.wait();
    for (rank_t r = 0; r != 3; ++r) CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
    const double* told = group.of(0).numbers;
    CAPTURE(told[0], told[1], told[2], told[3]);
    CHECK(told[0] < 20); // milliseconds late on average, however busy the machine is
    CHECK(told[1] < 20);
    CHECK(told[2] < 0.6 * told[3]); // it slept most of the time
}
