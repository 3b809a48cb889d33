// SPDX-License-Identifier: BSL-1.0
// A communicator that knows what joins its ranks: automatic{} takes what is made for the network, where it wins.
#include "support/catch.hpp"
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/decision.hpp>
#include <bough/group.hpp>
#include <bough/model/lrc.hpp>
#include <bough/reduce.hpp>
#include <bough/select/know_network.hpp>
#include <bough/select/standard/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::lrc latency{.message_latency_ns = 1000};
network torus() {
    network made = network::torus({4, 4}, 50, 200);
    made.hop_ns = 50;
    return made;
}
// What is chosen without a communicator.
decision directly(const dimensions& at, std::uint64_t bytes, const network& over) {
    const problem what{.bytes = bytes};
    auto from = standard_candidates<goal::allreduce>(at, what);
    add_network_candidates(from, at, what, over);
    return choose(from, at, what, on_network{over, latency});
}
std::string winner(const decision& d) { return d ? label_of(d.winner().what.algorithm).c_str() : ""; }
bool is_made_for_tori(const decision& d) {
    const any_algorithm& a = d.winner().what.algorithm;
    return a.get<bucket_allreduce>() != nullptr || a.get<swing_allreduce>() != nullptr;
}

} // namespace

TEST_CASE("network: on a torus what is made for it is taken, and gives the same sums") {
    const auto joined = know_network(torus(), latency);
    const std::string expected = winner(directly({.size = 16}, 1 << 20, torus()));
    std::atomic<int> wrong{0}, others{0};
    in_process{16}.run([&](auto link) {
        communicator comm{std::move(link), {.network = joined}};
        const decision d = decision_of<goal::allreduce>(comm, {.bytes = 1 << 20, .element_bytes = 8});
        others += winner(d) != expected || !is_made_for_tori(d) || !d.on_network;
        std::vector<std::uint64_t> x((1 << 20) / 8, comm.rank() + 1);
        allreduce(comm, std::span(x), plus{});
        for (const std::uint64_t sum : x) wrong += sum != 136;
        std::vector<std::uint64_t> mine(100, comm.rank()), all(1600);
        allgather(comm, mine, all);
        for (std::size_t i = 0; i != all.size(); ++i) wrong += all[i] != i / 100;
        for (const rank_t r : {0u, 5u}) { // each root has a price of its own
            std::vector<std::uint64_t> sums(1000, 1), out(1000);
            reduce(comm, sums, out, plus{}, root{r});
            if (comm.rank() == r)
                for (const std::uint64_t sum : out) wrong += sum != 16;
        }
    });
    CHECK(wrong == 0);
    CHECK(others == 0);
}

TEST_CASE("network: a communicator of some ranks knows what joins those") {
    const auto joined = know_network(torus(), latency);
    network row = torus();
    row.placement = {12, 8, 4, 0}; // the column of rank 0, in another order
    const std::string expected = winner(directly({.size = 4}, 1 << 16, row));
    network scattered = torus();
    scattered.placement = {15, 5, 0, 10};
    std::atomic<int> wrong{0}, others{0};
    in_process{16}.run([&](auto link) {
        communicator comm{std::move(link), {.network = joined}};
        const rank_t me = comm.rank();
        communicator column = split(comm, me % 4, 16 - me);
        wrong += allreduce(column, std::uint64_t{me}, plus{}) != 24 + 4 * (me % 4);
        if (me % 4 == 0)
            others += winner(decision_of<goal::allreduce>(column, {.bytes = 1 << 16, .element_bytes = 8})) != expected;
        communicator again = duplicate(column);
        wrong += allreduce(again, std::uint64_t{1}, plus{}) != 4;
        if (me % 4 == 0)
            others += winner(decision_of<goal::allreduce>(again, {.bytes = 1 << 16, .element_bytes = 8})) != expected;
    });
    CHECK(wrong == 0);
    CHECK(others == 0);
}

TEST_CASE("network: if all plans have too many messages to be run, one is taken") {
    constexpr rank_t size = 730;
    const auto joined = know_network(network::crossbar(size, 12.5), latency);
    candidate_list only{goal::alltoall::kind, {}};
    only.add(pairwise_alltoall{});
    const decision d = joined->choose(only, {.size = size}, {.bytes = std::uint64_t{size} * size * 8}, requirements{});
    REQUIRE(d);
    CHECK(d.winner().about);
    CHECK(d.winner().predicted_ns > 0);
}

TEST_CASE("network: its check says what is wrong for so many ranks") {
    network few = torus();
    few.placement = {0, 1, 2};
    const auto joined = know_network(few, latency);
    CHECK_FALSE(joined->check(3));
    CHECK(joined->check(4).code == errc::invalid_argument);
    const std::vector<rank_t> members{2, 0};
    CHECK_FALSE(joined->among(members)->check(2));
    CHECK(joined->among(members)->check(3).code == errc::invalid_argument);
}
