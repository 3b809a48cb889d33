// SPDX-License-Identifier: BSL-1.0
// bough::in_process: a transport for threads of one process.
//
//   bough::in_process world{8};
//   world.run([](auto transport) {
//       bough::communicator comm{std::move(transport)};
//       ...
//   });
//
// Every (sender, receiver) pair that exchanges messages has a ring of slots of its own, made at the
// first message. A slot has two cache lines, for sequence number, length, envelope and up to 88 bytes
// of payload. Payloads of up to `eager_bytes` lie in further cache lines of that slot.
// Longer ones stay in the sender's memory and are read, or combined, straight from there. The
// receiver must claim them first, and fails if the sender has taken the message back. Nothing is
// copied twice.
//
// How a rank waits: if every rank has a core of its own, it spins, then yields; with more ranks
// than cores it yields at once. After some milliseconds without news it sleeps in short naps.
// Instead it may sleep in a loop of its own: descriptor() (Linux).
#ifndef BOUGH_TRANSPORT_IN_PROCESS_HPP
#define BOUGH_TRANSPORT_IN_PROCESS_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/relax.hpp>
#include <bough/error.hpp>
#include <bough/os/bell.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/report/trace_file.hpp> // BOUGH_TRACE
#include <bough/transport/in_process/ring.hpp>
#include <bough/transport/in_process/senders.hpp>
#include <bough/transport/in_turns.hpp>
#include <bough/transport/slots.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What a group has room for.
struct in_process_options {
    // Messages in flight from one rank to another; a power of two, 1 to 64. 0: 64; with more than 8 ranks
    // 32, with more than 16 ranks 16, with more than 32 ranks 8, as every pair of ranks may have a ring.
    // Where ranks share a core, a rank that only sends gives the core away when they are full.
    std::uint32_t slots = 0;
    std::uint32_t eager_bytes = 2048; // longer payloads stay with the sender until they are read
    std::uint32_t cores = 0;          // cores that the ranks share; 0: ask the system
    // Memory of each rank that all see, for ranks that come late (automatic::late_ranks). It is taken when
    // it is first used. 0: none.
    std::uint64_t common_bytes = 4u << 20;
};

class in_process {
public:
    class endpoint;

    // Pre: ranks >= 1; slots 0, or a power of two, 1 to 64.
    explicit in_process(rank_t ranks, in_process_options options = {})
        : shared_(std::make_shared<world>(ranks, options)) {}

    rank_t size() const noexcept { return static_cast<rank_t>(shared_->ranks.size()); }

    // The transport of one rank, to be used by one thread at a time. Each rank's may be taken once.
    endpoint connect(rank_t rank);

    // Runs f(transport) on one thread per rank and waits for all. May be called again: every run
    // has a group of its own. If ranks throw, the exception of the rank that was gone first is
    // rethrown here; the others learn that this rank is gone, and their operations end with
    // peer_dead. If a thread cannot be started, it throws error with no_resources.
    template <class F>
    void run(F&& f) {
        using function = std::remove_reference_t<F>;
        run_ranks(const_cast<void*>(static_cast<const void*>(std::addressof(f))),
                  [](void* g, endpoint&& end) { (*static_cast<function*>(g))(std::move(end)); });
    }

private:
    template <int = 0>
    void run_ranks(void* f, void (*call)(void*, endpoint&&));

    // What senders and the receiver of one rank share.
    struct alignas(64) rank_state {
        std::atomic<detail::in_process_ring*> incoming{nullptr}; // all rings to this rank, newest first
        std::atomic<std::uint32_t> gone{0};                      // n: this rank was the n-th to go; 0: it is there
        std::atomic<bool> taken{false};                          // connect() has given its endpoint away
        std::atomic<std::byte*> common{nullptr};                 // memory of this rank for all
        std::atomic<std::uint32_t> woken{0};                     // how often it has been woken for news in such memory
        detail::bell bell;                                       // rings for news, if it is armed
    };
    struct world {
        world(rank_t n, in_process_options o) : options(o), ranks(n) {
            BOUGH_EXPECTS(n >= 1, "ranks: a group needs at least one rank");
            BOUGH_EXPECTS(o.slots <= 64 && (o.slots & (o.slots - 1)) == 0, "slots: must be a power of two, 1 to 64");
            if (options.slots == 0) options.slots = n <= 8 ? 64 : n <= 16 ? 32 : n <= 32 ? 16 : 8;
            if (options.cores == 0) options.cores = std::thread::hardware_concurrency();
        }
        ~world() {
            for (rank_state& r : ranks) {
                for (detail::in_process_ring* ring = r.incoming.load(); ring != nullptr;)
                    delete std::exchange(ring, ring->next);
                std::free(r.common.load());
            }
        }
        world(const world&) = delete;
        world& operator=(const world&) = delete;

        in_process_options options;
        std::vector<rank_state> ranks;
        alignas(64) std::atomic<std::uint32_t> departures{0}; // how many ranks are gone
        std::atomic<std::uint32_t> leaving{0};                // how many ranks are gone or about to be
    };

    std::shared_ptr<world> shared_;
};

// One rank's end: the Transport.
class in_process::endpoint {
public:
    endpoint(endpoint&&) = default;
    endpoint& operator=(endpoint&&) = delete;
    ~endpoint() {
        if (world_ && !forked()) leave(); // a forked child must not ring the bells of its parent
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(world_->ranks.size()); }
    // How many cores the ranks share.
    std::uint32_t cores() const noexcept { return world_->options.cores; }
    // Whether there are more ranks than cores. Then a rank that waits takes time from one that
    // works.
    bool oversubscribed() const noexcept { return size() > cores(); }
    // Which way a message goes; see SaysWays.
    protocol way_of(rank_t, std::size_t bytes, bool combines) const noexcept {
        return detail::in_process_way(bytes, world_->options.eager_bytes, combines);
    }
    // Whether this process is a child, forked since this rank connected. The other ranks do not
    // exist in it.
    bool forked() const noexcept { return detail::forks() != forks_; }

    template <int = 0>
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank_) return posted::failed;
        // Its messages are handed over first.
        if (world_->ranks[to].gone.load(std::memory_order_relaxed) != 0)
            return reported_[to] != 0 ? posted::failed : posted::would_block;
        detail::in_process_ring* ring = outgoing(to);
        const bool was_open = ring->has_open();
        const posted result = ring->push(tag, bytes, id);
        if (result == posted::pending && !was_open) open_.push_back(ring);
        if (result != posted::would_block) world_->ranks[to].bell.ring();
        return result;
    }

    // If memory runs out, senders that are new wait. Only a poll that has nothing to hand over throws.
    template <int = 0>
    std::size_t poll(std::span<event> events) {
        return senders_.learn(newest()) ? poll_known(events) : poll_poor(events);
    }

    bool poll_from(rank_t from, event& e) {
        (void)senders_.learn(newest()); // poll() says if memory runs out
        for (detail::in_process_ring* ring : senders_.rings())
            if (ring->from == from) return ring->peek(e);
        return false;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t) {
        detail::in_process_ring& ring = *detail::in_process_ring::of(handle);
        if (!ring.take(handle, into)) return posted::failed;
        world_->ranks[ring.from].bell.ring();
        return posted::complete;
    }
    bool claim(std::uint64_t handle) noexcept { return detail::in_process_ring::of(handle)->claim(handle); }
    void release(std::uint64_t handle) noexcept {
        detail::in_process_ring& ring = *detail::in_process_ring::of(handle);
        ring.release(handle);
        world_->ranks[ring.from].bell.ring();
    }

    template <int = 0>
    errc cancel(std::uint64_t id) noexcept {
        for (detail::in_process_ring* ring : open_)
            if (ring->cancel(id)) return errc::ok;
        return errc::invalid_argument;
    }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }

    template <int = 0>
    void wait(std::uint32_t idle, std::uint64_t) const {
        if (idle < spins_)
            detail::relax();
        else
            std::this_thread::yield();
        // The nap comes after a yield and does not replace it. In virtual machines setting a timer
        // may take longer than the nap lasts. Then the nap alone does not give the processor away,
        // and ranks of a real-time priority would starve others of the same priority.
        if (idle >= spins_ + yields) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }

    // Memory of the owner that all ranks see; see SharesMemory.
    std::uint64_t common_bytes() const noexcept { return world_->options.common_bytes; }
    template <int = 0>
    std::span<std::byte> common(rank_t owner, std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (owner >= size() || offset > common_bytes() || bytes > common_bytes() - offset) return {};
        std::atomic<std::byte*>& memory = world_->ranks[owner].common;
        std::byte* at = memory.load(std::memory_order_acquire);
        if (at == nullptr) {
            void* made = std::calloc(detail::memory_size(detail::capped_sum(common_bytes(), 63)), 1);
            if (made == nullptr) return {};
            if (memory.compare_exchange_strong(at, static_cast<std::byte*>(made), std::memory_order_acq_rel))
                at = static_cast<std::byte*>(made);
            else
                std::free(made); // another rank was first
        }
        at += (64 - reinterpret_cast<std::uintptr_t>(at) % 64) % 64;
        return {at + offset, static_cast<std::size_t>(bytes)};
    }
    void wake(rank_t peer) noexcept {
        rank_state& woken = world_->ranks[peer];
        woken.woken.fetch_add(1, std::memory_order_acq_rel);
        woken.bell.ring();
    }

    // DescriptorTransport: an eventfd; -1 where there is none.
    int descriptor() noexcept { return world_->ranks[rank_].bell.descriptor(); }
    template <int = 0>
    bool arm() noexcept {
        return !forked() && world_->ranks[rank_].bell.arm([this] { return has_news(); });
    }
    void disarm() noexcept {
        // In a forked child the bell belongs to the parent.
        if (!forked()) world_->ranks[rank_].bell.disarm();
    }

private:
    friend class in_process;
    static constexpr std::uint32_t yields = 20'000; // some milliseconds

    struct way_out {
        rank_t peer;
        detail::in_process_ring* ring;
    };

    endpoint(std::shared_ptr<world> shared, rank_t rank)
        : world_(std::move(shared)), rank_(rank), spins_(oversubscribed() ? 1 : 500),
          senders_(size() < 64 ? size() : 64), reported_(size(), 0) {
        open_.reserve(size() < 64 ? size() : 64);
    }

    template <int = 0>
    void leave();
    // The ring to a rank. It is made when it is first needed.
    template <int = 0>
    detail::in_process_ring* outgoing(rank_t to) {
        for (const auto& [peer, ring] : out_)
            if (peer == to) return ring;
        return make_ring(to);
    }
    template <int = 0>
    BOUGH_COLD detail::in_process_ring* make_ring(rank_t to) {
        auto made =
            std::make_unique<detail::in_process_ring>(rank_, to, world_->options.slots, world_->options.eager_bytes);
        std::atomic<detail::in_process_ring*>& list = world_->ranks[to].incoming;
        if (open_.capacity() == out_.size()) open_.reserve(2 * out_.size() + 1); // each may have long messages
        out_.push_back({to, made.get()});
        made->next = list.load(std::memory_order_relaxed);
        while (!list.compare_exchange_weak(made->next, made.get(), std::memory_order_acq_rel)) {
        }
        return made.release();
    }
    template <int = 0>
    BOUGH_ALWAYS_INLINE std::size_t poll_known(std::span<event> events) {
        if (const auto woken = world_->ranks[rank_].woken.load(std::memory_order_acquire); woken != woken_)
            woken_ = woken;
        std::size_t found = detail::take_in_turns(senders_.rings(), events,
                                                  [](detail::in_process_ring& ring, event& e) { return ring.peek(e); });
        if (!open_.empty()) {
            for (detail::in_process_ring* ring : open_) found += ring->acknowledged(events.subspan(found));
            open_.erase_if([](const detail::in_process_ring* ring) { return !ring->has_open(); });
        }
        if (world_->departures.load(std::memory_order_acquire) != departures_) found += departed(events.subspan(found));
        return found;
    }
    // There is no memory for the rings of new senders.
    template <int = 0>
    BOUGH_COLD std::size_t poll_poor(std::span<event> events) {
        const std::size_t found = poll_known(events);
        if (found == 0) senders_.make_room(newest()); // throws
        return found;
    }
    // The ring to this rank that was made last.
    detail::in_process_ring* newest() const noexcept {
        return world_->ranks[rank_].incoming.load(std::memory_order_acquire);
    }
    // Whether poll() would find something, or there is new room for a post that was refused.
    template <int = 0>
    BOUGH_COLD bool has_news() noexcept {
        if (!senders_.knows(newest())) return true;
        if (world_->departures.load(std::memory_order_acquire) != departures_) return true;
        if (world_->ranks[rank_].woken.load(std::memory_order_acquire) != woken_) return true;
        for (const detail::in_process_ring* ring : senders_.rings())
            if (ring->has_arrival()) return true;
        for (const auto& [peer, ring] : out_)
            if (ring->has_news()) return true;
        return false;
    }
    // Reports ranks that are gone and whose messages have all been handed over.
    template <int = 0>
    BOUGH_COLD std::size_t departed(std::span<event> events) {
        const std::uint32_t departures = world_->departures.load(std::memory_order_acquire);
        std::size_t found = 0;
        bool all = true;
        for (rank_t r = 0; r != size(); ++r) {
            if (reported_[r] != 0 || world_->ranks[r].gone.load(std::memory_order_acquire) == 0) continue;
            bool drained = found != events.size() && (senders_.learn(newest()) || !senders_.has_unread(newest(), r));
            for (const detail::in_process_ring* ring : senders_.rings())
                drained &= ring->from != r || !ring->has_arrival();
            if (!drained) {
                all = false;
                continue;
            }
            reported_[r] = 1;
            for (const auto& [peer, ring] : out_)
                if (peer == r) ring->desert();
            events[found] = {};
            events[found].what = event::kind::lost;
            events[found++].peer = r;
        }
        if (all) departures_ = departures;
        return found;
    }

    std::shared_ptr<world> world_;
    rank_t rank_;
    std::uint32_t spins_;
    std::uint32_t forks_ = detail::forks();
    detail::in_process_senders senders_;
    std::vector<way_out> out_;
    detail::plain_list<detail::in_process_ring*> open_; // rings in which long messages from this rank are under way
    std::uint32_t departures_ = 0;                      // how many departures have been reported
    std::uint32_t woken_ = 0;                           // how often it had been woken at the last poll
    detail::plain_list<unsigned char> reported_;
};

static_assert(SaysWays<in_process::endpoint> && PollsPeers<in_process::endpoint> &&
              SharesMemory<in_process::endpoint> && WaitableTransport<in_process::endpoint> &&
              DescriptorTransport<in_process::endpoint>);

inline in_process::endpoint in_process::connect(rank_t rank) {
    BOUGH_EXPECTS(rank < size(), "rank: not a rank of this group");
    BOUGH_EXPECTS(!shared_->ranks[rank].taken.exchange(true), "rank: its endpoint has been taken already");
    return endpoint(shared_, rank);
}

// Says that this rank is gone. Nobody reads its memory afterwards.
template <int>
void in_process::endpoint::leave() {
    const std::uint32_t order = world_->leaving.fetch_add(1, std::memory_order_relaxed) + 1;
    for (detail::in_process_ring* ring : open_) ring->cancel_all(world_->ranks[ring->to].gone);
    world_->ranks[rank_].gone.store(order, std::memory_order_release);
    world_->departures.fetch_add(1, std::memory_order_release);
    for (rank_state& r : world_->ranks) r.bell.ring();
}

// Not inline, so that the compiled form can hold it.
template <int>
void in_process::run_ranks(void* f, void (*call)(void*, endpoint&&)) {
    if (shared_->ranks[0].taken.load()) shared_ = std::make_shared<world>(size(), shared_->options);
#if BOUGH_HAS_EXCEPTIONS
    detail::moved_list<std::exception_ptr> thrown(size()); // outlives the threads, which write into it
#endif
    // Joins the threads that have started, even if a later one cannot be made. The ends that are
    // left are destroyed before that, so the running ranks see them as gone.
    struct joined {
        detail::moved_list<std::thread> threads;
        ~joined() {
            for (std::thread& t : threads)
                if (t.joinable()) t.join();
        }
    } running;
    detail::moved_list<std::thread>& threads = running.threads;
    // Made before any thread starts, so that a rank that fails at once is seen as gone.
    detail::moved_list<endpoint> ends;
    ends.reserve(size());
    for (rank_t r = 0; r != size(); ++r) ends.push_back(connect(r));
    threads.reserve(size());
#if BOUGH_HAS_EXCEPTIONS
    const auto body = [&](endpoint end) {
        const rank_t rank = end.rank();
        try {
            call(f, std::move(end));
        } catch (...) {
            thrown[rank] = std::current_exception();
        }
    };
#else
    const auto body = [&](endpoint end) { call(f, std::move(end)); };
#endif
    const auto start = [&] {
        for (endpoint& end : ends) threads.emplace_back(body, std::move(end));
    };
#if BOUGH_HAS_EXCEPTIONS
    try {
        start();
    } catch (...) { // the system refuses a thread, or there is no memory for one
        throw error({.code = errc::no_resources, .argument = "in_process: a thread for each rank"});
    }
#else
    start();
#endif
    for (std::thread& t : threads) t.join();
#if BOUGH_HAS_EXCEPTIONS
    std::exception_ptr first;
    std::uint32_t order = ~std::uint32_t{0};
    for (rank_t r = 0; r != size(); ++r) {
        const std::uint32_t left = shared_->ranks[r].gone.load(std::memory_order_acquire) - 1;
        if (thrown[r] && (!first || left < order)) first = thrown[r], order = left;
    }
    if (first) std::rethrow_exception(first);
#endif
}

} // namespace bough

#if defined(BOUGH_COMPILED_TEMPLATE)
#include <bough/compiled/in_process.hpp> // as the last line, where the transport is complete
#include <bough/core/plain_list.hpp>
#endif

#endif
