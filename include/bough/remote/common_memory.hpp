// SPDX-License-Identifier: BSL-1.0
// bough::common_memory: memory that all processes of a node share, with the means to wait for each
// other on words in it. Linux only.
//
//   bough::combining_tree tree{bough::common_memory{wire}};    // wire: a WireUp, of a launcher for instance
//
// The memory is an anonymous sealed file of rank 0, which lives as long as a process maps it. A
// socket and a process handle for each peer tell of its end. This is not a transport: it moves no
// messages.
#ifndef BOUGH_REMOTE_COMMON_MEMORY_HPP
#define BOUGH_REMOTE_COMMON_MEMORY_HPP

#if !defined(__linux__)
#error "bough: common_memory needs Linux (memfd, futex)"
#endif

#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/os/lifeline.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/segment/join.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/segment.hpp>
#include <bough/transport/segment/sleep.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

struct common_memory_options {
    std::uint64_t bytes = 1u << 20; // the value of rank 0 counts; at most 2^40; rounded up to whole pages
    std::uint64_t join_timeout_ns = 30'000'000'000; // how long joining may take
};

class common_memory {
public:
    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join()
    // says.
    template <WireUp W>
    explicit common_memory(W& wire, const common_memory_options& options = {})
        : common_memory(checked(wire, options)) {}
    // The same without exceptions. If it fails, the optional is empty and `result` says why, as in
    // shared_memory::join.
    template <WireUp W>
    static std::optional<common_memory> join(W& wire, status& result, const common_memory_options& options = {}) {
        std::optional<common_memory> made;
        join_room room(wire, options.join_timeout_ns);
        result = room.run([&]() -> status {
            if (options.bytes < 1 || options.bytes > std::uint64_t{1} << 40)
                return invalid_argument("bytes: must be 1 to 2^40");
            detail::segment_layout layout{.ranks = wire.size(), .slots = 1, .area_bytes = 256, .heap_bytes = 0};
            if (wire.rank() == 0) layout.heap_bytes = options.bytes;
            detail::shared_join joined(wire.rank(), layout, 0, false);
            status well = joined.run(room);
            if (!well) made.emplace(common_memory(std::move(joined), wire.rank(), wire.size(), well));
            return well;
        });
        if (result) made.reset();
        return made;
    }
    common_memory(common_memory&&) = default;
    common_memory& operator=(common_memory&&) = delete;
    ~common_memory() {
        if (segment_.data() != nullptr && !forked()) lines_.shut_down();
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return size_; }
    // The memory: the same on all ranks, zero at first, beginning on a page.
    std::span<std::byte> bytes() const noexcept { return bytes_; }
    // Whether this process is a child of the one that joined.
    bool forked() const noexcept { return detail::fork_count != forks_; }
    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }

    // Calls gone(rank) once for each peer that has died or left. All that the peer wrote before can
    // be seen by then.
    template <class F>
    void look(F&& gone) {
        if (!forked()) lines_.look(gone);
    }
    // Waits a little. `idle`: how often it was called before without news; 0 the first time. It
    // spins if every rank can have a core of its own. Then it yields for 20 us, unless the wait
    // before this one was a long one. Then it sleeps on `word`, until a peer wakes it, for at most
    // 5 ms. `word` lies in bytes() and belongs to this rank. ready(): there is no need to sleep
    // after all. May return early; in a forked child it returns at once.
    template <class Ready, class Gone>
    void wait(std::uint32_t idle, std::uint64_t deadline_ns, std::atomic<std::uint32_t>& word, Ready&& ready,
              Gone&& gone) {
        if (forked()) return; // `word` and the lifelines belong to the parent
        if (idle == 0) patience_.renew(patience_.idle_ns() > 3 * yields_ns ? 0 : yields_ns);
        constexpr std::uint32_t nobody_leaves = 0;
        patience_.wait(idle, deadline_ns, word, nobody_leaves, ready, [&] { look(gone); });
    }
    // Wakes the owner of `word` if it sleeps. To be called after a change for which the owner may
    // be waiting. (There is no fence here: the sleeper runs the barrier for both.)
    static void wake(std::atomic<std::uint32_t>& word) noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (word.load(std::memory_order_relaxed) != 0) detail::wake(word);
    }

private:
    // About what a sleep and a wake-up cost. A rank that stays awake for that long before it sleeps
    // uses at most twice the time of the better choice (Karlin, Li, Manasse, Owicki 1991). Ranks
    // that come far apart tend to do so again. So after a wait of more than three times that, the
    // next wait sleeps at once. (doc/design/012-late-children.md has figures.)
    static constexpr std::uint64_t yields_ns = 20'000;

    common_memory(detail::shared_join&& joined, rank_t rank, rank_t size, status& result)
        : rank_(rank), size_(size), patience_(size > joined.cores(), detail::register_barriers(), yields_ns) {
        const detail::segment_layout layout{.ranks = size, .slots = 1, .area_bytes = 256, .heap_bytes = 0};
        segment_ = std::move(rank == 0 ? joined.mine : joined.peers[0].segment);
        bytes_ = std::span(segment_.data(), segment_.size()).subspan(static_cast<std::size_t>(layout.heap_at()));
        for (rank_t r = 0; r != size; ++r) {
            detail::joined_peer& p = joined.peers[r];
            if (r != rank && !lines_.add(r, std::move(p.socket), p.pid == ::getpid() ? 0 : p.pid))
                result.code = errc::no_resources;
        }
    }
    template <class W>
    static common_memory checked(W& wire, const common_memory_options& options) {
        status result;
        std::optional<common_memory> made = join(wire, result, options);
        detail::throw_if(result);
        return std::move(*made);
    }

    rank_t rank_, size_;
    std::uint32_t forks_ = detail::forks();
    detail::shared_patience patience_;
    detail::shared_segment segment_; // that of rank 0
    std::span<std::byte> bytes_;
    detail::lifelines lines_;
};

} // namespace bough

#endif
