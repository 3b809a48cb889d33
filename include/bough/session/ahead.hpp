// SPDX-License-Identifier: BSL-1.0
// Ahead: bounds what a rank may send for operations that its peer may not have started.
//
// A peer that is late has started none of them, and keeps what comes for them. Without a bound,
// that would fill the transport: an operation in which the peer may be waiting could not send any
// more, and nobody would go on. So what is sent ahead to one peer is bounded by what its session takes
// out of the transport when nothing else moves, whatever it has of others: the sender's share of
// early_limits. Where the peer cannot do that, the bound is half of what the transport keeps by itself if it
// says so (KeepsEarly), and otherwise that share and four messages, for which the transport must have
// memory. Limits should be equal on all ranks.
//
// An operation sends as much as it likes to a peer that has started it. A rank knows that if it has had a
// message of the operation from that peer, or if the peer has said so. (in_flight.hpp says when there is
// no bound, and when the peer is asked.)
//
// An operation may end before its peer has started it, as a broadcast does at its root. What it has
// sent ahead is left behind there, and counts on, together with what others of its communicator have
// left there. When that is a fourth of the bound, or when something had to wait, the peer is asked to
// say when it has started the last of these (early_reports.hpp): it has started all of them by then.
// Nothing is left behind if the peer has sent a message of that operation, as it has started it.
#ifndef BOUGH_SESSION_AHEAD_HPP
#define BOUGH_SESSION_AHEAD_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/session/contexts.hpp>
#include <bough/session/unexpected.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI {

class ahead {
public:
    // What may be ahead at one peer. `most`: bytes. `least`: bytes that a message counts for, at least.
    struct bound {
        std::uint64_t most = 0, least = early_message_bytes;
    };

    // `copies`: receivers can copy early messages out.
    ahead(rank_t ranks, const early_limits& limits, bool copies) : bound_{limits.share(ranks), early_message_bytes} {
        if (!copies) bound_.least = std::max(bound_.least, bound_.most / 4);
        left_.reserve(16); // mostly enough
    }
    // The bound at a peer whose transport keeps so many bytes of early messages by itself; 0: it does not
    // say.
    bound at_peer(std::uint64_t kept_by_transport) const noexcept {
        if (kept_by_transport == 0) return bound_;
        return {std::min(bound_.most, kept_by_transport / 2), early_message_bytes};
    }

    // Is there only one communicator, so that all ranks start all operations in one order? At first there
    // is.
    void set_one_order(bool is_so) noexcept { has_one_order_ = is_so; }
    bool has_one_order() const noexcept { return has_one_order_; }

    // Makes room for the peers of `by`: the functions below do not allocate.
    void prepare(prepared& by) {
        const auto& channels = by.outgoing(); // by peer
        if (!channels.empty() && channels.back().peer >= peers_.size())
            peers_.resize(std::size_t{channels.back().peer} + 1, peer{});
    }
    void prepare_if_counted(prepared& by) { // also what the oldest operation sends
        if (!has_one_order_) prepare(by);
    }
    bool fits(rank_t to, std::uint64_t bytes, const bound& b) const noexcept {
        const std::uint64_t used = to < peers_.size() ? peers_[to].in_flight + peers_[to].left : 0;
        return used <= b.most && cost(bytes, b) <= b.most - used;
    }
    // A message of `by` was sent. It counts unless the peer is known to have started `by`. Returns what
    // `by` has ahead at this peer now, in bytes. Pre: prepare(by) was called, and `to` is one of its
    // peers.
    std::uint64_t sent(prepared& by, rank_t to, std::uint64_t bytes, const bound& b) noexcept {
        channel& c = channel_of(by, to);
        if (c.has_started) return 0;
        noted_ += !is_noted(c);
        peers_[to].in_flight += cost(bytes, b);
        peers_[to].at_most = b;
        return c.ahead += cost(bytes, b);
    }
    // `by` may always send now: what it has sent ahead no longer counts.
    void forget(prepared& by) noexcept {
        if (noted_ == 0) return;
        for (channel& c : by.outgoing()) take_off(c);
    }
    // `by` has ended; `call` has its context and number. What it has sent ahead counts on, unless the
    // peer has started it, too.
    void ended(prepared& by, const envelope& call) noexcept {
        if (noted_ == 0) return;
        for (channel& c : by.outgoing()) {
            if (!is_noted(c)) continue;
            const std::uint64_t bytes = take_off(c);
            const bool has_started = c.has_started || has_heard(by, c.peer);
            if (c.has_asked) remove(c.peer, [&c](const batch& b) { return b.asker == &c; });
            noted_ -= c.has_asked || c.has_started;
            c.has_asked = c.has_started = false;
            if (bytes != 0 && !has_started) leave(c.peer, call, bytes);
        }
    }
    // Has any operation something to be said of it by ended()?
    bool has_noted() const noexcept { return noted_ != 0; }

    // Has the peer started `by`, as far as this rank knows? If so, what `by` has sent ahead no longer
    // counts. Pre: as for sent().
    bool has_started(prepared& by, rank_t to) noexcept {
        channel& c = channel_of(by, to);
        if (!c.has_started && has_heard(by, to)) starts(c);
        return c.has_started;
    }
    // Has an operation in flight had a message from this peer by now? Then what it has sent ahead there
    // no longer counts.
    void review(prepared& by, rank_t to) noexcept {
        for (channel& c : by.outgoing())
            if (c.peer == to && c.ahead != 0 && has_heard(by, to)) starts(c);
    }
    // A message to this peer did not fit.
    void refused(rank_t to) noexcept {
        if (to >= peers_.size()) return;
        for (std::uint32_t i = peers_[to].first; i != none; i = left_[i].next) wants_to_ask(left_[i]);
    }
    // The peer is to say when it has started `by`, unless that is known, or it starts all operations in
    // one order with this rank. Nobody is asked while an older operation of the same communicator asks
    // this peer: it starts that one first. Pre: as for sent().
    BOUGH_COLD void ask_about(prepared& by, const envelope& call, rank_t to) noexcept {
        channel& c = channel_of(by, to);
        if (has_one_order_ || c.has_asked || c.has_started) return;
        for (std::uint32_t i = peers_[to].first; i != none; i = left_[i].next)
            if (left_[i].asker != nullptr && left_[i].context == call.context &&
                contexts::before(left_[i].last, call.operation))
                return;
        const std::uint32_t i = unused();
        if (i == none) return; // no memory is left: whoever is refused again asks again
        noted_ += !is_noted(c);
        c.has_asked = true;
        left_[i] = {to, peers_[to].first, call.operation, call.context, batch::open, 0, &c};
        peers_[to].first = i;
        wants_to_ask(left_[i]);
    }

    // Is there something to be asked?
    bool has_to_ask() const noexcept { return has_to_ask_; }
    // Calls f(peer, call) for each peer that is to say when it has started this call.
    template <class F>
    BOUGH_COLD void ask(F&& f) {
        for (batch& b : left_) {
            if (b.state != batch::to_be_asked) continue;
            envelope call;
            call.context = b.context;
            call.operation = b.last;
            f(b.peer, call); // may throw
            b.state = batch::asked;
        }
        has_to_ask_ = false;
    }
    // The peer has started this call. (It says so as it was asked, or it asks about the same call.)
    BOUGH_COLD void told(rank_t from, const envelope& call) noexcept {
        if (from >= peers_.size()) return;
        remove(from, [&](batch& b) {
            if (b.context != call.context || b.last != call.operation) return false;
            if (b.asker != nullptr) return starts(*b.asker), b.asker->has_asked = false, true;
            return b.state == batch::asked;
        });
    }
    // Nothing of this communicator lies anywhere any more.
    void forget(std::uint16_t context) noexcept {
        for (rank_t r = 0; r != peers_.size() && !left_.empty(); ++r)
            remove(r, [context](const batch& b) { return b.context == context; });
    }
    // All messages of the past are void. Pre: no operation is in flight.
    void begin_epoch() noexcept {
        for (peer& p : peers_) p = {};
        left_.clear();
        free_ = none;
        has_to_ask_ = false;
        has_one_order_ = true;
    }

private:
    static constexpr std::uint32_t none = 0xffff'ffffu;

    struct peer {
        std::uint64_t in_flight = 0; // bytes sent ahead by operations in flight
        std::uint64_t left = 0;      // by those that have ended
        std::uint32_t first = none;  // of its batches
        bound at_most{};             // when something was last sent ahead
    };
    using channel = prepared::outgoing_channel;

    // What operations of a communicator have left at a peer; or a question about one that is in flight.
    struct batch {
        enum state_type : std::uint8_t { open, to_be_asked, asked, unused };
        rank_t peer = no_rank;
        std::uint32_t next = none; // of this peer, or unused
        std::uint32_t last = 0;    // the number of the last of these operations
        std::uint16_t context = 0;
        state_type state = unused;
        std::uint64_t bytes = 0;
        channel* asker = nullptr; // of the one in flight
    };

    static std::uint64_t cost(std::uint64_t bytes, const bound& b) noexcept {
        return std::max(bytes + early_message_bytes, b.least);
    }
    // Is there something to be undone when its operation ends?
    static bool is_noted(const channel& c) noexcept { return c.ahead != 0 || c.has_asked || c.has_started; }
    // Pre: `to` is a peer to which `by` sends.
    static channel& channel_of(prepared& by, rank_t to) noexcept {
        return *std::lower_bound(by.outgoing().begin(), by.outgoing().end(), to,
                                 [](const channel& c, rank_t r) { return c.peer < r; });
    }
    std::uint64_t take_off(channel& c) noexcept {
        if (c.ahead == 0) return 0;
        const std::uint64_t bytes = std::exchange(c.ahead, 0);
        peers_[c.peer].in_flight -= bytes;
        noted_ -= !is_noted(c);
        return bytes;
    }
    void starts(channel& c) noexcept {
        noted_ += !is_noted(c);
        c.has_started = true;
        take_off(c);
    }
    // It is not looked for among very many: what is left then is asked for.
    static bool has_heard(prepared& by, rank_t peer) noexcept {
        const auto& channels = by.incoming();
        return channels.size() <= 64 &&
               detail::any_of(channels, [peer](const auto& c) { return c.peer == peer && c.arrived != 0; });
    }
    BOUGH_COLD void leave(rank_t at, const envelope& call, std::uint64_t bytes) noexcept {
        std::uint32_t i = peers_[at].first;
        while (i != none &&
               (left_[i].context != call.context || left_[i].state == batch::asked || left_[i].asker != nullptr))
            i = left_[i].next;
        if (i == none && (i = unused()) != none) {
            left_[i] = {at, peers_[at].first, call.operation, call.context, batch::open, 0, nullptr};
            peers_[at].first = i;
        }
        if (i == none) return; // no memory is left: it does not count
        batch& b = left_[i];
        if (contexts::before(b.last, call.operation)) b.last = call.operation;
        b.bytes += bytes;
        peers_[at].left += bytes;
        if (b.bytes >= peers_[at].at_most.most / 4) wants_to_ask(b);
    }
    std::uint32_t unused() noexcept {
        if (free_ != none) return std::exchange(free_, left_[free_].next);
#if BOUGH_HAS_EXCEPTIONS
        try {
            left_.push_back({});
        } catch (...) {
            return none;
        }
#else
        left_.push_back({});
#endif
        return static_cast<std::uint32_t>(left_.size() - 1);
    }
    template <class F>
    void remove(rank_t at, const F& is_it) noexcept {
        for (std::uint32_t* link = &peers_[at].first; *link != none;) {
            batch& b = left_[*link];
            if (!is_it(b)) {
                link = &b.next;
                continue;
            }
            const std::uint32_t removed = std::exchange(*link, b.next);
            peers_[at].left -= b.bytes;
            b.state = batch::unused;
            b.next = std::exchange(free_, removed);
        }
    }
    void wants_to_ask(batch& b) noexcept {
        if (b.state != batch::open) return;
        b.state = batch::to_be_asked;
        has_to_ask_ = true;
    }

    bound bound_;
    std::size_t noted_ = 0; // channels of operations in flight of which something is noted
    bool has_to_ask_ = false, has_one_order_ = true;
    detail::plain_list<peer> peers_;
    detail::plain_list<batch> left_; // of all peers
    std::uint32_t free_ = none;      // those of left_ that are unused
};

} // namespace bough

#endif
