// SPDX-License-Identifier: BSL-1.0
// communicator_options: what a program may say of a communicator when it makes it. Communicators that
// are made from it (bough/group.hpp) have the same.
#ifndef BOUGH_COMMUNICATOR_OPTIONS_HPP
#define BOUGH_COMMUNICATOR_OPTIONS_HPP

#include <bough/core/config.hpp>
#include <bough/report/options.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/known_network.hpp>
#include <bough/select/two_levels.hpp>
#include <bough/session/unexpected.hpp>
#include <bough/session/waiting_hook.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace bough::inline BOUGH_ABI {

// In agree(), shrink() and grow() ranks agree who is alive. A rank that does not answer in time is
// taken for dead, and so two parts of a group that do not hear each other both go on (survivors), or
// only the one that has more than half of the ranks of the communicator, if there is one (majority).
enum class agreement_rule : std::uint8_t { survivors, majority };

struct communicator_options {
    std::uint64_t timeout_ns =
        30'000'000'000; // an operation that takes longer after its start ends with errc::deadline
    // How many bound plans are kept for reuse, besides those in use; at least 1. They keep their
    // scratch. Each call searches them, beginning with the one most lately used. A program that
    // goes round among more plans binds one anew in each call.
    std::size_t cached_plans = 64;
    // How many choices of automatic{} are remembered, at least 1: one for each collective, power of two
    // of bytes, root and set of required properties. Each is the name of an algorithm, with no steps.
    std::size_t cached_choices = 256;
    early_limits early{}; // limits for messages that come before their operation; equal on all ranks
    // Any CostModel: its costs decide which algorithm a collective runs if none is given. Must be
    // equal on all ranks, finite and not negative; otherwise calls without an algorithm end with
    // errc::unsupported on every rank, naming costs. If there is none, those that the transport states
    // are used (bough/select/transport_costs.hpp), and communicator::options() has them here.
    any_cost_model costs{};
    // Which ranks are near each other (make_two_levels in bough/select/standard/two_levels.hpp), by
    // their numbers in this communicator: then plans of two levels are candidates, too, and `costs`
    // may be left to them. Must be equal on all ranks. Empty: what the transport knows.
    std::shared_ptr<const two_levels> levels{};
    // What joins the ranks (know_network in bough/select/know_network.hpp), by their numbers in this
    // communicator: then choices are made by simulated runs over it, and not by `costs`, `levels` or times of
    // arrival. Must be connected, and equal on all ranks; without a placement, ranks beyond the hosts share
    // them. Neighbours' collectives, multicasts and partial calls of some ranks do not look at it.
    std::shared_ptr<const known_network> network{};
    // After this many allreduces of 64 KiB or more whose choice is left to the library, ranks tell each
    // other how long the latest ones took. If one rank keeps the others waiting, plans that hide it are
    // candidates from then on, and no longer if it has stopped (doc/concepts/choosing.md). So the bits
    // of an op that is not exact may depend on when ranks come. A call that is started may wait for
    // other ranks: choose at least twice as many as are in flight. Must be equal on all ranks. 0:
    // nothing is measured.
    std::uint32_t follow_arrivals = 0;
    // Called while a blocking call waits, by wait() and wait_for() of operations, and where a call that
    // is started waits (follow_arrivals).
    waiting_hook while_waiting{};
    // Of operations that have something to send to one rank, those with a higher priority go first:
    // started ones, over all communicators of a transport. It orders what this rank sends and changes no
    // result, so ranks may have different ones. A single operation: operation::set_priority.
    int priority = 0;
    // Who must agree in agree(), shrink() and grow(). Should be equal on all ranks.
    agreement_rule agreement = agreement_rule::survivors;
    // What is recorded of calls, and who gets reports (doc/reports.md).
    report_options report{};
};

} // namespace bough

#endif
