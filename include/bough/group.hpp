// SPDX-License-Identifier: BSL-1.0
// Groups: make further communicators over one transport, and go on after a failure.
//
//   auto other = bough::duplicate(comm);           the same ranks, with messages of its own
//   auto part = bough::split(comm, color, key);    the ranks with my color, by key, then by rank
//   auto some = bough::create_group(comm, list);   the ranks of a list, called by those alone
//   std::uint64_t all = bough::agree(comm, word);  bitwise and over the survivors: the same value
//                                                  on each of them, if those that did not answer
//                                                  in time were dead (doc/design/007)
//   auto rest = bough::shrink(comm);               a communicator of the survivors, in a new epoch
//
// duplicate and split make calls without names. So they are refused, without harm, on a communicator
// whose calls have names.
// These throw bough::error. With a std::error_code or bough::status behind the arguments they never
// throw, and give a std::optional that is empty on error:
//   bough::status s;
//   if (auto rest = bough::shrink(comm, s)) ...
// All but create_group are collective over `comm`. A failure of one communicator does not reach the
// others over its transport, unless a rank is lost: that poisons them all (doc/failures.md).
// communicator_options::agreement says whether agree() and shrink() need a majority. shrink()
// ends the poison, and it ends all older communicators, too: their calls end with group_poisoned. If
// duplicate or split fails, `comm` is poisoned, as some ranks may not have seen the failure.
//
// A rank can have 65,534 communicators over one transport, besides the first. If it has so many,
// duplicate, split and create_group end with no_resources. The number of a communicator is used again
// when all of its ranks have destroyed it, so there is no limit to how many are made one after the
// other. Before that, only a rank that is lost keeps a number, until the next shrink.
//
// Over bough::serialised transports, several threads of a rank may make communicators at the same
// time, each from a communicator of its own. They can be so much in each other's way that the
// timeout of `comm` passes. Then the call ends with deadline on all of its ranks, and may be made
// again.
#ifndef BOUGH_GROUP_HPP
#define BOUGH_GROUP_HPP

#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/error.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/session/agreement.hpp>
#include <bough/session/meeting.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class X>
std::vector<rank_t> members_of(const communicator<X>& comm) {
    std::vector<rank_t> members(comm.size());
    for (rank_t r = 0; r != comm.size(); ++r) members[r] = comm.world_rank(r);
    return members;
}

// Calls without names, of which the front doors here are made, are no calls of a communicator whose
// calls have names (bough/call/named.hpp).
template <class X>
status check_has_no_names(communicator<X>& comm) {
    if (comm.is_stale() || comm.core()->order() == nullptr) return {};
    return invalid_argument("comm: its calls have names: give the communicator of which it is a duplicate");
}

// Has a member ended its calls before the latest one of this rank? Then that ended well nowhere.
template <class X>
bool lacks_a_member(communicator<X>& comm) {
    session<X>& shared = *comm.shared_session();
    return shared.with_lock([&] {
        envelope latest;
        latest.context = comm.context();
        latest.operation = shared.contexts().latest(latest.context);
        return shared.contexts().end_before(latest) != nullptr;
    });
}

// For a failure in the middle of several calls that belong together: other ranks may not have seen
// it, and make the next of these calls. So the communicator is broken.
template <class X>
status break_with(communicator<X>& comm, const status& why) {
    if (why.code == errc::forked_child || detail::lacks_a_member(comm)) return why;
    if (why.code != errc::group_poisoned) comm.shared_session()->break_communicator(comm.context(), why);
    return why;
}

// Finds a context number that is free on all of the members, and reserves it on each of them.
//
// Calls of other threads may come in between anywhere. So each member reserves a number. If the
// numbers differ, the members take the largest, if it is still free on all of them. That takes one
// allreduce, and more only when other threads were in the way. In those rounds, a thread that is
// not the first in line on its rank proposes none (0), and all begin anew: so the thread of the
// lowest communicator gets its number first. One round in eight ignores the line, as the first in
// line may wait for a rank that makes this communicator before that one.
//
// Nothing of this bounds the rounds, so the communicator's timeout does: when it has passed on any
// member, they all end with errc::deadline in the same round, and nothing is broken.
template <class X>
status fresh_context(communicator<X>& comm, std::uint16_t& made) {
    session<X>& shared = *comm.shared_session();
    if (shared.forked()) return {.code = errc::forked_child};
    const auto locked = [&](auto&& f) { return shared.with_lock([&] { return f(shared.contexts()); }); };
    struct place_in_line {
        const decltype(locked)& use;
        std::uint16_t from;
        place_in_line(const decltype(locked)& l, std::uint16_t f) : use(l), from(f) {
            use([this](contexts& c) { c.stand_in_line(from); });
        }
        place_in_line(const place_in_line&) = delete;
        ~place_in_line() {
            use([this](contexts& c) { c.leave_line(from); });
        }
    } const place(locked, comm.context());
    const auto give_back = [&](std::uint16_t n) {
        if (n != 0) locked([&](contexts& c) { c.give_back(n); });
    };
    const std::uint64_t last = deadline_after(shared.now_ns(), comm.options().timeout_ns);
    for (std::uint32_t least = 1, round = 0;; ++round) {
        const bool in_turn = round % 8 != 0;
        const std::uint16_t mine = locked(
            [&](contexts& c) { return !in_turn || c.is_first(place.from) ? c.reserve(least) : std::uint16_t{0}; });
        // The largest number, the complement of the least one, and whether some member's time is
        // up.
        std::array<std::uint32_t, 3> range{mine, ~std::uint32_t{mine}, round != 0 && shared.now_ns() >= last ? 1u : 0u};
        status s;
        bough::allreduce(comm, std::span(range), max{}, recursive_doubling{}, s);
        const auto most = static_cast<std::uint16_t>(range[0]);
        if (s.code == errc::group_poisoned || (s && detail::lacks_a_member(comm))) give_back(mine);
        // Others may have made it with this number: it is not used again.
        if (s) return detail::break_with(comm, s);
        if (most == contexts::none) return give_back(mine), status{.code = errc::no_resources};
        const bool all_propose = ~range[1] != 0;
        if (all_propose && range[0] == ~range[1]) return made = mine, s; // all members have the same number
        if (range[2] != 0) return give_back(mine), status{.code = errc::deadline};
        if (!all_propose) { // some member's turn has not come
            give_back(mine);
            continue;
        }
        std::uint32_t is_free = mine == most || locked([&](contexts& c) { return c.claim(most); }) ? 1 : 0;
        const bool has_it = is_free != 0;
        if (mine != most) give_back(mine);
        bough::allreduce(comm, std::span(&is_free, 1), min{}, recursive_doubling{}, s);
        if (s) return detail::break_with(comm, s);
        if (is_free != 0) return made = most, s;
        if (has_it) give_back(most);
        least = most + 1u;
    }
}

struct agreed_group {
    std::uint64_t word = 0;
    std::vector<unsigned char> failed;
};

// `later_ns`: how much later than within the timeout other members may begin.
template <class X>
status reach_agreement(communicator<X>& comm, std::vector<rank_t> members, std::uint16_t context, std::uint64_t word,
                       agreed_group& reached, std::uint64_t later_ns = 0) {
    session<X>& shared = *comm.shared_session();
    if (shared.forked()) return {.code = errc::forked_child};
    if (comm.is_stale()) return comm.stale();
    const bool needs_majority = comm.options().agreement == agreement_rule::majority;
    // If memory runs out before it begins, it has no number: the next one is that of the others.
    struct numbered {
        numbered(session<X>& s, std::uint16_t c)
            : its(s), context(c), number(s.with_lock([&] { return s.contexts().next_agreement(c); })) {}
        numbered(const numbered&) = delete;
        ~numbered() {
            if (!has_begun) its.with_lock([this] { its.contexts().take_back_agreement(context); });
        }
        session<X>& its;
        std::uint16_t context;
        std::uint32_t number;
        bool has_begun = false;
    } its(shared, context);
    reached.failed.resize(members.size());
    agreement<X> made(shared, members, context, its.number, word, deadline_after(later_ns, comm.options().timeout_ns),
                      needs_majority ? detail::members_of(comm) : std::vector<rank_t>{});
    its.has_begun = true;
    // A transport may need memory to sleep, and throw. Then it does not sleep: the others know that this
    // rank takes part.
    const auto wait_until = [&](const auto& is_over, const std::uint64_t& last) {
        bool is_parent = true, has_ended = false;
        while (!has_ended)
            ignore_exceptions([&] {
                is_parent = shared.wait_until(is_over, last, comm.core()->hook());
                has_ended = true;
            });
        return is_parent;
    };
    if (!wait_until([&] { return made.step(), made.done(); }, made.deadline_ns())) return {.code = errc::forked_child};
    reached.word = made.word();
    std::copy(made.failed().begin(), made.failed().end(), reached.failed.begin());
    // The others need this rank's last messages, which may be behind a long message that was given
    // up. If a member takes nothing for so long, they are left unsent.
    constexpr std::uint64_t patience_ns = 1'000'000'000;
    const std::uint64_t last = deadline_after(shared.now_ns(), patience_ns);
    const auto told = [&] {
        for (std::size_t i = 0; i != members.size(); ++i)
            if (reached.failed[i] == 0 && !shared.has_told(members[i])) return shared.now_ns() >= last;
        return true;
    };
    if (!wait_until(told, last)) return {.code = errc::forked_child};
    return made.result();
}

template <class X>
status check_list(const communicator<X>& comm, std::span<const rank_t> list) {
    if (list.empty()) return invalid_argument("list: is empty");
    std::vector<unsigned char> seen(comm.size(), 0);
    for (const rank_t r : list) {
        if (r >= comm.size()) return invalid_argument("list: has a rank that the communicator has not");
        if (seen[r] != 0) return invalid_argument("list: has a rank twice");
        seen[r] = 1;
    }
    return seen[comm.rank()] != 0 ? status{} : invalid_argument("list: lacks the rank that calls");
}

template <class X>
communicator<X> next_to(communicator<X>& comm, std::vector<rank_t> members, std::uint16_t context) {
    communicator_options options = comm.options_among(members);
    return {comm.shared_session(), std::move(members), context, std::move(options)};
}

// Calls f() -> status. It throws only if memory runs out. An agreement is not a call of the
// communicator, so it is not refused.
template <class F>
status guard_agreement(F&& f) {
#if BOUGH_HAS_EXCEPTIONS
    try {
        return f();
    } catch (...) {
        return {.code = errc::no_resources};
    }
#else
    return f();
#endif
}

template <class V>
V value_or_throw(std::optional<V>&& made, const status& s) {
    throw_if(s);
    return std::move(*made);
}

} // namespace detail

// A communicator of the same ranks in the same order. Calls on one never meet calls on the other.
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> duplicate(communicator<X>& comm, E& ec) {
    std::optional<communicator<X>> made;
    const auto run = [&]() -> status {
        if (const status bad = detail::check_has_no_names(comm)) return bad;
        std::vector<rank_t> members = detail::members_of(comm);
        std::uint16_t context = 0;
        if (const status bad = detail::fresh_context(comm, context)) return bad;
        made.emplace(detail::next_to(comm, std::move(members), context));
        return {};
    };
    detail::report(detail::guard_call(comm, run), ec);
    return made;
}
template <class X>
[[nodiscard]] communicator<X> duplicate(communicator<X>& comm) {
    status s;
    return detail::value_or_throw(bough::duplicate(comm, s), s);
}

// A communicator of the ranks that gave the same color, ordered by key and then by their rank in
// `comm`.
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> split(communicator<X>& comm, std::uint32_t color, std::uint32_t key,
                                                   E& ec) {
    std::optional<communicator<X>> made;
    const auto run = [&]() -> status {
        if (const status bad = detail::check_has_no_names(comm)) return bad;
        std::vector<std::uint64_t> said(comm.size(), 0);
        said[comm.rank()] = std::uint64_t{color} << 32 | key;
        status s;
        bough::allreduce(comm, std::span(said), plus{}, recursive_doubling{}, s);
        if (s) return detail::break_with(comm, s);
        std::vector<std::pair<std::uint32_t, rank_t>> ordered;
        for (rank_t r = 0; r != comm.size(); ++r)
            if (said[r] >> 32 == color) ordered.emplace_back(static_cast<std::uint32_t>(said[r]), r);
        std::sort(ordered.begin(), ordered.end());
        std::vector<rank_t> members;
        for (const auto& [k, r] : ordered) members.push_back(comm.world_rank(r));
        std::uint16_t context = 0;
        if (s = detail::fresh_context(comm, context); s) return s;
        made.emplace(detail::next_to(comm, std::move(members), context));
        return {};
    };
    detail::report(detail::guard_call(comm, run), ec);
    return made;
}
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> split(communicator<X>& comm, std::uint32_t color, E& ec) {
    return split(comm, color, 0, ec);
}
template <class X>
[[nodiscard]] communicator<X> split(communicator<X>& comm, std::uint32_t color, std::uint32_t key = 0) {
    status s;
    return detail::value_or_throw(bough::split(comm, color, key, s), s);
}

// A communicator of these ranks of `comm`, in this order. Only they call it, with the same list; it is no
// call of `comm`, and the other ranks need not know of it. A rank makes one at a time from a
// communicator. If they do not all come within the timeout of `comm`, or the lists differ, it fails
// on all that are there, and may be called again; `comm` is not poisoned.
//
// *Errors* invalid_argument: the list is empty, has a rank that `comm` has not, has one twice, or lacks
// this rank. call_mismatch: `peer` has another list; at the deadline at the latest. deadline: who is
// missing. no_resources: no number is free. On other ranks peer_aborted, with that cause.
// *Messages* 5 (m - 1) for m members, and 2 (m - 1) more where the numbers that are free differ.
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> create_group(communicator<X>& comm, std::span<const rank_t> list, E& ec) {
    std::optional<communicator<X>> made;
    const auto run = [&]() -> status {
        session<X>& shared = *comm.shared_session();
        if (shared.forked()) return {.code = errc::forked_child};
        if (comm.is_stale()) return comm.stale();
        if (const status why = comm.poison()) return poisoned(why);
        if (const status bad = detail::check_list(comm, list)) return bad;
        std::vector<rank_t> members;
        for (const rank_t r : list) members.push_back(comm.world_rank(r));
        detail::meeting<X> found(shared, members, comm.context(), comm.options().timeout_ns);
        if (!shared.wait_until([&] { return found.step(), found.done(); }, found.deadline_ns(), comm.core()->hook()))
            return {.code = errc::forked_child};
        if (!found.result()) made.emplace(detail::next_to(comm, std::move(members), found.number()));
        return found.result();
    };
    detail::report(detail::guard_agreement(run), ec);
    return made;
}
template <class X>
[[nodiscard]] communicator<X> create_group(communicator<X>& comm, std::span<const rank_t> list) {
    status s;
    return detail::value_or_throw(create_group(comm, list, s), s);
}

// Agrees on the bitwise and of all words. It works on a poisoned group, too. Ranks that are lost,
// or do not answer within twice the timeout of `comm`, do not take part: twice, as some ranks may have
// the result of the call before, and others wait in it until its time is up. If that call had more time
// than `comm` has now, the first ones can take the others for dead.
//
// *Errors* peer_aborted: this rank was taken for dead, as it came too late. no_resources: there was no
// memory; call it again, as the others wait for this rank. no_majority, if
// options().agreement asks for one: no more than half of the ranks are known to have the same result.
// Others may know it.
template <class X, ErrorResult E>
[[nodiscard]] std::optional<std::uint64_t> agree(communicator<X>& comm, std::uint64_t word, E& ec) {
    std::optional<std::uint64_t> all;
    const auto run = [&]() -> status {
        detail::agreed_group reached;
        const status bad = detail::reach_agreement(comm, detail::members_of(comm), comm.context(), word, reached,
                                                   comm.options().timeout_ns);
        if (!bad) all = reached.word;
        return bad;
    };
    detail::report(detail::guard_agreement(run), ec);
    return all;
}
template <class X>
std::uint64_t agree(communicator<X>& comm, std::uint64_t word) {
    status s;
    return detail::value_or_throw(bough::agree(comm, word, s), s);
}

// A communicator of the survivors, in their order. Every rank of the *transport* that is alive
// calls it, on communicators of the same members, and may come as late as to agree(). Pre: no operation
// is in flight on this rank, and no other thread of it uses the transport, except for a progress_thread.
//
// *Errors* those of agree(). The majority is one of the ranks of `comm`. After an error there is no new
// epoch.
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> shrink(communicator<X>& comm, E& ec) {
    std::optional<communicator<X>> made;
    const auto run = [&]() -> status {
        session<X>& shared = *comm.shared_session();
        std::vector<rank_t> everybody(shared.size()), members = detail::members_of(comm);
        for (rank_t r = 0; r != shared.size(); ++r) everybody[r] = r;
        detail::agreed_group reached;
        // No call that waits for its turn starts any more: it ends with the epoch.
        const struct pause {
            explicit pause(session<X>& s) noexcept : its(s) { its.pause_attendants(true); }
            ~pause() { its.pause_attendants(false); }
            session<X>& its;
        } paused(shared);
        if (const status bad = detail::reach_agreement(comm, std::move(everybody), session<X>::shrink_context,
                                                       ~std::uint64_t{0}, reached, comm.options().timeout_ns))
            return bad;
        std::erase_if(members, [&](rank_t r) { return reached.failed[r] != 0; });
        shared.end_unattended();
        const std::uint16_t context = shared.with_lock([&] {
            shared.begin_epoch();
            return shared.contexts().reserve();
        });
        made.emplace(detail::next_to(comm, std::move(members), context));
        return {};
    };
    detail::report(detail::guard_agreement(run), ec);
    return made;
}
template <class X>
[[nodiscard]] communicator<X> shrink(communicator<X>& comm) {
    status s;
    return detail::value_or_throw(bough::shrink(comm, s), s);
}

} // namespace bough

#endif
