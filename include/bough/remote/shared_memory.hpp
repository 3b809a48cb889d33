// SPDX-License-Identifier: BSL-1.0
// bough::shared_memory_regions: remote writes between processes of one node. Linux only.
//
//   bough::shared_memory_regions mine{wire, {.region_bytes = bough::one_sided_bytes(wire.size())}};  // wire: a WireUp
//   bough::communicator comm{bough::one_sided{std::move(mine)}};
//
// A region is a part of the rank's segment, an anonymous sealed file that vanishes with the last
// rank. The ranks join as those of shared_memory do. Only reserved parts of a region have memory;
// one_sided reserves it for pairs of ranks that exchange messages. A put is a copy whose last word
// is stored with release order. It is complete at once, and never refused.
//
// Sockets and process handles tell when a peer dies. A faulty peer can write anything into the
// regions, but into no other memory.
#ifndef BOUGH_REMOTE_SHARED_MEMORY_HPP
#define BOUGH_REMOTE_SHARED_MEMORY_HPP

#if !defined(__linux__)
#error "bough: shared_memory_regions needs Linux (memfd, futex)"
#endif

#include <bough/concepts/remote_write_transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/remote_words.hpp>
#include <bough/error.hpp>
#include <bough/model/logp.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/os/lifeline.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/segment/join.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/segment.hpp>
#include <bough/transport/segment/sleep.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What the regions are, and how they are joined.
struct shared_memory_regions_options {
    std::uint64_t region_bytes = 1u << 20; // of each rank; equal on all; at most 64 TiB
    // true: regions get memory when it is reserved; false: at the start.
    bool sparse = true;
    // Cores that the ranks share; 0: all on which any of them may run.
    std::uint32_t cores = 0;
    std::uint64_t join_timeout_ns = 30'000'000'000; // how long joining may take
};

class shared_memory_regions {
public:
    static constexpr bool keeps_byte_order = true;

    // Collective: every rank of the wire-up calls it, once. Throws bough::error with what join()
    // says.
    template <WireUp W>
    explicit shared_memory_regions(W& wire, const shared_memory_regions_options& options = {})
        : shared_memory_regions(checked(wire, options)) {}

    // The same without exceptions. If it fails, the optional is empty and `result` says why, as in
    // shared_memory::join. Further causes are invalid_argument: regions differ in size or are too
    // large; and no_resources: the system refuses the memory for a region. If one rank alone fails,
    // the others end with peer_aborted and its number.
    template <WireUp W>
    static std::optional<shared_memory_regions> join(W& wire, const shared_memory_regions_options& options,
                                                     status& result) {
        std::optional<shared_memory_regions> made;
        join_room room(wire, options.join_timeout_ns, wire_format::shared_memory);
        result = room.run([&]() -> status {
            if (options.region_bytes > std::uint64_t{1} << 46) return invalid_argument("region_bytes: at most 64 TiB");
            const std::uint64_t bytes = (options.region_bytes + 63) / 64 * 64;
            const detail::segment_layout layout{
                .ranks = wire.size(), .slots = 1, .area_bytes = 0, .heap_bytes = bytes, .sparse_heap = options.sparse};
            detail::shared_join joined(wire.rank(), layout, options.cores, false);
            joined.too_much = "region_bytes: there is not so much memory";
            status well = joined.run(room);
            for (rank_t r = 0; r != wire.size() && !well; ++r)
                if (r != wire.rank() && joined.peers[r].layout.heap_bytes != bytes) {
                    well = invalid_argument("region_bytes: must be equal on all ranks");
                    well.peer = r;
                }
            if (!well) made.emplace(shared_memory_regions(std::move(joined), wire.rank(), layout, well));
            return well;
        });
        if (result) made.reset();
        return made;
    }

    shared_memory_regions(shared_memory_regions&&) = default;
    shared_memory_regions& operator=(shared_memory_regions&&) = delete;
    ~shared_memory_regions() {
        if (mine_.data() != nullptr && !forked()) lines_.shut_down();
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(peers_.size()); }
    std::uint32_t cores() const noexcept { return cores_; }
    bool oversubscribed() const noexcept { return size() > cores_; }
    // What messages by such writes cost: the same as over shared_memory, because the bytes take the
    // same way.
    static constexpr model::loggops default_costs() noexcept { return detail::shared_memory_costs.model; }
    static constexpr double switch_ns() noexcept { return detail::shared_memory_costs.switch_ns; }
    // Whether this process is a child of the one that joined. The group belongs to the parent.
    bool forked() const noexcept { return detail::fork_count != forks_; }
    std::span<std::byte> region() const noexcept { return {peers_[rank_].region, region_bytes_}; }

    BOUGH_ALWAYS_INLINE posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first,
                                   std::span<const std::byte> second, std::uint64_t) noexcept {
        if (to >= size()) return posted::failed;
        const peer& p = peers_[to];
        if (!p.writable || forked() || offset > region_bytes_ || first.size() > region_bytes_ - offset ||
            second.size() > region_bytes_ - offset - first.size())
            return posted::failed;
        remote_words::land(p.region + offset, first, second);
        // The sleeper runs the barrier (segment/sleep.hpp).
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (p.head->sleeping.load(std::memory_order_relaxed) != 0) detail::wake(p.head->sleeping);
        return posted::complete;
    }

    // Reserves memory for `bytes` at `offset` in the region of `r`, which may be this rank. Must
    // come before that place is first written or read. False: the system refuses the memory, and
    // kills a process that touches the place. Only systems that account for memory strictly refuse
    // it (vm.overcommit_memory = 2). Other systems, and the memory limit of a container, kill a
    // process in this call when memory is short.
    bool reserve(rank_t r, std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (r >= size() || offset > region_bytes_ || bytes > region_bytes_ - offset) return false;
        detail::shared_segment& of = r == rank_ ? mine_ : peers_[r].segment;
        return of.reserve(static_cast<std::uint64_t>(peers_[r].region - of.data()) + offset, bytes);
    }

    std::size_t poll(std::span<event> events) {
        if (forked()) return 0;
        if ((++polls_ & 1023) == 0) look();
        return leaving_ == 0 ? 0 : departed(events);
    }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t deadline_ns, Landed&& landed) {
        if (idle == 1) patience_.renew();
        patience_.wait(idle, deadline_ns, head_->sleeping, leaving_, landed, [this] { look(); });
    }

private:
    struct peer {
        std::byte* region = nullptr;
        detail::segment_head* head = nullptr;
        bool writable = false; // it is another rank, and its loss has not been reported
        bool gone = false, reported = false;
        detail::shared_segment segment; // the peer's
    };

    shared_memory_regions(detail::shared_join&& made, rank_t rank, const detail::segment_layout& layout, status& result)
        : rank_(rank), cores_(made.cores()), region_bytes_(static_cast<std::size_t>(layout.heap_bytes)),
          peers_(layout.ranks), mine_(std::move(made.mine)) {
        patience_ = {oversubscribed(), detail::register_barriers()};
        head_ = reinterpret_cast<detail::segment_head*>(mine_.data());
        peers_[rank].region = mine_.data() + layout.heap_at();
        for (rank_t r = 0; r != layout.ranks; ++r) {
            if (r == rank) continue;
            peer& p = peers_[r];
            detail::joined_peer& from = made.peers[r];
            p.segment = std::move(from.segment);
            p.region = p.segment.data() + layout.heap_at();
            p.head = reinterpret_cast<detail::segment_head*>(p.segment.data());
            p.writable = true;
            if (!lines_.add(r, std::move(from.socket), from.pid == ::getpid() ? 0 : from.pid))
                result.code = errc::no_resources;
        }
    }
    template <class W>
    static shared_memory_regions checked(W& wire, const shared_memory_regions_options& options) {
        status result;
        std::optional<shared_memory_regions> made = join(wire, options, result);
        detail::throw_if(result);
        return std::move(*made);
    }

    BOUGH_COLD void look() {
        lines_.look([this](rank_t r) {
            if (std::exchange(peers_[r].gone, true)) return;
            ++leaving_;
        });
    }
    BOUGH_COLD std::size_t departed(std::span<event> events) {
        std::size_t found = 0;
        for (rank_t r = 0; r != size() && found != events.size(); ++r) {
            peer& p = peers_[r];
            if (!p.gone || p.reported) continue;
            p.reported = true;
            p.writable = false;
            --leaving_;
            events[found] = {};
            events[found].what = event::kind::lost;
            events[found++].peer = r;
        }
        return found;
    }

    rank_t rank_ = 0;
    std::uint32_t cores_ = 0;
    std::uint32_t polls_ = 0;
    std::uint32_t leaving_ = 0; // how many peers are gone and not yet reported
    std::uint32_t forks_ = detail::forks();
    std::size_t region_bytes_ = 0;
    detail::shared_patience patience_;
    detail::segment_head* head_ = nullptr;
    std::vector<peer> peers_; // by rank
    detail::shared_segment mine_;
    detail::lifelines lines_;
};

static_assert(WaitableRemoteWrites<shared_memory_regions>);

} // namespace bough

#endif
