// SPDX-License-Identifier: BSL-1.0
// bough::testing::thread_wire_up: a wire-up for ranks that are threads of one process, for tests of
// transports that need one.
//
//   bough::testing::thread_wire_up world{4};
//   ... in thread r:  auto wire = world.of(r);      // a WireUp
#ifndef BOUGH_TESTING_THREAD_WIRE_UP_HPP
#define BOUGH_TESTING_THREAD_WIRE_UP_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::testing {

class thread_wire_up {
    struct board {
        explicit board(rank_t n) : ranks(n), asked(n) {}
        const rank_t ranks;
        std::mutex lock;
        std::condition_variable changed;
        // Bytes of the exchange that is under way, and of the last one.
        std::vector<std::byte> said, complete;
        // By rank: whether it has called the exchange that is under way.
        std::vector<bool> asked;
        rank_t came = 0;
        std::uint64_t done = 0; // how many exchanges are over
        status broken{};        // why there can be no more exchanges
    };

public:
    class end {
    public:
        end(std::shared_ptr<board> b, rank_t r) : board_(std::move(b)), rank_(r) {}
        rank_t rank() const noexcept { return rank_; }
        rank_t size() const noexcept { return board_->ranks; }

        status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
            if (const status bad = check_exchange(mine, all, size())) return bad;
            board& b = *board_;
            std::unique_lock held(b.lock);
            if (b.broken) return b.broken;
            b.said.resize(all.size());
            std::copy(mine.begin(), mine.end(), b.said.begin() + static_cast<std::ptrdiff_t>(mine.size() * rank_));
            const std::uint64_t number = b.done;
            b.asked[rank_] = true;
            if (++b.came == b.ranks) {
                b.came = 0;
                b.asked.assign(b.ranks, false);
                b.complete = std::exchange(b.said, {});
                ++b.done;
                b.changed.notify_all();
            } else if (!b.changed.wait_until(held, end_of(timeout_ns), [&] { return b.done != number || b.broken; })) {
                const auto missing = std::find(b.asked.begin(), b.asked.end(), false) - b.asked.begin();
                b.broken = {.code = errc::deadline, .peer = static_cast<rank_t>(missing)};
                b.changed.notify_all();
            }
            if (b.done == number) return b.broken;
            // `complete` is still that of this exchange: no rank is two exchanges ahead, because
            // the next one waits for this rank.
            std::copy(b.complete.begin(), b.complete.end(), all.begin());
            return {};
        }

    private:
        using clock = std::chrono::steady_clock;
        static clock::time_point end_of(std::uint64_t timeout_ns) {
            constexpr auto last = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
            const std::chrono::nanoseconds now = clock::now().time_since_epoch();
            const std::uint64_t end = deadline_after(static_cast<std::uint64_t>(now.count()), timeout_ns);
            return clock::time_point(std::chrono::duration_cast<clock::duration>(
                std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(end, last)))));
        }

        std::shared_ptr<board> board_;
        rank_t rank_;
    };

    // Pre: ranks >= 1.
    explicit thread_wire_up(rank_t ranks) : board_(std::make_shared<board>(ranks)) {}
    // The end of one rank. Pre: rank < ranks.
    end of(rank_t rank) const { return end(board_, rank); }

private:
    std::shared_ptr<board> board_;
};

static_assert(WireUp<thread_wire_up::end>);

} // namespace bough::testing

#endif
