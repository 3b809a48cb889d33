// SPDX-License-Identifier: BSL-1.0
// A job of the soak, drawn from one seed: over which transport, how many ranks, which calls, and what
// befalls one rank.
#ifndef BOUGH_TEST_SOAK_DRAW_HPP
#define BOUGH_TEST_SOAK_DRAW_HPP

#include "support/sample.hpp"
#include <bough/core/rank.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace soak {

// Numbers from a seed, equal on every machine.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(bough_test::mixed(seed)) {}
    std::uint64_t roll(std::uint64_t below) { return (state_ = bough_test::mixed(state_ + 1)) % below; }
    bool once_in(std::uint64_t n) { return roll(n) == 0; }

private:
    std::uint64_t state_;
};

enum class link : std::uint8_t { in_process, shared_memory, tcp, composite, one_sided };
inline constexpr std::array<const char*, 5> link_names{"in_process", "shared_memory", "tcp", "composite", "one_sided"};

enum class fault : std::uint8_t {
    none,
    cancelled,      // an operation in flight is cancelled, destroyed, or its time is set to nothing
    slow,           // a rank sleeps before its calls
    paused,         // SIGSTOP, and SIGCONT after a while
    killed,         // SIGKILL
    stopped,        // SIGSTOP until the others have given it up; then SIGCONT or SIGKILL
    leaves,         // the rank destroys its communicators, and what is in flight
    forks,          // the rank forks; the child makes a call, and ends
    interrupted,    // a signal every millisecond, without SA_RESTART
    short_calls,    // the system sends, receives and reads less than it is asked to
    clock_jumps,    // the time of day jumps by days
    no_memory,      // an allocation fails, or all do for the rest of the step
    no_descriptors, // no more can be opened
    full_disk,      // no file can grow, and no memory that is shared by a file
};
inline constexpr std::array fault_names{"none",        "cancelled", "slow",           "paused",      "killed",
                                        "stopped",     "leaves",    "forks",          "interrupted", "short_calls",
                                        "clock_jumps", "no_memory", "no_descriptors", "full_disk"};

enum class kind : std::uint8_t {
    allreduce,
    reduce,
    broadcast,
    reduce_scatter,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    gather,
    scatter,
    scan,
    exscan,
    barrier,
    reduce_scatterv,
    gatherv,
    scatterv,
    multicast,
    multicasts,
    neighbour_allgather,
    neighbour_alltoall,
    neighbour_alltoallv,
    allreduce_of_batch,
    reduce_of_batch,
    partial_allreduce,
};
inline constexpr std::array<const char*, 24> kind_names{"allreduce",
                                                        "reduce",
                                                        "broadcast",
                                                        "reduce_scatter",
                                                        "allgather",
                                                        "allgatherv",
                                                        "alltoall",
                                                        "alltoallv",
                                                        "gather",
                                                        "scatter",
                                                        "scan",
                                                        "exscan",
                                                        "barrier",
                                                        "reduce_scatterv",
                                                        "gatherv",
                                                        "scatterv",
                                                        "multicast",
                                                        "multicasts",
                                                        "neighbour_allgather",
                                                        "neighbour_alltoall",
                                                        "neighbour_alltoallv",
                                                        "allreduce of a batch",
                                                        "reduce of a batch",
                                                        "partial allreduce"};
constexpr bool combines(kind k) { // with one op
    return k == kind::allreduce || k == kind::reduce || k == kind::reduce_scatter || k == kind::reduce_scatterv ||
           k == kind::scan || k == kind::exscan || k == kind::partial_allreduce;
}
constexpr bool may_expect_late_ranks(kind k) { return k == kind::allreduce || k == kind::reduce || k == kind::barrier; }
constexpr bool is_of_batch(kind k) { return k == kind::allreduce_of_batch || k == kind::reduce_of_batch; }
constexpr bool is_of_neighbours(kind k) {
    return k == kind::neighbour_allgather || k == kind::neighbour_alltoall || k == kind::neighbour_alltoallv;
}

enum class form : std::uint8_t { blocking, started, bound };
inline constexpr std::array<const char*, 3> form_names{"", "start_", "bind_"};

// Which communicator a call is made on.
enum class place : std::uint8_t {
    world,
    part,  // ranks of one colour, in an order of its own: of a split, or of create_group
    named, // a duplicate whose calls have names, started in another order on each rank
};
inline constexpr std::array<const char*, 3> place_names{"world", "part", "named"};

struct call_plan {
    kind what = kind::barrier;
    form how = form::blocking;
    place where = place::world;
    std::uint8_t type = 0, op = 0; // of values.hpp
    bool in_place = false;
    bool late_ranks = false; // as automatic{} has it
    int priority = 0;
    std::uint64_t root = 0;   // modulo the ranks
    std::size_t elements = 0; // of the whole call, about
    std::uint64_t seed = 0;   // of its values, and of its shape (shape.hpp)
    bool is_lie = false;      // this rank gives others
};
struct step_plan {
    bool has_part = false, has_named = false;
    bool is_by_list = false; // the part is made by create_group, which its ranks alone call
    std::uint32_t colours = 1;
    std::uint64_t seed = 0;
    std::vector<call_plan> calls{};
};

enum class blow : std::uint8_t { cancel, destroy, time_out };

// What the plan does not say and somebody must notice: to see whether it is noticed (check).
enum class plant : std::uint8_t {
    nothing,
    wrong,  // a rank gives other values
    leaves, // a rank leaves
    hangs,  // a rank does nothing any more
};
inline constexpr std::array plant_names{"nothing", "wrong", "leaves", "hangs"};

struct job_plan {
    soak::plant planted = plant::nothing;
    std::uint64_t seed = 0;
    soak::link link{};
    soak::fault fault{};
    bough::rank_t ranks = 1;
    std::vector<step_plan> steps{};
    // The fault: to whom, in which call, so many microseconds after it has begun.
    bough::rank_t victim = 0;
    std::uint32_t step = 0, call = 0;
    std::uint32_t after_us = 0;
    std::uint32_t lasts_ms = 0; // paused, slow
    bool is_for_good = false;   // stopped: it is killed in the end; no_memory: all allocations fail
    bool is_at_join = false;    // no_descriptors, full_disk: before the rank joins the group
    soak::blow blow{};

    bool strikes_at(std::uint32_t at_step, std::uint32_t at_call, bough::rank_t r) const {
        return fault != soak::fault::none && r == victim && at_step == step && at_call == call;
    }
    std::uint64_t timeout_ns() const { return (fault == soak::fault::stopped ? 5 : 60) * std::uint64_t{1'000'000'000}; }
};

inline std::size_t draw_length(dice& d) {
    switch (d.roll(20)) {
    case 0: return 0;
    case 1:
    case 2:
    case 3:
    case 4: return 1;
    case 5:
    case 6: return 1'000 + d.roll(9'000);
    case 7: return 10'000 + d.roll(60'000);
    case 8: return d.once_in(3) ? 200'000 + d.roll(100'000) : 4'096;
    default: return 2 + d.roll(200);
    }
}

inline call_plan draw_call(dice& d, const step_plan& in, const std::vector<std::uint8_t>& ops) {
    call_plan c;
    c.what = static_cast<kind>(d.roll(kind_names.size()));
    c.type = static_cast<std::uint8_t>(d.roll(ops.size()));
    c.op = static_cast<std::uint8_t>(d.roll(ops[c.type]));
    c.how = static_cast<form>(d.roll(form_names.size()));
    c.where = in.has_part && d.once_in(3) ? place::part : place::world;
    if (in.has_named && d.once_in(3)) {
        c.where = place::named;
        c.how = form::started;
    }
    c.in_place = d.once_in(2);
    c.late_ranks = may_expect_late_ranks(c.what) && d.once_in(4);
    c.priority = d.once_in(4) ? static_cast<int>(d.roll(5)) - 2 : 0;
    c.root = d.roll(1'000);
    c.elements = draw_length(d);
    c.seed = d.roll(1'000'000);
    if (c.what == kind::partial_allreduce) { // blocks, has no name, and keeps its input
        c.how = form::blocking;
        if (c.where == place::named) c.where = place::world;
        c.in_place = false;
    }
    return c;
}

// `ops`: how many there are for each type of element.
inline job_plan draw_job(std::uint64_t seed, const std::vector<std::uint8_t>& ops) {
    dice d(seed);
    job_plan job;
    job.seed = seed;
    job.link = static_cast<link>(d.roll(link_names.size()));
    // A stop costs seconds, as nobody notices it before the deadline.
    using enum fault;
    static constexpr std::array usual{
        none,        none,           cancelled,      cancelled,   cancelled,   slow,        paused,    paused,
        killed,      killed,         killed,         killed,      stopped,     leaves,      leaves,    forks,
        interrupted, interrupted,    short_calls,    short_calls, short_calls, clock_jumps, no_memory, no_memory,
        no_memory,   no_descriptors, no_descriptors, full_disk,   full_disk};
    static constexpr std::array of_threads{none,  cancelled,   cancelled,   slow,      leaves,
                                           forks, interrupted, clock_jumps, no_memory, no_memory};
    job.fault = job.link == link::in_process ? of_threads[d.roll(of_threads.size())] : usual[d.roll(usual.size())];
    job.ranks = static_cast<bough::rank_t>(1 + d.roll(9));
    const bool needs_others = job.fault == killed || job.fault == stopped || job.fault == leaves;
    if (needs_others && job.ranks == 1) job.ranks = 2;
    const std::size_t steps = 2 + d.roll(4);
    for (std::size_t i = 0; i != steps; ++i) {
        step_plan s;
        s.has_part = d.once_in(3);
        s.has_named = d.once_in(3);
        s.is_by_list = s.has_part && !s.has_named && d.once_in(2);
        s.colours = static_cast<std::uint32_t>(1 + d.roll(3));
        s.seed = d.roll(1'000'000);
        const std::size_t calls = 1 + d.roll(12);
        for (std::size_t k = 0; k != calls; ++k) s.calls.push_back(draw_call(d, s, ops));
        job.steps.push_back(std::move(s));
    }
    job.victim = static_cast<bough::rank_t>(d.roll(job.ranks));
    job.step = static_cast<std::uint32_t>(d.roll(job.steps.size()));
    job.call = static_cast<std::uint32_t>(d.roll(job.steps[job.step].calls.size()));
    job.after_us = static_cast<std::uint32_t>(d.once_in(4) ? 0 : d.once_in(4) ? d.roll(20'000) : d.roll(600));
    job.lasts_ms = static_cast<std::uint32_t>(1 + (d.once_in(4) ? d.roll(1'000) : d.roll(60)));
    job.is_for_good = d.once_in(2);
    job.is_at_join = (job.fault == no_descriptors || job.fault == full_disk) && d.once_in(3);
    job.blow = static_cast<blow>(d.roll(3));
    if (job.fault == fault::cancelled) { // what is cancelled is in flight, and breaks nothing else
        call_plan& c = job.steps[job.step].calls[job.call];
        c.how = form::started;
        if (c.what == kind::partial_allreduce) c.what = kind::allreduce;
        c.late_ranks = false; // such a call ends its communicator
        if (c.where == place::named) c.where = place::world;
    }
    if (job.fault == fault::stopped) { // all that wait for the rank do so at the same time
        std::vector<call_plan>& calls = job.steps[job.step].calls;
        for (std::size_t k = job.call + 1; k < calls.size(); ++k) calls[k].how = form::started;
        for (call_plan& c : calls)
            if (c.what == kind::partial_allreduce) c.what = kind::allreduce;
    }
    if (job.fault == fault::stopped && job.step + 2 < job.steps.size()) job.steps.resize(job.step + 2);
    return job;
}

inline std::string describe(const call_plan& c, const char* type, const char* op) {
    std::string text =
        std::string(form_names[static_cast<std::size_t>(c.how)]) + kind_names[static_cast<std::size_t>(c.what)];
    if (is_of_batch(c.what)) type = "elements";
    if (c.what != kind::barrier) text += " of about " + std::to_string(c.elements) + " " + type;
    if (combines(c.what)) text += std::string(", ") + op;
    text += std::string(", on ") + place_names[static_cast<std::size_t>(c.where)];
    if (c.in_place) text += ", in place";
    if (c.late_ranks) text += ", for late ranks";
    if (c.priority != 0) text += ", priority " + std::to_string(c.priority);
    return text;
}
inline std::string describe(const job_plan& job) {
    std::string text = "seed " + std::to_string(job.seed) + ": " + std::to_string(job.ranks) + " ranks over " +
                       link_names[static_cast<std::size_t>(job.link)] + ", " + std::to_string(job.steps.size()) +
                       " steps, fault: " + fault_names[static_cast<std::size_t>(job.fault)];
    if (job.fault == fault::none) return text;
    text += " (rank " + std::to_string(job.victim) + ", step " + std::to_string(job.step) + ", call " +
            std::to_string(job.call) + ", after " + std::to_string(job.after_us) + " us";
    if (job.fault == fault::paused || job.fault == fault::slow) text += ", for " + std::to_string(job.lasts_ms) + " ms";
    if (job.is_at_join) text += ", before it joins";
    if (job.fault == fault::no_memory) text += job.is_for_good ? ", for the rest of the step" : ", once";
    if (job.fault == fault::stopped) text += job.is_for_good ? ", then killed" : ", then continued";
    return text + ")";
}

} // namespace soak

#endif
