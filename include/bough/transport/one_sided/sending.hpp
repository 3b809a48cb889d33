// SPDX-License-Identifier: BSL-1.0
// The sender's side of the message protocol over remote writes: long messages. These stay with
// their sender until the receiver says where it wants them. (A short message is one put:
// one_sided::post_send.)
#ifndef BOUGH_TRANSPORT_ONE_SIDED_SENDING_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_SENDING_HPP

#include <bough/core/config.hpp>
#include <bough/transport/one_sided/core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <RemoteWriteTransport X, class Protocol>
class one_sided_sending : protected one_sided_core<X, Protocol> {
protected:
    using core = one_sided_core<X, Protocol>;
    using core::core;
    using core::ordered, core::long_mark;
    using typename core::counter, typename core::lane, typename core::outgoing;

    void begin(lane& l, std::uint32_t i) {
        l.open |= std::uint64_t{1} << i;
        this->make_busy(l);
    }
    // A message without a signature does not belong to a call: it reports an end.
    static bool is_of_one_call(lane& l, const envelope& tag) noexcept {
        if (tag.digest.hash == 0) return true;
        if (!l.call.known) l.call = {tag.digest.plan, tag.root, tag.kind, true};
        return l.call.plan == tag.digest.plan && l.call.root == tag.root && l.call.kind == tag.kind;
    }
    BOUGH_COLD bool greet(lane& l) {
        if (l.outgoing == nullptr && !this->open_out(l)) return this->broken(l, errc::no_resources), false;
        const posted result = this->x_.put(l.peer, this->layout_.greeting_of(this->rank_),
                                           this->bytes_of_said(*this->greeting_), {}, put_kind::greeting);
        return l.greeted = result == posted::complete || result == posted::pending;
    }
    BOUGH_COLD posted announce(lane& l, std::uint32_t i, const envelope& tag, std::span<const std::byte> bytes,
                               std::uint64_t id) {
        outgoing n;
        n.now = outgoing::phase::open;
        n.id = id;
        n.data = bytes.data();
        n.bytes = bytes.size();
        n.ticket = l.tickets = next_sequence(l.tickets);
        n.announced = {n.bytes, n.ticket, 0};
        l.outgoing[i] = n;
        // Erases the answers to an older message in this block.
        remote_words::write(l.here + this->layout_.want_at(i) + offsetof(one_sided_want, word), 0);
        remote_words::write(l.here + this->layout_.stop_at(i), 0);
        const posted result =
            this->put_block(l, l.out, put_kind::block, bytes_of(l.outgoing[i].announced), tag, long_mark);
        if (result != posted::complete && result != posted::pending) return posted::would_block;
        this->begin(l, i);
        return posted::pending;
    }
    static void revoke(lane& l, outgoing& n, errc code) noexcept {
        n.now = outgoing::phase::revoking;
        n.code = code;
        // Pieces that have been put must land before the state does.
        if constexpr (!ordered) n.fence = l.next_fence();
    }
    void tell(outgoing& n, std::uint32_t state) noexcept {
        n.now = outgoing::phase::telling;
        n.state = said(make_word(n.ticket, state));
    }

    // Moves a message on as far as it can be moved now.
    BOUGH_COLD void step(lane& l, std::uint32_t i) {
        using phase = typename outgoing::phase;
        outgoing& n = l.outgoing[i];
        if (n.now == phase::open) read_want(l, i);
        if (n.now == phase::pieces || n.now == phase::direct) {
            if (this->says(l.here + this->layout_.stop_at(i), n.ticket)) revoke(l, n, errc::ok);
        }
        if (n.now == phase::pieces) put_pieces(l, i);
        if (n.now == phase::direct) {
            const posted result = this->later([&] { return put_direct(l, n, put_id(put_kind::direct, l.peer, i)); });
            if (result == posted::complete || result == posted::pending) {
                n.puts = result == posted::pending ? 1 : 0;
                n.now = phase::landing;
                if constexpr (!ordered) n.fence = l.next_fence();
            } else if (result == posted::failed && n.refused++ != 0) { // refused twice, and no loss came in between
                return judge_refused(l, i);
            }
        }
        if (n.now == phase::landing && n.puts == 0 && l.fenced(n.fence)) tell(n, lent_state::landed);
        if (n.now == phase::revoking && n.puts == 0 && l.fenced(n.fence)) tell(n, lent_state::taken_back);
        if (n.now == phase::telling) {
            const posted result = this->later([&] {
                return this->x_.put(l.peer, this->there(l, this->layout_.state_at(i)), this->bytes_of_said(n.state), {},
                                    put_id(put_kind::state, l.peer, i));
            });
            if (result == posted::complete || result == posted::pending) {
                n.puts = result == posted::pending ? 1 : 0;
                n.now = phase::settling;
                if constexpr (!ordered) n.fence = l.next_fence();
            }
        }
        // The block may carry another message only after the state of this one has landed.
        if (n.now == phase::settling && n.puts == 0 && l.fenced(n.fence)) n.now = phase::done;
    }
    // A put was refused for good. Either the receiver has given up, or there never was such a
    // place.
    BOUGH_COLD void judge_refused(lane& l, std::uint32_t i) {
        if (l.gone) return;
        if (!this->says(l.here + this->layout_.stop_at(i), l.outgoing[i].ticket)) return this->broken(l);
        revoke(l, l.outgoing[i], errc::ok);
    }
    // Whether a put that is under way reads the message.
    static bool is_read(const lane& l, std::uint32_t i) noexcept {
        const outgoing& n = l.outgoing[i];
        return n.puts != 0 || (n.now == outgoing::phase::flying && (l.out.flying >> i & 1) != 0);
    }
    void read_want(lane& l, std::uint32_t i) {
        outgoing& n = l.outgoing[i];
        const std::byte* at = l.here + this->layout_.want_at(i);
        one_sided_want w;
        w.word = remote_words::read(at + offsetof(one_sided_want, word));
        if (upper(w.word) != n.ticket) return;
        std::memcpy(&w.to, at, sizeof w.to);
        std::memcpy(&w.digest, at + offsetof(one_sided_want, digest), sizeof w.digest);
        if (w.digest != digest_of(w.to, w.word)) {
            if constexpr (ordered) this->broken(l);
            return; // it has not landed completely
        }
        switch (lower(w.word)) {
        case want_kind::unread: n.now = outgoing::phase::done; break;
        case want_kind::pieces: n.now = outgoing::phase::pieces; break;
        case want_kind::direct:
            if (w.to.key == 0 ? w.to.place < this->layout_.bytes() : !ExposingRemoteWrites<X>)
                return this->broken(l); // no message may land in the lanes, or in memory that nobody can expose
            n.now = outgoing::phase::direct;
            n.place = w.to;
            break;
        default: this->broken(l);
        }
    }
    posted put_direct(lane& l, const outgoing& n, std::uint64_t id) {
        const std::span bytes(n.data, static_cast<std::size_t>(n.bytes));
        if constexpr (ExposingRemoteWrites<X>)
            if (n.place) return this->x_.put_exposed(l.peer, n.place, bytes, id);
        return this->x_.put(l.peer, n.place.place, bytes, {}, id);
    }
    void put_pieces(lane& l, std::uint32_t i) {
        outgoing& n = l.outgoing[i];
        while (n.staged != n.bytes) {
            if (l.pieces_out.full()) (void)this->refresh(l);
            if (l.broken || l.pieces_out.full() || this->in_use(l, l.pieces_out)) return;
            const auto bytes =
                static_cast<std::uint32_t>(std::min<std::uint64_t>(n.bytes - n.staged, this->layout_.piece_bytes));
            const std::uint32_t at = l.pieces_out.index();
            const posted result = this->later([&] {
                return this->put_block(l, l.pieces_out, put_kind::piece, {n.data + n.staged, bytes},
                                       {.operation = n.ticket, .segment = i}, bytes);
            });
            if (result != posted::complete && result != posted::pending) return;
            n.staged += bytes;
            if (result == posted::pending) this->piece_of_[l.peer][at] = i, ++n.puts;
        }
        if (n.puts == 0) n.now = outgoing::phase::done;
    }
};

} // namespace bough::detail

#endif
