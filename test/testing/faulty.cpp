// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/faulty.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using bough::rank_t;
using bough::testing::fault;
using bough::testing::fault_point;
using bough::testing::faulty;
using faulty_link = faulty<bough::in_process::endpoint>;

static_assert(bough::InPlaceTransport<faulty_link> && bough::WaitableTransport<faulty_link>);
static_assert(requires(const faulty_link& t) { t.forked(), t.cores(); }); // what the session asks for

// Fails rank 1 at call 0, 1, 2, ... of two rounds of `collective` until a run does not meet the fault. A rank is told
// success only with the right value.
template <class F>
void sweep(const char* name, std::size_t count, F&& collective) {
    for (const fault what : {fault::refuse, fault::fail, fault::lose})
        for (const rank_t size : {2u, 3u}) {
            bool met = true;
            std::uint64_t n = 0;
            for (; met; ++n) {
                REQUIRE(n < 200);
                CAPTURE(name, static_cast<int>(what), size, n);
                fault_point point{.what = what, .at = n};
                std::vector<fault_point> none(size);
                bough::in_process world{size};
                std::atomic<int> wrong{0}, late{0}, failed{0};
                world.run([&](auto transport) {
                    fault_point& mine = transport.rank() == 1 ? point : none[transport.rank()];
                    bough::communicator comm{faulty_link{std::move(transport), mine},
                                             {.timeout_ns = what == fault::lose ? 100'000'000u : 20'000'000'000u}};
                    for (int round = 0; round != 2; ++round) {
                        std::vector<std::uint64_t> x(count, comm.rank() + 1);
                        bough::status s;
                        wrong += !collective(comm, x, s) && !s;
                        late += s.code == bough::errc::deadline;
                        failed += static_cast<bool>(s);
                    }
                });
                CHECK(wrong == 0);
                if (what != fault::lose) CHECK(late == 0); // whoever fails tells the others, unless they are lost to it
                met = point.met;
                if (!met) CHECK(failed == 0);
            }
            CHECK(n > 1); // at least one call was failed
        }
}

template <class X>
std::uint64_t sum_of(const bough::communicator<X>& comm) {
    return comm.size() * (comm.size() + 1) / 2;
}
bool all_are(const std::vector<std::uint64_t>& x, std::uint64_t value) {
    for (const std::uint64_t v : x)
        if (v != value) return false;
    return true;
}

} // namespace

TEST_CASE("fault sweep: every front door ends at every point, with a right result or an error") {
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}}) { // short; and long: pending posts, claims
        sweep("allreduce", count, [](auto& comm, auto& x, bough::status& s) {
            bough::allreduce(comm, std::span(x), bough::plus{}, s);
            return all_are(x, sum_of(comm));
        });
        sweep("reduce", count, [](auto& comm, auto& x, bough::status& s) {
            bough::reduce(comm, std::span(x), bough::plus{}, bough::root{0}, s);
            return comm.rank() != 0 || all_are(x, sum_of(comm));
        });
        sweep("broadcast", count, [](auto& comm, auto& x, bough::status& s) {
            bough::broadcast(comm, std::span(x), bough::root{1}, s);
            return all_are(x, 2);
        });
    }
    sweep("barrier", 1, [](auto& comm, auto&, bough::status& s) {
        bough::barrier(comm, s);
        return true;
    });
}
