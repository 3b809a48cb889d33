// SPDX-License-Identifier: BSL-1.0
// Growing: processes join a running group, in the place of ranks that are lost or as further ones.
//
//   bough::meeting_place place;                        // the same for the group and for those who join
//   place.hosts = {{"10.0.0.1", 7000}};                // where members of the group may listen
//   bough::status s = bough::read_key_file("job.key", place.key);
//
//   comm = bough::grow(comm, place, 4);                // every rank of comm: 4 ranks, in a new epoch
//   auto comm = bough::join_group<bough::tcp>(place);  // a process that joins it: the same group
//
// Both throw bough::error. With a std::error_code or bough::status at the end they never throw, and
// give a std::optional that is empty on error. If ranks are lost, shrink() first: grow() needs a
// communicator that works.
//
// *Ranks* A rank keeps the number that it had in the transport (communicator::world_rank), if it is
// below the new size. Otherwise it takes the lowest number that is free. Joiners get the numbers
// that are left, the first one that came the lowest. A process that comes when all numbers are
// taken waits for the next growth; so a process can stand by until it is needed.
// *Key* Whoever joins proves that it knows place.key, and so does the group. What they exchange is
// encrypted.
// *Result* A new transport of the same kind, and its communicator of all ranks.
// communicator::epoch() is one more than that of `comm`. The old transport ends with its last
// communicator. grow() succeeds on all members or on none, also if ranks die meanwhile: they agree
// (doc/design/015-growing.md). After a failure `comm` still is what it was: if a rank was lost,
// shrink it, and grow again.
//
// Over tcp and shared memory. Needs OpenSSL's libcrypto: CMake target bough::tcp. (doc/failures.md,
// "Growing")
#ifndef BOUGH_GROW_HPP
#define BOUGH_GROW_HPP

#include <bough/allgather.hpp>
#include <bough/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/launch/growth.hpp>
#include <bough/launch/meeting.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Where the ranks of a group and the processes that join it meet.
struct meeting_place {
    // Addresses at which members can listen: the first one that a member has and that is free is
    // used, and joiners try all. For a group on several machines name each, or ranks that are left
    // may have none of them. Choose ports that the system gives to nobody else: on Linux below
    // 32768 by default.
    std::vector<tcp_host> hosts{};
    job_key key{};
    // For joiners: the epoch of the group to join; 0: any.
    std::uint32_t epoch = 0;
};

// The wire-up from which a grown group makes its transport.
using grown_wire_up = meeting_wire_up<openssl_mac>;

// Makes a transport from a wire-up: make(wire, result) -> std::optional<X>, as X::join does.
template <class F, class X>
concept MakesTransport = requires(F& make, grown_wire_up& wire, status& result) {
    { make(wire, result) } -> std::same_as<std::optional<X>>;
};

namespace detail {

// What a rank says of its build where it joins an X.
template <class X>
constexpr build_card build_of() noexcept {
    if constexpr (requires { X::format; })
        return build_card_of(X::format);
    else
        return build_card_of(wire_format::joining);
}

// With the options that the transport has by default.
template <class X>
struct joins_by_default {
    std::optional<X> operator()(grown_wire_up& wire, status& result) const {
        if constexpr (requires { X::join(wire, result); })
            return X::join(wire, result);
        else
            return X::join(wire, {}, result);
    }
};

template <Mac M>
status check_place(const meeting_place& place, std::uint64_t& mac) {
    if (place.hosts.empty()) return invalid_argument("place: has no host");
    for (const tcp_host& h : place.hosts)
        if (h.port == 0 || h.address.empty()) return invalid_argument("place: a host needs an address and a port");
    if (!place.key.is_set()) return invalid_argument("key: is not set");
    std::string text = "bough meeting place";
    for (const tcp_host& h : place.hosts) text += '\n' + h.address + ' ' + std::to_string(h.port);
    std::array<std::byte, mac_bytes> tag{};
    if (!M::authenticate(place.key.bytes(), std::as_bytes(std::span(text)), tag)) return {.code = errc::no_resources};
    std::memcpy(&mac, tag.data(), sizeof mac);
    return {};
}
inline grown_wire_up::bytes key_of(const meeting_place& place) {
    grown_wire_up::bytes key{};
    std::copy(place.key.bytes().begin(), place.key.bytes().end(), key.begin());
    return key;
}

// The first thing in which the members differ, or that keeps one from taking part; each finds the
// same, but `mine` is this rank's own error.
template <class X>
status compare_cards(const communicator<X>& comm, std::span<const growth_card> cards, const status& mine) {
    if (mine) return mine;
    for (rank_t r = 0; r != comm.size(); ++r)
        if (cards[r].code != 0)
            return {.code = errc::peer_aborted, .cause = static_cast<errc>(cards[r].code), .peer = comm.world_rank(r)};
    const growth_card& here = cards[comm.rank()];
    for (rank_t r = 0; r != comm.size(); ++r) {
        if (cards[r].size != here.size)
            return {.code = errc::call_mismatch,
                    .mismatch = mismatch::count,
                    .peer = comm.world_rank(r),
                    .mine = here.size,
                    .theirs = cards[r].size};
        if (cards[r].place != here.place) {
            status s = invalid_argument("place: its hosts or its key differ between ranks");
            s.peer = comm.world_rank(r);
            return s;
        }
    }
    return {};
}

// Who is a member: every rank tells the others as soon as it can.
inline status tell_members(grown_wire_up& wire, bool is_member, std::vector<std::byte>& members) {
    const std::byte mine{static_cast<unsigned char>(is_member ? 1 : 0)};
    members.resize(wire.size());
    return wire.exchange(std::span(&mine, 1), members, forever);
}

// All members tell each other what they were called with, and which of them listens.
template <class X>
status compare_members(communicator<X>& comm, const meeting_place& place, rank_t size, std::vector<growth_card>& cards,
                       unique_fd& listener) {
    growth_card card;
    card.size = size;
    const status mine = attempted([&]() -> status {
        if (size < comm.size()) return invalid_argument("size: is less than the group has");
        if (size > most_grown) return size_overflow("size: is more than one process can meet");
        if (const status bad = check_place<openssl_mac>(place, card.place)) return bad;
        if (!openssl_mac::random(std::as_writable_bytes(std::span(card.growth)))) return {.code = errc::no_resources};
        for (std::size_t i = 0; i != place.hosts.size() && !listener; ++i)
            if (grown_wire_up::listen(place.hosts[i].address, place.hosts[i].port, listener)) card.host = i;
        return {};
    });
    card.code = static_cast<std::uint64_t>(mine.code);
    const status told = guard_call(comm, [&] {
        status how;
        cards.resize(comm.size());
        std::array<std::uint64_t, sizeof card / sizeof(std::uint64_t)> said{};
        std::vector<std::uint64_t> all(said.size() * comm.size());
        std::memcpy(said.data(), &card, sizeof card);
        bough::allgather(comm, std::span<const std::uint64_t>(said), std::span(all), how);
        if (how) return how;
        for (rank_t r = 0; r != comm.size(); ++r)
            std::memcpy(static_cast<void*>(&cards[r]), all.data() + r * said.size(), sizeof card);
        return how;
    });
    if (told) return told;
    return compare_cards(comm, cards, mine);
}

// The communicator of a new transport. Then all agree that they have it: a joiner cannot know
// otherwise whether the members have.
template <class X>
std::optional<communicator<X>> open_grown(X&& link, std::uint32_t epoch, const communicator_options& options,
                                          agreed_group& reached, status& result) {
    auto shared = std::make_shared<session<X>>(std::move(link), options.early);
    shared->start_at(epoch);
    std::optional<communicator<X>> made(std::in_place, std::move(shared), std::vector<rank_t>{}, std::uint16_t{0},
                                        options);
    result = reach_agreement(*made, members_of(*made), made->context(), ~std::uint64_t{0}, reached);
    if (result) made.reset();
    return made;
}

// Calls the program's own code. What it throws is an error of this rank.
template <class X, class Make>
status make_link(grown_wire_up& wire, Make& make, std::optional<X>& link) {
    const status result = attempted([&]() -> status {
        status said;
#if BOUGH_HAS_EXCEPTIONS
        try {
#endif
            if (std::optional<X> joined = make(wire, said)) link.emplace(std::move(*joined));
#if BOUGH_HAS_EXCEPTIONS
        } catch (const error&) {
            throw;
        } catch (const std::bad_alloc&) {
            throw;
        } catch (...) {
            return {.code = errc::op_threw};
        }
#endif
        return said;
    });
    return link || result ? result : invalid_argument("make: gives no transport and no error");
}

// Meets the joiners, and makes a transport with them.
template <class X, class Make>
status meet_joiners(communicator<X>& comm, const meeting_place& place, rank_t size, unique_fd& listener,
                    std::span<const growth_card> cards, std::uint64_t last_ns, Make& make, std::optional<X>& link) {
    rank_t leader = 0;
    while (leader != comm.size() && cards[leader].host == ~0ull) ++leader;
    if (leader == comm.size())
        return invalid_argument("place: no rank can listen at one of its hosts: they are in use, or of other machines");
    if (leader != comm.rank()) listener.reset();
    grown_wire_up::plan plan;
    plan.epoch = comm.epoch() + 1;
    plan.leader = leader;
    plan.last_ns = last_ns;
    plan.build = build_of<X>();
    plan.known_as = members_of(comm);
    number_grown(plan.known_as, size, plan.members, plan.vacant);
    static_assert(sizeof plan.growth == sizeof cards[leader].growth);
    std::memcpy(plan.growth.data(), cards[leader].growth.data(), plan.growth.size());
    const tcp_host& at = place.hosts[cards[leader].host];
    // A member that dies before it has come to the meeting is missed only here. (Over shared memory
    // a rank that does not wait through the session sees a death late.)
    session<X>& shared = *comm.shared_session();
    const auto wait = [&](int, std::uint64_t last, const auto& heard) -> status {
        status why;
        const auto over = [&] {
            if (heard() || shared.now_ns() >= last) return true;
            for (const rank_t r : plan.known_as)
                if (shared.is_lost(r)) why = {.code = errc::peer_dead, .peer = r};
            if (const status broken = comm.poison(); broken && !why) why = poisoned(broken);
            return static_cast<bool>(why);
        };
        if (!shared.wait_until(over, last, comm.core()->hook())) why = {.code = errc::forked_child};
        return why;
    };
    status result;
    std::optional<grown_wire_up> wire =
        grown_wire_up::meet(at.address, at.port, key_of(place), plan, comm.rank(), std::move(listener), wait, result);
    if (!wire) return result;
    std::vector<std::byte> members;
    result = tell_members(*wire, true, members);
    if (!result) result = make_link(*wire, make, link);
    if (result) result.peer = number_before(result.peer, plan.members, plan.known_as);
    return result;
}

template <class X, class Make>
status grow_members(communicator<X>& comm, const meeting_place& place, rank_t size, Make& make,
                    std::optional<communicator<X>>& made) {
    session<X>& shared = *comm.shared_session();
    if (shared.forked()) return {.code = errc::forked_child};
    if (comm.is_stale()) return comm.stale();
    const std::uint64_t last_ns = deadline_after(steady_now_ns(), comm.options().timeout_ns);
    std::optional<X> link;
    const status how = attempted([&]() -> status {
        if (const status bad = check_has_no_names(comm)) return bad;
        std::vector<growth_card> cards;
        unique_fd listener;
        if (const status bad = compare_members(comm, place, size, cards, listener)) return bad;
        return meet_joiners(comm, place, size, listener, cards, last_ns, make, link);
    });
    // Some may have the transport and others not, if a rank died at the last moment. The members go
    // on together. One that has failed waits here for those that still wait at the meeting.
    const std::uint64_t now = steady_now_ns();
    agreed_group reached;
    const std::uint64_t patience_ns = deadline_after(time_left(now, last_ns), 3'000'000'000);
    if (const status bad =
            reach_agreement(comm, members_of(comm), comm.context(), growth_word(how), reached, patience_ns))
        return bad;
    const errc cause = cause_in(reached.word);
    const bool is_echo = how.code == errc::peer_dead || (how.code == errc::deadline && cause != errc::deadline);
    if (how && !is_echo) return how;
    // A member that gave up because of a lost rank may have been taken for lost itself, by others.
    if (reached.word != growth_word({})) {
        for (rank_t r = 0; r != comm.size(); ++r)
            if (reached.failed[r] != 0) return {.code = errc::peer_dead, .peer = comm.world_rank(r)};
        if (how && cause == errc::cancelled) return how;
        return {.code = errc::peer_aborted, .cause = cause, .peer = how.peer};
    }
    communicator_options options = comm.options_among(members_of(comm));
    options.levels.reset(), options.network.reset(); // of other ranks
    status result;
    made = open_grown(std::move(*link), comm.epoch() + 1, options, reached, result);
    return result;
}

// One try of a joiner. would_block: try again.
template <class X, class Make>
status try_to_join(const meeting_place& place, const tcp_host& at, const communicator_options& options,
                   std::uint64_t last_ns, Make& make, std::optional<communicator<X>>& made) {
    status result;
    std::optional<grown_wire_up> wire =
        grown_wire_up::join(at.address, at.port, key_of(place), place.epoch, build_of<X>(), last_ns, result);
    if (!wire) return result;
    std::vector<std::byte> members;
    if ((result = tell_members(*wire, false, members))) return result;
    std::optional<X> link;
    if ((result = make_link(*wire, make, link))) return result;
    agreed_group reached;
    made = open_grown(std::move(*link), wire->epoch(), options, reached, result);
    if (result) return result;
    for (rank_t r = 0; r != members.size(); ++r)
        if (members[r] != std::byte{} && reached.failed[r] == 0) return {};
    made.reset(); // all members are gone: they have given this growth up
    return {.code = errc::peer_dead};
}

template <class X, class Make>
status join_running(const meeting_place& place, const communicator_options& options, Make& make,
                    std::optional<communicator<X>>& made) {
    std::uint64_t mac = 0;
    if (const status bad = check_place<openssl_mac>(place, mac)) return bad;
    const std::uint64_t last_ns = deadline_after(steady_now_ns(), options.timeout_ns);
    status why{.code = errc::deadline, .argument = "place: no group has grown there"};
    for (;;) {
        for (const tcp_host& h : place.hosts) {
            const status result = try_to_join(place, h, options, last_ns, make, made);
            if (!result) return result;
            // What no later try can change.
            if (result.code == errc::invalid_argument && result.peer == no_rank) return result;
            if (result.code == errc::no_resources || result.code == errc::op_threw) return result;
            if (result.mismatch == mismatch::version) return result;
            if (result.code != errc::would_block) why = result;
            if (steady_now_ns() >= last_ns) return why;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

} // namespace detail

// All ranks of `comm` call it, with the same place and size; processes that call join_group()
// become the others. It waits for them for the timeout of `comm`, and ends after twice that and 3
// s more at the latest. `make` makes the new transport if it needs options, for example:
//   [](auto& wire, bough::status& s) { return bough::tcp::join(wire, {.bind = "10.0.0.1"}, s); }
// Pre: no operation is in flight on this rank, and no other thread of it uses the transport.
//
// *Errors* deadline: too few came; the message says how many, and whether one with another key was
// turned away. peer_dead: a member was lost. invalid_argument: the size is less than that of
// `comm`; the place has no host, no key, or differs between ranks (`peer` has another one); no rank
// can listen there, or this rank does not reach the one that listens (`peer`); the calls of `comm`
// have names. size_overflow: the size is above 1,048,576. call_mismatch: the size differs.
// group_poisoned: shrink `comm` first. peer_aborted: `peer`, or a rank that is not known, has an
// error of its own, with this cause; or the others have given this rank up. no_majority: what
// agreement_rule::majority says. op_threw: `make` threw what is no bough::error and no
// std::bad_alloc. And what joining the transport ends with.
template <class X, MakesTransport<X> Make, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> grow(communicator<X>& comm, const meeting_place& place, rank_t size,
                                                  Make make, E& ec) {
    std::optional<communicator<X>> made;
    detail::report(detail::guard_agreement([&] { return detail::grow_members(comm, place, size, make, made); }), ec);
    return made;
}
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> grow(communicator<X>& comm, const meeting_place& place, rank_t size,
                                                  E& ec) {
    return grow(comm, place, size, detail::joins_by_default<X>(), ec);
}
template <class X, MakesTransport<X> Make = detail::joins_by_default<X>>
[[nodiscard]] communicator<X> grow(communicator<X>& comm, const meeting_place& place, rank_t size, Make make = {}) {
    status s;
    return detail::value_or_throw(grow(comm, place, size, std::move(make), s), s);
}

// Joins a group that grows, as one of its ranks. It waits for options.timeout_ns until the group
// takes it. The options are those of the communicator. X is the transport of the group.
//
// *Errors* invalid_argument: the place has no host or no key; the group has another key, or is in a
// later epoch than place.epoch. deadline: no group has grown there, or too few came. protocol_error
// (mismatch::version): the group is of another build, with both versions. op_threw: as grow(). And
// what joining the transport ends with.
template <class X, MakesTransport<X> Make, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> join_group(const meeting_place& place, const communicator_options& options,
                                                        Make make, E& ec) {
    std::optional<communicator<X>> made;
    detail::report(detail::guard_agreement([&] { return detail::join_running(place, options, make, made); }), ec);
    return made;
}
template <class X, ErrorResult E>
[[nodiscard]] std::optional<communicator<X>> join_group(const meeting_place& place, const communicator_options& options,
                                                        E& ec) {
    return join_group<X>(place, options, detail::joins_by_default<X>(), ec);
}
template <class X, MakesTransport<X> Make = detail::joins_by_default<X>>
[[nodiscard]] communicator<X> join_group(const meeting_place& place, const communicator_options& options = {},
                                         Make make = {}) {
    status s;
    return detail::value_or_throw(join_group<X>(place, options, std::move(make), s), s);
}

} // namespace bough

#endif
