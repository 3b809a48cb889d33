// SPDX-License-Identifier: BSL-1.0
// A service that serves requests and, beside them, sums its counters with those of its peers: one thread, one io_context.
// A timer starts a round now and then. No request waits for a round, and no round for a rank that is busy.
#include <bough/asio/async.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <chrono>
#include <iostream>
#include <vector>

namespace asio = boost::asio;

struct counters {
    long requests = 0, bytes = 0;
};

// As if clients came: so many requests, one after the other, each a handler of its own.
void serve(asio::io_context& io, counters& mine, int requests) {
    mine.requests += 1;
    mine.bytes += 100;
    if (requests > 1) asio::post(io, [&io, &mine, requests] { serve(io, mine, requests - 1); });
}

template <class Comm>
asio::awaitable<void> aggregate(Comm& comm, const counters& mine, std::vector<counters>& seen) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    do {
        timer.expires_after(std::chrono::milliseconds(2));
        co_await timer.async_wait(asio::use_awaitable);
        std::array<long, 2> sums{mine.requests, mine.bytes};
        co_await bough::async_allreduce(comm, sums, bough::plus{}, asio::use_awaitable);
        seen.push_back({sums[0], sums[1]});
    } while (seen.back().requests != 4 * 10'000); // all ranks see the same sums, so all stop after the same round
}

int main() {
    std::vector<counters> seen[4];
    bough::in_process{4}.run([&](auto transport) {
        asio::io_context io;
        bough::communicator comm{bough::on_executor{std::move(transport), io}};
        counters mine;
        asio::co_spawn(io, aggregate(comm, mine, seen[comm.rank()]), asio::detached);
        serve(io, mine, 10'000);
        io.run();
    });
    bool grow = true;
    for (std::size_t i = 1; i != seen[0].size(); ++i) grow &= seen[0][i].requests >= seen[0][i - 1].requests;
    const counters last = seen[3].back();
    std::cout << last.requests << " requests, " << last.bytes << " bytes"
              << (grow ? ", never fewer than before\n" : "\n");
}
