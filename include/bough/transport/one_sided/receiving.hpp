// SPDX-License-Identifier: BSL-1.0
// The receiver's side of the message protocol over remote writes: arrivals, credits, and the places
// where long messages are wanted.
#ifndef BOUGH_TRANSPORT_ONE_SIDED_RECEIVING_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_RECEIVING_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/transport/one_sided/sending.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RemoteWriteTransport X, class Protocol>
class one_sided_receiving : protected one_sided_sending<X, Protocol> {
protected:
    using sending = one_sided_sending<X, Protocol>;
    using sending::ordered, sending::long_mark;
    using sending::sending;
    using typename sending::counter, typename sending::incoming, typename sending::lane;

    static constexpr std::uint64_t silence_ns = 100'000'000;
    // A thread that was delayed must look before it gives up.
    static constexpr std::uint32_t least_looks = 64;

    // Which way a message goes that is taken to memory of no special kind.
    protocol way_of(rank_t, std::size_t bytes, bool) const noexcept {
        return one_sided_way(bytes, this->static_bytes_, this->places_.exposes(bytes));
    }
    bool goes_in_block(std::size_t bytes) const noexcept {
        return one_sided_way(bytes, this->static_bytes_, false) == protocol::copied;
    }

    std::uint32_t state_of(const lane& l, std::uint32_t i) const noexcept {
        std::uint64_t word = 0;
        return this->says(l.here + this->layout_.state_at(i), l.incoming[i].ticket, &word) ? lower(word) : 0;
    }
    BOUGH_ALWAYS_INLINE bool peek(lane& l, event& e) {
        std::uint64_t word = 0;
        return this->has_come(l.in, word, this->layout_.block_bytes) && accept(l, e, lower(word));
    }
    bool accept(lane& l, event& e, std::uint32_t length) {
        if (l.broken || (length > this->layout_.block_bytes && length != long_mark) ||
            l.in.seen - l.in.order.freed() > l.in.mask) // without a credit: the block is still in use
            return this->broken(l), false;
        const std::uint32_t i = l.in.index();
        const std::byte* end = l.in.tail_of(i);
        incoming& n = l.incoming[i];
        n.now = incoming::phase::short_;
        n.bytes = length;
        n.data = end - length;
        e.what = event::kind::arrived;
        e.code = errc::ok;
        e.peer = l.peer;
        e.id = l.handle | i;
        std::memcpy(&e.envelope, end, sizeof(envelope));
        if (length == long_mark) expect_long(l, i, end - sizeof(one_sided_announcement));
        e.bytes = n.bytes;
        e.data = n.data;
        l.in.advance();
        if (Protocol::in_need && l.in.seen - l.in.credited > l.in.mask && l.in.order.freed() != l.in.credited)
            credit(l); // the sender has no block left, and does not know yet which are free again
        return true;
    }
    BOUGH_COLD static void expect_long(lane& l, std::uint32_t i, const std::byte* said) noexcept {
        one_sided_announcement announced;
        std::memcpy(&announced, said, sizeof announced);
        incoming n;
        n.now = incoming::phase::announced;
        n.bytes = announced.bytes;
        n.ticket = announced.ticket;
        l.incoming[i] = n;
    }
    BOUGH_COLD void want(lane& l, std::uint32_t i, std::uint32_t kind, const exposure& to = {}) {
        incoming& n = l.incoming[i];
        n.want.to = to;
        n.want.word = make_word(n.ticket, kind);
        n.want.digest = digest_of(to, n.want.word);
        n.stop = said(make_word(n.ticket, 0));
        l.want_due |= std::uint64_t{1} << i;
        l.using_ |= std::uint64_t{1} << i;
        this->make_busy(l);
        put_answers(l);
    }
    // Ends the exposure for this message. Must come before the caller is told that the memory is
    // free again.
    void conceal(incoming& n) {
        if constexpr (ExposingRemoteWrites<X>)
            if (n.exposed) this->x_.conceal(std::exchange(n.exposed, {}));
    }
    // When a take is cancelled whose message lands directly, this rank waits until the sender says
    // that it will not write there any more. A sender may never say so; after silence_ns this rank
    // waits no longer. Memory that was exposed for the message is then concealed. Other memory is
    // kept back, so that it is not used for something else (deallocate).
    bool is_silent(incoming& n) noexcept {
        const std::uint64_t now = this->x_.now_ns();
        if (n.patience_ns == 0) n.patience_ns = deadline_after(now, silence_ns);
        return ++n.looks >= least_looks && now >= n.patience_ns;
    }
    // Whether a sender for which this rank waits no longer may still write there.
    bool may_be_written(std::span<const std::byte> piece) const noexcept {
        for (const lane* l : this->busy_)
            for (std::uint64_t used = l->using_; used != 0; used &= used - 1) {
                const incoming& n = l->incoming[static_cast<std::uint32_t>(std::countr_zero(used))];
                if (n.given_up && n.now == incoming::phase::direct && lies_in({n.into, 1}, piece)) return true;
            }
        return false;
    }
    // The block may carry another message.
    void give_back(lane& l, std::uint32_t i) {
        l.incoming[i].now = incoming::phase::none;
        if (std::exchange(l.incoming[i].given_up, false))
            this->places_.free_kept([this](std::span<const std::byte> piece) { return may_be_written(piece); });
        const std::uint32_t due = l.in.order.release(i, l.in.mask) - l.in.credited;
        if (due >= this->batch_ || (Protocol::in_need && due != 0 && l.in.seen - l.in.credited > l.in.mask)) credit(l);
    }
    void credit(lane& l) {
        if (!l.gone && !put_credit(l)) this->make_busy(l);
    }
    // Writes a credit to the peer. False: it could not do so yet, or the put is not complete.
    bool put_credit(lane& l) {
        l.credit_due = true;
        if constexpr (!ordered) l.ask(l.credit_fence);
        if (l.credit_flying || !l.fenced(l.credit_fence) || ((l.want_due | l.stop_due) != 0)) return false;
        const std::uint32_t blocks = l.in.order.freed(), pieces = l.pieces_in.order.freed();
        l.credit = said(make_word(static_cast<counter>(pieces), static_cast<counter>(blocks)));
        const posted result = this->later([&] {
            return this->x_.put(l.peer, l.there, this->bytes_of_said(l.credit), {},
                                put_id(put_kind::credit, l.peer, 0));
        });
        if (result != posted::complete && result != posted::pending) return false;
        l.credit_due = false;
        l.credit_flying = result == posted::pending;
        l.in.credited = blocks;
        l.pieces_in.credited = pieces;
        // The next credit must not land before this one.
        if constexpr (!ordered) l.credit_fence = l.later_fence();
        return !l.credit_flying;
    }
    void put_answers(lane& l) {
        const auto put_all = [&](std::uint64_t& due, std::uint64_t& flying, std::uint64_t kind, auto&& at,
                                 auto&& what) {
            for (std::uint64_t now = due & ~flying; now != 0; now &= now - 1) {
                const auto i = static_cast<std::uint32_t>(std::countr_zero(now));
                const posted result = this->later([&] {
                    return this->x_.put(l.peer, this->there(l, at(i)), what(l.incoming[i]), {},
                                        put_id(kind, l.peer, i));
                });
                if (result != posted::complete && result != posted::pending) return;
                due &= ~(std::uint64_t{1} << i);
                if (result == posted::pending) flying |= std::uint64_t{1} << i;
                // The block's credit must not overtake it.
                if constexpr (!ordered) l.credit_fence = l.later_fence();
            }
        };
        put_all(
            l.want_due, l.want_flying, put_kind::want, [](std::uint32_t i) { return one_sided_layout::want_at(i); },
            [](const incoming& n) { return bytes_of(n.want); });
        put_all(
            l.stop_due, l.stop_flying, put_kind::stop, [this](std::uint32_t i) { return this->layout_.stop_at(i); },
            [](const incoming& n) { return sending::bytes_of_said(n.stop); });
    }
    BOUGH_COLD void take_pieces(lane& l) {
        for (std::uint64_t word = 0; !l.broken && this->has_come(l.pieces_in, word, this->layout_.piece_bytes);) {
            const std::uint32_t at = l.pieces_in.index(), length = lower(word);
            const std::byte* end = l.pieces_in.tail_of(at);
            envelope tag;
            std::memcpy(&tag, end, sizeof tag);
            const std::uint32_t i = tag.segment;
            if (length == 0 || length > this->layout_.piece_bytes || i > l.in.mask ||
                l.incoming[i].now != incoming::phase::pieces || l.incoming[i].ticket != tag.operation ||
                length > l.incoming[i].bytes - l.incoming[i].got)
                return this->broken(l);
            incoming& n = l.incoming[i];
            if (!n.cancelled) std::memcpy(n.into + n.got, end - length, length);
            n.got += length;
            l.pieces_in.advance();
            l.pieces_in.order.release(at, l.pieces_in.mask);
            credit(l);
        }
    }
    // Ends a message that was under way, as far as that is possible now.
    void settle(lane& l, std::uint32_t i) {
        incoming& n = l.incoming[i];
        const std::uint64_t bit = std::uint64_t{1} << i;
        bool end = l.reported;
        if (n.now == incoming::phase::unread) {
            end |= ((l.want_due | l.want_flying) & bit) == 0;
        } else {
            const std::uint32_t state = state_of(l, i);
            // The pieces that were put before the state.
            if (state == lent_state::taken_back) take_pieces(l);
            const bool all = n.now == incoming::phase::pieces ? n.got == n.bytes : state == lent_state::landed;
            end |= all || state == lent_state::taken_back;
            const bool silent = !end && n.cancelled && n.now == incoming::phase::direct && !n.told && is_silent(n);
            if ((end || silent) && !n.over && !n.told) {
                conceal(n);
                n.given_up = silent;
                n.over = true;
                n.code = all           ? errc::ok
                         : l.reported  ? errc::peer_dead
                         : n.cancelled ? errc::cancelled
                                       : errc::peer_aborted;
            }
        }
        if (!end || n.over || ((l.want_due | l.want_flying | l.stop_due | l.stop_flying) & bit) != 0) return;
        l.using_ &= ~bit;
        give_back(l, i);
    }
};

} // namespace bough::detail

#endif
