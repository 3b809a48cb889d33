// SPDX-License-Identifier: BSL-1.0
// rounded_once between processes, over each transport: the bits of a sum in rank order where the values
// themselves travel, also after one rank has been killed in the middle.
#include "support/rounded.hpp"

#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/by_owner.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::contribution_of;
using bough_test::in_rank_order;
using bough_test::over_each_link;
using bough_test::processes;
using bough_test::report;
using bough_test::same_bits;

TEST_CASE("processes: rounded_once gives the bits of a sum in rank order, over each transport") {
    over_each_link([&]<class Link>(Link) {
        for (const rank_t ranks : {2u, 3u, 5u}) {
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire)};
                const rounded_once<> op{.after = 0.5f};
                for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{ranks - 1},
                                                std::size_t{ranks}, std::size_t{4099}, std::size_t{60'001}}) {
                    const std::vector<bf16> mine = contribution_of<bf16>(comm.rank(), count);
                    const std::vector<bf16> right = in_rank_order<bf16>(ranks, count, op);
                    std::vector<bf16> x = mine, y = mine, z = mine, out(count);
                    allreduce(comm, std::span(x), op, by_owner{});
                    told.check(same_bits(x, right));
                    auto first = start_allreduce(comm, std::span<const bf16>(mine), std::span(out), op, by_owner{});
                    auto second = start_allreduce(comm, std::span(y), op, by_owner{});
                    (comm.rank() % 2 == 0 ? first : second).wait();
                    (comm.rank() % 2 == 0 ? second : first).wait();
                    told.check(same_bits(out, right) && same_bits(y, right));
                    auto bound = bind_allreduce(comm, std::span(z), op, by_owner{});
                    for (int turn = 0; turn != 3; ++turn) {
                        z = mine;
                        bound.start();
                        bound.wait();
                        told.check(same_bits(z, right));
                    }
                    x = mine;
                    reduce(comm, std::span(x), op, root{ranks - 1}, by_owner{});
                    told.check(same_bits(x, comm.rank() == ranks - 1 ? right : mine));
                }
                // Long enough for the choice to be made by itself.
                const std::vector<fp16> mine = contribution_of<fp16>(comm.rank(), 200'000);
                std::vector<fp16> x = mine;
                allreduce(comm, std::span(x), op);
                told.check(same_bits(x, in_rank_order<fp16>(ranks, mine.size(), op)));
                barrier(comm);
            });
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                CAPTURE(Link::name, ranks, r, group.of(r).wrong);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
            }
        }
    });
}

TEST_CASE("processes: a rank is killed while long vectors are rounded once, and the others go on with the right bits") {
    const int trials = bough_test::all() ? 100 : 6;
    over_each_link([&]<class Link>(Link) {
        for (int trial = 0; trial != trials; ++trial) {
            const std::uint64_t dice =
                bough_test::mixed(bough_test::seed() * 70'000 + static_cast<std::uint64_t>(trial));
            constexpr rank_t ranks = 4;
            constexpr std::size_t count = 200'000;
            const auto victim = static_cast<rank_t>(dice % ranks);
            processes group(ranks, [&](auto& wire, report& told) {
                communicator comm{Link::join(wire)};
                const std::vector<bf16> mine = contribution_of<bf16>(comm.rank(), count);
                const std::vector<bf16> right = in_rank_order<bf16>(ranks, count, rounded_once{});
                std::vector<bf16> out(count);
                status s;
                for (int turn = 0; !s && turn != 100'000; ++turn) {
                    out.assign(count, bf16{});
                    allreduce(comm, std::span<const bf16>(mine), std::span(out), rounded_once{}, by_owner{}, s);
                    told.check(s || same_bits(out, right));
                    told.phase = 1;
                }
                told.check(s.code == errc::peer_dead || s.cause == errc::peer_dead);
                told.check(s.peer == victim);
                comm = shrink(comm);
                told.check(comm.size() == ranks - 1);
                // The survivors' ranks are new ones.
                const std::vector<bf16> again = contribution_of<bf16>(comm.rank(), count);
                allreduce(comm, std::span<const bf16>(again), std::span(out), rounded_once{}, by_owner{});
                told.check(same_bits(out, in_rank_order<bf16>(ranks - 1, count, rounded_once{})));
                barrier(comm);
                told.phase = 2;
            });
            REQUIRE(group.reached(1));
            std::this_thread::sleep_for(std::chrono::microseconds(dice / 64 % 3000));
            group.kill(victim, SIGKILL);
            group.wait();
            for (rank_t r = 0; r != ranks; ++r) {
                if (r == victim) continue;
                CAPTURE(Link::name, trial, victim, r, group.exit_code(r), group.of(r).wrong);
                CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0 && group.of(r).phase == 2));
            }
        }
    });
}
