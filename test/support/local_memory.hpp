// SPDX-License-Identifier: BSL-1.0
// local_memory: what common_memory is to processes, for ranks that one thread plays in turn; its clock, deaths and forks are
// the test's.
//
//   bough_test::local_world world(2, 10'000);
//   bough::combining_tree tree{bough_test::local_memory{world, 0}};
//   world.now_ns += 5'000'000;
#ifndef BOUGH_TEST_SUPPORT_LOCAL_MEMORY_HPP
#define BOUGH_TEST_SUPPORT_LOCAL_MEMORY_HPP

#include <bough/core/rank.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace bough_test {

struct local_world {
    local_world(bough::rank_t p, std::size_t bytes) : ranks(p), pages_(bytes / 64 + 1), size_(bytes) {}

    std::span<std::byte> bytes() { return {pages_.data()->bytes, size_}; }
    std::vector<std::byte> copy() { return {bytes().begin(), bytes().end()}; }

    bough::rank_t ranks;
    std::uint64_t now_ns = 1'000'000'000;
    bool forked = false;
    std::vector<bough::rank_t> dead; // told in each look
    int looks = 0;                   // after the dead
    std::function<void()> at_clock;  // what others do, once, while the clock is read
    int sleeps = 0, needless = 0;    // waits in which there was nothing, and something

private:
    struct line {
        alignas(64) std::byte bytes[64]{};
    };
    std::vector<line> pages_;
    std::size_t size_;
};

class local_memory {
public:
    local_memory(local_world& world, bough::rank_t rank) : world_(&world), rank_(rank) {}

    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return world_->ranks; }
    std::span<std::byte> bytes() const noexcept { return world_->bytes(); }
    bool forked() const noexcept { return world_->forked; }
    std::uint64_t now_ns() const {
        if (world_->at_clock) std::exchange(world_->at_clock, nullptr)();
        return world_->now_ns;
    }
    template <class F>
    void look(F&& gone) {
        ++world_->looks;
        for (const bough::rank_t r : world_->dead) gone(r);
        world_->dead.clear();
    }
    // A millisecond passes.
    template <class Ready, class Gone>
    void wait(std::uint32_t, std::uint64_t, std::atomic<std::uint32_t>& word, Ready&& ready, Gone&&) {
        word = 1;
        ++(ready() ? world_->needless : world_->sleeps);
        word = 0;
        world_->now_ns += 1'000'000;
    }
    static void wake(std::atomic<std::uint32_t>& word) noexcept { word = 0; }

private:
    local_world* world_;
    bough::rank_t rank_;
};

} // namespace bough_test

#endif
