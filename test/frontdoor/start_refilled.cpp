// SPDX-License-Identifier: BSL-1.0
// Many operations in flight, of which some end while others start, so that their number goes up and down. How a session
// finds an operation depends on how many there are, and on how many there were.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/core/random.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/simulated.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace {

using namespace bough;
using bits = bough::detail::split_mix;
using number = std::uint64_t;

struct call_in_flight {
    std::size_t k;
    std::vector<number> data;
    operation handle{};
};
// One rank. Its calls are allreduces, some of them longer than a slot, or each fifth is a broadcast.
struct member {
    communicator<simulated::endpoint> comm;
    bool broadcasts = false;
    std::deque<call_in_flight> calls{};
    std::size_t started = 0, ended = 0, wrong = 0;

    bool is_broadcast(std::size_t k) const { return broadcasts && k % 5 == 0; }
    void start() {
        const std::size_t k = started++;
        call_in_flight& c = calls.emplace_back();
        c.k = k;
        c.data.assign(k % 7 == 0 ? 1000 : 1 + k % 9, k * 10 + comm.rank());
        if (is_broadcast(k))
            c.handle = start_broadcast(comm, c.data, root{static_cast<rank_t>(k % comm.size())});
        else
            c.handle = start_allreduce(comm, c.data, plus{});
    }
    // Takes out those that are done.
    void collect() {
        for (call_in_flight& c : calls)
            if (c.handle.done()) {
                const number p = comm.size();
                const number expected = is_broadcast(c.k) ? c.k * 10 + c.k % p : p * c.k * 10 + p * (p - 1) / 2;
                const bool is_right = !c.handle.result() && std::count(c.data.begin(), c.data.end(), expected) ==
                                                                static_cast<std::ptrdiff_t>(c.data.size());
                wrong += is_right ? 0u : 1u;
                ++ended;
                c.handle = {};
                c.data.clear();
            }
        std::erase_if(calls, [](const call_in_flight& c) { return c.data.empty(); });
    }
};
void settle(simulated& world, std::deque<member>& members) {
    for (int idle = 0; idle != 20; ++idle) {
        for (member& m : members)
            if (m.comm.progress()) idle = 0;
        if (world.advance()) idle = 0;
    }
    for (member& m : members) m.collect();
}

} // namespace

TEST_CASE("start: a rank refills its operations when a few of many are left") {
    for (std::size_t left = 0; left != 20; ++left) {
        CAPTURE(left);
        simulated world(2);
        std::deque<member> members;
        for (rank_t r = 0; r != 2; ++r) members.push_back({communicator(world.connect(r))});
        member &ahead = members[0], &behind = members[1];
        while (ahead.started != 30) ahead.start();
        while (behind.started != 30 - left) behind.start();
        settle(world, members);
        REQUIRE(ahead.calls.size() == left);
        while (ahead.started != 40) ahead.start();
        while (behind.started != 40) behind.start();
        settle(world, members);
        for (const member& m : members) {
            CHECK(m.ended == 40);
            CHECK(m.wrong == 0);
        }
    }
}

TEST_CASE("start: ranks start and end many operations, each at its own pace") {
    constexpr std::size_t calls = 600;
    for (const rank_t p : {2u, 3u})
        for (number seed = bough_test::seed(); seed != bough_test::seed() + 8; ++seed) {
            CAPTURE(p, seed);
            bits random(seed);
            simulated world(p, {.seed = seed, .refuse = seed % 3 == 0 ? 200u : 0u});
            std::deque<member> members;
            for (rank_t r = 0; r != p; ++r) members.push_back({communicator(world.connect(r)), true});
            const auto at_work = [&] {
                return std::any_of(members.begin(), members.end(), [](const member& m) { return m.started != calls; });
            };
            std::size_t most = 0, slept = 0; // how many have been in flight on a rank
            while (at_work()) {
                member& m = members[static_cast<std::size_t>(random.below(p))];
                // Nobody is more than 60 ahead of the last.
                std::size_t last = calls;
                for (const member& other : members) last = std::min(last, other.ended);
                for (std::uint64_t n = random.below(40); n != 0 && m.started < std::min(calls, last + 60); --n)
                    m.start();
                most = std::max(most, m.calls.size());
                if (random.below(3) == 0) settle(world, members), ++slept;
            }
            settle(world, members);
            CHECK(most > 30);
            CHECK(slept > 3);
            for (const member& m : members) {
                CHECK(m.ended == calls);
                CHECK(m.wrong == 0);
            }
            CHECK(world.violations() == 0);
        }
}
