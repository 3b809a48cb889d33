// SPDX-License-Identifier: BSL-1.0
// Communicators that follow arrivals, between processes and over every link: ranks that come late in
// turns, and one that dies.
#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/decision.hpp>
#include <bough/error.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/select/standard/allreduce.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::over_each_link;
using bough_test::processes;
using bough_test::report;

namespace {

constexpr std::size_t count = 1 << 15; // of 8 bytes
constexpr model::alpha_beta_gamma network{.alpha_ns = 1000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.1};

std::uint64_t value(rank_t rank, std::size_t i, std::uint64_t turn) {
    return (rank + 1) * 0x9e37'79b9'7f4a'7c15u ^ (i * 77 + turn);
}

template <class Comm>
rank_t hidden(Comm& comm) {
    const decision d = decision_of<goal::allreduce>(comm, {.bytes = count * 8, .element_bytes = 8});
    const auto* plan = d.winner().what.algorithm.template get<late_rank_allreduce>();
    return plan == nullptr ? no_rank : plan->late;
}

// One call, blocking or started. True: the result is the sequential fold.
template <class Comm>
bool is_right(Comm& comm, std::uint64_t turn, std::vector<std::uint64_t>& x, status& s) {
    for (std::size_t i = 0; i != count; ++i) x[i] = value(comm.rank(), i, turn);
    if ((turn + comm.rank()) % 3 == 0) {
        operation op = start_allreduce(comm, x, plus{});
        op.wait(s);
    } else {
        allreduce(comm, x, plus{}, s);
    }
    if (s) return false;
    for (std::size_t i = 0; i != count; ++i) {
        std::uint64_t sum = 0;
        for (rank_t r = 0; r != comm.size(); ++r) sum += value(r, i, turn);
        if (x[i] != sum) return false;
    }
    return true;
}

} // namespace

TEST_CASE("processes: a late rank is hidden, another one after it, and all ranks agree, over each link") {
    over_each_link([&]<class Link>(Link) {
        constexpr rank_t p = 4;
        processes group(p, [&](auto& wire, report& told) {
            communicator comm{Link::join(wire),
                              {.timeout_ns = 120'000'000'000, .costs = network, .follow_arrivals = 3}};
            std::vector<std::uint64_t> x(count);
            std::uint64_t turn = 0;
            for (const rank_t late : {2u, 0u})
                // All ranks see the same, so all go on after the same call.
                for (int i = 0; i != 400 && hidden(comm) != late; ++i) {
                    if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(10));
                    status s;
                    told.wrong += is_right(comm, turn++, x, s) ? 0 : 1;
                    if (hidden(comm) == late) ++told.phase;
                }
            barrier(comm);
        });
        group.wait();
        for (rank_t r = 0; r != p; ++r) {
            CAPTURE(Link::name, r, group.exit_code(r));
            CHECK(group.exit_code(r) == 0);
            CHECK(group.of(r).wrong == 0);
            CHECK(group.of(r).phase == 2);
        }
    });
}

TEST_CASE("processes: a rank that dies between calls that are followed ends those of all others, over each link") {
    over_each_link([&]<class Link>(Link) {
        constexpr rank_t p = 3;
        for (const std::uint64_t last : {2u, 3u, 4u}) { // of calls 1 to 8: an exchange begins in 3, and decides 4
            processes group(p, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire), {.timeout_ns = 60'000'000'000, .follow_arrivals = 2}};
                std::vector<std::uint64_t> x(count);
                status s;
                for (std::uint64_t turn = 0; turn != 8 && !s; ++turn) {
                    if (turn == last && comm.rank() == 1) std::raise(SIGKILL);
                    told.wrong += is_right(comm, turn, x, s) || s ? 0 : 1;
                }
                told.phase = s ? 1 : 0;
            });
            group.wait();
            for (const rank_t r : {0u, 2u}) {
                CAPTURE(Link::name, r, last, group.exit_code(r));
                CHECK(group.exit_code(r) == 0);
                CHECK(group.of(r).wrong == 0);
                CHECK(group.of(r).phase == 1);
            }
        }
    });
}
