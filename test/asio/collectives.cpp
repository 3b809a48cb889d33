// SPDX-License-Identifier: BSL-1.0
// Every collective with a completion handler, many in flight at once, on ranks that do nothing but run their io_context.
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace test;

TEST_CASE("async: ranks that come late, with no thread that polls for those that have come") {
    std::atomic<int> wrong{0}, called{0};
    for (const bool use_descriptor : {true, false})
        bough::in_process{4}.run([&](auto transport) {
            boost::asio::io_context io;
            bough::communicator comm{bough::on_executor{std::move(transport), io, {.use_descriptor = use_descriptor}}};
            static_assert(bough::SharesMemory<std::remove_cvref_t<decltype(comm.transport())>>);
            constexpr bough::automatic late{.late_ranks = true};
            for (unsigned i = 0; i != 20; ++i) {
                if (comm.rank() == i % 4) std::this_thread::sleep_for(std::chrono::microseconds(300));
                std::array<unsigned, 6> x{}; // more than have room at a time
                unsigned sum = comm.rank();
                for (unsigned& value : x) {
                    value = comm.rank() + i;
                    bough::async_allreduce(comm, value, bough::plus{}, late,
                                           [&](boost::system::error_code ec) { ++called, wrong += bool(ec); });
                }
                bough::async_reduce(comm, sum, bough::plus{}, bough::root{i % 4}, late,
                                    [&](boost::system::error_code ec) { ++called, wrong += bool(ec); });
                bough::async_barrier(comm, late, [&](boost::system::error_code ec) { ++called, wrong += bool(ec); });
                io.run();
                io.restart();
                for (const unsigned value : x) wrong += value != 6 + 4 * i;
                wrong += sum != (comm.rank() == i % 4 ? 6 : comm.rank());
            }
        });
    CHECK(called == 2 * 4 * 20 * 8);
    CHECK(wrong == 0);
}
TEST_CASE("async: every collective, once each and all at once") {
    std::atomic<int> wrong{0}, called{0};
    int expected = 0;
    for (const bough::rank_t p : {1u, 2u, 5u})
        for (const bool use_descriptor : {true, false}) {
            expected += 2 * flight_kinds * static_cast<int>(p);
            bough::in_process{p}.run([&](auto transport) {
                boost::asio::io_context io;
                bough::communicator comm{
                    bough::on_executor{std::move(transport), io, {.use_descriptor = use_descriptor}}};
                const auto look = [&](flight<asynchronous>& f) {
                    const heard& h = *f.op();
                    called += h.calls;
                    wrong += h.inside || h.error || !f.right();
                };
                std::vector<std::unique_ptr<flight<asynchronous>>> all;
                for (int kind = 0; kind != flight_kinds; ++kind) {
                    flight<asynchronous> alone(kind, 700u + static_cast<word>(kind), comm.rank(), p);
                    alone.fill(1);
                    alone.start(comm);
                    io.run(); // returns when it has been heard
                    io.restart();
                    look(alone);
                }
                for (int kind = 0; kind != flight_kinds; ++kind) {
                    all.push_back(
                        std::make_unique<flight<asynchronous>>(kind, 40u + static_cast<word>(kind), comm.rank(), p));
                    all.back()->fill(2);
                    all.back()->start(comm);
                }
                io.run();
                for (auto& f : all) look(*f);
            });
        }
    CHECK(called == expected);
    CHECK(wrong == 0);
}
