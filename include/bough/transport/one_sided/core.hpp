// SPDX-License-Identifier: BSL-1.0
// The part of the message protocol over remote writes that sender and receiver share: the lanes,
// and how a block is filled, found and fenced.
#ifndef BOUGH_TRANSPORT_ONE_SIDED_CORE_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_CORE_HPP

#include <bough/concepts/explain_remote_write_transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/remote_words.hpp>
#include <bough/transport/one_sided/lane.hpp>
#include <bough/transport/one_sided/layout.hpp>
#include <bough/transport/one_sided/places.hpp>
#include <bough/transport/one_sided/puts.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <RemoteWriteTransport X, class Protocol>
class one_sided_core {
    static_assert(explain_remote_write_transport<X>());
    static_assert(GatheringRemoteWrites<X> || !(requires(const X& x) { x.unsent(); }),
                  "bough: remote writes with unsent() need `bool unsent() const`, `std::uint64_t accepted(rank_t to) "
                  "const` and `std::uint64_t handed_over(rank_t to)`: GatheringRemoteWrites");

protected:
    using counter = typename Protocol::counter;
    static constexpr bool ordered = X::keeps_byte_order;
    using lane = one_sided_lane<counter, ordered>;
    using tail = one_sided_tail<ordered>;
    using outgoing = one_sided_outgoing;
    using incoming = one_sided_incoming;
    static_assert(std::unsigned_integral<counter> && sizeof(counter) <= 4);

    one_sided_core(X writes, const one_sided_options& options)
        : lanes_(writes.size()), x_(std::move(writes)), region_(x_.region()), layout_(x_.size(), options),
          rank_(x_.rank()), places_(region_, (layout_.bytes() + 63) / 64 * 64, options.expose_bytes),
          piece_of_(x_.size()) {
        BOUGH_EXPECTS(options.blocks >= 1 && options.blocks <= 64 && std::has_single_bit(options.blocks),
                      "blocks: must be a power of two, 1 to 64");
        BOUGH_EXPECTS(layout_.block_bytes >= 16 && layout_.block_bytes <= layout_.most_block_bytes &&
                          layout_.piece_bytes >= 16 && layout_.piece_bytes <= layout_.most_block_bytes,
                      "block_bytes, piece_bytes: must be 16 bytes to 16 MiB");
        BOUGH_EXPECTS(region_.size() >= layout_.bytes(), "region: needs one_sided_bytes(size, options) bytes");
        greeting_ = std::make_unique<one_sided_said>(said(layout_.greeting(
            Protocol::version << 8 | static_cast<std::uint32_t>(sizeof(counter)) << 1 | (ordered ? 1 : 0))));
        static_bytes_ = options.static_bytes == 0 ? layout_.block_bytes : options.static_bytes;
        BOUGH_EXPECTS(static_bytes_ <= layout_.block_bytes, "static_bytes: must fit into a block");
        batch_ = Protocol::batch(layout_.blocks);
        const rank_t ranks = layout_.ranks;
        unheard_ = ranks - 1;
        in_.reserve(ranks);
        busy_.reserve(ranks);
        for (rank_t r = 0; r != ranks; ++r) {
            lane& l = lanes_[r];
            l.peer = r;
            if (r == rank_) continue;
            l.handle = std::uint64_t{r} << 6;
            l.there = layout_.lane(rank_, r);
            l.here = region_.data() + layout_.lane(r, rank_);
            const auto ring = [&](auto& out, auto& in, std::uint64_t end, std::uint64_t stride, std::uint32_t blocks) {
                out.end = l.there + end;
                in.end = l.here + end;
                out.stride = in.stride = stride;
                out.mask = in.mask = blocks - 1;
                in.next = in.word_of(0);
            };
            ring(l.out, l.in, layout_.block_end(0), layout_.stride(), layout_.blocks);
            ring(l.pieces_out, l.pieces_in, layout_.piece_end(0), layout_.piece_stride(), layout_.pieces);
        }
        if (reserve(rank_, 0, layout_.lines(layout_.greeting_of(ranks)))) return;
        unheard_ = 0; // there is no memory for greetings, so none can be read
        for (lane& l : lanes_)
            if (l.peer != rank_) broken(l, errc::no_resources);
    }
    one_sided_core(one_sided_core&&) = default;

    static constexpr std::uint32_t long_mark = 0xffff'ffffu;

    lane& of(std::uint64_t handle) noexcept { return lanes_[static_cast<std::size_t>(handle >> 6)]; }
    const lane& of(std::uint64_t handle) const noexcept { return lanes_[static_cast<std::size_t>(handle >> 6)]; }
    std::uint64_t there(const lane& l, std::uint64_t at) const noexcept { return l.there + at; }

    // Reserves memory for a part of a region before it is first touched, if regions get their
    // memory only when it is reserved. False: memory is short.
    bool reserve([[maybe_unused]] rank_t r, [[maybe_unused]] std::uint64_t offset,
                 [[maybe_unused]] std::uint64_t bytes) {
        if constexpr (requires { x_.reserve(r, offset, bytes); })
            return x_.reserve(r, offset, bytes);
        else
            return true;
    }
    // Makes and reserves all that messages to this peer need: here, in its region, and where it
    // answers.
    BOUGH_COLD bool open_out(lane& l) {
        const std::uint64_t mine = layout_.lane(l.peer, rank_), answers = layout_.piece_end(0) - layout_.piece_stride();
        return reserve(l.peer, layout_.greeting_of(rank_), sizeof(one_sided_said)) &&
               reserve(l.peer, l.there, layout_.lane_bytes()) && reserve(rank_, mine, answers) && l.out.open() &&
               l.pieces_out.open() && make_array(l.outgoing, layout_.blocks);
    }

    void make_busy(lane& l) {
        if (l.busy) return;
        l.busy = true;
        busy_.push_back(&l);
    }
    // A put or a flush that comes after something else has been done. Without memory it would block, and is
    // tried again.
    template <class F>
    BOUGH_ALWAYS_INLINE static posted later(const F& put) noexcept {
        posted result = posted::would_block;
        ignore_exceptions([&] { result = put(); });
        return result;
    }
    template <class Ring>
    BOUGH_ALWAYS_INLINE posted put_block(lane& l, Ring& r, std::uint64_t kind, std::span<const std::byte> bytes,
                                         const envelope& tag, std::uint32_t length) {
        const std::uint32_t i = r.index();
        tail& t = r.tails[i];
        t.envelope = tag;
        t.word = make_word(r.sequence, length);
        if constexpr (!ordered) t.digest = digest_of(bytes, tag, t.word);
        const posted result =
            x_.put(l.peer, r.end_of(i) - sizeof(tail) - bytes.size(), bytes, bytes_of(t), put_id(kind, l.peer, i));
        if (result == posted::complete || result == posted::pending) {
            r.advance();
            // One flush for each half of the blocks, long before they are filled again.
            if constexpr (!ordered) {
                r.fences[i] = l.later_fence();
                if ((r.sent & r.mask >> 1) == 0) l.ask(r.fences[i]), make_busy(l);
            }
        }
        if (result == posted::pending) r.flying |= std::uint64_t{1} << i;
        return result;
    }
    // Whether the last put into the next block is still in the way. The put may still read its
    // tail. Or a part of it has yet to land although the message has been used up: the digest does
    // not notice that when the missing bytes equal those that lay there before.
    template <class Ring>
    static bool in_use(const lane& l, const Ring& r) noexcept {
        return (r.flying >> r.index() & 1) != 0 || (!ordered && !l.fenced(r.fences[r.index()]));
    }
    // --- Single words; a check follows each where its bytes may land one by one ---

    static std::span<const std::byte> bytes_of_said(const one_sided_said& s) noexcept {
        return bytes_of(s).first(ordered ? sizeof s.word : sizeof s);
    }
    // False: only a part of it is there.
    static bool read_said(const std::byte* at, std::uint64_t& word) noexcept {
        word = remote_words::read(at);
        return ordered || remote_words::read(at + sizeof word) == digest_of(0, word);
    }
    static bool says(const std::byte* at, std::uint32_t ticket, std::uint64_t* what = nullptr) noexcept {
        std::uint64_t word = 0;
        const bool is_it = read_said(at, word) && upper(word) == ticket;
        if (what != nullptr) *what = word;
        return is_it;
    }

    // Learns how many blocks the peer has used up. False: nothing new, or a count that cannot be.
    bool refresh(lane& l) {
        std::uint64_t word = 0;
        if (!read_said(l.here, word) || word == l.credit_seen) return false;
        l.credit_seen = word;
        if (!l.out.credit(static_cast<counter>(lower(word))) || !l.pieces_out.credit(static_cast<counter>(upper(word))))
            return broken(l), false;
        return !l.out.full();
    }
    // Whether the whole next message of a ring is there.
    template <class Ring>
    BOUGH_ALWAYS_INLINE static bool has_come(const Ring& r, std::uint64_t& word, std::uint32_t longest) noexcept {
        word = remote_words::read(r.next);
        if (upper(word) != r.expected) return false;
        if constexpr (!ordered) {
            tail t;
            std::memcpy(&t, r.next + 8 - sizeof(tail), sizeof(tail));
            const std::uint32_t length = lower(word) == long_mark ? sizeof(one_sided_announcement) : lower(word);
            return length <= longest && // a longer one means that the word has landed only in part
                   t.digest == digest_of({r.next + 8 - sizeof(tail) - length, length}, t.envelope, word);
        }
        return true;
    }
    void put_flush(lane& l) {
        if constexpr (!ordered) {
            if (!l.fence_due || l.fence_flying) return;
            const posted result = later([&] { return x_.flush(l.peer, put_id(put_kind::flush, l.peer, 0)); });
            if (result != posted::complete && result != posted::pending) return;
            l.fence_due = false;
            ++l.fence_begun;
            l.fence_flying = result == posted::pending;
            if (!l.fence_flying) l.fence_over = l.fence_begun;
        }
    }

    BOUGH_COLD void broken(lane& l, errc why = errc::protocol_error) {
        l.broken = true;
        if (l.gone) return;
        l.gone = true;
        l.why = why;
        ++leaving_;
    }

    // Puts that are under way read these: they are declared before x_, so they are destroyed after
    // it.
    std::vector<lane> lanes_; // by rank
    std::vector<std::vector<std::byte>> kept_;
    std::unique_ptr<one_sided_said> greeting_;
    X x_;
    std::array<event, 8> ended_;
    std::span<std::byte> region_;
    one_sided_layout layout_;
    rank_t rank_;
    rank_t scanned_ = 0; // the rank whose greeting is looked at next
    rank_t unheard_ = 0; // how many peers have not said hello
    std::uint32_t static_bytes_ = 0, batch_ = 1;
    std::uint32_t leaving_ = 0; // how many peers are gone and not yet reported
    std::vector<lane*> in_;     // peers that send to this rank
    std::vector<lane*> busy_;
    landing_places<X> places_;
    // By peer and piece: the message of which a piece is under way.
    std::vector<std::array<std::uint32_t, one_sided_layout::pieces>> piece_of_;
};

} // namespace bough::detail

#endif
