// SPDX-License-Identifier: BSL-1.0
// Early messages: those that come before this rank has started their operation.
//
// They stay where they landed. The transport's slots bound their number, and a sender without a
// free slot is told would_block. When a sender has several there, they are copied out, so that they
// do not hold up messages of another communicator. Copies have a cap in bytes, per peer and per
// group; beyond it messages stay where they are.
//
// There are two more occasions to copy. One is when a message of a started operation comes behind them,
// as a transport may free its slots only in the order in which they were filled. The other is when
// nothing comes for a while, as such a message may be waiting for a slot; then messages that operations
// in flight hold are copied out, too. So are early ones whose payload is still with their sender: it is
// taken into memory of this class. That may need further polls; until its end, the messages of that call
// stay here, even if its operation has started.
//
// Copies allocate, and their memory is kept for later ones, up to early_limits::kept_bytes. So there
// is one allocation whenever more messages are early at a time than ever before, and none otherwise.
// Nothing else in a session allocates once its plans are bound. What a message costs does not depend
// on how many wait (early_list.hpp).
#ifndef BOUGH_SESSION_UNEXPECTED_HPP
#define BOUGH_SESSION_UNEXPECTED_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/moved_list.hpp>
#include <bough/engine/engine.hpp>
#include <bough/session/early_list.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Equal on all ranks, as each takes those of its peers to be its own: a rank whose limits are lower may
// not have the room on which its peers count, and calls end by their deadline.
struct early_limits {
    // Messages of one sender that stay in the transport uncopied.
    std::uint32_t in_place = 4;
    std::uint64_t bytes_per_peer = std::uint64_t{4} << 20; // copies of one sender's messages
    // Copies in all. Each sender has a share of half of it (share()), which others leave to it. What is
    // beyond the shares is never more than this, so all copies are never more than half as much again.
    // Operations get copies beyond the shares while all copies are no more than this. So do early messages,
    // and they also get them while early copies are no more than half of this. Copies of one sender's
    // messages that operations have, and cannot use yet, count apart: they may be half of this, or
    // bytes_per_peer if that is more. With few slots there should be room for the longest of them.
    std::uint64_t bytes = std::uint64_t{64} << 20;
    // Memory of used copies that is kept for later ones.
    std::uint64_t kept_bytes = std::uint64_t{2} << 20;

    // Copies of one sender's messages for which there is room whatever there is of others. That is how much
    // a sender sends ahead of its peer (ahead.hpp).
    constexpr std::uint64_t share(rank_t ranks) const noexcept { return std::min(bytes_per_peer, bytes / ranks) / 2; }
};

// What an early message takes beside its payload: at most so many bytes.
inline constexpr std::uint64_t early_message_bytes = 256;

// Wraps the part of a transport that reads arrivals, so that copies look like arrivals.
template <Transport T>
class unexpected_messages {
public:
    // It must outlive the transport, which may still write to its memory.
    unexpected_messages(T& transport, rank_t ranks, const early_limits& limits)
        : transport_(transport), limits_(limits), share_(limits.share(ranks)), waiting_(ranks) {
        static_assert(cost(0) <= early_message_bytes, "bough: a sender counts no less than its message takes here");
        copies_.reserve(32);
        free_.fill(none);
    }

    bool empty() const noexcept { return waiting_.empty(); }
    std::size_t size() const noexcept { return waiting_.size(); }
    std::uint64_t copied_bytes() const noexcept { return copied_; }
    // Since it was made.
    std::uint64_t allocations() const noexcept { return allocations_ + waiting_.allocations(); }

    // Keeps a message. If there is no memory to remember it, nothing has happened.
    void keep(const event& e) {
        detail::early_message& m = waiting_.append(e, !is_copy(e.id));
        if (is_copy(e.id)) {
            copy& c = copy_of(e.id);
            count_as(c, true);
            if (c.is_under_way) m.under_way = true, c.message = &m;
        }
        // Copies all of this sender's, so that slots become free in the order in which they were filled.
        if (waiting_.peer(e.peer).in_place > limits_.in_place) overtaken(e.peer);
    }

    // Call when a message of this peer has come that can be used already, as the next one may be,
    // too.
    void overtaken(rank_t peer) {
        if (!InPlaceTransport<T>) return;
        for (detail::early_message* m = waiting_.first_of(peer); m != nullptr;) {
            detail::early_message* const next = m->after_of_peer;
            copy_out(*m);
            m = next;
        }
    }

    // Copies out all early messages, so that they hold up nothing. Call it when nothing comes. `fetches`:
    // takes those, too, whose payload is with their sender.
    void copy_all(bool fetches) {
        if (!InPlaceTransport<T> || waiting_.in_place() == 0) return;
        for (detail::early_message* m = waiting_.first(); m != nullptr; m = m->after) {
            if (!m->in_place) continue;
            if (is_here(m->what))
                copy_out(*m);
            else if (fetches && m->what.envelope.segment < first_of_session)
                fetch(*m);
        }
    }
    // Is this event the end of a take of this class?
    static bool owns(const event& e) noexcept { return e.id >> 32 == id_mark; }
    // True: messages of this call may be used that could not be used before. Pre: owns(e).
    bool taken(const event& e, envelope& call) {
        const std::uint64_t handle = first_copy + static_cast<std::uint32_t>(e.id);
        copy& ended = copy_of(handle);
        ended.is_under_way = false;
        ended.is_void = e.code != errc::ok;
        detail::early_message* const m = std::exchange(ended.message, nullptr);
        if (ended.is_dropped) release(handle);
        if (m == nullptr) return false;
        m->under_way = false;
        call = m->what.envelope;
        return true;
    }
    // Are there messages of this call?
    bool has(const envelope& call) const noexcept { return waiting_.find(call) != nullptr; }
    // Copies out a message that an operation holds. If its payload is with its sender, and `fetches`,
    // take() gives it later.
    void detach(held_message& held, bool fetches) {
        if (!InPlaceTransport<T> || is_copy(held.handle)) return;
        event e;
        e.peer = held.peer;
        e.id = held.handle;
        e.data = held.data;
        e.bytes = held.bytes;
        const bool is_read = is_here(e);
        if (is_read ? !copy_out(e, false) : !fetches || fetch(e, false) == none) return;
        const std::uint64_t landed = std::exchange(held.handle, e.id);
        held.data = copy_of(e.id).is_under_way ? nullptr : e.data;
        if (is_read) transport_.release(landed);
    }
    // The upper half of the ids of its takes; and the first segment of messages that belong to no step of
    // an operation (control.hpp).
    static constexpr std::uint32_t id_mark = 0xffff'fffdu, first_of_session = 0xffff'fff2u;

    template <class F>
    std::size_t count(F&& wanted) const {
        std::size_t n = 0;
        for (const detail::early_message* m = waiting_.first(); m != nullptr; m = m->after)
            n += wanted(m->what) ? 1u : 0u;
        return n;
    }
    // Takes out the first message for which `wanted(event)` holds.
    template <class F>
    bool next(event& e, F&& wanted) {
        for (detail::early_message* m = waiting_.first(); m != nullptr; m = m->after)
            if (wanted(std::as_const(m->what))) return e = take_out(*m), true;
        return false;
    }
    // Takes out the first message of this call, unless its payload is under way.
    bool next_of(event& e, const envelope& call) {
        detail::early_message* const m = waiting_.find(call);
        if (m == nullptr || m->under_way) return false;
        e = take_out(*m);
        return true;
    }
    template <class F>
    bool any(F&& wanted) const {
        return count(wanted) != 0;
    }
    // Releases the messages for which `unwanted(event)` holds.
    template <class F>
    std::uint64_t drop(F&& unwanted) {
        std::uint64_t dropped = 0;
        for (event e; next(e, unwanted); ++dropped) release(e.id);
        return dropped;
    }

    // Like the transport's functions, but for arrivals and for copies.
    void release(std::uint64_t handle) {
        if (!is_copy(handle)) return transport_.release(handle);
        copy& ended = copy_of(handle);
        if (ended.is_under_way) { // taken() will release it
            ended.is_dropped = true;
            return;
        }
        tally(ended, false);
        if (kept_ + ended.bytes.capacity() > limits_.kept_bytes) ended.bytes = {};
        put_back(static_cast<std::uint32_t>(handle - first_copy));
    }
    bool claim(std::uint64_t handle) {
        if constexpr (InPlaceTransport<T>)
            return is_copy(handle) ? !copy_of(handle).is_void : transport_.claim(handle);
        else
            return true;
    }
    // would_block: its payload is under way to a copy.
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return is_copy(handle) ? take_copy(handle, into) : transport_.take(handle, into, id);
    }
    // Pre: a message whose payload was with its sender.
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) {
        if constexpr (PiecewiseTransport<T>)
            if (!is_copy(handle)) return transport_.take_pieces(handle, grain, id);
        return posted::would_block;
    }

private:
    // Handles of transports are below 2^63.
    static constexpr std::uint64_t first_copy = std::uint64_t{1} << 63;
    static constexpr bool is_copy(std::uint64_t handle) noexcept { return handle >= first_copy; }

    static constexpr std::uint32_t none = 0xffff'ffffu;

    struct copy {
        rank_t peer = no_rank;
        std::uint32_t next_free = none;
        std::uint64_t used = 0;                   // bytes of the message
        std::vector<std::byte> bytes;             // a power of two; empty: it has no memory
        bool is_early = true;                     // or an operation has the message
        bool is_under_way = false;                // the transport still writes to it
        bool is_dropped = false;                  // it is to be released when that has ended
        bool is_void = false;                     // the payload has not come: its sender took it back
        detail::early_message* message = nullptr; // whose payload is under way; null: it is no early one
    };
    copy& copy_of(std::uint64_t handle) noexcept { return copies_[static_cast<std::uint32_t>(handle - first_copy)]; }

    // Adds the bytes of a copy to the sums, or takes them away.
    void tally(const copy& c, bool adds) {
        const std::uint64_t bytes = adds ? cost(c.used) : 0 - cost(c.used); // modulo 2^64
        auto& peer = waiting_.peer(c.peer);
        const std::uint64_t had = within_share(peer);
        copied_ += bytes;
        if (c.is_early) early_ += bytes;
        (c.is_early ? peer.early_bytes : peer.held_bytes) += bytes;
        shares_ += within_share(peer) - had;
    }
    template <class P>
    std::uint64_t within_share(const P& peer) const noexcept {
        return std::min(peer.early_bytes + peer.held_bytes, share_);
    }
    // From now on the copy counts as one of an early message, or as one that an operation has.
    void count_as(copy& c, bool early) {
        if (c.is_early == early) return;
        tally(c, false);
        c.is_early = early;
        tally(c, true);
    }
    event take_out(detail::early_message& m) {
        if (is_copy(m.what.id)) count_as(copy_of(m.what.id), false);
        if (std::exchange(m.under_way, false)) copy_of(m.what.id).message = nullptr;
        return waiting_.take_out(m);
    }

    // The memory of a copy, with its bookkeeping.
    static constexpr std::uint64_t cost(std::uint64_t bytes) noexcept { return bytes + sizeof(copy) + sizeof(event); }

    // Which of the free lists has copies of at least so many bytes.
    static constexpr std::size_t list_for(std::uint64_t bytes) noexcept {
        return bytes == 0 ? 0 : bytes <= 64 ? 1 : static_cast<std::size_t>(std::bit_width(bytes - 1) - 5);
    }
    void put_back(std::uint32_t at) noexcept {
        const std::size_t list = list_for(copies_[at].bytes.size());
        kept_ += copies_[at].bytes.capacity();
        copies_[at].is_void = copies_[at].is_dropped = false;
        copies_[at].next_free = std::exchange(free_[list], at);
    }
    // A copy that is free, with memory for so many bytes. It stays free if memory runs out.
    std::uint32_t free_copy(std::uint64_t bytes) {
        const std::size_t needed = list_for(bytes);
        std::size_t list = needed;
        // Memory of up to 8 times as much will do; larger ones remain for larger messages.
        while (list != needed + 3 && list + 1 != free_.size() && free_[list] == none) ++list;
        if (bytes == 0 || free_[list] == none) list = 0;
        if (free_[list] == none) {
            allocations_ += copies_.size() == copies_.capacity();
            copies_.emplace_back();
            put_back(static_cast<std::uint32_t>(copies_.size() - 1));
        }
        copy& found = copies_[free_[list]];
        if (list == 0 && bytes != 0) {
            std::vector<std::byte> made(std::size_t{32} << needed);
            ++allocations_;
            found.bytes = std::move(made);
        } else {
            kept_ -= found.bytes.capacity();
        }
        return std::exchange(free_[list], found.next_free);
    }

    // Copies a message out. It stays where it is if there is no memory for a copy. What release() throws comes
    // last: the message is released all the same, and its copy is here.
    void copy_out(detail::early_message& m) {
        const std::uint64_t landed = m.what.id;
        if (!copy_out(m.what, true)) return;
        waiting_.leaves_transport(m);
        transport_.release(landed);
    }
    // False: it stays. True: the caller releases it.
    bool copy_out(event& e, bool is_early) {
        const std::uint32_t at = is_here(e) ? copy_for(e, is_early) : none;
        if (at == none) return false;
        copies_[at].is_void = !claim(e.id); // its sender took it back; a later claim will say so again
        if (e.bytes != 0 && !copies_[at].is_void)
            std::memcpy(copies_[at].bytes.data(), e.data, static_cast<std::size_t>(e.bytes));
        becomes_copy(e, at, is_early);
        return true;
    }
    // The same for a message whose payload is with its sender.
    BOUGH_COLD void fetch(detail::early_message& m) {
        const std::uint32_t at = fetch(m.what, true);
        if (at == none) return;
        waiting_.leaves_transport(m);
        if (!copies_[at].is_under_way) return;
        m.under_way = true;
        copies_[at].message = &m;
    }
    // Which copy it is now; none: it stays.
    BOUGH_COLD std::uint32_t fetch(event& e, bool is_early) {
        const std::uint32_t at = copy_for(e, is_early);
        if (at == none) return none;
        posted result = posted::would_block;
        detail::ignore_exceptions([&] {
            result = transport_.take(e.id, std::span(copies_[at].bytes).first(static_cast<std::size_t>(e.bytes)),
                                     std::uint64_t{id_mark} << 32 | at);
        });
        if (result == posted::would_block) return put_back(at), none; // memory has run out
        copies_[at].is_under_way = result == posted::pending;
        copies_[at].is_void = result == posted::failed;
        if (copies_[at].is_void) detail::ignore_exceptions([&] { transport_.release(e.id); }); // a claim will tell
        becomes_copy(e, at, is_early);
        return at;
    }
    BOUGH_COLD posted take_copy(std::uint64_t handle, std::span<std::byte> into) {
        const copy& c = copy_of(handle);
        if (c.is_under_way) return posted::would_block;
        if (c.is_void) return posted::failed;
        if (!into.empty()) std::memcpy(into.data(), c.bytes.data(), into.size());
        release(handle);
        return posted::complete;
    }
    // Or is its payload with its sender?
    static bool is_here(const event& e) noexcept { return e.data != nullptr || e.bytes == 0; }
    std::uint64_t most_of_held() const noexcept { return std::max(limits_.bytes_per_peer, limits_.bytes / 2); }
    // Do the limits allow one more copy of so many bytes? What is within the shares takes no more than half
    // of limits_.bytes, and the rest no more than all of it.
    template <class P>
    bool has_room(const P& peer, std::uint64_t bytes, bool is_early) const noexcept {
        if (peer.early_bytes + peer.held_bytes + bytes <= share_) return true;
        const bool in_all = copied_ + bytes <= limits_.bytes;
        if (!is_early) return in_all && peer.held_bytes + bytes <= most_of_held();
        return (in_all || (early_ + bytes <= limits_.bytes / 2 && copied_ - shares_ + bytes <= limits_.bytes)) &&
               peer.early_bytes + bytes <= limits_.bytes_per_peer;
    }
    // A copy that is free, with memory for this message. none: it would be too much, or there is no
    // memory.
    std::uint32_t copy_for(const event& e, bool is_early) noexcept {
        const std::uint64_t bytes = cost(e.bytes);
        std::uint32_t found = none;
        detail::ignore_exceptions([&] {
            if (has_room(waiting_.peer(e.peer), bytes, is_early)) found = free_copy(e.bytes);
        });
        return found;
    }
    void becomes_copy(event& e, std::uint32_t at, bool is_early) noexcept {
        copy& made = copies_[at];
        made.peer = e.peer;
        made.used = e.bytes;
        made.is_early = is_early;
        tally(made, true); // the sender is known: it allocates nothing
        e.id = first_copy + at;
        e.data = made.bytes.data();
    }

    T& transport_;
    early_limits limits_;
    std::uint64_t share_; // of a sender
    detail::early_list waiting_;
    detail::moved_list<copy> copies_;
    std::array<std::uint32_t, 60> free_;   // copies that are not in use, by list_for() their memory
    std::uint64_t kept_ = 0;               // bytes of memory that those have
    std::uint64_t copied_ = 0, early_ = 0; // bytes; those of early messages are part of both
    std::uint64_t shares_ = 0;             // of copied_: what is within the shares of its senders
    std::uint64_t allocations_ = 0;
};

} // namespace bough

#endif
