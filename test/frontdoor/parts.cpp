// SPDX-License-Identifier: BSL-1.0
// Messages in parts really run: packed at one end, unpacked or combined at the other, for blocks of unequal length.
#include "support/parts.hpp"

#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <numeric>
#include <span>
#include <utility>
#include <vector>

TEST_CASE("an allreduce and a broadcast whose messages come in parts") {
    for (const std::size_t count : {0u, 1u, 4u, 5u, 13u, 1000u, 20000u}) {
        bough::in_process world{2};
        world.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            const auto value = [](std::size_t i, bough::rank_t r) { return static_cast<double>(i * 3 + 7 * r) / 8; };
            std::vector<double> mine(count), result(count, -1), expected(count), together(count);
            for (std::size_t i = 0; i != count; ++i) {
                mine[i] = value(i, comm.rank());
                expected[i] = value(i, 0) + value(i, 1);
            }
            for (int again = 0; again != 3; ++again) {
                bough::allreduce(comm, std::span<const double>(mine), std::span(result), bough::plus{},
                                 test::exchange_in_parts{});
                REQUIRE(result == expected);
            }
            together = mine;
            bough::allreduce(comm, std::span(together), bough::plus{}, test::exchange_in_parts{});
            REQUIRE(together == expected);
            bough::broadcast(comm, std::span(mine), bough::root{0}, test::chain_in_parts{});
            for (std::size_t i = 0; i != count; ++i) REQUIRE(mine[i] == value(i, 0));
        });
    }
}
