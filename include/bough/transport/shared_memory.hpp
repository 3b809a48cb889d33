// SPDX-License-Identifier: BSL-1.0
// bough::shared_memory: a transport for processes of one node. Linux only.
//
//   bough::communicator comm{bough::shared_memory{wire}};      // wire: a WireUp, of a launcher for instance
//   bough::allreduce(comm, std::span(x), bough::plus{});
//
// Every rank has one segment of memory, an anonymous sealed file that vanishes with the last rank.
// It has a ring for the messages from each other rank, and a heap for buffers that peers may read
// in place (allocate()). Payloads of up to 24 bytes travel in one cache line with their envelope.
// Payloads of up to eager_bytes are copied into the ring. Longer payloads stay with their sender:
// if they lie in its heap, they are combined in place; otherwise `data` is null and take() reads
// them straight from the sender's memory through the kernel (process_vm_readv), or in pieces if the
// kernel does not allow that.
//
// A socket and a process handle for each peer tell when it dies: within milliseconds while this
// rank polls, at once if it sleeps in a loop of its own (descriptor()). All that is read from
// shared memory is checked. A peer that writes nonsense counts as lost (errc::protocol_error), and
// nothing is read or written outside of the rings. (doc/transports/shared_memory.md)
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_HPP

#if !defined(__linux__)
#error "bough: shared_memory needs Linux (memfd, process_vm_readv, futex)"
#endif

#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/os/lifeline.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/segment/join.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/sleep.hpp>
#include <bough/transport/shared_memory/options.hpp>
#include <bough/transport/shared_memory/pieces.hpp>
#include <bough/transport/shared_memory/receiver.hpp>
#include <bough/transport/shared_memory/sender.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

class shared_memory {
public:
    // Collective: all ranks of the wire-up call it once. Throws bough::error with what join() says.
    template <WireUp W>
    explicit shared_memory(W& wire, const shared_memory_options& options = {})
        : shared_memory(checked(wire, options)) {}

    // The same without exceptions. If it fails, the optional is empty and `result` says why.
    // peer_dead, deadline: a rank did not come. no_resources: memory or descriptors ran out.
    // invalid_argument: options break a rule or differ between ranks. unsupported: there is no
    // memfd. protocol_error: a rank is not what it should be. If one rank has an error, the others
    // end with peer_aborted and its cause.
    template <WireUp W>
    static std::optional<shared_memory> join(W& wire, status& result, const shared_memory_options& options = {});

    shared_memory(shared_memory&&) = default;
    shared_memory& operator=(shared_memory&&) = delete;
    // Leaves the group without waiting. Long messages that nobody has read are taken back.
    ~shared_memory() {
        if (mine_.data() == nullptr || forked()) return;
        for (link* l : open_) l->out.cancel_all();
        lines_.shut_down();
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return static_cast<rank_t>(links_.size()); }
    // How many cores the ranks share. With more ranks than cores, a rank that waits takes time from
    // one that works.
    std::uint32_t cores() const noexcept { return cores_; }
    bool oversubscribed() const noexcept { return size() > cores_; }
    static constexpr model::loggops default_costs() noexcept { return detail::shared_memory_costs.model; }
    static constexpr double switch_ns() noexcept { return detail::shared_memory_costs.switch_ns; }
    // Whether this process is a child of the one that joined. The group belongs to the parent.
    bool forked() const noexcept { return detail::fork_count != forks_; }
    // How many bytes this rank's segment takes, heap included.
    std::size_t segment_bytes() const noexcept { return mine_.size(); }
    // Whether a peer's long private messages are read without pieces. Pre: `peer` is another rank.
    bool reads_directly(rank_t peer) const noexcept { return links_[peer].reads_it; }

    // Memory that peers can read in place. It is aligned to a cache line; pieces of 4 KiB and more
    // have pages of their own. Empty: no free piece is large enough. Give it back by deallocate();
    // otherwise it ends with the transport. While a message in it is being cancelled, no other
    // thread may write to the pages on which the message lies.
    std::span<std::byte> allocate(std::size_t bytes) {
        return mine_.allocate(bytes, [this](const detail::shared_reader& r) {
            return links_[r.peer].reported || links_[r.peer].out.is_released(r.ticket);
        });
    }
    // Pre: the piece is from allocate(), whole, and no message in it is under way.
    void deallocate(std::span<std::byte> piece) { mine_.deallocate(piece); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank_ || forked()) return posted::failed;
        link& l = links_[to];
        if (l.gone) return l.reported ? posted::failed : posted::would_block; // its messages are handed over first
        posted result = posted::complete;
        if (bytes.size() > l.out.eager_bytes() || (bytes.size() >= in_place_bytes && mine_.is_shared(bytes)))
            result = post_long(l, tag, bytes, id);
        else if (!l.out.push(tag, bytes))
            result = posted::would_block;
        if (result == posted::would_block) {
            l.wants_room = true;
            return result;
        }
        if (!l.opened) open(l);
        nudge(l);
        return result;
    }

    std::size_t poll(std::span<event> events) {
        if (forked()) return 0; // what has come belongs to the parent
        std::size_t found = 0;
        if (head_->openings.load(std::memory_order_acquire) != openings_) find_opened();
        for (link* l : in_)
            while (found != events.size() && l->in.peek(events[found], l->peer, l->handle)) ++found;
        if (!open_.empty()) found += ended(events.subspan(found));
        if (!takes_.empty()) found += unstage(events.subspan(found));
        if (leaving_ != 0) found += departed(events.subspan(found));
        if (found != 0)
            patience_.renew();
        else if ((++idle_polls_ & 1023) == 0)
            look();
        return found;
    }

    bool poll_from(rank_t from, event& e) noexcept {
        if (from >= size() || from == rank_ || forked()) return false;
        link& l = links_[from];
        if (l.reported || !l.in.peek(e, from, l.handle)) return false;
        patience_.renew();
        return true;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        link& l = of(handle);
        const auto index = static_cast<std::uint32_t>(handle & 63);
        const detail::shared_receiver::note& n = l.in.at(index);
        if (into.size() != n.bytes || forked()) return posted::failed;
        if (n.where == detail::to_be_staged) {
            if (!l.in.want(index)) return posted::failed;
            takes_.push_back({&l, index, n.ticket, into, id});
            nudge(l);
            return posted::pending;
        }
        if (n.where == detail::in_private) {
            if (!read(l, index, into)) return posted::failed;
        } else {
            if (n.where == detail::in_segment && !l.in.claim(index)) return posted::failed;
            if (!into.empty()) std::memcpy(into.data(), n.data, into.size());
            if (n.where == detail::in_segment) l.in.give_back(index);
        }
        l.in.release(index);
        nudge(l);
        return posted::complete;
    }
    // Also false for a message whose payload is not within reach: such a message can only be taken.
    bool claim(std::uint64_t handle) noexcept {
        link& l = of(handle);
        const auto index = static_cast<std::uint32_t>(handle & 63);
        const std::uint32_t where = l.in.at(index).where;
        return !forked() && (where == 0 || (where == detail::in_segment && l.in.claim(index)));
    }
    void release(std::uint64_t handle) noexcept {
        if (forked()) return;
        link& l = of(handle);
        const auto index = static_cast<std::uint32_t>(handle & 63);
        if (l.in.at(index).where != 0) l.in.give_back(index);
        l.in.release(index);
        nudge(l);
    }
    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        for (pending_take& t : takes_) {
            if (t.id != id) continue;
            if (!t.over) end_take(t, errc::cancelled);
            return errc::ok;
        }
        for (link* l : open_)
            if (l->out.cancel(id, [&](std::span<const std::byte> bytes, std::uint32_t ticket) {
                    return mine_.take_out(bytes, {l->peer, ticket});
                }))
                return nudge(*l), errc::ok;
        return errc::invalid_argument;
    }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    // Spins, then yields, then sleeps for at most 5 ms at a time (segment/sleep.hpp).
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        patience_.wait(
            idle, deadline_ns, head_->sleeping, leaving_, [this] { return has_news(); }, [this] { look(); });
    }

    // DescriptorTransport: an epoll queue of the lifelines; -1 if the kernel has no barriers.
    int descriptor() noexcept { return patience_.has_barriers() ? lines_.descriptor() : -1; }
    bool arm() noexcept {
        return leaving_ == 0 && !forked() && detail::ask_for_ring(head_->sleeping, [this] { return has_news(); });
    }
    void disarm() {
        if (forked()) return; // the word and the queue belong to the parent
        head_->sleeping.store(0, std::memory_order_relaxed);
        look();
    }

private:
    static constexpr std::size_t in_place_bytes = 4096; // shorter payloads are copied, even out of the heap

    // What this rank knows about one peer.
    struct alignas(64) link {
        rank_t peer = no_rank;
        bool opened = false;     // this rank has begun to send to it
        bool gone = false;       // it has died or left, or has written nonsense
        bool reported = false;   // its loss has been reported
        bool wants_room = false; // a post has been refused
        bool reads_it = false, reads_me = false;
        errc why = errc::peer_dead;
        pid_t pid = 0;
        std::uint64_t handle = 0; // handle of its arrivals, without the slot
        detail::segment_head* theirs = nullptr;
        detail::shared_sender out;
        detail::shared_receiver in;
        detail::shared_segment segment; // the peer's
    };
    // A take of a message that comes in pieces.
    struct pending_take {
        link* from;
        std::uint32_t index, ticket;
        std::span<std::byte> into;
        std::uint64_t id;
        std::size_t got = 0;
        bool over = false; // its event is due
        errc code = errc::ok;
    };

    shared_memory(detail::shared_join&& made, rank_t rank, const detail::segment_layout& layout,
                  std::uint32_t eager_bytes, status& result);

    template <class W>
    static shared_memory checked(W& wire, const shared_memory_options& options) {
        status result;
        std::optional<shared_memory> made = join(wire, result, options);
        detail::throw_if(result);
        return std::move(*made);
    }

    link& of(std::uint64_t handle) noexcept { return links_[static_cast<std::size_t>(handle >> 6)]; }

    // Wakes the peer if it sleeps. To be called after any change for which it may be waiting.
    void nudge(const link& l) const noexcept {
        std::atomic_signal_fence(std::memory_order_seq_cst); // the sleeper runs the barrier (segment/sleep.hpp)
        std::atomic<std::uint32_t>& word = l.theirs->sleeping;
        if (word.load(std::memory_order_relaxed) != 0 && !detail::wake(word)) lines_.ring(l.peer);
    }
    BOUGH_COLD void open(link& l) noexcept {
        l.opened = true;
        l.out.open();
        l.theirs->openings.fetch_add(1, std::memory_order_acq_rel);
    }
    // Learns which peers have begun to send to this rank.
    BOUGH_COLD void find_opened() noexcept {
        openings_ = head_->openings.load(std::memory_order_acquire);
        for (link& l : links_)
            if (l.peer != rank_ && !l.reported && l.in.is_opened() &&
                std::find(in_.begin(), in_.end(), &l) == in_.end())
                in_.push_back(&l);
    }
    posted post_long(link& l, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        std::uint32_t where = l.reads_me ? detail::in_private : detail::to_be_staged;
        std::uint64_t place = reinterpret_cast<std::uintptr_t>(bytes.data());
        if (bytes.size() >= in_place_bytes && mine_.is_shared(bytes)) {
            where = detail::in_segment;
            place = mine_.offset_of(bytes.data());
        }
        const bool was_open = l.out.has_open();
        if (!l.out.push_long(tag, bytes, id, where, place)) return posted::would_block;
        if (!was_open) open_.push_back(&l);
        return posted::pending;
    }
    std::size_t ended(std::span<event> events) {
        std::size_t found = 0;
        for (link* l : open_) {
            found += l->out.acknowledged(l->peer, events.subspan(found));
            if (!l->reads_me && !l->gone && l->out.stage()) nudge(*l);
        }
        std::erase_if(open_, [](const link* l) { return !l->out.has_open(); });
        return found;
    }

    // Reads a long message from its sender's memory.
    bool read(link& l, std::uint32_t index, std::span<std::byte> into) noexcept {
        if (!l.in.is_lent(index)) return false;
        const std::uint64_t place = l.in.at(index).place;
        for (std::size_t got = 0; got != into.size();) {
            const iovec here{into.data() + got, into.size() - got};
            const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(place + got)), here.iov_len};
            const ssize_t came = ::process_vm_readv(l.pid, &here, 1, &there, 1, 0);
            if (came <= 0) { // the peer is dying, has taken the message back, or gave a wrong address
                if (came < 0 && errno == ESRCH) // a dying process loses its memory before its lifeline
                    lose(l.peer, errc::peer_dead);
                else if (l.in.is_lent(index) && lines_.alive(l.peer))
                    l.in.set_broken();
                return false;
            }
            got += static_cast<std::size_t>(came);
        }
        // After the peer's death another process may have got its process number.
        return lines_.alive(l.peer) && l.in.give_back(index);
    }
    BOUGH_COLD void end_take(pending_take& t, errc code) noexcept {
        const bool mine = t.from->in.give_back(t.index);
        t.over = true;
        t.code = code != errc::ok || mine ? code : errc::peer_aborted;
        t.from->in.release(t.index);
        nudge(*t.from);
    }
    // Copies the pieces that have come to where they belong, and reports the takes that have ended.
    BOUGH_COLD std::size_t unstage(std::span<event> events) {
        for (const pending_take& t : takes_)
            while (t.from->in.unstage([&](std::uint32_t ticket, auto bytes) { return place(*t.from, ticket, bytes); }))
                nudge(*t.from);
        std::size_t found = 0;
        for (pending_take& t : takes_) {
            if (!t.over && t.got == t.into.size())
                end_take(t, errc::ok);
            else if (!t.over && t.from->reported)
                end_take(t, errc::peer_dead);
            else if (!t.over && !t.from->in.is_lent(t.index))
                end_take(t, errc::peer_aborted);
            if (!t.over || found == events.size()) continue;
            events[found] = {};
            events[found].what = event::kind::complete;
            events[found].code = t.code;
            events[found].peer = t.from->peer;
            events[found++].id = t.id;
            t.from = nullptr;
        }
        std::erase_if(takes_, [](const pending_take& t) { return t.from == nullptr; });
        return found;
    }
    // Copies one piece. False: there are more bytes than the message has.
    bool place(const link& from, std::uint32_t ticket, std::span<const std::byte> bytes) noexcept {
        for (pending_take& t : takes_) {
            if (t.from != &from || t.ticket != ticket || t.over) continue;
            if (bytes.size() > t.into.size() - t.got) return false;
            std::memcpy(t.into.data() + t.got, bytes.data(), bytes.size());
            t.got += bytes.size();
            return true;
        }
        return true; // the take was cancelled
    }

    BOUGH_COLD void lose(rank_t r, errc why) noexcept {
        link& l = links_[r];
        if (l.gone) return;
        l.gone = true;
        l.why = why;
        ++leaving_;
    }
    // Finds out which peers have gone.
    BOUGH_COLD void look() {
        lines_.look([this](rank_t r) { lose(r, errc::peer_dead); });
        for (const link* l : in_)
            if (l->in.broken()) lose(l->peer, errc::protocol_error);
    }
    // Reports peers that are gone and whose messages have all been handed over.
    BOUGH_COLD std::size_t departed(std::span<event> events) {
        find_opened();
        std::size_t found = 0;
        for (link& l : links_) {
            if (!l.gone || l.reported || found == events.size() || l.in.has_arrival()) continue;
            l.reported = true;
            --leaving_;
            l.out.desert();
            std::erase(in_, &l);
            events[found] = {};
            events[found].what = event::kind::lost;
            events[found].code = l.why;
            events[found++].peer = l.peer;
        }
        return found;
    }
    // Whether poll() would find something, or there is new room for a post that was refused.
    BOUGH_COLD bool has_news() noexcept {
        if (head_->openings.load(std::memory_order_acquire) != openings_) return true;
        for (link& l : links_) {
            if (l.peer == rank_ || l.reported) continue;
            if (l.in.broken()) return lose(l.peer, errc::protocol_error), true;
            if (l.in.has_arrival() || l.out.has_news() || (!takes_.empty() && l.in.has_piece())) return true;
            if (l.wants_room && l.out.has_new_room()) {
                l.wants_room = false;
                return true;
            }
        }
        const auto ended = [](const pending_take& t) { return t.over || !t.from->in.is_lent(t.index); };
        return std::any_of(takes_.begin(), takes_.end(), ended);
    }

    rank_t rank_ = 0;
    std::uint32_t cores_ = 0, idle_polls_ = 0;
    std::uint32_t openings_ = 0; // how many openings this rank knows of
    std::uint32_t leaving_ = 0;  // how many peers are gone and not yet reported
    std::uint32_t forks_ = detail::forks();
    detail::shared_patience patience_;
    detail::segment_head* head_ = nullptr;
    std::vector<link*> in_;   // peers that send to this rank
    std::vector<link*> open_; // peers to which long messages are under way
    std::vector<pending_take> takes_;
    std::vector<link> links_; // by rank
    detail::shared_pieces mine_;
    detail::lifelines lines_;
};

static_assert(PollsPeers<shared_memory> && WaitableTransport<shared_memory>);

template <WireUp W>
std::optional<shared_memory> shared_memory::join(W& wire, status& result, const shared_memory_options& options) {
    std::optional<shared_memory> made;
    join_room room(wire, options.join_timeout_ns);
    result = room.run([&]() -> status {
        if (const status bad = detail::check(options)) return bad;
        const detail::segment_layout layout = detail::layout_of(wire.size(), options);
        detail::shared_join joined(wire.rank(), layout, options.cores, options.direct_reads);
        status well = joined.run(room);
        if (!well) made.emplace(shared_memory(std::move(joined), wire.rank(), layout, options.eager_bytes, well));
        return well;
    });
    if (result) made.reset();
    return made;
}

inline shared_memory::shared_memory(detail::shared_join&& made, rank_t rank, const detail::segment_layout& layout,
                                    std::uint32_t eager_bytes, status& result)
    : rank_(rank), cores_(made.cores()), links_(layout.ranks),
      mine_(std::move(made.mine), std::move(made.file), layout) {
    patience_ = {oversubscribed(), detail::register_barriers()};
    head_ = reinterpret_cast<detail::segment_head*>(mine_.data());
    in_.reserve(layout.ranks);
    open_.reserve(layout.ranks);
    if (eager_bytes == 0) eager_bytes = layout.area_bytes / 2;
    for (rank_t r = 0; r != layout.ranks; ++r) {
        link& l = links_[r];
        l.peer = r;
        if (r == rank) continue;
        detail::joined_peer& p = made.peers[r];
        l.handle = std::uint64_t{r} << 6;
        l.reads_it = p.reads_it;
        l.reads_me = p.reads_me;
        l.pid = p.pid;
        l.segment = std::move(p.segment);
        l.theirs = reinterpret_cast<detail::segment_head*>(l.segment.data());
        const std::span<const std::byte> heap(l.segment.data() + p.layout.heap_at(),
                                              static_cast<std::size_t>(p.layout.heap_bytes));
        l.out = detail::shared_sender(
            detail::ring_view::at(l.segment.data() + p.layout.ring_at(rank, r), layout, !l.reads_me), eager_bytes);
        l.in = detail::shared_receiver(
            detail::ring_view::at(mine_.data() + layout.ring_at(r, rank), layout, !l.reads_it), heap, l.reads_it);
        if (!lines_.add(r, std::move(p.socket), p.pid == ::getpid() ? 0 : p.pid)) result.code = errc::no_resources;
    }
}

} // namespace bough

#if defined(BOUGH_COMPILED_TEMPLATE)
#include <bough/compiled/shared_memory.hpp> // as the last line, where the transport is complete
#endif
#endif
