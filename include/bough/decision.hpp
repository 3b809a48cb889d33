// SPDX-License-Identifier: BSL-1.0
// decision_of: what automatic{} takes for a call on a communicator, why, and which way the messages come
// that this rank gets.
//
//   std::cout << decision_of<goal::allreduce>(comm, {.bytes = 8192});      // bough/select/print_decision.hpp
//
// Of the problem it reads the bytes, the length of an element, whether the op is exact, and its narrowing; the
// rest is what the communicator knows. For rounded_once{} on bf16 the bytes are those of floats, and narrowing
// is 2. Prices are those by which automatic{} chooses: of the next power of two of bytes,
// and where all pairs of ranks are alike, of a root that stands for several. It sends no message, and the
// next call does what it says, unless that is the one in which new times of arrival take effect
// (communicator_options::follow_arrivals). Not collective. Include the collective's candidates, too:
// bough/select/standard/allreduce.hpp. (Its own header includes them, except in the compiled form.)
#ifndef BOUGH_DECISION_HPP
#define BOUGH_DECISION_HPP

#include <bough/call/front_door.hpp>
#include <bough/call/standard_plan.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/session/late_places.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The longest data of a rank that are left in late places, for this collective; 0: none are.
template <class Goal, Transport T>
std::uint32_t most_late_bytes(communicator<T>& comm) {
    if constexpr (SharesMemory<T> && (Goal::kind == goal::allreduce::kind || Goal::kind == goal::barrier::kind ||
                                      Goal::kind == goal::reduce::kind))
        if (comm.shared_session()->epoch() == 1)
            return late_places::where(comm.context(), comm.transport().size(), comm.transport().common_bytes())
                .most_bytes;
    return 0;
}

} // namespace detail

// Pre: call.bytes is a multiple of call.element_bytes; root < comm.size(), and 0 where there is no root.
template <class Goal, Transport T>
decision decision_of(communicator<T>& comm, const problem& call, const automatic& wanted = {}, rank_t root = 0) {
    static_assert(
        requires { sizeof(standard_set<Goal>); }, "bough: decision_of needs the candidates of the collective: include "
                                                  "<bough/select/standard/COLLECTIVE.hpp>");
    problem priced = detail::problem_of(comm, detail::size_class_of(call.bytes), call.exact_op);
    priced.narrowing = call.narrowing;
    if constexpr (Goal::kind == goal::allreduce::kind)
        if (call.narrowing <= 1 &&
            priced.network == nullptr) { // values that travel in series are not followed (bough/call/in_series.hpp)
            const detail::lateness late = comm.core()->expected_late(call.bytes);
            priced.late = late.rank;
            priced.late_ns = late.ns();
        }
    const any_cost_model& costs = comm.options().costs;
    const dimensions at{comm.size(), root};
    dimensions like = at;
    if (costs.homogeneous() && priced.network == nullptr) like.root = detail::priced_root<Goal>(at);
    decision made = detail::standard_decision<Goal>(like, priced, costs, wanted.required);
    if (like.root != root &&
        !(made && detail::serves_too<Goal>({made.winner().what.algorithm, made.winner().blocks},
                                           {at.size, root, made.winner().blocks}, priced, wanted.required)))
        made = detail::standard_decision<Goal>(at, priced, costs, wanted.required);
    made.at.root = root;
    made.what.bytes = call.bytes;
    made.what.element_bytes = call.element_bytes;
    if (!made) return made;
    const std::uint32_t most = wanted.late_ranks ? detail::most_late_bytes<Goal>(comm) : 0;
    if (most != 0 && call.bytes <= most) {
        made.ways_of = comm.rank();
        made.ways.push_back({.way = protocol::late_place, .to_bytes = most});
    } else {
        add_ways(made, comm);
    }
    return made;
}

} // namespace bough

#endif
