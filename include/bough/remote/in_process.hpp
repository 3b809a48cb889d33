// SPDX-License-Identifier: BSL-1.0
// bough::in_process_regions: remote writes between threads of one process. It is the simplest
// RemoteWriteTransport.
//
//   bough::in_process_regions world{8, {.region_bytes = bough::one_sided_bytes(8)}};
//   bough::communicator comm{bough::one_sided{world.connect(rank)}};   // one for each thread
//
// A put is a copy whose last word is stored with release order. No put is ever pending or refused.
#ifndef BOUGH_REMOTE_IN_PROCESS_HPP
#define BOUGH_REMOTE_IN_PROCESS_HPP

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/relax.hpp>
#include <bough/core/remote_words.hpp>
#include <bough/os/forks.hpp>
#include <bough/remote/detail/exposed.hpp>
#include <bough/transport/slots.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The regions of a group.
struct in_process_regions_options {
    std::uint64_t region_bytes = 1u << 20; // of each rank
    std::uint32_t cores = 0;               // cores that the ranks share; 0: ask the system
};

class in_process_regions {
public:
    class endpoint;

    // Pre: ranks >= 1.
    explicit in_process_regions(rank_t ranks, const in_process_regions_options& options = {})
        : shared_(std::make_shared<world>(ranks, options)) {}

    rank_t size() const noexcept { return static_cast<rank_t>(shared_->ranks.size()); }
    // The end of one rank, to be used by one thread at a time. Each rank's may be taken once.
    endpoint connect(rank_t rank);

private:
    struct alignas(64) line {
        std::byte bytes[64];
    };
    struct alignas(64) rank_state {
        std::unique_ptr<line[]> region;
        std::atomic<bool> gone{false}, taken{false};
        std::mutex door; // protects what is exposed
        detail::exposed_memory exposed;
        // By index: how many copies are being made into that memory.
        std::deque<std::atomic<std::uint32_t>> copies;
    };
    struct world {
        world(rank_t n, const in_process_regions_options& o) : options(o), ranks(n) {
            BOUGH_EXPECTS(n >= 1, "ranks: a group needs at least one rank");
            if (options.cores == 0) options.cores = std::thread::hardware_concurrency();
            // Zeros.
            for (rank_state& r : ranks)
                r.region = std::make_unique<line[]>(detail::memory_size(detail::capped_sum(o.region_bytes, 63) / 64));
        }
        in_process_regions_options options;
        std::vector<rank_state> ranks;
        alignas(64) std::atomic<std::uint32_t> departures{0};
    };
    std::shared_ptr<world> shared_;
};

// One rank's end: the RemoteWriteTransport.
class in_process_regions::endpoint {
public:
    static constexpr bool keeps_byte_order = true;

    endpoint(endpoint&&) = default;
    endpoint& operator=(endpoint&&) = delete;
    ~endpoint() {
        if (!world_ || forked()) return;
        mine().gone.store(true, std::memory_order_release); // first: a peer whose put fails then finds it
        world_->departures.fetch_add(1, std::memory_order_release);
        for (std::uint32_t i = 0; i != mine().exposed.entries(); ++i) conceal(mine().exposed.at(i));
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(reported_.size()); }
    std::uint32_t cores() const noexcept { return world_->options.cores; }
    bool forked() const noexcept { return detail::forks() != forks_; }
    std::span<std::byte> region() const noexcept { return {at(rank_), region_bytes_}; }

    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t) noexcept {
        if (to >= size() || to == rank_ || reported_[to] != 0 || forked() || offset > region_bytes_ ||
            first.size() > region_bytes_ - offset || second.size() > region_bytes_ - offset - first.size())
            return posted::failed;
        remote_words::land(at(to) + offset, first, second);
        return posted::complete;
    }

    exposure expose(std::span<std::byte> memory) {
        if (forked()) return {};
        const std::lock_guard lock(mine().door);
        // Exposing may add an entry, which needs its count.
        if (mine().copies.size() <= mine().exposed.entries()) mine().copies.emplace_back(0u);
        return mine().exposed.expose(memory);
    }
    // Waits for copies that are being made into the memory.
    void conceal(const exposure& e) {
        if (forked()) return;
        std::atomic<std::uint32_t>* copies = nullptr;
        {
            const std::lock_guard lock(mine().door);
            if (!mine().exposed.hide(e)) return;
            copies = &mine().copies[mine().exposed.index_of(e)];
        }
        while (copies->load(std::memory_order_acquire) != 0) std::this_thread::yield();
        const std::lock_guard lock(mine().door);
        mine().exposed.forget(e);
    }
    posted put_exposed(rank_t to, const exposure& at, std::span<const std::byte> bytes, std::uint64_t) {
        if (to >= size() || to == rank_ || reported_[to] != 0 || forked()) return posted::failed;
        rank_state& owner = world_->ranks[to];
        std::byte* place = nullptr;
        std::atomic<std::uint32_t>* copies = nullptr;
        {
            const std::lock_guard lock(owner.door);
            place = owner.exposed.find(at, bytes.size());
            if (place == nullptr) return posted::failed;
            copies = &owner.copies[owner.exposed.index_of(at)];
            copies->fetch_add(1, std::memory_order_relaxed);
        }
        remote_words::land(place, bytes, {});
        copies->fetch_sub(1, std::memory_order_release);
        return posted::complete;
    }

    std::size_t poll(std::span<event> events) {
        if (forked() || world_->departures.load(std::memory_order_acquire) == departures_) return 0;
        std::size_t found = 0;
        for (rank_t r = 0; r != size() && found != events.size(); ++r) {
            if (r == rank_ || reported_[r] != 0 || !world_->ranks[r].gone.load(std::memory_order_acquire)) continue;
            reported_[r] = 1;
            ++departures_;
            events[found] = {};
            events[found].what = event::kind::lost;
            events[found++].peer = r;
        }
        return found;
    }

    std::uint64_t now_ns() const noexcept {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
    }
    // Spins if every rank can have a core of its own; then yields; after some milliseconds naps.
    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t, Landed&&) const {
        if (idle < (size() > cores() ? 1u : 500u))
            detail::relax();
        else if (idle < 20'000)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

private:
    friend class in_process_regions;
    endpoint(std::shared_ptr<world> shared, rank_t rank)
        : world_(std::move(shared)), rank_(rank),
          region_bytes_(static_cast<std::size_t>((world_->options.region_bytes + 63) / 64 * 64)),
          reported_(world_->ranks.size(), 0) {}
    rank_state& mine() const noexcept { return world_->ranks[rank_]; }
    std::byte* at(rank_t r) const noexcept { return reinterpret_cast<std::byte*>(world_->ranks[r].region.get()); }

    std::shared_ptr<world> world_;
    rank_t rank_;
    std::size_t region_bytes_;
    std::uint32_t forks_ = detail::forks();
    std::uint32_t departures_ = 0; // how many departures have been reported
    std::vector<unsigned char> reported_;
};

static_assert(WaitableRemoteWrites<in_process_regions::endpoint> && ExposingRemoteWrites<in_process_regions::endpoint>);

inline in_process_regions::endpoint in_process_regions::connect(rank_t rank) {
    BOUGH_EXPECTS(rank < size(), "rank: not a rank of this group");
    BOUGH_EXPECTS(!shared_->ranks[rank].taken.exchange(true), "rank: its endpoint has been taken already");
    return endpoint(shared_, rank);
}

} // namespace bough

#endif
