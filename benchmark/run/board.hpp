// SPDX-License-Identifier: BSL-1.0
// What benchmarks share that fork their ranks by themselves: memory that all see, and a wire-up through it.
#ifndef BOUGH_BENCHMARK_RUN_BOARD_HPP
#define BOUGH_BENCHMARK_RUN_BOARD_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <sys/mman.h>
#include <thread>
#include <vector>

// `count` objects that the processes forked from now on share, for good.
template <class T>
T* shared(std::size_t count) {
    void* at =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    T* first = static_cast<T*>(at);
    std::uninitialized_default_construct_n(first, count);
    return first;
}

struct wire_up_board {
    static constexpr bough::rank_t most_ranks = 16;
    std::atomic<std::uint32_t> came{0};
    std::byte said[2][most_ranks * bough::most_wire_up_bytes];
};

class board_wire_up {
public:
    board_wire_up(wire_up_board& board, bough::rank_t rank, bough::rank_t ranks)
        : board_(&board), rank_(rank), ranks_(ranks) {}
    bough::rank_t rank() const noexcept { return rank_; }
    bough::rank_t size() const noexcept { return ranks_; }
    bough::status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        const std::uint64_t last = bough::deadline_after(bough::detail::steady_now_ns(), timeout_ns);
        std::byte* said = board_->said[turn_++ & 1];
        std::memcpy(said + rank_ * mine.size(), mine.data(), mine.size());
        board_->came.fetch_add(1);
        while (board_->came.load() < turn_ * ranks_) {
            if (bough::detail::steady_now_ns() >= last) return {.code = bough::errc::deadline};
            std::this_thread::yield();
        }
        std::memcpy(all.data(), said, all.size());
        return {};
    }

private:
    wire_up_board* board_;
    bough::rank_t rank_, ranks_;
    std::uint32_t turn_ = 0;
};

inline double median(std::vector<double> x) {
    std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
    return x[x.size() / 2];
}

#endif
