// SPDX-License-Identifier: BSL-1.0
// join_room: while ranks join a transport, they tell each other here how it goes, so that no rank
// waits for one that has failed.
//
//   bough::join_room room{wire, timeout_ns};                       // wire: a WireUp
//   result = room.run([&]() -> bough::status {
//       if (const bough::status bad = prepare(card)) return bad;   // the others are told
//       if (const bough::status bad = room.exchange(card, cards, room.left_ns())) return bad;
//       return room.meet([&](std::uint64_t until_ns) { return connect_some(until_ns); });
//   });                                                            // all ranks are well, or all know which one is not
//
// A room is a WireUp. Each of its exchanges takes two exchanges of `wire`. In the first one all
// ranks tell their states; in the second one they send what they have to say. A rank that fails
// repeats this until all ranks know. So it does not matter where it failed, nor what the others
// exchange. A rank that dies is named by `wire`, to which all ranks come back every 100 ms. A rank
// that has no memory for the room still comes in to say so (in a group of more than 64 ranks it may
// need some memory for that).
//
// Groups. The ranks of a room can be a group among the ranks of `wire`. Each group exchanges as
// often as it likes. run() returns when all groups have finished, and fails everywhere if one rank
// of any group has.
//
// Builds. The first thing that ranks tell each other is which versions of bough's formats they speak
// (core/formats.hpp). If these do not fit, the room ends for all ranks of `wire`: each gets a
// protocol_error, mismatch::version, with both versions and a rank that has another one than its own.
//
// Which rank is named. A rank that reports a failure of its own is named to all others, with
// peer_aborted, and with its code as the cause. If ranks accuse another one instead, the rank with
// most accusers is named, with their code; in a tie it is the lowest rank. What `wire` says about a
// rank counts more than an accusation, because `wire` hears from all ranks.
// Numbers of ranks in a status are those in the room, but in the status of run() and finish() those
// in `wire`.
// Complexity  each rank sends 12 bytes in each round and 12 before the first, besides what it has to say
#ifndef BOUGH_TRANSPORT_JOIN_ROOM_HPP
#define BOUGH_TRANSPORT_JOIN_ROOM_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/clock.hpp>
#include <bough/report/trace_file.hpp> // BOUGH_TRACE
#include <bough/transport/join_room/verdict.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Returns what f() returns. A lack of memory, threads or descriptors becomes no_resources, and a
// bough::error becomes its own status. Other exceptions are thrown on, because they are not the
// library's.
template <class F>
status attempted(const F& f) {
#if BOUGH_HAS_EXCEPTIONS
    try {
        return f();
    } catch (const error& e) {
        return e.details();
    } catch (const std::bad_alloc&) {
        return {.code = errc::no_resources};
    } catch (const std::system_error&) {
        return {.code = errc::no_resources};
    }
#else
    return f();
#endif
}

} // namespace detail

template <WireUp W>
class join_room {
public:
    // A room of all ranks of `wire`. Pre: `wire` outlives the room. `timeout_ns`: for all of the
    // joining. `joins`: the transport that they join.
    join_room(W& wire, std::uint64_t timeout_ns, wire_format joins = wire_format::joining)
        : join_room(wire, listed_groups(), timeout_ns, joins) {}
    // A room of the ranks of this rank's group. Pre: `groups` divides the ranks of `wire`, and is
    // the same on all.
    join_room(W& wire, const listed_groups& groups, std::uint64_t timeout_ns, wire_format joins = wire_format::joining)
        : wire_(std::addressof(wire)), place_(wire.rank()),
          last_ns_(deadline_after(detail::steady_now_ns(), timeout_ns)), joins_(joins) {
        const rank_t all = wire.size();
        if (all > few_.size()) heard_memory_.resize(all);
        heard_ = std::span(all > few_.size() ? heard_memory_.data() : few_.data(), all);
#if BOUGH_HAS_EXCEPTIONS
        try {
            settle_in(groups);
        } catch (const std::bad_alloc&) {
            is_short_ = true;
        }
#else
        settle_in(groups);
#endif
    }
    join_room(const join_room&) = delete;
    join_room& operator=(const join_room&) = delete;

    rank_t rank() const noexcept { return place_; }
    rank_t size() const noexcept { return static_cast<rank_t>(members_.size()); }
    auto address() const requires detail::SaysAddress<W> { return wire_->address(); }
    // When the joining must have ended, in the time of a steady clock.
    std::uint64_t last_ns() const noexcept { return last_ns_; }
    std::uint64_t left_ns() const noexcept { return time_left(detail::steady_now_ns(), last_ns_); }

    // As WireUp says. Errors: the failure of a rank of the group; call_mismatch: a rank makes
    // another call; peer_aborted by `cancelled`: a rank has already finished, and without a
    // failure; and what `wire` says.
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (is_short_) return {.code = errc::no_resources};
        if (const status bad = check_exchange(mine, all, size())) return bad;
        const std::uint64_t until_ns = std::min(last_ns_, deadline_after(detail::steady_now_ns(), timeout_ns));
        const detail::join_word said{.state = detail::join_word::saying,
                                     .bytes = static_cast<std::uint32_t>(mine.size())};
        if (const status bad = round(said, mine, all, until_ns)) return bad;
        if (const status bad = hear_group(said)) return bad;
        return failed_elsewhere_;
    }

    // Does what only works when several ranks do it at once, such as connecting. turn(until_ns) ->
    // status does some of it, and returns no later than that. It returns ok if this rank needs
    // nothing more, would_block if it does (`peer` is a rank that it waits for), and anything else
    // if it cannot go on. meet() returns when all ranks of the group are ready, or with deadline
    // and the rank that is missing.
    template <class Turn>
    status meet(const Turn& turn) {
        if (is_short_) return {.code = errc::no_resources};
        detail::join_word said{.state = detail::join_word::meeting};
        // The longest until a rank learns of another one's failure.
        constexpr std::uint64_t longest_ns = 100'000'000;
        for (std::uint64_t slice_ns = 20'000'000;; slice_ns = std::min(2 * slice_ns, longest_ns)) {
            if (said.state == detail::join_word::meeting) {
                status how = turn(std::min(last_ns_, deadline_after(detail::steady_now_ns(), slice_ns)));
                if (how && how.code != errc::would_block) return how;
                if (how && left_ns() == 0) return how.code = errc::deadline, how;
                said.peer = how ? in_wire(how).peer : no_rank;
                if (!how) said.state = detail::join_word::ready;
            }
            if (const status bad = round(said, {}, {}, patient(last_ns_))) return bad;
            if (const status bad = hear_group(said)) return bad;
            if (std::all_of(members_.begin(), members_.end(),
                            [this](rank_t r) { return heard_[r].state == detail::join_word::ready; }))
                return {};
        }
    }

    // Ends the joining. `mine`: how it went on this rank, with numbers of ranks in the room. Pre:
    // called once. Returns when all ranks of `wire` have finished: ok if all have succeeded,
    // otherwise why not. `timeout_ns`: how long to wait for other groups; by default all the time
    // that is left.
    status finish(const status& mine) { return finish(mine, left_ns()); }
    status finish(status mine, std::uint64_t timeout_ns) {
        if (is_short_) mine = {.code = errc::no_resources};
        detail::join_word said{.state = detail::join_word::finished};
        said.set(in_wire(mine));
        said.is_short = is_short_;
        status result = in_wire(mine);
        const std::uint64_t until_ns = patient(deadline_after(detail::steady_now_ns(), timeout_ns));
        const auto over = [](const detail::join_word& w) { return w.state == detail::join_word::finished; };
        do {
            // All ranks leave the room together, or because of the same error of `wire`.
            if (broken_ || round(said, {}, {}, until_ns)) {
                if (broken_.mismatch == mismatch::version) return broken_; // all know it
                const bool is_sure = told_ || detail::is_confession(result, wire_->rank());
                return result && (is_sure || broken_.peer == no_rank) ? result : broken_;
            }
        } while (!std::all_of(heard_.begin(), heard_.end(), over));
        // It names both versions; a verdict would name the same rank to all.
        return result.mismatch == mismatch::version ? result : detail::verdict_of(heard_, wire_->rank(), result);
    }

    // Calls f() -> status, and finish() with the result. If f throws, the others are told. A
    // bough::error, or a lack of memory, becomes the status; other exceptions are thrown on.
    template <class F>
    status run(F&& f) {
        return run(std::forward<F>(f), [this] { return left_ns(); });
    }
    template <class F, class Left>
    status run(F&& f, const Left& left_ns) {
        status mine;
#if BOUGH_HAS_EXCEPTIONS
        try {
#endif
            if (!is_short_) mine = f();
#if BOUGH_HAS_EXCEPTIONS
        } catch (const error& e) {
            mine = e.details();
        } catch (const std::bad_alloc&) {
            mine = {.code = errc::no_resources};
        } catch (...) {
            (void)finish({.code = errc::op_threw}, left_ns());
            throw;
        }
#endif
        return finish(mine, left_ns());
    }

private:
    // Finds out who is in this room, and takes memory for all that can be heard there. Later on, a
    // lack of memory could not be reported.
    void settle_in(const listed_groups& groups) {
        const rank_t all = wire_->size();
        if (groups == listed_groups()) {
            for (rank_t r = 0; r != all; ++r) members_.push_back(r);
        } else {
            BOUGH_EXPECTS(!groups.check(all), "groups: not those of the ranks of the wire-up");
            const rank_t group = groups.group_of(all, wire_->rank());
            for (rank_t i = 0; i != groups.members(all, group); ++i) members_.push_back(groups.member(all, group, i));
            place_ = groups.place_of(all, wire_->rank());
            padded_.resize(most_wire_up_bytes * (std::size_t{1} + all));
        }
        group_.resize(members_.size());
    }
    // Leaves the others at least a second: they may come to the last round as late as this rank
    // would.
    static std::uint64_t patient(std::uint64_t until_ns) noexcept {
        return std::max(until_ns, detail::steady_now_ns() + 1'000'000'000);
    }

    // Before the first round: do all ranks of `wire` speak what this one speaks? If one does not, each
    // rank finds one that differs from it.
    status compare_builds(std::uint64_t until_ns) {
        const detail::build_card mine = detail::build_card_of(*joins_);
        static_assert(sizeof mine <= sizeof(detail::join_word));
        const auto all = std::as_writable_bytes(heard_).first(sizeof mine * heard_.size());
        if (status bad =
                wire_->exchange(std::as_bytes(std::span(mine)), all, time_left(detail::steady_now_ns(), until_ns)))
            return bad;
        joins_.reset();
        for (rank_t r = 0; r != heard_.size(); ++r) {
            detail::build_card theirs;
            std::memcpy(theirs.data(), all.data() + sizeof theirs * r, sizeof theirs);
            if (const status bad = detail::compare_builds(mine, theirs, r)) return bad;
        }
        return {};
    }
    // All ranks of `wire` tell their states. If one has bytes to say, all of them send as many.
    status round(const detail::join_word& said, std::span<const std::byte> mine, std::span<std::byte> all,
                 std::uint64_t until_ns) {
        const auto say = [&](std::span<const std::byte> some, std::span<std::byte> everybody) {
            broken_ = wire_->exchange(some, everybody, time_left(detail::steady_now_ns(), until_ns));
            return !broken_;
        };
        if (!broken_ && joins_) broken_ = compare_builds(until_ns);
        if (broken_) return in_room(broken_);
        if (!say(std::as_bytes(std::span(&said, 1)), std::as_writable_bytes(std::span(heard_))))
            return in_room(broken_);
        std::size_t most = 0, least = most_wire_up_bytes;
        for (const detail::join_word& w : heard_) {
            most = std::min(std::max<std::size_t>(most, w.bytes), most_wire_up_bytes);
            least = std::min<std::size_t>(least, w.bytes);
        }
        if (most == 0) return {};
        // If one rank has no memory for the others' bytes, nobody sends them. All end with an error
        // anyway.
        for (const detail::join_word& w : heard_) {
            const bool is_over = members_.size() == heard_.size() && w.state == w.finished;
            if (w.is_short == 0 && !is_over) continue;
            if (!mine.empty()) failed_elsewhere_ = {.code = errc::peer_aborted, .cause = w.failed()};
            return {};
        }
        if (members_.size() == heard_.size() && most == least && most == mine.size())
            return say(mine, all) ? status{} : in_room(broken_);
        padded_.resize(most_wire_up_bytes * (1 + heard_.size()));
        std::copy(mine.begin(), mine.end(), padded_.begin());
        const std::span<std::byte> whole(padded_);
        if (!say(whole.first(most), whole.subspan(most_wire_up_bytes, most * heard_.size()))) return in_room(broken_);
        for (std::size_t i = 0; i != members_.size() && !mine.empty(); ++i)
            std::memcpy(all.data() + i * mine.size(), whole.data() + most_wire_up_bytes + members_[i] * most,
                        mine.size());
        return {};
    }

    // What has gone wrong in the group. `said`: this rank's word.
    status hear_group(const detail::join_word& said) {
        group_.resize(members_.size());
        for (std::size_t i = 0; i != members_.size(); ++i) group_[i] = in_room(heard_[members_[i]]);
        if (const status bad = detail::verdict_of(group_, place_, {})) {
            told_ = true;
            return bad;
        }
        for (rank_t i = 0; i != size(); ++i) {
            const detail::join_word& w = group_[i];
            if (w.state == w.finished) return {.code = errc::peer_aborted, .cause = errc::cancelled, .peer = i};
            if ((w.state == w.saying) != (said.state == said.saying))
                return {.code = errc::call_mismatch, .mismatch = mismatch::collective, .peer = i};
            if (w.bytes != said.bytes)
                return {.code = errc::call_mismatch,
                        .mismatch = mismatch::count,
                        .peer = i,
                        .mine = said.bytes,
                        .theirs = w.bytes};
        }
        return {};
    }

    // --- Numbers of ranks ---

    rank_t in_room(rank_t of_wire) const noexcept {
        for (rank_t i = 0; i != size(); ++i)
            if (members_[i] == of_wire) return i;
        return no_rank;
    }
    status in_room(status s) const noexcept {
        s.peer = in_room(s.peer);
        return s;
    }
    detail::join_word in_room(detail::join_word w) const noexcept {
        w.peer = in_room(w.peer);
        return w;
    }
    status in_wire(status s) const noexcept {
        s.peer = s.peer < size() ? members_[s.peer] : no_rank;
        return s;
    }

    W* wire_;
    std::vector<rank_t> members_;        // of the group: ranks of `wire`, ascending
    rank_t place_;                       // among them
    std::span<detail::join_word> heard_; // in the last round, by rank of `wire`
    // heard_ lies in the first of these if that is long enough, so that a rank can hear without
    // memory.
    std::array<detail::join_word, 64> few_{};
    std::vector<detail::join_word> heard_memory_;
    std::vector<detail::join_word> group_; // the same words, by rank of the room
    std::vector<std::byte> padded_;
    std::uint64_t last_ns_;
    status broken_{};                  // the error of `wire`, with its numbers of ranks
    status failed_elsewhere_{};        // a rank of another group has run out of memory
    bool told_ = false;                // this rank knows the verdict of its group
    std::optional<wire_format> joins_; // what the ranks join; nothing: their builds have been compared
    bool is_short_ = false;            // this rank had no memory for the rest, and only says so
};

} // namespace bough

#endif
