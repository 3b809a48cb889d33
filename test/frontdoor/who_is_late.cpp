// SPDX-License-Identifier: BSL-1.0
// A deadline names the ranks that are missing in this communicator, not in another one of its number; and
// what comes late for a communicator that has gone harms no other.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;

namespace {

template <class Comm>
status add(Comm& comm) {
    status s;
    int one = 1;
    allreduce(comm, std::span(&one, 1), plus{}, s);
    return s;
}

} // namespace

TEST_CASE("who is late: in communicators of one number, each names its own ranks") {
    std::array<status, 4> ended;
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(20s);
        const rank_t me = comm.rank();
        auto half = split(comm, me / 2);
        half.set_timeout(2s);
        if (me % 2 == 1) std::this_thread::sleep_for(5000ms);
        ended[me] = add(half);
        barrier(comm);
    });
    for (const rank_t r : {0u, 2u}) {
        CAPTURE(r, message_of(ended[r]));
        CHECK(ended[r].missing == 1);
        CHECK(ended[r].peer == r + 1);
        CHECK(ended[r].mine == std::uint64_t{1} << (r + 1));
    }
}

TEST_CASE("who is late: an answer about a communicator that has gone does not break one of its number") {
    std::atomic<int> failed{0}, compared{0};
    std::atomic<bool> are_done{false};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(30s);
        const rank_t me = comm.rank();
        std::uint16_t old = 0;
        {
            auto first = duplicate(comm);
            old = first.context();
            std::vector<int> x(me == 1 ? 4 : 5, 1);
            status s;
            operation o = start_broadcast(first, std::span(x), root{1}); // rank 1 is done at once; the others ask it
            o.wait(s);
            failed += (me == 1) == bool(s);
        }
        if (me == 1) {
            std::this_thread::sleep_for(3s); // it answers when it comes back
            while (!are_done) comm.progress();
        } else {
            const auto until = std::chrono::steady_clock::now() + 100ms;
            while (std::chrono::steady_clock::now() < until) comm.progress();
            const std::array<rank_t, 2> both{0, 2};
            auto next = create_group(comm, std::span(both));
            compared += next.context() == old;
            for (int i = 0; i != 40; ++i) {
                std::this_thread::sleep_for(50ms);
                comm.progress(); // hears rank 1, too
                failed += bool(add(next));
            }
            failed += bool(next.poison());
            if (me == 0) are_done = true;
        }
        barrier(comm);
    });
    CHECK(failed == 0);
    CHECK(compared == 2);
}
