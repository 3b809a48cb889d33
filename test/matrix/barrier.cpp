// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/barrier.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <atomic>
#include <thread>

using namespace bough;

TEST_CASE("matrix: barrier") {
    const std::uint32_t rounds = bough_test::all() ? 2000 : 100;
    for (rank_t size = 1; size != 34; ++size) {
        if (size > 17 && size < 31) continue;
        std::atomic<std::uint64_t> entered{0};
        std::atomic<std::uint32_t> left_early{0};
        in_process(size, {.slots = size % 2 == 0 ? 1u : 8u}).run([&](auto end) {
            communicator comm{std::move(end)};
            for (std::uint64_t round = 1; round <= rounds; ++round) {
                if (bough_test::mixed(round * 64 + comm.rank()) % 16 == 0) std::this_thread::yield();
                ++entered;
                barrier(comm);
                left_early += entered < round * size; // somebody has not entered yet
            }
        });
        CAPTURE(size);
        CHECK(left_early == 0);
        CHECK(entered == std::uint64_t{rounds} * size);
    }
    communicator alone{self{}};
    for (std::uint32_t round = 0; round != rounds; ++round) barrier(alone);
}

// Of any rank it can be seen that nobody passes it.
TEST_CASE("matrix: nobody leaves a barrier before the last one enters") {
    for (rank_t last = 0; last != 6; ++last) {
        std::atomic<rank_t> left{0};
        std::atomic<rank_t> left_early{0};
        in_process(6).run([&](auto end) {
            communicator comm{std::move(end)};
            barrier(comm);
            if (comm.rank() == last) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                left_early += left;
            }
            barrier(comm);
            ++left;
        });
        CHECK(left_early == 0);
        CHECK(left == 6);
    }
}
