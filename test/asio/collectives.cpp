// SPDX-License-Identifier: BSL-1.0
// Every collective with a completion handler, many in flight at once, on ranks that do nothing but run their io_context.
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

using namespace test;

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
