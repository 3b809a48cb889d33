// SPDX-License-Identifier: BSL-1.0
// The walk: prices a plan by running its own steps against a CostModel. It needs no formula, and
// works for any algorithm and size.
//
// Every rank has a clock, which begins at start_ns, or arrival_ns(rank) later if the model has that
// (bough/model/arriving.hpp). It runs its steps in program order:
//   send      the sender is busy for send_ns; the message arrives latency_ns later. The sender does not
//             wait for the receiver.
//   receive   waits until the message has arrived, then takes receive_ns
//   combine   takes combine_ns;   copy takes copy_ns
// The n-th receive from a peer takes the n-th message of that peer. Links carry any number of messages at once.
//
// Under a PortedCostModel every rank also has an out port and an in port, which carry one message at a time each:
//   send      when send_ns is over, the message is handed to the out port, which it holds for port_ns
//             from the moment that the port is free; it is at the receiver latency_ns after it began.
//             The sender goes on at once.
//   receive   the in port takes the messages in the order of the receives, each for port_ns, and not
//             before it is there nor, unless the model lands_early(), before the rank asks for it; then
//             the rank takes receive_ns
// A message is duplex if it is half of an exchange. Then its sender's next message step is a
// receive, and its receiver's previous message step is a send, but not of a message that this one
// answers, that is, the message that the sender received last. The out port cannot know of the
// receiver, so it goes by the sender alone. Copies and combines in between do not count. A message
// in parts is one message.
//
// These are the rules for eager messages, and without more all are. Papers often mean another rule: a
// transfer begins when both ranks are at it. A model may have eager_bytes() (bough/model/rendezvous.hpp);
// then a longer message is a rendezvous:
//   send      after send_ns a notice goes to the receiver, and is there latency_ns of a message without
//             bytes later. The sender goes on at once: with a send, a receive that follows is under way,
//             too, so the halves of an exchange never wait for each other.
//   receive   when the notice is there and the rank has come to the receive, the answer goes back,
//             which takes as long; then the message may begin. From there it is as above.
//   order     the messages of one rank, eager or not, begin in the order of its sends: none before the
//             one before it has begun and, with ports, has left the out port
//   end       a rank ends when its steps are done and its rendezvous are at their receivers
// So no time is shorter than without. In the paper's model, where messages spend no time on the way,
// notices and answers take none, and limit 0 is the rule of the papers. A plan that rests on messages
// that nobody has asked for yet does not end.
//
//   walk(plan, model, bytes)          prices a vector of `bytes`, cut into the plan's blocks
//   finish_times(plan, model, bytes)  when each rank ends; it does not wait for its out port
//
// *Time*    one visit per rank if a pass in the order of the tree suffices (trees, rings).
//           Otherwise a rank that needs a message not yet sent is left, and visited again when the
//           message is sent. Its steps are then emitted anew, and those that have run are skipped.
//           From the second visit on its next steps are kept, up to 64 MiB for all ranks.
// *Memory*  28 bytes per rank (ports: 100; a limit: 40 more), 16 per message under way beyond the first
//           of its sender (ports: 32), 32 per message that has not begun (ports: 40), kept steps
#ifndef BOUGH_MODEL_WALK_HPP
#define BOUGH_MODEL_WALK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/model/walker.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::model {

// Prices a plan. Pre: bytes is a multiple of element_bytes.
template <Plan P, CostModel M>
constexpr walk_result walk(const P& plan, const M& model, std::uint64_t bytes, std::uint64_t element_bytes = 1) {
    return detail::walker<P, M>(plan, model, bytes, element_bytes).run();
}

// When each rank ends, or gets stuck if the plan deadlocks.
template <Plan P, CostModel M>
constexpr std::vector<double> finish_times(const P& plan, const M& model, std::uint64_t bytes,
                                           std::uint64_t element_bytes = 1) {
    detail::walker<P, M> walker(plan, model, bytes, element_bytes);
    walker.run();
    std::vector<double> times;
    for (rank_t r = 0; r != plan.size(); ++r) times.push_back(walker.finish_ns(r));
    return times;
}

// The degree in 2 .. max_degree whose plan has the least makespan; the smallest if several are
// equal.
// Pre: max_degree >= 2.
//   best_degree_by_walk([](rank_t f) { return plan_reduce(tree_reduce{fnomial{.degree = f}}, {.size = 31}); }, m, 8, 16)
template <class PlanOfDegree, CostModel M>
constexpr rank_t best_degree_by_walk(const PlanOfDegree& plan_of, const M& model, std::uint64_t bytes,
                                     rank_t max_degree, std::uint64_t element_bytes = 1) {
    BOUGH_EXPECTS(max_degree >= 2, "max_degree: an f-nomial tree needs at least 2");
    rank_t best = 2;
    double best_ns = walk(plan_of(rank_t{2}), model, bytes, element_bytes).makespan_ns;
    for (rank_t f = 3; f <= max_degree; ++f) {
        const double ns = walk(plan_of(f), model, bytes, element_bytes).makespan_ns;
        if (ns < best_ns) best = f, best_ns = ns;
    }
    return best;
}

} // namespace bough::model

#endif
