// SPDX-License-Identifier: BSL-1.0
// The sender's side of a ring between two processes. The ring lies in the receiver's segment. What
// the sender relies on lies here, in its own memory. So whatever the other side writes, nothing is
// read or written outside of the ring.
//
// A payload of up to 88 bytes travels in its slot. A payload of up to eager_bytes is copied to the
// ring's area, a ring buffer. A longer one stays where it is, and the slot says where.
// If it lies in the sender's segment, it is read in place. If it lies in private memory, the
// receiver reads it through the kernel, or asks for it to be staged: the sender copies it out piece by
// piece.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_SENDER_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_SENDER_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/shared_memory/ways.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Where a long message lies. These stand in place of a length, and are larger than any payload in
// the area can be. The payload of the slot has two numbers: a place and the number of bytes.
inline constexpr std::uint32_t in_segment = 0xffff'fffdu; // place: offset in the sender's segment
// place: address in the sender's process; may be staged, too.
inline constexpr std::uint32_t in_private = 0xffff'fffeu;
// place: not used; the receiver cannot read it directly.
inline constexpr std::uint32_t to_be_staged = 0xffff'ffffu;

class shared_sender {
public:
    shared_sender() = default;
    shared_sender(const ring_view& ring, std::uint32_t eager_bytes)
        : ring_(ring), eager_bytes_(std::min(eager_bytes, ring.area_bytes / 2)), area_(ring.mask + 1),
          notes_(std::min(ring.mask + 1, most_lent)) {}

    std::uint32_t eager_bytes() const noexcept { return eager_bytes_; }
    // Whether the next push finds a slot: the ring is not full, and the place among the long messages
    // is free that this slot has.
    bool has_room() noexcept {
        if (tail_ - consumed_seen_ > ring_.mask && !refresh()) return false;
        return is_free(lent_at(tail_ & ring_.mask));
    }

    // Whether a push that was refused may be accepted now.
    bool has_new_room() noexcept {
        if (area_.was_full) (void)refresh();
        return has_room() && (!area_.was_full || consumed_seen_ != area_.full_at);
    }

    // Sends a payload that is copied. Pre: bytes.size() <= eager_bytes(). False: there is no room.
    bool push(const envelope& tag, std::span<const std::byte> bytes) noexcept {
        if (!has_room()) return area_.was_full = false;
        slot& s = ring_.slots[tail_ & ring_.mask];
        if (sent_way(bytes.size(), eager_bytes_) == protocol::in_line)
            s.put(bytes);
        else if (!put_in_area(s, bytes))
            return false;
        finish(s, tag, static_cast<std::uint32_t>(bytes.size()));
        return true;
    }
    // Sends a payload that stays where it is. `where`: in_segment, in_private or to_be_staged;
    // `place`: the offset or the address. False: there is no room.
    bool push_long(const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id, std::uint32_t where,
                   std::uint64_t place) noexcept {
        if (!has_room()) return area_.was_full = false;
        slot& s = ring_.slots[tail_ & ring_.mask];
        const std::uint32_t index = lent_at(tail_ & ring_.mask);
        const std::uint64_t said[2] = {place, bytes.size()};
        std::memcpy(s.payload, said, sizeof said);
        note& n = notes_[index];
        n.id = id;
        n.where = where;
        n.data = bytes.data();
        n.bytes = bytes.size();
        n.staged = 0;
        n.ticket = tail_ + 1;
        state(index).store(lent::open, std::memory_order_relaxed);
        open_ |= std::uint64_t{1} << index;
        held_ |= std::uint64_t{1} << index;
        finish(s, tag, where);
        return true;
    }

    // The next message will follow soon, and be as short as the last one.
    void own_ahead() noexcept {
        const std::uint32_t last = ring_.slots[(tail_ - 1) & ring_.mask].length;
        if (last <= short_bytes) ring_.slots[tail_ & ring_.mask].own_ahead(last > one_line_bytes);
    }

    // Announces the ring to the receiver, which does not look into it before.
    void open() noexcept { ring_.head->opened.store(1, std::memory_order_release); }

    bool has_open() const noexcept { return open_ != 0; }
    // Whether acknowledged() or stage() would find something to do. Asked before sleeping.
    bool has_news() noexcept {
        for (std::uint64_t open = open_; open != 0; open &= open - 1) {
            const lent now = state_of(open);
            if (deserted_ || (detached_ & open & (~open + 1)) != 0 || !is_under_way(open, now) ||
                (now == lent::wanted && can_stage() && unstaged(open)))
                return true;
        }
        return false;
    }
    // Reports the end of long messages: the receiver has read them, they were taken back, or their
    // receiver is lost.
    std::size_t acknowledged(rank_t peer, std::span<event> events) noexcept {
        std::size_t found = 0;
        for (std::uint64_t open = open_; open != 0 && found != events.size(); open &= open - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(open));
            const std::uint64_t bit = std::uint64_t{1} << index;
            const lent now = deserted_ ? lent::deserted : (detached_ & bit) != 0 ? lent::taken_back : state_of(open);
            if (is_under_way(open, now)) continue;
            open_ &= ~bit;
            detached_ &= ~bit;
            event& e = events[found++];
            e = {};
            e.what = event::kind::complete;
            e.code = now == lent::done         ? errc::ok
                     : now == lent::taken_back ? errc::cancelled
                     : now == lent::deserted   ? errc::peer_dead
                                               : errc::protocol_error;
            e.peer = peer;
            e.id = notes_[index].id;
        }
        return found;
    }

    // Takes a message back; if that is too late, it ends with the usual event. False: there is no
    // such message. A message in the segment that is being read in place cannot be taken back
    // directly. Then `detach(bytes, ticket)` may take its pages out of the segment. Whether the
    // message lies there is noted here, so the receiver cannot lie about it.
    template <class F>
    bool cancel(std::uint64_t id, F&& detach) {
        for (std::uint64_t open = open_; open != 0; open &= open - 1) {
            const auto index = static_cast<std::uint32_t>(std::countr_zero(open));
            if (notes_[index].id != id) continue;
            const note& n = notes_[index];
            if (!take_back(index) && n.where == in_segment && state_of(open) == lent::claimed &&
                detach(std::span(n.data, static_cast<std::size_t>(n.bytes)), n.ticket))
                detached_ |= std::uint64_t{1} << index;
            return true;
        }
        return false;
    }
    // Takes back all messages that are open, because the sender goes away.
    void cancel_all() noexcept {
        for (std::uint64_t open = open_; open != 0; open &= open - 1)
            take_back(static_cast<std::uint32_t>(std::countr_zero(open)));
    }
    // Whether the receiver will not look again at the message with this ticket. Pre: it was pushed.
    bool is_released(std::uint32_t ticket) noexcept {
        refresh();
        return consumed_seen_ - ticket < 1u << 31;
    }
    // Takes note that there is no receiver any more.
    void desert() noexcept { deserted_ = true; }

    // Copies out pieces of messages that the receiver wants in pieces, no more than there is room for at a
    // time. True: something has changed for the receiver.
    bool stage() noexcept {
        bool moved = false;
        std::uint32_t left = stage_pieces;
        for (std::uint64_t open = open_; open != 0 && left != 0 && can_stage();) {
            if (state_of(open) != lent::wanted || !unstaged(open)) {
                open &= open - 1;
                continue;
            }
            note& n = notes_[static_cast<std::uint32_t>(std::countr_zero(open))];
            const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
                n.bytes - n.staged, piece_bytes_of(static_cast<std::uint32_t>(std::countr_zero(open)))));
            std::memcpy(ring_.piece(pieces_), n.data + n.staged, bytes);
            n.staged += bytes;
            stage_line& line = ring_.head->stage[pieces_ % stage_pieces];
            line.ticket = n.ticket;
            line.bytes = bytes;
            line.sequence.store(++pieces_, std::memory_order_release);
            moved = true;
            --left;
        }
        return moved;
    }

private:
    // A sender whose messages are taken soon stays within so many bytes of the area, which are in the caches. And
    // memory that it has never written to costs a page fault on either side.
    static constexpr std::uint64_t near_bytes = 16'384;

    // How far the area is in use. Positions grow until the sender begins again.
    struct area_use {
        area_use() = default;
        explicit area_use(std::uint32_t slots) : ends(slots) {}
        std::vector<std::uint64_t> ends;    // the position behind the payload of each slot's message
        std::uint64_t used = 0, free = 0;   // positions up to which it is filled, and free again
        std::uint64_t look_at = near_bytes; // the position from which on it may begin again at its start
        bool was_full = false;              // the last payload that was to be copied found no room
        std::uint32_t full_at = 0;          // how many slots had been consumed then
    };
    struct note { // of a long message
        std::uint64_t id = 0;
        const std::byte* data = nullptr;
        std::uint64_t bytes = 0;
        std::uint64_t staged = 0; // how many bytes have been copied out
        std::uint32_t where = 0;
        std::uint32_t ticket = 0;
    };

    // Has the last long message of this place ended, has that been polled, and has its receiver released
    // the slot? Until then the receiver may look at its state, even if it was taken back.
    bool is_free(std::uint32_t index) noexcept {
        const std::uint64_t bit = std::uint64_t{1} << index;
        if ((open_ & bit) != 0) return false;
        if ((held_ & bit) != 0 && is_released(notes_[index].ticket)) held_ &= ~bit;
        return (held_ & bit) == 0;
    }
    std::atomic<lent>& state(std::uint32_t index) noexcept { return ring_.head->states[index]; }
    lent state_of(std::uint64_t open) noexcept {
        return state(static_cast<std::uint32_t>(std::countr_zero(open))).load(std::memory_order_acquire);
    }
    // Whether a message is neither over nor in an impossible state. A receiver can read in place
    // only what lies in the segment, and can want in pieces only what lies elsewhere.
    bool is_under_way(std::uint64_t open, lent now) const noexcept {
        const std::uint32_t where = notes_[static_cast<std::uint32_t>(std::countr_zero(open))].where;
        return now == lent::open || (now == lent::claimed && where == in_segment) ||
               (now == lent::wanted && where != in_segment);
    }
    bool take_back(std::uint32_t index) noexcept {
        for (const lent from : {lent::open, lent::wanted}) {
            lent expected = from;
            if (state(index).compare_exchange_strong(expected, lent::taken_back, std::memory_order_acq_rel))
                return true;
        }
        return false;
    }
    void finish(slot& s, const envelope& tag, std::uint32_t length) noexcept {
        s.length = length;
        s.tag = tag;
        area_.ends[tail_ & ring_.mask] = area_.used;
        s.sequence.store(++tail_, std::memory_order_release);
    }
    // The area is a ring buffer in which each payload lies in one piece.
    bool put_in_area(slot& s, std::span<const std::byte> bytes) noexcept {
        if (area_.used >= area_.look_at) begin_again();
        const std::uint64_t length = (bytes.size() + 63) / 64 * 64;
        std::uint64_t begin = area_.used;
        if (begin % ring_.area_bytes + length > ring_.area_bytes) begin += ring_.area_bytes - begin % ring_.area_bytes;
        area_.was_full = begin + length - area_.free > ring_.area_bytes &&
                         (!refresh() || begin + length - area_.free > ring_.area_bytes);
        area_.full_at = consumed_seen_;
        if (area_.was_full) return false;
        const auto offset = static_cast<std::uint32_t>(begin % ring_.area_bytes);
        std::memcpy(ring_.area + offset, bytes.data(), bytes.size());
        std::memcpy(s.payload, &offset, sizeof offset);
        area_.used = begin + length;
        return true;
    }
    // Goes back to the start of the area if all of it is free.
    void begin_again() noexcept {
        (void)refresh();
        if (area_.free != area_.used) return void(area_.look_at = area_.used + near_bytes / 4);
        for (std::uint32_t t = consumed_seen_; t != tail_; ++t)
            area_.ends[t & ring_.mask] = 0; // they lie in their slots
        area_.used = area_.free = 0;
        area_.look_at = near_bytes;
    }
    // Learns what the receiver has released. False: nothing new, or a count that cannot be.
    bool refresh() noexcept {
        const std::uint32_t consumed = ring_.head->consumed.load(std::memory_order_acquire);
        if (consumed == consumed_seen_ || tail_ - consumed > tail_ - consumed_seen_) return false;
        consumed_seen_ = consumed;
        area_.free = area_.ends[(consumed - 1) & ring_.mask];
        return true;
    }
    bool can_stage() const noexcept {
        return pieces_ - ring_.head->unstaged.load(std::memory_order_acquire) < stage_pieces;
    }
    // How long the pieces of a message are that its receiver has asked for. What it wrote is read once.
    std::uint32_t piece_bytes_of(std::uint32_t index) const noexcept {
        const std::uint32_t grain = ring_.head->grains[index].load(std::memory_order_relaxed);
        return grain < 2 || grain > ring_.piece_bytes ? ring_.piece_bytes : ring_.piece_bytes / grain * grain;
    }
    bool unstaged(std::uint64_t open) const noexcept {
        const note& n = notes_[static_cast<std::uint32_t>(std::countr_zero(open))];
        return n.staged != n.bytes;
    }

    ring_view ring_;
    std::uint32_t eager_bytes_ = 0;
    std::uint32_t tail_ = 0;
    std::uint32_t consumed_seen_ = 0;
    std::uint64_t open_ = 0;     // long messages that have not ended, by place
    std::uint64_t held_ = 0;     // those whose receiver may still look at their state
    std::uint64_t detached_ = 0; // those of them that were taken back while they were being read
    area_use area_;
    std::vector<note> notes_;  // of long messages, by place
    std::uint32_t pieces_ = 0; // how many pieces were staged, of all messages
    bool deserted_ = false;
};

} // namespace bough::detail

#endif
