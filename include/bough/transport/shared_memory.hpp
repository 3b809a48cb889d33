// SPDX-License-Identifier: BSL-1.0
// bough::shared_memory: a transport for processes of one node. Linux only.
//
//   bough::communicator comm{bough::shared_memory{wire}};      // wire: a WireUp, of a launcher for instance
//   bough::allreduce(comm, std::span(x), bough::plus{});
//
// Every rank has one segment of memory, an anonymous sealed file that vanishes with the last rank.
// It has a ring for the messages from each other rank, and a heap for buffers that peers may read
// in place (allocate()). Payloads of up to 88 bytes travel in one or two cache lines with their
// envelope. Payloads of up to eager_bytes are copied into the ring. Longer payloads stay with their sender:
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

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/formats.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/in_turns.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/measured_costs.hpp>
#include <bough/transport/segment/join.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/read_costs.hpp>
#include <bough/transport/segment/sleep.hpp>
#include <bough/transport/shared_memory/link.hpp>
#include <bough/transport/shared_memory/links.hpp>
#include <bough/transport/shared_memory/long_sends.hpp>
#include <bough/transport/shared_memory/long_takes.hpp>
#include <bough/transport/shared_memory/options.hpp>
#include <bough/transport/shared_memory/pieces.hpp>
#include <bough/transport/shared_memory/receiver.hpp>
#include <bough/transport/shared_memory/sender.hpp>
#include <bough/transport/shared_memory/ways.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

class shared_memory {
public:
    static constexpr wire_format format = wire_format::shared_memory; // which its ranks compare when they join

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
    static std::optional<shared_memory> join(W& wire, const shared_memory_options& options, status& result);

    shared_memory(shared_memory&&) = default;
    shared_memory& operator=(shared_memory&&) = delete;
    // Leaves the group without waiting. Long messages that nobody has read are taken back.
    ~shared_memory() {
        if (mine_.data() == nullptr || forked()) return;
        sends_.cancel_all();
        links_.shut_down();
    }

    rank_t rank() const noexcept { return links_.rank(); }
    rank_t size() const noexcept { return links_.size(); }
    // How many cores the ranks share. With more ranks than cores, a rank that waits takes time from
    // one that works.
    std::uint32_t cores() const noexcept { return cores_; }
    bool oversubscribed() const noexcept { return size() > cores_; }
    static constexpr model::loggops default_costs() noexcept { return detail::shared_memory_costs.model; }
    static constexpr double switch_ns() noexcept { return detail::shared_memory_costs.switch_ns; }
    // Whether this process is a child of the one that joined. The group belongs to the parent.
    bool forked() const noexcept { return detail::fork_count != forks_; }
    // How many bytes this rank's segment takes, heap included. Common memory takes none before it is used.
    std::size_t segment_bytes() const noexcept { return mine_.size(); }
    // Whether a peer's long private messages are read without pieces. Pre: `peer` is another rank.
    bool reads_directly(rank_t peer) const noexcept { return links_[peer].process.reads_it; }

    // From how many bytes on such a message is read directly rather than in pieces: one that goes to its
    // place, and one that is combined as it comes. As measured at the join; 0 with direct_reads = true;
    // 2^64 - 1: none is.
    std::uint64_t copied_directly_from() const noexcept { return costs_.copied_from; }
    std::uint64_t combined_directly_from() const noexcept { return costs_.combined_from; }

    // Which way a message from this peer comes, if it is not in allocated memory; see SaysWays.
    protocol way_of(rank_t peer, std::size_t bytes, bool combines) const noexcept {
        const detail::shared_process& its = links_[peer].process;
        return detail::shared_way(bytes, its.copies_to_me, its.reads_it,
                                  combines ? costs_.combined_from : costs_.copied_from);
    }

    // Memory that peers can read in place. It is aligned to a cache line; pieces of 4 KiB and more
    // have pages of their own. Empty: no free piece is large enough. Give it back by deallocate();
    // otherwise it ends with the transport. While a message in it is being cancelled, no other
    // thread may write to the pages on which the message lies.
    std::span<std::byte> allocate(std::size_t bytes) {
        return mine_.allocate(bytes, [this](const detail::shared_reader& r) {
            return links_[r.peer].loss.reported || links_[r.peer].out.is_released(r.ticket);
        });
    }
    // Pre: the piece is from allocate(), whole, and no message in it is under way.
    void deallocate(std::span<std::byte> piece) { mine_.deallocate(piece); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank() || forked()) return posted::failed;
        link& l = links_[to];
        if (l.loss.gone)
            return l.loss.reported ? posted::failed : posted::would_block; // its messages are handed over first
        posted result = posted::complete;
        if (sends_.is_long(l, bytes, mine_))
            result = sends_.post(l, tag, bytes, id, mine_);
        else if (!l.out.push(tag, bytes))
            result = posted::would_block;
        if (result == posted::would_block) {
            l.wants_room = true;
            return result;
        }
        if (!l.opened) links_.open(l);
        // Nothing has come since the last message to this peer: this rank runs ahead of it.
        if (std::exchange(l.arrivals, arrivals_) == arrivals_) l.out.own_ahead();
        links_.nudge(l);
        return result;
    }

    std::size_t poll(std::span<event> events) {
        if (forked()) return 0; // what has come belongs to the parent
        if (links_.has_opened()) links_.find_opened();
        std::size_t found = detail::take_in_turns(links_.senders(), events,
                                                  [](link& l, event& e) { return l.in.peek(e, l.peer, l.handle); });
        arrivals_ += static_cast<std::uint32_t>(found);
        if (!sends_.empty()) found += sends_.go_on(events.subspan(found), links_);
        if (!takes_.empty()) found += takes_.go_on(events.subspan(found), links_);
        if (links_.leaving() != 0) found += links_.report_lost(events.subspan(found));
        if (found != 0) {
            patience_.renew();
            return found;
        }
        links_.see_news();
        links_.tell_slots();
        if ((++idle_polls_ & 1023) == 0) links_.look();
        return 0;
    }

    bool poll_from(rank_t from, event& e) noexcept {
        if (from >= size() || from == rank() || forked()) return false;
        link& l = links_[from];
        if (l.loss.reported || !l.in.peek(e, from, l.handle)) return false;
        ++arrivals_;
        patience_.renew();
        return true;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        link& l = links_.of(handle);
        const std::uint32_t index = slot_of(handle);
        const detail::shared_receiver::note& n = l.in.at(index);
        if (into.size() != n.bytes || forked()) return posted::failed;
        if (n.data == nullptr && n.bytes != 0) {
            if (!reads_now(l, n.bytes, costs_.copied_from)) return takes_.begin(l, index, into, id, links_);
            const bool is_read = detail::read_private(links_, l, index, into);
            if (!l.process.reads_it) return takes_.begin(l, index, into, id, links_); // not any more
            if (!is_read || !l.in.give_back(index)) return posted::failed;
        } else {
            if (n.where == detail::in_segment && !l.in.claim(index)) return posted::failed;
            if (!into.empty()) std::memcpy(into.data(), n.data, into.size());
            if (n.where == detail::in_segment) l.in.give_back(index);
        }
        free_slot(l, index);
        return posted::complete;
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) {
        link& l = links_.of(handle);
        const std::uint32_t index = slot_of(handle);
        const detail::shared_receiver::note& n = l.in.at(index);
        if (n.data != nullptr || n.bytes == 0 || grain > l.in.piece_bytes() || grain > takes_.window_bytes)
            return posted::would_block;
        if (grain == 0 || n.bytes % grain != 0 || forked()) return posted::failed;
        const bool direct = reads_now(l, n.bytes, costs_.combined_from);
        return takes_.begin_pieces(l, index, static_cast<std::uint32_t>(grain), direct, id, links_);
    }
    // Also false for a message whose payload is not within reach: such a message can only be taken.
    bool claim(std::uint64_t handle) noexcept {
        link& l = links_.of(handle);
        const std::uint32_t index = slot_of(handle);
        const std::uint32_t where = l.in.at(index).where;
        return !forked() && (where == 0 || (where == detail::in_segment && l.in.claim(index)));
    }
    void release(std::uint64_t handle) noexcept {
        if (forked()) return;
        link& l = links_.of(handle);
        const std::uint32_t index = slot_of(handle);
        if (l.in.at(index).where != 0) l.in.give_back(index);
        free_slot(l, index);
    }
    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        const bool found = takes_.cancel(id, links_) || sends_.cancel(id, mine_, links_);
        return found ? errc::ok : errc::invalid_argument;
    }

    std::uint64_t now_ns() const noexcept { return detail::steady_now_ns(); }
    // Spins, then yields, then sleeps for at most 5 ms at a time (segment/sleep.hpp).
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        links_.tell_slots();
        patience_.wait(
            idle, deadline_ns, links_.sleeping(), links_.leaving(), [this] { return has_news(); },
            [this] { links_.look(); });
    }

    // Memory of the owner that all ranks see; see SharesMemory.
    std::uint64_t common_bytes() const noexcept { return common_bytes_; }
    std::span<std::byte> common(rank_t owner, std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (forked() || owner >= size() || offset > common_bytes_ || bytes > common_bytes_ - offset) return {};
        return owner == rank() ? mine_.common(offset, bytes) : links_.common(owner, offset, bytes);
    }
    void wake(rank_t peer) noexcept {
        if (!forked()) links_.tell_news(links_[peer]);
    }
    // Waits for ranks that come late. Nothing that this rank does brings the result nearer, so it yields
    // only for as long as a sleep costs. Ranks that come far apart tend to do so again: after a long wait,
    // the next one sleeps at once.
    void wait_for_late(std::uint32_t idle, std::uint64_t deadline_ns) {
        links_.tell_slots();
        if (idle == 1) late_patience_.renew(late_patience_.idle_ns() > 3 * late_yields_ns ? 0 : late_yields_ns);
        late_patience_.wait(
            idle, deadline_ns, links_.sleeping(), links_.leaving(), [this] { return has_news(); },
            [this] { links_.look(); });
    }

    // DescriptorTransport: an epoll queue of the lifelines; -1 if the kernel has no barriers.
    int descriptor() noexcept { return patience_.has_barriers() ? links_.descriptor() : -1; }
    bool arm() noexcept {
        if (forked() || links_.leaving() != 0 || (!takes_.empty() && takes_.read_all(links_))) return false;
        links_.tell_slots();
        return detail::ask_for_ring(links_.sleeping(), [this] { return has_news(); });
    }
    void disarm() {
        if (forked()) return; // the word and the queue belong to the parent
        links_.sleeping().store(0, std::memory_order_relaxed);
        links_.look();
    }

private:
    using link = detail::shared_link;

    shared_memory(detail::shared_join&& made, rank_t rank, const detail::segment_layout& layout,
                  std::uint32_t eager_bytes, bool& whole)
        : cores_(made.cores()), common_bytes_(layout.common_bytes), costs_(made.read_costs()),
          mine_(std::move(made.mine), std::move(made.file), layout),
          links_(made, rank, layout, mine_.data(), eager_bytes, whole), sends_(layout.ranks),
          takes_(layout.ranks, costs_.direct_ns_per_byte * (oversubscribed() ? 8 : 1)),
          patience_(oversubscribed(), detail::register_barriers()),
          late_patience_(oversubscribed(), patience_.has_barriers(), late_yields_ns) {}

    template <class W>
    static shared_memory checked(W& wire, const shared_memory_options& options) {
        status result;
        std::optional<shared_memory> made = join(wire, options, result);
        detail::throw_if(result);
        return std::move(*made);
    }

    void free_slot(link& l, std::uint32_t index) noexcept {
        if (l.in.release(index))
            links_.nudge(l);
        else
            links_.owe_slots();
    }
    static std::uint32_t slot_of(std::uint64_t handle) noexcept {
        return static_cast<std::uint32_t>(handle % detail::most_slots);
    }
    // Whether poll() would find something, or there is new room for a post that was refused.
    BOUGH_COLD bool has_news() noexcept { return links_.has_news() || takes_.has_news(); }
    // Whether a payload in its sender's private memory is read directly now: it is long enough, or the sender
    // was silent lately.
    static bool reads_now(link& l, std::uint64_t bytes, std::uint64_t direct_from) noexcept {
        return detail::taken_way(bytes, l.process.reads_it, direct_from) == protocol::direct ||
               (l.process.reads_it && l.silence.counts());
    }

    // About what a sleep and a wake-up cost. A rank that stays awake for that long before it sleeps uses
    // at most twice the time of the better choice (Karlin, Li, Manasse, Owicki 1991).
    static constexpr std::uint64_t late_yields_ns = 20'000;

    std::uint32_t cores_, idle_polls_ = 0;
    std::uint32_t arrivals_ = 0; // messages that this rank has been told of
    std::uint64_t common_bytes_;
    std::uint32_t forks_ = detail::forks();
    detail::read_costs costs_;
    detail::shared_pieces mine_;
    detail::shared_links links_;
    detail::shared_long_sends sends_;
    detail::shared_long_takes takes_;
    detail::shared_patience patience_, late_patience_;
};

static_assert(PollsPeers<shared_memory> && WaitableTransport<shared_memory> && PiecewiseTransport<shared_memory> &&
              SaysWays<shared_memory> && SharesMemory<shared_memory> && WaitsForLate<shared_memory>);

template <WireUp W>
std::optional<shared_memory> shared_memory::join(W& wire, const shared_memory_options& options, status& result) {
    std::optional<shared_memory> made;
    join_room room(wire, options.join_timeout_ns, format);
    result = room.run([&]() -> status {
        if (const status bad = detail::check(options)) return bad;
        const detail::segment_layout layout = detail::layout_of(wire.size(), options);
        const std::uint32_t eager_bytes = options.eager_bytes != 0 ? options.eager_bytes : layout.area_bytes / 2;
        detail::shared_join joined(wire.rank(), layout, options.cores, options.direct_reads);
        if (const status bad = joined.run(room)) return bad;
        bool whole = true;
        made.emplace(shared_memory(std::move(joined), wire.rank(), layout, eager_bytes, whole));
        return whole ? status{} : status{.code = errc::no_resources};
    });
    if (result) made.reset();
    return made;
}

} // namespace bough

#if defined(BOUGH_COMPILED_TEMPLATE)
#include <bough/compiled/shared_memory.hpp> // as the last line, where the transport is complete
#endif
#endif
