// SPDX-License-Identifier: BSL-1.0
// A batch with a completion token: a lazy one keeps it until it is wanted.
#include "support/catch.hpp"
#include <bough/asio/async.hpp>
#include <bough/batch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/transport/in_process.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace asio = boost::asio;
using namespace bough;

#ifdef BOOST_ASIO_HAS_CO_AWAIT // clang 14 with Boost 1.74 has none
TEST_CASE("async: a batch is awaited") {
    std::atomic<int> right{0};
    in_process{4}.run([&](auto transport) {
        asio::io_context io;
        communicator comm{on_executor{std::move(transport), io}, {.timeout_ns = 20'000'000'000}};
        double sum = comm.rank();
        std::uint32_t most = comm.rank();
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                std::optional<batch> all;
                all.emplace().add(sum, plus{}).add(most, bough::max{});
                auto later = async_allreduce(comm, *all, asio::use_awaitable);
                all.reset();
                co_await std::move(later);
                co_await async_reduce(comm, batch().add(sum, plus{}), root{2}, asio::use_awaitable);
            },
            asio::detached);
        io.run();
        right += sum == (comm.rank() == 2 ? 24 : 6) && most == 3;
    });
    CHECK(right == 4);
}
#endif
