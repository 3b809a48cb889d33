// SPDX-License-Identifier: BSL-1.0
// measure_heterogeneous measures what messages cost each single rank, as a model from which trees
// are built. broadcast_latency_ns measures how long a broadcast over such a tree takes, by the
// root's clock alone.
//
//   const auto found = bough::measure_heterogeneous(comm);     // collective; every rank gets the same values
//   fnf_tree(std::span(found.send_ns(8)), root)
//   broadcast_latency_ns(comm, tree, root{0}, 8, found.costs)
//
// It does not measure all pairs of N ranks: N bursts and about N round trips suffice, each timed by
// one clock. In a burst a rank sends some messages to others and then one to an echo, which
// answers. A round trip is only that last part. The difference is what the sends cost. A round trip
// of ranks i and j takes x(i) + x(j), where x is the sum of send, receive and latency of a rank.
// One triangle of ranks gives x(0), and the round trips with rank 0 give the others. Of receive
// cost and latency only the sum can be measured, which is all that trees need. The least of these
// sums is called latency. For each value the least of several repetitions counts. Two sizes give
// the costs per byte.
//
// Combines are timed on one rank after another, while the others wait. A plan with many combines is
// compared with a plan with one: the difference is what the other combines cost, engine included.
// The op is plus on doubles if no other is given:
//   measure_heterogeneous(comm, {}, make_any_op<float>(my_op{}))
//
// broadcast_latency_ns runs N - 1 kinds of broadcasts, each acknowledged by another rank. It
// subtracts what the acknowledgement costs, and the largest result is the latency. (The paper
// subtracts half a round trip, which is the same if ranks are alike.)
//
// Source: bough; Banikazemi, Moorthy, Panda, ICPP 1998, section 7.1.2 (acknowledged broadcasts).
#ifndef BOUGH_MEASURE_HETEROGENEOUS_HPP
#define BOUGH_MEASURE_HETEROGENEOUS_HPP

#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How much is sent, and how often.
struct heterogeneous_options {
    std::uint64_t short_bytes = 8, long_bytes = 4096;
    // Messages before the one to the echo. Not more than the transport takes at once: if it refuses
    // one, the engine may send the echo's message first.
    std::uint32_t burst = 4;
    std::uint32_t repetitions = 15;
};

// What was measured.
struct heterogeneous_measurement {
    model::heterogeneous costs{};
    // Set if there are fewer than three ranks: then the costs of single ranks cannot be told apart.
    status error{};

    // The values from which trees are built: reduction_costs take all three
    // (bough/tree/reduction.hpp).
    std::vector<double> send_ns(std::uint64_t bytes) const {
        std::vector<double> list;
        for (rank_t r = 0; r != costs.send.size(); ++r) list.push_back(costs.send_ns(r, r, bytes));
        return list;
    }
    std::vector<double> receive_ns(std::uint64_t bytes) const {
        std::vector<double> list;
        for (rank_t r = 0; r != costs.receive.size(); ++r) list.push_back(costs.receive_ns(r, r, bytes));
        return list;
    }
    std::vector<double> combine_ns(std::uint64_t bytes) const {
        std::vector<double> list;
        for (rank_t r = 0; r != costs.combine.size(); ++r) list.push_back(costs.combine_ns(r, bytes));
        return list;
    }
};

namespace detail {

// A burst: `from` sends `burst` messages to the ranks other than the echo in turn, then one to the
// echo, which answers.
struct cost_probe {
    rank_t from = 0, echo = 1;
    std::uint32_t burst = 0;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice mine{input, 0, at.blocks};
        const slice landed = mine.in(bough::scratch(0));
        rank_t sink = from;
        for (std::uint32_t i = 0; i != burst; ++i) {
            do sink = sink + 1 == at.size ? 0 : sink + 1;
            while (sink == from || sink == echo);
            if (rank == from) out.send(sink, mine);
            if (rank == sink) out.receive(from, landed);
        }
        if (rank == from) {
            out.send(echo, mine);
            out.receive(echo, landed);
        } else if (rank == echo) {
            out.receive(from, landed);
            out.send(from, landed);
        }
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t) const noexcept { return at.blocks; }
    constexpr status check(const dimensions& at) const noexcept {
        return at.size >= 3 ? status{} : invalid_argument("size: a burst needs three ranks");
    }
    friend constexpr bool operator==(const cost_probe&, const cost_probe&) = default;
};

// Rank `from` combines its vector with itself `combines` times, each time into the same memory. The
// other ranks do nothing.
struct combine_probe {
    rank_t from = 0;
    std::uint32_t combines = 1;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        if (rank != from) return;
        const slice mine{input, 0, at.blocks};
        for (std::uint32_t i = 0; i != combines; ++i) out.combine(mine, mine, mine.in(output));
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    friend constexpr bool operator==(const combine_probe&, const combine_probe&) = default;
};

// A broadcast, followed by a message from rank `who` to the root.
template <TreeSource S>
struct acknowledged_broadcast {
    S shape{};
    rank_t who = 1;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        broadcast_over(bind_tree(shape, at), at.blocks, rank, out);
        const slice data{output, 0, at.blocks};
        if (rank == who) out.send(at.root, data);
        if (rank == at.root) out.receive(who, data.in(bough::scratch(0)));
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const noexcept {
        return rank == at.root ? at.blocks : 0;
    }
    constexpr status check(const dimensions& at) const { return check_tree(shape, at); }
    friend constexpr bool operator==(const acknowledged_broadcast&, const acknowledged_broadcast&) = default;
};

// The least time of several runs of a plan, by this rank's clock. `together`: a barrier precedes
// each run. `op`: for the plan's combines, if it has any.
template <class X, class P>
double least_ns(communicator<X>& comm, const P& timed, std::uint64_t bytes, std::uint32_t repetitions, bool together,
                const any_op& op = {}) {
    const std::size_t element = op ? op.element_size : 1;
    const std::size_t size = static_cast<std::size_t>(bytes); // fits_memory
    std::vector<std::byte> in(size), out(size);               // zeros, which are values of any arithmetic type
    call c;
    c.input = in.data();
    c.output = out.data();
    c.count = bytes / element;
    c.element_bytes = static_cast<std::uint32_t>(element);
    c.combine = op.function;
    c.combine_state = op.state;
    call_signature signature;
    signature.count = c.count;
    double least = std::numeric_limits<double>::max();
    for (std::uint32_t i = 0; i != repetitions + 1; ++i) { // the first warms up
        if (together) throw_if(detail::run_barrier(comm, dissemination{}));
        const std::uint64_t begin = comm.transport().now_ns();
        throw_if(comm.run(timed, c, signature));
        if (i != 0) least = std::min(least, static_cast<double>(comm.transport().now_ns() - begin));
    }
    return least;
}

// What messages of one size cost each rank. The receive costs do not include the latency.
struct costs_by_rank {
    std::vector<double> send, receive;
    double latency = 0;
};

// Computes the costs of N ranks from times. None of the results is below 0.
//   trips[r]    a round trip of rank r with rank 0, by the clock of r
//   trips[0]    a round trip of rank 1 with rank 2, by the clock of rank 1
//   trips[N]    a round trip of rank 0 with rank 1, by the clock of rank 0
//   bursts[r]   the round trip of rank r with `burst` more sends before it
inline costs_by_rank costs_of_times(std::span<const double> trips, std::span<const double> bursts,
                                    std::uint32_t burst) {
    const std::size_t size = bursts.size();
    BOUGH_EXPECTS(size >= 3 && trips.size() == size + 1 && burst >= 1,
                  "trips: one more than the ranks, at least three");
    costs_by_rank found;
    // The triangle of ranks 0, 1, 2.
    const double first = std::max(0.0, (trips[1] + trips[2] - trips[0]) / 2);
    for (std::size_t r = 0; r != size; ++r) {
        const double both = r == 0 ? trips[size] : trips[r];
        found.send.push_back(std::max(0.0, bursts[r] - both) / burst);
        found.receive.push_back(std::max(0.0, (r == 0 ? first : trips[r] - first) - found.send[r]));
    }
    found.latency = *std::min_element(found.receive.begin(), found.receive.end());
    for (double& ns : found.receive) ns -= found.latency;
    return found;
}

// The linear cost that has these values at two sizes. It never falls and is never negative.
constexpr model::cost_per_size line_through(const std::uint64_t (&bytes)[2], double at_short, double at_long) {
    const double slope = std::max(0.0, at_long - at_short) / static_cast<double>(bytes[1] - bytes[0]);
    return {std::max(0.0, at_short - slope * static_cast<double>(bytes[0])), slope};
}

inline model::heterogeneous model_of_costs(const std::uint64_t (&bytes)[2], const costs_by_rank& at_short,
                                           const costs_by_rank& at_long) {
    model::heterogeneous made;
    for (std::size_t r = 0; r != at_short.send.size(); ++r) {
        made.send.push_back(line_through(bytes, at_short.send[r], at_long.send[r]));
        made.receive.push_back(line_through(bytes, at_short.receive[r], at_long.receive[r]));
    }
    const model::cost_per_size wire = line_through(bytes, at_short.latency, at_long.latency);
    made.message_latency_ns = wire.base_ns;
    made.latency_ns_per_byte = wire.per_byte_ns;
    return made;
}

// The time at which the broadcast had reached rank `who`, if the root got its acknowledgement after
// `ns`.
inline double without_acknowledgement(double ns, rank_t who, rank_t root, std::uint64_t bytes,
                                      const model::heterogeneous& costs) {
    return ns -
           (costs.send_ns(who, root, bytes) + costs.latency_ns(who, root, bytes) + costs.receive_ns(who, root, bytes));
}

} // namespace detail

// Collective. Throws bough::error if the group breaks. Pre: short_bytes < long_bytes, and at least
// one message in a burst and one repetition; the op is not empty, and zero bytes are a value of its
// type. (Sizes of combines are rounded to whole elements, at least one.)
template <class X>
heterogeneous_measurement measure_heterogeneous(communicator<X>& comm, const heterogeneous_options& options = {},
                                                const any_op& op = make_any_op<double>(plus{})) {
    BOUGH_EXPECTS(options.short_bytes >= 1 && options.short_bytes < options.long_bytes && options.burst >= 1 &&
                      options.repetitions >= 1,
                  "options: two sizes that grow, a burst and a repetition at least");
    heterogeneous_measurement found;
    const rank_t size = comm.size();
    if (size < 3) {
        found.error = invalid_argument("ranks: costs of single ranks need three");
        return found;
    }
    if (!detail::fits_memory(options.long_bytes)) {
        found.error = invalid_argument("bytes: no memory is so long");
        return found;
    }
    // For each size the times of round trips and then of bursts, in the order that
    // detail::costs_of_times expects.
    const std::uint64_t sizes[2] = {options.short_bytes, options.long_bytes};
    const std::size_t trips = std::size_t{size} + 1, timed = trips + size;
    std::vector<double> times(2 * timed, 0.0);
    for (std::size_t s = 0; s != 2; ++s) {
        double* const at = times.data() + s * timed;
        const auto time = [&](rank_t from, rank_t echo, std::uint32_t burst) {
            const plan<goal::broadcast, detail::cost_probe> probe({from, echo, burst}, {.size = size});
            const double ns = detail::least_ns(comm, probe, sizes[s], options.repetitions, false);
            return comm.rank() == from ? ns : 0;
        };
        for (rank_t r = 0; r != size; ++r) {
            at[r] = r == 0 ? time(1, 2, 0) : time(r, 0, 0);
            at[trips + r] = time(r, r == 0 ? 1 : 0, options.burst);
        }
        at[size] = time(0, 1, 0);
    }
    // For each size the time of one combine on each rank.
    BOUGH_EXPECTS(bool(op), "op: combines need one");
    std::vector<double> combines(2 * std::size_t{size}, 0.0);
    std::uint64_t combined[2];
    for (std::size_t s = 0; s != 2; ++s) {
        combined[s] =
            std::max(s == 0 ? 1 : combined[0] / op.element_size + 1, sizes[s] / op.element_size) * op.element_size;
        for (rank_t r = 0; r != size; ++r) {
            // So that one rank is timed after the other.
            detail::throw_if(detail::run_barrier(comm, dissemination{}));
            const auto time = [&](std::uint32_t count) {
                const plan<goal::allreduce, detail::combine_probe> probe({r, count}, {.size = size});
                return detail::least_ns(comm, probe, combined[s], options.repetitions, false, op);
            };
            const double one = time(1), many = time(17);
            if (comm.rank() == r) combines[s * size + r] = std::max(0.0, many - one) / 16;
        }
    }
    allreduce(comm, std::span(combines), plus{});
    allreduce(comm, std::span(times), plus{}); // each value comes from one rank and is zero on the others
    const auto costs_at = [&](std::size_t i) {
        const std::span<const double> of_size(times.data() + i * timed, timed);
        return detail::costs_of_times(of_size.first(trips), of_size.subspan(trips), options.burst);
    };
    found.costs = detail::model_of_costs(sizes, costs_at(0), costs_at(1));
    for (rank_t r = 0; r != size; ++r)
        found.costs.combine.push_back(detail::line_through(combined, combines[r], combines[size + r]));
    return found;
}

// Collective; every rank gets the same value. `costs`: used to subtract the costs of the
// acknowledgements.
template <class X, TreeSource S>
double broadcast_latency_ns(communicator<X>& comm, const S& tree, root from, std::uint64_t bytes,
                            const model::heterogeneous& costs, std::uint32_t repetitions = 15) {
    BOUGH_EXPECTS(detail::fits_memory(bytes), "bytes: no memory is so long");
    double latency = 0;
    for (rank_t who = 0; who != comm.size(); ++who) {
        if (who == from.rank) continue;
        using algorithm = detail::acknowledged_broadcast<S>;
        const plan<goal::broadcast, algorithm> timed(algorithm{tree, who}, {.size = comm.size(), .root = from.rank});
        const double ns = detail::least_ns(comm, timed, bytes, repetitions, true);
        latency = std::max(latency, detail::without_acknowledgement(ns, who, from.rank, bytes, costs));
    }
    broadcast(comm, std::span(&latency, 1), from);
    return latency;
}

} // namespace bough

#endif
