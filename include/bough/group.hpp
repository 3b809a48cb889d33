// SPDX-License-Identifier: BSL-1.0
// Groups: further communicators over one transport, and going on after a failure.
//
//   auto other = bough::duplicate(comm);              the same ranks, messages of its own
//   auto part = bough::split(comm, color, key);       the ranks with my color, ordered by key, then by rank
//   std::uint64_t all = bough::agree(comm, word);     bitwise and over the survivors: the same value on each of them, if
//                                                     those that did not answer in time were dead (doc/design/007)
//   auto rest = bough::shrink(comm);                  a communicator of the survivors, in a new epoch
// All are collective over `comm`. Errors throw bough::error. Communicators over one transport share its fate: a failure in
// one poisons all of them; shrink() ends that, and all older communicators with it (their calls end with group_poisoned).
// A group can make 65,534 communicators; then duplicate and split end with no_resources, until the next shrink.
#ifndef BOUGH_GROUP_HPP
#define BOUGH_GROUP_HPP

#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/execute/agreement.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough {

namespace detail {

template <class X>
std::vector<rank_t> members_of(const communicator<X>& comm) {
    std::vector<rank_t> members(comm.size());
    for (rank_t r = 0; r != comm.size(); ++r) members[r] = comm.world_rank(r);
    return members;
}

// A context number that none of the members has used yet.
template <class X>
std::uint16_t fresh_context(communicator<X>& comm) {
    std::uint32_t next = comm.shared_session()->contexts().next();
    allreduce(comm, std::span(&next, 1), max{}, recursive_doubling{});
    if (next >= 0xffffu) throw_if({.code = errc::no_resources});
    comm.shared_session()->contexts().use(static_cast<std::uint16_t>(next));
    return static_cast<std::uint16_t>(next);
}

template <class X>
agreement<X> wait_agreement(communicator<X>& comm, std::vector<rank_t> members, std::uint16_t context,
                            std::uint64_t word) {
    if (comm.is_stale()) throw_if(comm.stale());
    session<X>& shared = *comm.shared_session();
    agreement<X> made(shared, std::move(members), context, shared.contexts().next_agreement(context), word,
                      comm.options().timeout_ns);
    const std::uint64_t no_deadline = 0; // every round has its own
    shared.wait_until([&] { return made.step(), made.done(); }, no_deadline);
    throw_if(made.result());
    return made;
}

} // namespace detail

// The same ranks in the same order; calls on the one never meet calls on the other.
template <class X>
communicator<X> duplicate(communicator<X>& comm) {
    const std::uint16_t context = detail::fresh_context(comm);
    return {comm.shared_session(), detail::members_of(comm), context, comm.options()};
}

// The ranks that gave the same color, ordered by key and then by their rank in `comm`.
template <class X>
communicator<X> split(communicator<X>& comm, std::uint32_t color, std::uint32_t key = 0) {
    const std::uint16_t context = detail::fresh_context(comm);
    std::vector<std::uint64_t> said(comm.size(), 0);
    said[comm.rank()] = std::uint64_t{color} << 32 | key;
    allreduce(comm, std::span(said), plus{}, recursive_doubling{});
    std::vector<std::pair<std::uint32_t, rank_t>> ordered;
    for (rank_t r = 0; r != comm.size(); ++r)
        if (said[r] >> 32 == color) ordered.emplace_back(static_cast<std::uint32_t>(said[r]), r);
    std::sort(ordered.begin(), ordered.end());
    std::vector<rank_t> members;
    for (const auto& [k, r] : ordered) members.push_back(comm.world_rank(r));
    return {comm.shared_session(), std::move(members), context, comm.options()};
}

// Works on a poisoned group too; ranks that are lost, or do not answer within the timeout, do not take part.
template <class X>
std::uint64_t agree(communicator<X>& comm, std::uint64_t word) {
    return detail::wait_agreement(comm, detail::members_of(comm), comm.context(), word).word();
}

// Called by every rank of the *transport* that is alive, on communicators of the same members. Pre: no operation is in
// flight on this rank. The survivors keep their order.
template <class X>
communicator<X> shrink(communicator<X>& comm) {
    session<X>& shared = *comm.shared_session();
    std::vector<rank_t> everybody(shared.size());
    for (rank_t r = 0; r != shared.size(); ++r) everybody[r] = r;
    const agreement<X> agreed = detail::wait_agreement(comm, everybody, session<X>::shrink_context, ~std::uint64_t{0});
    std::vector<rank_t> members;
    for (const rank_t r : detail::members_of(comm))
        if (agreed.failed()[r] == 0) members.push_back(r);
    shared.begin_epoch();
    const std::uint16_t context = shared.contexts().next();
    shared.contexts().use(context);
    return {comm.shared_session(), std::move(members), context, comm.options()};
}

} // namespace bough

#endif
