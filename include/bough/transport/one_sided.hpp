// SPDX-License-Identifier: BSL-1.0
// bough::one_sided: a Transport made of remote writes, so that every plan also runs where ranks
// only write into each other's memory.
//
//   const bough::one_sided_options options{.block_bytes = 8192};
//   bough::shared_memory_regions mine{wire, {.region_bytes = bough::one_sided_bytes(wire.size(), options)}};
//   bough::communicator comm{bough::one_sided{std::move(mine), options}};
//   bough::allreduce(comm, std::span(x), bough::plus{});
//
// A message of up to static_bytes is one write: payload, envelope and sequence number, placed so
// that they end with the block into which they are written. Each (sender, receiver) pair has its
// own blocks, and a message is combined where it landed. A message of up to 24 bytes is one cache
// line. A block is filled again only after the receiver has written a credit back.
//
// Of a longer message only the envelope is written at first. Then the receiver says where it wants
// the payload, and the sender writes it there (allocate(), expose()), or in pieces.
//
// Where bytes land in any order, a digest in the tail tells when all are there, and a flush comes
// before a block is used again. What a pair of ranks needs is made, and its memory reserved, when
// one of them first sends to the other.
//
// All that a peer writes is checked: if a length, counter or place is wrong, the peer counts as
// lost (errc::protocol_error).
//
// Source: Gupta, Balaji, Nieplocha, Panda, IPDPS 2003, section 5, but with credits in place
// of its notifications, and counters that never take the value of an empty block. (doc/transports/one_sided.md)
#ifndef BOUGH_TRANSPORT_ONE_SIDED_HPP
#define BOUGH_TRANSPORT_ONE_SIDED_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/transport/in_turns.hpp>
#include <bough/transport/one_sided/receiving.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// The default protocol: how blocks are counted and given back.
struct credited_blocks {
    using counter = std::uint32_t;
    static constexpr std::uint32_t version = formats::credited_blocks;
    // Of `blocks` blocks, how many must be used up before a credit is due.
    static constexpr std::uint32_t batch(std::uint32_t blocks) noexcept { return blocks < 2 ? 1 : blocks / 2; }
    static constexpr bool in_need = true; // a credit is also due when the sender must be out of blocks
    static constexpr bool one_call = false;
};

// The protocol of the paper: counters of one byte, and one notification when all blocks of a cycle
// are used up. It works only if all messages between two ranks belong to the same call: the same
// plan, with the same root and degree. Other messages are refused (`failed`).
struct notified_blocks {
    using counter = std::uint8_t;
    static constexpr std::uint32_t version = formats::notified_blocks;
    static constexpr std::uint32_t batch(std::uint32_t blocks) noexcept { return blocks; }
    static constexpr bool in_need = false;
    static constexpr bool one_call = true;
};

template <RemoteWriteTransport X, class Protocol = credited_blocks>
class one_sided : detail::one_sided_receiving<X, Protocol> {
    using base = detail::one_sided_receiving<X, Protocol>;
    using base::ordered;
    using typename base::counter, typename base::incoming, typename base::lane, typename base::outgoing;

public:
    // Pre: the options are equal on all ranks, except static_bytes and expose_bytes; blocks is a
    // power of two, 1 to 64; sizes are within their limits; the region has one_sided_bytes(size,
    // options) bytes, and nobody else uses it.
    explicit one_sided(X writes, const one_sided_options& options = {}) : base(std::move(writes), options) {}

    one_sided(one_sided&&) = default;
    one_sided& operator=(one_sided&&) = delete;
    // Leaves the group. Messages whose bytes are still here are taken back, if their receivers can
    // be told at once.
    ~one_sided() {
        if (!this->lanes_.empty() && !forked()) detail::ignore_exceptions([this] { take_all_back(); });
    }

    rank_t rank() const noexcept { return this->rank_; }
    rank_t size() const noexcept { return this->layout_.ranks; }
    std::uint64_t now_ns() const noexcept { return this->x_.now_ns(); }
    auto cores() const noexcept requires requires(const X& x) { x.cores(); }
    { return this->x_.cores(); }
    // By these plans are chosen (bough/select/transport_costs.hpp): those of the remote writes.
    auto default_costs() const noexcept requires requires(const X& x) { x.default_costs(); }
    { return this->x_.default_costs(); }
    double switch_ns() const noexcept requires requires(const X& x) { x.switch_ns(); }
    { return this->x_.switch_ns(); }
    using base::way_of; // see SaysWays
    bool forked() const noexcept { return detail::is_forked(this->x_); }
    // The remote writes of which this transport is made.
    X& writes() noexcept { return this->x_; }
    const X& writes() const noexcept { return this->x_; }

    // Payloads of up to this many bytes travel in blocks. Pre: at most what a block holds.
    std::uint32_t static_bytes() const noexcept { return this->static_bytes_; }
    void set_static_bytes(std::uint32_t bytes) {
        BOUGH_EXPECTS(bytes <= this->layout_.block_bytes, "static_bytes: must fit into a block");
        this->static_bytes_ = bytes;
    }
    std::uint32_t block_bytes() const noexcept { return this->layout_.block_bytes; }

    // Memory in which long messages land without a copy, aligned to a cache line. Empty: there is
    // no piece as large.
    std::span<std::byte> allocate(std::size_t bytes) {
        const std::span<std::byte> piece = this->places_.allocate(bytes);
        if (piece.empty() || this->reserve(this->rank_, this->places_.place_of(piece), bytes)) return piece;
        deallocate(piece);
        return {};
    }
    // Pre: the piece is from allocate(), whole, and no message into it is under way. If a take into
    // it was cancelled, give it back before you use that memory for something else: a sender that
    // never answered may still write there.
    void deallocate(std::span<std::byte> piece) { this->places_.deallocate(piece, this->may_be_written(piece)); }

    // Exposes the caller's memory until conceal(). Long messages that are taken into it land
    // without a copy, as in memory from allocate(), and the memory is not exposed anew for each
    // message. False: the transport cannot expose memory, or has no room for more. Each long
    // message then costs O(pieces exposed). Pre: the memory stays until it is concealed.
    bool expose(std::span<std::byte> memory) {
        if constexpr (ExposingRemoteWrites<X>)
            return !forked() && !memory.empty() && this->places_.expose(this->x_, memory);
        else
            return false;
    }
    // From now on nobody writes there. Pre: the memory is exposed, and no message into it is under
    // way.
    void conceal(std::span<std::byte> memory) {
        if constexpr (ExposingRemoteWrites<X>) this->places_.conceal(this->x_, memory, !forked());
    }

    // Keeps memory that a post has not given back until this transport is destroyed: for callers
    // that cannot wait for the event.
    void keep(std::vector<std::byte> memory) { this->kept_.push_back(std::move(memory)); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == this->rank_ || forked()) return posted::failed;
        lane& l = this->lanes_[to];
        if (l.gone) return l.reported ? posted::failed : posted::would_block; // its messages are handed over first
        if constexpr (Protocol::one_call)
            if (!this->is_of_one_call(l, tag)) return posted::failed;
        if (!l.greeted && !this->greet(l)) return posted::would_block;
        if ((l.out.full() && !this->refresh(l)) || (l.open >> l.out.index() & 1) != 0 || this->in_use(l, l.out)) {
            l.wants_room = true;
            return posted::would_block;
        }
        const std::uint32_t i = l.out.index();
        if (!this->goes_in_block(bytes.size())) return this->announce(l, i, tag, bytes, id);
        const posted result =
            this->put_block(l, l.out, detail::put_kind::block, bytes, tag, static_cast<std::uint32_t>(bytes.size()));
        if (result == posted::complete) return result;
        if (result != posted::pending) return posted::would_block; // if the peer is lost, poll() will report it
        outgoing& n = l.outgoing[i];
        n = {};
        n.now = outgoing::phase::flying;
        n.id = id;
        this->begin(l, i);
        return result;
    }

    std::size_t poll(std::span<event> events) {
        if (forked()) return 0;
        hear_writes();
        if (this->unheard_ != 0) hear_greetings();
        std::size_t found =
            detail::take_in_turns(this->in_, events, [this](lane& l, event& e) { return this->peek(l, e); });
        if (!this->busy_.empty()) found += work(events.subspan(found));
        if (this->leaving_ != 0) found += departed(events.subspan(found));
        return found;
    }

    bool poll_from(rank_t from, event& e) {
        if (from >= size() || from == this->rank_ || forked()) return false;
        lane& l = this->lanes_[from];
        if (l.heard && !l.reported && this->peek(l, e)) return true;
        hear_writes();
        if (!l.heard && !l.gone) hear_greeting(l);
        return false;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        lane& l = this->of(handle);
        const auto i = static_cast<std::uint32_t>(handle & 63);
        incoming& n = l.incoming[i];
        if (into.size() != n.bytes || forked()) return posted::failed;
        if (n.now == incoming::phase::short_) {
            if (!into.empty()) std::memcpy(into.data(), n.data, into.size());
            this->give_back(l, i);
            return posted::complete;
        }
        if (l.gone || this->state_of(l, i) == detail::lent_state::taken_back) return posted::failed;
        exposure to;
        const bool lands = this->places_.find(this->x_, into, to, n.exposed);
        n.now = lands ? incoming::phase::direct : incoming::phase::pieces;
        n.into = into.data();
        n.id = id;
        this->want(l, i, lands ? detail::want_kind::direct : detail::want_kind::pieces, to);
        return posted::pending;
    }
    // False for a long message, which can only be taken.
    bool claim(std::uint64_t handle) const noexcept {
        return !forked() && this->of(handle).incoming[handle & 63].now == incoming::phase::short_;
    }
    void release(std::uint64_t handle) {
        if (forked()) return;
        lane& l = this->of(handle);
        const auto i = static_cast<std::uint32_t>(handle & 63);
        incoming& n = l.incoming[i];
        if (n.now == incoming::phase::short_ || l.gone) return this->give_back(l, i);
        n.now = incoming::phase::unread;
        n.told = true; // there is no event
        this->want(l, i, detail::want_kind::unread);
    }
    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        for (lane* l : this->busy_) {
            for (std::uint64_t open = l->open; open != 0; open &= open - 1) {
                outgoing& n = l->outgoing[static_cast<std::uint32_t>(std::countr_zero(open))];
                if (n.id != id || n.told) continue;
                if (can_be_revoked(n)) this->revoke(*l, n, errc::cancelled);
                return errc::ok;
            }
            for (std::uint64_t used = l->using_; used != 0; used &= used - 1) {
                const auto i = static_cast<std::uint32_t>(std::countr_zero(used));
                incoming& n = l->incoming[i];
                if (n.id != id || n.told || n.now == incoming::phase::unread) continue;
                if (n.over) return errc::ok; // its event is on its way
                n.cancelled = true;
                if (n.now == incoming::phase::pieces) n.over = true, n.code = errc::cancelled; // copy no more of it
                l->stop_due |= std::uint64_t{1} << i;
                return errc::ok;
            }
        }
        return errc::invalid_argument;
    }

    // GatheringTransport, if the remote writes keep puts back.
    void flush() requires GatheringRemoteWrites<X> {
        if (!forked() && this->x_.unsent()) hear_writes();
    }
    bool unsent() const noexcept requires GatheringRemoteWrites<X> { return !forked() && this->x_.unsent(); }
    std::uint64_t accepted(rank_t to) const noexcept requires GatheringRemoteWrites<X> { return this->x_.accepted(to); }
    std::uint64_t handed_over(rank_t to) noexcept requires GatheringRemoteWrites<X> { return this->x_.handed_over(to); }

    void wait(std::uint32_t idle, std::uint64_t deadline_ns) requires WaitableRemoteWrites<X> {
        this->x_.wait(idle, deadline_ns, [this] { return has_news(); });
    }

private:
    void take_all_back() {
        for (lane* l : this->busy_)
            for (std::uint64_t open = l->gone ? 0 : l->open; open != 0; open &= open - 1) {
                const auto i = static_cast<std::uint32_t>(std::countr_zero(open));
                outgoing& n = l->outgoing[i];
                if (can_be_revoked(n)) this->revoke(*l, n, errc::cancelled);
                if (n.puts == 0) this->step(*l, i);
            }
    }
    // What has been put already cannot be taken back: it ends by itself.
    static bool can_be_revoked(const outgoing& n) noexcept {
        return n.now <= outgoing::phase::direct && n.now != outgoing::phase::flying;
    }
    void hear_writes() {
        for (std::size_t found = this->ended_.size(); found == this->ended_.size();) {
            found = this->x_.poll(this->ended_);
            for (std::size_t k = 0; k != found; ++k) hear(this->ended_[k]);
        }
    }
    BOUGH_COLD void hear(const event& e) {
        if (e.what == event::kind::lost)
            return lose(this->lanes_[e.peer], e.code == errc::ok ? errc::peer_dead : e.code);
        const std::uint64_t kind = e.id & 0xf;
        const auto i = static_cast<std::uint32_t>(e.id >> 4 & 63);
        if (kind == detail::put_kind::greeting) return;
        lane& l = this->lanes_[static_cast<std::size_t>(e.id >> 10)];
        const std::uint64_t bit = std::uint64_t{1} << i;
        switch (kind) {
        case detail::put_kind::block:
            l.out.flying &= ~bit;
            if (outgoing& n = l.outgoing[i]; (l.open & bit) != 0 && n.now == outgoing::phase::flying)
                n.now = outgoing::phase::done, n.code = n.code == errc::ok ? e.code : n.code;
            break;
        case detail::put_kind::piece:
            l.pieces_out.flying &= ~bit;
            --l.outgoing[this->piece_of_[l.peer][i]].puts;
            break;
        case detail::put_kind::direct:
            // When a peer is lost, what is under way to it ends with peer_dead before the loss
            // itself is reported.
            if (e.code != errc::ok && e.code != errc::peer_dead) this->judge_refused(l, i);
            [[fallthrough]];
        case detail::put_kind::state: l.outgoing[i].puts = 0; break;
        case detail::put_kind::want: l.want_flying &= ~bit; break;
        case detail::put_kind::stop: l.stop_flying &= ~bit; break;
        case detail::put_kind::credit: l.credit_flying = false; break;
        case detail::put_kind::flush:
            l.fence_flying = false;
            l.fence_over = l.fence_begun;
            break;
        default: break;
        }
    }
    // Looks for new greetings, the greetings of a few ranks at a time.
    BOUGH_COLD void hear_greetings() {
        if (this->lanes_.size() == 1) return void(this->unheard_ = 0);
        for (int k = 0; k != 8; ++k, this->scanned_ = this->scanned_ + 1 == size() ? 0 : this->scanned_ + 1) {
            lane& l = this->lanes_[this->scanned_];
            if (l.heard || l.peer == this->rank_) continue;
            hear_greeting(l);
        }
    }
    void hear_greeting(lane& l) {
        std::uint64_t word = 0;
        if (!this->read_said(this->region_.data() + this->layout_.greeting_of(l.peer), word) || word == 0) return;
        l.heard = true;
        --this->unheard_;
        if (word != this->greeting_->word) { // other options, or another protocol
            if (!l.greeted) detail::ignore_exceptions([&] { (void)this->greet(l); }); // the peer notices it, too
            return this->broken(l);
        }
        if (!detail::make_array(l.incoming, this->layout_.blocks)) return this->broken(l, errc::no_resources);
        this->in_.push_back(&l);
    }
    // Goes on with all messages that wait for an answer, room or a completion; reports what has
    // ended.
    BOUGH_COLD std::size_t work(std::span<event> events) {
        std::size_t found = 0;
        for (std::size_t k = 0; k != this->busy_.size(); ++k) {
            lane& l = *this->busy_[k];
            if (!l.gone) {
                this->put_answers(l);
                this->put_flush(l);
                if (l.using_ != 0) this->take_pieces(l);
                if (l.credit_due) this->put_credit(l);
            }
            for (std::uint64_t used = l.using_; used != 0; used &= used - 1) {
                const auto i = static_cast<std::uint32_t>(std::countr_zero(used));
                this->settle(l, i);
                incoming& n = l.incoming[i];
                if (!n.over || found == events.size()) continue;
                end(events[found++], l.peer, n.id, n.code);
                n.over = false;
                n.told = true;
                this->settle(l, i);
            }
            for (std::uint64_t open = l.open; open != 0; open &= open - 1) {
                const auto i = static_cast<std::uint32_t>(std::countr_zero(open));
                outgoing& n = l.outgoing[i];
                if (!l.gone)
                    this->step(l, i);
                else if (l.reported && !this->is_read(l, i))
                    n.now = outgoing::phase::done;
                if (n.is_over() && !n.told && found != events.size()) {
                    n.told = true;
                    end(events[found++], l.peer, n.id, n.code);
                }
                if (n.now == outgoing::phase::done && n.told) l.open &= ~(std::uint64_t{1} << i);
            }
            l.busy = !l.idle();
        }
        std::erase_if(this->busy_, [](const lane* l) { return !l->busy; });
        return found;
    }
    static void end(event& e, rank_t peer, std::uint64_t id, errc code) noexcept {
        e = {};
        e.what = event::kind::complete;
        e.code = code;
        e.peer = peer;
        e.id = id;
    }
    BOUGH_COLD void lose(lane& l, errc why) {
        if (l.gone) return;
        if (!l.heard) hear_greeting(l);
        if (!l.heard) l.heard = l.broken = true, --this->unheard_; // nothing from it can be read
        if (l.gone) return;                                        // its greeting was wrong
        l.gone = true;
        l.why = why;
        ++this->leaving_;
    }
    // Reports peers that are gone and whose messages have all been handed over.
    BOUGH_COLD std::size_t departed(std::span<event> events) {
        std::size_t found = 0;
        for (lane& l : this->lanes_) {
            std::uint64_t word = 0;
            if (!l.gone || l.reported || found == events.size()) continue;
            if (l.heard && !l.broken && this->has_come(l.in, word, this->layout_.block_bytes)) continue;
            if (l.using_ != 0 && !l.broken) { // uses pieces and states that came before the peer went
                this->take_pieces(l);
                for (std::uint64_t used = l.using_; used != 0; used &= used - 1)
                    this->settle(l, static_cast<std::uint32_t>(std::countr_zero(used)));
            }
            l.reported = true;
            --this->leaving_;
            std::erase(this->in_, &l);
            l.credit_due = l.credit_flying = l.fence_due = l.fence_flying = false;
            l.want_due = l.want_flying = l.stop_due = l.stop_flying = 0;
            for (std::uint64_t open = l.open; open != 0; open &= open - 1) { // work() ends them once no put reads them
                outgoing& n = l.outgoing[static_cast<std::uint32_t>(std::countr_zero(open))];
                if (!n.is_over()) n.code = n.code == errc::ok ? errc::peer_dead : n.code;
            }
            if (l.open != 0 || l.using_ != 0) this->make_busy(l);
            events[found] = {};
            events[found].what = event::kind::lost;
            events[found].code = l.why;
            events[found++].peer = l.peer;
        }
        return found;
    }
    // Whether poll() would find something, or there is new room for a post that was refused.
    BOUGH_COLD bool has_news() {
        for (lane& l : this->lanes_) {
            std::uint64_t word = 0;
            if (l.peer == this->rank_ || l.reported) continue;
            if (l.gone || (l.heard ? this->has_come(l.in, word, this->layout_.block_bytes)
                                   : remote_words::read(this->region_.data() + this->layout_.greeting_of(l.peer)) != 0))
                return true;
            if (l.greeted) { // otherwise the peer has nothing to answer
                const bool waited = l.pieces_out.full();
                if (this->refresh(l) && l.wants_room) return l.wants_room = false, true;
                if (l.gone || (waited && !l.pieces_out.full())) return true;
            }
            if ((l.want_due | l.stop_due) != 0 || l.credit_due ||
                (l.heard && this->has_come(l.pieces_in, word, this->layout_.piece_bytes)))
                return true;
            for (std::uint64_t open = l.open; open != 0; open &= open - 1) {
                const auto i = static_cast<std::uint32_t>(std::countr_zero(open));
                const std::byte* at = l.here + this->layout_.want_at(i) + offsetof(detail::one_sided_want, word);
                const outgoing& n = l.outgoing[i];
                if (n.now == outgoing::phase::done || n.now >= outgoing::phase::revoking ||
                    (n.now == outgoing::phase::open && detail::upper(remote_words::read(at)) == n.ticket) ||
                    this->says(l.here + this->layout_.stop_at(i), n.ticket))
                    return true;
            }
            for (std::uint64_t used = l.using_; used != 0; used &= used - 1)
                if (this->state_of(l, static_cast<std::uint32_t>(std::countr_zero(used))) != 0) return true;
        }
        return false;
    }
};

} // namespace bough

#endif
