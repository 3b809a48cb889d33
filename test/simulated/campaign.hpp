// SPDX-License-Identifier: BSL-1.0
// One seed, one small history of a group: random collectives under random delays and faults, checked from all sides.
//
// A seed draws a number of ranks, a few operations (plan, op, size, in place or not), who starts late, how the transport
// behaves, and what goes wrong. run() drives all ranks in random order until every operation has ended on every rank
// that is alive, and returns null, or a sentence saying what was not as it must be:
//   a result is the sequential fold in rank order, bit for bit; nobody is told success with anything else
//   a deadline names the ranks that have stopped, and nobody else, in the same words on each rank
//   every operation ends by its deadline; if nothing was lost or delayed without notice, it ends without it
//   memory around the buffers, inputs, and buffers after the end of an operation stay as they are
//   the transport's rules hold, slots and pending posts are given back (simulated_world checks)
//   a failure on one rank is known to all; the survivors agree on who survives, and an allreduce among them is right
#ifndef BOUGH_TEST_SIMULATED_CAMPAIGN_HPP
#define BOUGH_TEST_SIMULATED_CAMPAIGN_HPP

#include "simulated/catalogue.hpp"
#include <bough/session/agreement.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/simulated.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace test {

using bough::simulated_fault;
using word = std::uint64_t;

// What a seed draws.
struct operation_setup {
    const bound_plan* plan = nullptr;
    bool affine = false; // maps x -> ax + b modulo 2^64, composed: associative, reveals every change of order
    bool in_place = false;
    std::uint64_t count = 0;
    std::uint32_t words() const { return affine ? 2 : 1; }                           // of an element
    std::size_t length() const { return static_cast<std::size_t>(count) * words(); } // of the vector, in words
};
struct history {
    std::uint64_t seed = 1;
    rank_t size = 2;
    bough::simulated_options world{};
    std::vector<operation_setup> operations;
    std::uint32_t window = 1;  // operations in flight on one rank
    bool two_contexts = false; // every other operation belongs to a second communicator
    std::uint64_t skew_ns = 0; // how late a rank may start an operation
    std::vector<simulated_fault> faults;
    bool may_time_out = false; // a fault is such that nobody can know of it before the deadline
    std::uint64_t timeout_ns = 20'000'000;

    // Nothing goes wrong but that ranks stop, nobody is late, and a question finds a slot beside what lies there.
    bool only_stops() const {
        return !faults.empty() && skew_ns == 0 && world.slots >= 8 &&
               std::all_of(faults.begin(), faults.end(),
                           [](const auto& f) { return f.what == simulated_fault::kind::stop; });
    }
};

// What the transport is made to do against the rules, to see that a campaign notices.
enum class sabotage { none, drop_abort, drop_control, swap_messages, corrupt_payload, forget_completion, forget_loss };

history draw_history(std::uint64_t seed, bool faults);

// How a run went; `problem` is null if all was well.
struct outcome {
    const char* problem = nullptr;
    std::uint64_t events = 0;
    std::uint32_t failed = 0, succeeded = 0; // operations, summed over live ranks
    std::uint32_t shrunk = 0;                // groups that went on without somebody
};

outcome run_in_place(const history& h, sabotage how = sabotage::none);
outcome run_taking(const history& h, sabotage how = sabotage::none);
// Either, by the seed.
inline outcome run(const history& h, sabotage how = sabotage::none) {
    return bough::detail::split_mix(h.seed)() % 2 == 0 ? run_in_place(h, how) : run_taking(h, how);
}

} // namespace test

#endif
