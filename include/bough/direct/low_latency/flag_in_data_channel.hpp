// SPDX-License-Identifier: BSL-1.0
// Flag_in_data_channel: the messages of bough::low_latency. They are short remote writes, one in
// each call from a rank to another, and the flag lies in the same line as the data.
//
// A region: for each peer a line that says that it has given up | for each peer a line that says
// what it calls | two slots of each peer, for even and odd calls | for each peer two lines for the
// search for missing ranks. A slot is filled from the bottom: | ... | payload | gap | word |. The
// word is a hash of the signature of the call and of its number. So the word in a slot is this
// rank's own, that of two calls before, or that of another call. In the last case, and when a peer
// lets a rank wait for long, the rank tells that peer its call, word by word. The peer compares it
// with its own. Both report what differs.
//
// There are no credits. In every form, a rank that writes to another also waits for a word of that
// rank, in each call. Entering call n proves that every such peer has written its word in call
// n - 1, and so has read all that was written to it in call n - 2. So two slots suffice.
#ifndef BOUGH_DIRECT_LOW_LATENCY_FLAG_IN_DATA_CHANNEL_HPP
#define BOUGH_DIRECT_LOW_LATENCY_FLAG_IN_DATA_CHANNEL_HPP

#include <bough/concepts/explain_remote_write_transport.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/absence.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/remote_words.hpp>
#include <bough/core/status.hpp>
#include <bough/direct/low_latency/flagged_search.hpp>
#include <bough/session/deadline_stages.hpp>
#include <bough/session/mismatch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct flagged_layout {
    rank_t ranks = 1;
    std::uint32_t most_bytes = 0;

    static constexpr std::uint64_t lines(std::uint64_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
    static constexpr std::uint64_t end_of(rank_t by) noexcept { return 64 * std::uint64_t{by}; }
    constexpr std::uint64_t said(rank_t by) const noexcept { return 64 * (std::uint64_t{ranks} + by); }
    constexpr std::uint64_t slot_bytes() const noexcept { return lines(std::uint64_t{most_bytes} + 8); }
    // The end of the slot of a sender for calls of a parity.
    constexpr std::uint64_t end(rank_t sender, std::uint32_t parity) const noexcept {
        return said(ranks) + slot_bytes() * (2 * std::uint64_t{sender} + parity + 1);
    }
    // The lines in which a peer and this rank search for missing ranks.
    constexpr std::uint64_t search(rank_t by) const noexcept {
        return end(ranks - 1, 1) + flagged_search::bytes_of_peer * by;
    }
    constexpr std::uint64_t bytes() const noexcept { return search(ranks); }
};

// A call of this rank, as a peer is told of it.
struct flagged_call {
    call_signature signature{};
    std::uint64_t number = 0;

    // The word behind the data of the call; never 0.
    constexpr std::uint64_t word() const noexcept {
        const std::uint64_t h = hash_of(signature) + number * 0xa076'1d64'78bd'642fu;
        return h + (h == 0 ? 1 : 0);
    }
};
static_assert(sizeof(flagged_call) == 48);

template <RemoteWriteTransport X>
class flag_in_data_channel {
    static_assert(explain_remote_write_transport<X>());
    static_assert(X::keeps_byte_order,
                  "bough: a flag in the line of the data needs remote writes that keep the order of "
                  "bytes (keeps_byte_order); over others take bough::one_sided");
    static_assert(!GatheringRemoteWrites<X>,
                  "bough: a call of low_latency hands its writes over at once; over remote writes that keep them back "
                  "(unsent()) take bough::one_sided");

public:
    // `refused`: the error that the group has from the start; ok: none. Like a region that is too
    // small, it ends every call.
    flag_in_data_channel(X writes, std::uint32_t most_bytes, std::uint64_t timeout_ns, const status& refused)
        : search_(writes.size(), writes.rank()), x_(std::move(writes)), layout_{x_.size(), most_bytes},
          rank_(x_.rank()), region_(x_.region()), gone_(x_.size(), 0) {
        when_.timeout_ns_ = timeout_ns;
        if constexpr (requires { x_.cores(); }) spins_ = x_.cores() < x_.size() ? 1 : most_spins;
        if (refused)
            fail(refused);
        else if (region_.size() < layout_.bytes()) // this is so on all ranks
            bad_ = invalid_argument("region: needs low_latency_bytes(size, options) bytes");
        else if (!reserve(rank_, 0, layout_.bytes()))
            fail({.code = errc::no_resources});
        for (rank_t r = 0; r != size() && !bad_; ++r)
            if (r != rank_) connect(r);
        if (!bad_ && !at_once) held_.resize(most_bytes);
    }
    flag_in_data_channel(flag_in_data_channel&&) = default;

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return layout_.ranks; }
    std::uint32_t most_bytes() const noexcept { return layout_.most_bytes; }
    const X& writes() const noexcept { return x_; }
    // Call if this rank needs a word of every peer in each call. Otherwise it is only known for
    // which one it waits.
    void needs_all() noexcept { needs_all_ = true; }

    // Begins the next call and numbers it. Null: it has begun; otherwise the error.
    BOUGH_ALWAYS_INLINE const status* begin(const call_signature& signature) {
        if (bad_.code != errc::ok || forked()) [[unlikely]]
            return refusal();
        ++number_;
        calls_[number_ & 1] = {signature, number_};
        old_ = words_[number_ & 1];
        words_[number_ & 1] = word_ = calls_[number_ & 1].word();
        when_.attend_ns_ = 0;
        return nullptr;
    }
    // The bytes to post, in memory that puts may read even after the call has failed. A put can be
    // pending for as long as the transport likes, cannot be taken back, and its bytes are the
    // transport's (W3). But the call must return, and the caller's memory is then gone. So this
    // copies, unless the transport says that its puts never are pending. Pre: all earlier puts are
    // settled.
    BOUGH_ALWAYS_INLINE std::span<const std::byte> hold(std::span<const std::byte> bytes) {
        if constexpr (at_once) {
            return bytes;
        } else {
            std::copy(bytes.begin(), bytes.end(), held_.begin());
            return std::span(std::as_const(held_)).first(bytes.size());
        }
    }
    // Posts to a peer. Pre: `held` is the result of hold(). False: the call has failed.
    template <std::size_t Gap>
    BOUGH_ALWAYS_INLINE bool post(rank_t to, std::span<const std::byte> held) {
        auto& tail = own_->tails[number_ & 1];
        tail.back() = word_;
        const std::span<const std::byte> end = std::as_bytes(std::span(tail)).template last<Gap + 8>();
        const std::uint64_t at = layout_.end(rank_, number_ & 1) - end.size() - held.size();
        const posted p = x_.put(to, at, held, end, data_id);
        return p == posted::complete || post_again(p, to, at, held, end);
    }
    // Waits for the bytes of a peer and returns where they end; the gap follows. Null: the call has
    // failed.
    template <std::size_t Gap>
    BOUGH_ALWAYS_INLINE const std::byte* await(rank_t from) {
        const std::byte* const word = region_.data() + layout_.end(from, number_ & 1) - 8;
        for (std::uint32_t k = 0; k != spins_; ++k)
            if (remote_words::read(word) == word_) return word - Gap;
        return await_long(from, word) ? word - Gap : nullptr;
    }
    // Waits until puts no longer read the bytes from hold().
    BOUGH_ALWAYS_INLINE bool settle() { return at_once || pending_ == 0 || settle_long(); }

    const status& failure() const noexcept { return bad_; }
    // Ends the call and all later ones. That is so on this rank now, and on the others at the
    // latest when they wait for this rank.
    BOUGH_COLD void fail(const status& why) {
        if (bad_.code != errc::ok) return;
        bad_ = forked() ? status{.code = errc::forked_child} : as_seen_by(rank_, why);
        if (!names_missing(why)) bad_.operation = static_cast<std::uint32_t>(number_);
        if (forked()) return;
        own_->report = finding_words::of({finding::how_sure::sure, why}, number_);
        own_->end = calls_[number_ & 1];
        own_->last[1] = 1u << 8 | static_cast<unsigned>(why.cause == errc::ok ? why.code : why.cause);
        tell_all();
    }

private:
    static constexpr std::uint64_t data_id = 1, said_id = 2, search_id = 3; // the last: plus a peer
    static constexpr std::uint32_t most_spins = 2000;
    // The longest time for telling that this rank has given up. But it tries at least
    // farewell_rounds times, however late this thread is.
    static constexpr std::uint64_t farewell_ns = 5'000'000;
    static constexpr std::uint32_t farewell_rounds = 16;
    static constexpr std::uint64_t patience_ns = 2'000'000'000; // for a peer that does not say its other call
    static constexpr bool at_once = [] {
        if constexpr (requires { std::bool_constant<X::completes_at_once>{}; })
            return X::completes_at_once;
        else
            return false;
    }();

    bool forked() const noexcept {
        if constexpr (requires(const X& x) { x.forked(); })
            return x_.forked();
        else
            return false;
    }
    bool reserve([[maybe_unused]] rank_t r, [[maybe_unused]] std::uint64_t at, [[maybe_unused]] std::uint64_t bytes) {
        if constexpr (requires { x_.reserve(r, at, bytes); })
            return x_.reserve(r, at, bytes);
        else
            return true;
    }
    // Makes sure that there is memory for the messages to a peer.
    void connect(rank_t to) {
        const std::uint64_t slots = layout_.end(rank_, 0) - layout_.slot_bytes();
        if (!reserve(to, layout_.end_of(rank_), 64) || !reserve(to, layout_.said(rank_), 64) ||
            !reserve(to, slots, 2 * layout_.slot_bytes()) ||
            !reserve(to, layout_.search(rank_), flagged_search::bytes_of_peer))
            fail({.code = errc::no_resources, .peer = to});
    }
    BOUGH_COLD const status* refusal() {
        if (forked())
            refusal_ = {.code = errc::forked_child};
        else if (number_ == 0) // no call has begun: the group was bad from the start
            refusal_ = bad_;
        else
            refusal_ = poisoned(bad_);
        return &refusal_;
    }
    BOUGH_COLD bool post_again(posted p, rank_t to, std::uint64_t at, std::span<const std::byte> bytes,
                               std::span<const std::byte> tail) {
        for (std::uint32_t idle = 1; p == posted::would_block; ++idle) {
            if (!look(idle)) return false;
            p = x_.put(to, at, bytes, tail, data_id);
        }
        if (p == posted::failed) {
            if (!aborted()) fail({.code = errc::peer_dead, .peer = to});
            return false;
        }
        if (p == posted::pending) {
            BOUGH_EXPECTS(!at_once, "put: pending, although the transport says completes_at_once");
            ++pending_;
        }
        return true;
    }
    BOUGH_COLD bool await_long(rank_t from, const std::byte* word) {
        waits_for_ = from;
        const bool came = await_word(from, word);
        waits_for_ = no_rank;
        if (came && search_.has_proposed()) ignore_exceptions([&] { search_.withdraw(*this, x_.now_ns()); });
        return came;
    }
    bool await_word(rank_t from, const std::byte* word) {
        bool gone = false;
        for (std::uint32_t idle = 1;; ++idle) {
            const std::uint64_t now = remote_words::read(word);
            if (now == word_) return true;
            if (now != old_) return ask_how(from), false;
            if (gone) {
                if (!aborted()) fail({.code = errc::peer_dead, .peer = from});
                return false;
            }
            gone = gone_[from] != 0; // its puts have landed by now: look once more
            if (!look(idle)) return false;
            if (gone || gone_[from] != 0) continue; // no word will wake this rank
            if (idle % 16 == 1 && when_.asked_ && !said_call_) said_call_ = say(from);
            if constexpr (WaitableRemoteWrites<X>)
                x_.wait(idle, when_.attend_ns_, [&] {
                    return remote_words::read(word) != old_ || who_has_news() != no_rank || search_.has_news(*this);
                });
        }
    }
    // For a peer's word that belongs to another call. This rank tells the peer its call; the peer
    // tells its own, in its line or with its end. Then both know the difference.
    BOUGH_COLD void ask_how(rank_t from) {
        const std::uint64_t until = deadline_after(x_.now_ns(), std::min(patience_ns, when_.timeout_ns_));
        bool said = false;
        for (std::uint32_t idle = 1;; ++idle) {
            const bool over = has_ended(from) || gone_[from] != 0 || x_.now_ns() >= until;
            status why = difference(from);
            if (!why && over) why = {.code = errc::call_mismatch, .peer = from};
            if (why) return fail(why);
            if (!said) said = say(from);
            drain();
            if constexpr (WaitableRemoteWrites<X>)
                x_.wait(idle, until, [&] { return has_ended(from) || differs(from); });
        }
    }
    // Tells a peer the call of this rank. False: it must be tried again.
    bool say(rank_t to) {
        if (saying_ != 0) return false; // puts still read what was said before
        struct words {
            std::uint64_t at[6];
        };
        const flagged_call& mine = calls_[number_ & 1];
        const auto parts = std::bit_cast<words>(mine);
        for (std::size_t i = 0; i != 6; ++i) own_->said[i] = parts.at[i];
        own_->said[6] = mine.word();
        for (std::size_t i = 0; i != own_->said.size(); ++i) {
            const posted p = counted(
                x_.put(to, layout_.said(rank_) + 8 * i, {}, std::as_bytes(std::span(&own_->said[i], 1)), said_id));
            if (p == posted::pending) ++saying_;
            if (p == posted::would_block || p == posted::failed) return false;
        }
        return true;
    }
    // The call that a peer has told; number 0: none, or not yet all of it.
    flagged_call heard(rank_t from) const noexcept {
        struct words {
            std::uint64_t at[6];
        } parts;
        const std::byte* const at = region_.data() + layout_.said(from);
        const std::uint64_t word = remote_words::read(at + 48);
        for (std::size_t i = 0; i != 6; ++i) parts.at[i] = remote_words::read(at + 8 * i);
        const auto said = std::bit_cast<flagged_call>(parts);
        return said.word() == word ? said : flagged_call{};
    }
    bool has_ended(rank_t r) const noexcept { return remote_words::read(region_.data() + layout_.end_of(r) + 56) != 0; }
    // Does it differ from this rank's call of that number?
    bool is_other(const flagged_call& said) const noexcept {
        const flagged_call& mine = calls_[said.number & 1];
        return said.number != 0 && said.number == mine.number && !(said.signature == mine.signature);
    }
    // Has a peer told a call that differs?
    bool differs(rank_t r) const noexcept {
        const std::uint64_t word = remote_words::read(region_.data() + layout_.said(r) + 48);
        return word != 0 && word != words_[0] && word != words_[1] && is_other(heard(r));
    }
    // What differs between a peer's call and that of this rank, as far as it was told; ok: nothing
    // known.
    status difference(rank_t from) const noexcept {
        flagged_call said = heard(from);
        if (!is_other(said) && has_ended(from)) std::memcpy(&said, region_.data() + layout_.end_of(from), sizeof said);
        if (!is_other(said)) return {};
        return call_mismatch(calls_[said.number & 1].signature, said.signature, from,
                             static_cast<std::uint32_t>(said.number));
    }
    BOUGH_COLD bool settle_long() {
        for (std::uint32_t idle = 1; pending_ != 0; ++idle)
            if (!look(idle)) return false;
        return true;
    }
    // Handles events, and returns how many there were.
    std::size_t drain() {
        std::array<event, 4> events;
        const std::size_t found = x_.poll(events);
        for (std::size_t i = 0; i != found; ++i) {
            const event& e = events[i];
            if (e.what == event::kind::lost) gone_[e.peer] = 1;
            if (e.what != event::kind::complete) continue;
            --pending_;
            if (e.id == said_id) --saying_;
            if (e.id >= search_id) search_.landed(static_cast<rank_t>(e.id - search_id));
        }
        return found;
    }
    // Looks at what else may have happened. False: the call has failed.
    bool look(std::uint32_t idle) {
        if (drain() == 0 && forked()) return fail({.code = errc::forked_child}), false;
        if (idle % 16 != 1) return true;
        if (aborted()) return false;
        const std::uint64_t now = x_.now_ns();
        if (idle != 1) ignore_exceptions([&] { search_.go_on(*this, now); }); // other ranks may have waited for longer
        switch (const due what = when_.at(now)) {
        case due::nothing: break;
        case due::question: when_.asked_ = true, said_call_ = false; break;
        case due::end: return fail_late(), false;
        default: ignore_exceptions([&] { search_.attend(*this, what, now, when_.part_ns()); });
        }
        return true;
    }
    BOUGH_COLD void fail_late() {
        status why = this_deadline();
        ignore_exceptions([&] { why = search_.settled(*this); });
        fail(why);
    }
    status this_deadline() const noexcept {
        return {.code = errc::deadline, .collective = call(0).kind, .operation = call(0).operation};
    }

    // --- for the search for missing ranks (flagged_search.hpp) ---
    friend flagged_search;
    using due = deadline_stages::due;
    std::uint64_t read(rank_t by, std::uint64_t word) const noexcept {
        return remote_words::read(region_.data() + layout_.search(by) + 8 * word);
    }
    posted put(rank_t to, std::uint64_t word, std::span<const std::uint64_t> words) {
        if (gone_[to] != 0) return posted::failed;
        return counted(x_.put(to, layout_.search(rank_) + 8 * word, {}, std::as_bytes(words), search_id + to));
    }
    // The call of that number, if it is one of this rank's two latest; 0: the latest.
    envelope call(std::uint32_t number) const noexcept {
        if (number == 0) number = static_cast<std::uint32_t>(number_);
        const flagged_call& mine = calls_[number & 1];
        envelope tag;
        tag.operation = number;
        if (static_cast<std::uint32_t>(mine.number) == number) tag.kind = mine.signature.kind;
        return tag;
    }
    rank_t first() const noexcept { return waits_for_; }
    rank_set waits() const {
        rank_set who(size());
        if (waits_for_ == no_rank) return who;
        who.add(waits_for_);
        for (rank_t r = 0; needs_all_ && r != size(); ++r)
            if (r != rank_ && remote_words::read(region_.data() + layout_.end(r, number_ & 1) - 8) != word_) who.add(r);
        return who;
    }
    // Tells each peer that this rank has given up. Nothing polls after this. So for farewell_ns,
    // puts that are refused or throw are tried again, and pending ones are seen through. A peer
    // that this does not reach notices at its deadline.
    void tell_all() noexcept {
        const std::uint64_t last = deadline_after(x_.now_ns(), farewell_ns);
        for (std::uint32_t round = 1, idle = 1;; ++round, ++idle) {
            bool told = true;
            for (rank_t r = 0; r != size(); ++r)
                if (r != rank_ && gone_[r] == 0 && !tell(r)) told = false;
            if ((told && pending_ == 0) || (round >= farewell_rounds && x_.now_ns() >= last)) return;
            ignore_exceptions([&] {
                if (drain() != 0)
                    idle = 0;
                else if constexpr (WaitableRemoteWrites<X>)
                    x_.wait(idle, last, [] { return false; });
            });
        }
    }
    bool tell(rank_t r) noexcept {
        posted p = posted::would_block;
        ignore_exceptions([&] {
            p = reserve(r, layout_.end_of(rank_), 64) ? tell_report(r) : posted::failed;
            if (p != posted::complete && p != posted::pending) return;
            p = posted::would_block; // until the next put is taken, too
            p = counted(x_.put(r, layout_.end_of(rank_), std::as_bytes(std::span(&own_->end, 1)),
                               std::as_bytes(std::span(own_->last)), data_id));
        });
        if (p != posted::would_block) gone_[r] = 1;
        return p != posted::would_block;
    }
    // Goes before the end, so that a peer that finds the end finds this, too.
    posted tell_report(rank_t r) {
        if (!names_missing(bad_)) return posted::complete;
        return counted(x_.put(r, layout_.search(rank_) + 8 * flagged_search::report, {},
                              std::as_bytes(std::span(own_->report)), data_id));
    }
    posted counted(posted p) noexcept {
        if (p == posted::pending) ++pending_;
        return p;
    }
    // If a peer has given up, or makes another call, this rank gives up.
    bool aborted() {
        const rank_t r = who_has_news();
        if (r == no_rank) return false;
        const auto cause = static_cast<errc>(remote_words::read(region_.data() + layout_.end_of(r) + 56) & 0xff);
        status why;
        if (cause == errc::ok || cause == errc::call_mismatch) why = difference(r);
        if (!why && cause == errc::deadline) // the peer only waited, too, and may know for which rank
            why = told_by(r);
        else if (!why)
            why = {.code = errc::peer_aborted, .peer = r};
        if (why.code == errc::peer_aborted) why.cause = cause;
        fail(why);
        return true;
    }
    // The report of a peer whose call has ended by its deadline.
    status told_by(rank_t r) const noexcept {
        finding_words::array at{};
        for (std::uint64_t i = 0; i != 4; ++i) at[i] = read(r, flagged_search::report + i);
        status said = finding_words::read(at, size()).report;
        if (!names_missing(said)) said = this_deadline();
        said.code = errc::peer_aborted;
        return said;
    }
    rank_t who_has_news() const noexcept {
        rank_t r = 0;
        while (r != size() && !has_ended(r) && !differs(r)) ++r;
        return r == size() ? no_rank : r;
    }

    struct own_words {                                       // puts under way read these
        std::array<std::array<std::uint64_t, 8>, 2> tails{}; // for even and odd calls
        std::array<std::uint64_t, 7> said{};
        flagged_call end{};
        std::array<std::uint64_t, 2> last{}; // behind `end`: 0, and that this rank has given up
        finding_words::array report{};       // for a deadline
    };
    std::unique_ptr<own_words> own_ = std::make_unique<own_words>(); // destroyed after x_, like
    std::vector<std::byte> held_;                                    // these payloads, which puts under way read
    flagged_search search_;
    X x_;
    flagged_layout layout_;
    std::uint64_t number_ = 0, word_ = 0;  // of the current call
    std::uint64_t old_ = 0;                // the word in the slots until its word comes
    std::array<std::uint64_t, 2> words_{}; // of the latest even and odd call
    std::array<flagged_call, 2> calls_{};
    deadline_stages when_;
    rank_t waits_for_ = no_rank;                 // set when it waits for longer than some looks
    bool needs_all_ = false, said_call_ = false; // the latter: that peer was told the call
    std::uint32_t spins_ = most_spins;
    std::uint32_t pending_ = 0, saying_ = 0; // puts; of these, words of said
    rank_t rank_;
    std::span<std::byte> region_;
    std::vector<unsigned char> gone_; // by rank: lost, or told that this rank has given up
    status bad_{}, refusal_{};
};

} // namespace bough::detail

#endif
