// SPDX-License-Identifier: BSL-1.0
// Compiled alone: <sys/socket.h>, which the neighbours include, has a linger of its own.
#include "support/catch.hpp"
#include <bough/op/arithmetic.hpp>
#include <bough/progress/linger.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/simulated.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using namespace bough;

namespace {
// One of so many ranks, with whom nothing is ever exchanged.
struct crowd {
    rank_t ranks;
    rank_t rank() const { return 0; }
    rank_t size() const { return ranks; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) { return posted::failed; }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
    void release(std::uint64_t) {}
    std::size_t poll(std::span<event>) { return 0; }
    errc cancel(std::uint64_t) { return errc::invalid_argument; }
    std::uint64_t now_ns() const { return 0; }
};
} // namespace

static_assert(linger{500}.ns() == 500);

TEST_CASE("linger: the model says how long, more for more ranks, bytes and late neighbours") {
    const auto of = [](rank_t p, std::uint64_t bytes, double latency_ns = 1000) {
        communicator comm{crowd{p},
                          {.costs = model::lrc{.message_latency_ns = latency_ns,
                                               .receive = {60, 0.1},
                                               .combine = {10, 0.1},
                                               .startup_ns = 50,
                                               .copy = {}}}};
        return linger(comm, bytes).ns();
    };
    CHECK(of(1, 8) < 1000);
    CHECK(of(2, 8) > 2 * 1000);
    CHECK(of(2, 8) < 2 * 1500);
    CHECK(of(8, 8) > 2 * of(2, 8));
    CHECK(of(8, 8'000) > of(8, 8) + 2 * 3 * 1500);
    CHECK(of(8, 8, 50'000) > 2 * 3 * 50'000);
    const double ratio = static_cast<double>(of(1u << 20, 8)) / static_cast<double>(of(1024, 8));
    CHECK(ratio > 1.9); // twice as deep
    CHECK(ratio < 2.1);
    CHECK(of(8, 8, -1e9) == 0); // no price
    CHECK(of(8, 8, std::numeric_limits<double>::infinity()) == 0);
}

TEST_CASE("linger: waits as long, and no longer") {
    simulated world(2);
    communicator mine{world.connect(0)}, other{world.connect(1)};
    std::vector<int> x(3, 1), y(3, 2);
    const linger little(5'000);
    operation op = start_reduce(mine, x, plus{}, root{0});
    const std::uint64_t before = world.now_ns();
    CHECK_FALSE(little(op)); // rank 1 is late
    CHECK(world.now_ns() - before >= 5'000);
    CHECK(world.now_ns() - before < 50'000);
    CHECK_FALSE(linger(0)(op));
    operation late = start_reduce(other, y, plus{}, root{0});
    CHECK(little(op)); // it came meanwhile
    CHECK(x[0] == 3);
    CHECK(little(op));
    late.wait();
}
