// SPDX-License-Identifier: BSL-1.0
// The child of a fork amid operations that an io_context looks after: their handlers hear
// forked_child, or are destroyed; the parent's hear their results.
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include <bough/asio/async.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

using namespace bough;
using bough_test::holds_in_child;

TEST_CASE("forks: handlers of operations in flight hear forked_child in the child, and their results in the parent") {
    for (const bool use_descriptor : {true, false}) {
        in_process world{2};
        std::optional<boost::asio::io_context> io(std::in_place);
        std::optional first{communicator{on_executor{world.connect(0), *io, {.use_descriptor = use_descriptor}},
                                         {.timeout_ns = 60'000'000'000}}};
        communicator second{world.connect(1), {.timeout_ns = 60'000'000'000}};
        std::vector<int> x(100'000, 1), y(x), z(3, 1), all(z);
        const auto large =
            test::initiated([&](auto&& handler) { async_allreduce(*first, x, plus{}, std::move(handler)); });
        operation started = start_allreduce(*first, z, plus{});
        const auto waited = test::initiated([&](auto&& handler) { async_wait(*first, started, std::move(handler)); });
        for (int i = 0; i != 2000; ++i) io->poll_one(); // until it sleeps
        REQUIRE(large->calls + waited->calls == 0);
        const auto hears = [](const test::heard& h) {
            return h.calls == 1 && h.destroyed == 0 && h.error.value() == static_cast<int>(errc::forked_child);
        };
        const auto run = [&] {
            io->notify_fork(boost::asio::io_context::fork_child);
            io->run();
            return hears(*large) && hears(*waited);
        };
        CHECK(holds_in_child("run", run));
        CHECK(holds_in_child("run, and call again", [&] {
            if (!run()) return false;
            io->restart();
            const auto more =
                test::initiated([&](auto&& handler) { async_allreduce(*first, x, plus{}, std::move(handler)); });
            io->run();
            return hears(*more);
        }));
        CHECK(holds_in_child("wait", [&] { return bough_test::says_forked_child(started); }));
        CHECK(holds_in_child("destroy the io_context", [&] {
            io.reset();
            return large->calls == 0 && large->destroyed == 1 && bough_test::says_forked_child(started);
        }));
        CHECK(holds_in_child("destroy the communicator", [&] { return first.reset(), true; }));
        operation a = start_allreduce(second, y, plus{}), b = start_allreduce(second, all, plus{});
        const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (large->calls + waited->calls != 2 && std::chrono::steady_clock::now() < last) {
            if (io->stopped()) io->restart();
            io->poll_one();
            second.progress();
        }
        CHECK((large->calls == 1 && !large->error && waited->calls == 1 && !waited->error));
        CHECK((x == std::vector<int>(100'000, 2) && z == std::vector<int>(3, 2)));
        a.wait();
        b.wait();
    }
}
