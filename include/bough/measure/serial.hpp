// SPDX-License-Identifier: BSL-1.0
// measure() measures what messages and combines cost on this machine, as a model by which plans can
// be priced.
//
//   const auto found = bough::measure(comm);      // every rank calls it, every rank gets the same values
//   if (!found.fit.error) comm.set_costs(found.fit.model);
//
// It times serial reductions, in which several ranks send to rank 0 at once. Rank 0 says go and
// measures from that moment, with and without an op, for several numbers of ranks and two sizes.
// The time that the go takes is half a round trip of two ranks, and is subtracted. The medians go
// into model::fit_lrc. If ranks share cores, the values include what that costs. Takes some tens of
// milliseconds.
//
// *Source* Moody et al. 2003, sections 4.1 and 5.1: the "serial reduction" method.
#ifndef BOUGH_MEASURE_SERIAL_HPP
#define BOUGH_MEASURE_SERIAL_HPP

#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/core/memory_size.hpp>
#include <bough/model/fit.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// What is timed, and how often.
struct measure_options {
    rank_t max_ranks = 13; // reductions are done over 1 .. min(max_ranks, size) ranks
    std::uint32_t repetitions = 101;
    std::uint64_t short_bytes = 8; // both sizes are multiples of 8: whole doubles
    std::uint64_t long_bytes = 4096;
};

// The samples, and the model that was fitted to them.
struct measurement {
    model::lrc_fit fit{};
    std::vector<model::reduction_sample> samples; // medians
};

namespace detail {

// A reduction over the first `senders` + 1 ranks: all others send to rank 0, which takes the
// messages in rank order.
struct serial_reduction {
    rank_t senders = 1;
    bool combine = true;

    constexpr void emit(const dimensions&, rank_t rank, StepSink auto& out) const {
        const slice mine{input, 0, 1};
        const slice result{output, 0, 1};
        if (rank != 0 && rank <= senders) out.send(0, mine);
        if (rank != 0) return;
        for (rank_t r = 1; r <= senders; ++r) {
            const slice landed{bough::scratch(r - 1), 0, 1};
            out.receive(r, landed);
            if (combine) out.combine(r == 1 ? mine : result, landed, result);
        }
        if (senders == 0) out.copy(mine, result);
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t rank) const noexcept { return rank == 0 ? senders : 0; }
    constexpr status check(const dimensions& at) const noexcept {
        return senders < at.size ? status{} : invalid_argument("senders: more than there are ranks");
    }
    static constexpr bool may_hold = true;
    friend constexpr bool operator==(const serial_reduction&, const serial_reduction&) = default;
};

template <class X>
status time_serial(communicator<X>& comm, const serial_reduction& how, std::span<double> data, std::span<double> out,
                   std::uint32_t repetitions, double& median_ns) {
    const plan<goal::reduce, serial_reduction> timed(how, {.size = comm.size()});
    typed_call<double> typed{.at = {.size = comm.size()},
                             .in = data.data(),
                             .out = out.data(),
                             .count = data.size(),
                             .op = make_any_op<double>(plus{})};
    typed.signature = signature_of<double, plus>(data.size(), 0);
    std::vector<double> times;
    std::byte go{};
    for (std::uint32_t i = 0; i != repetitions + repetitions / 4 + 1; ++i) { // the first quarter warms up
        if (const status bad = detail::run_barrier(comm, dissemination{})) return bad;
        const std::uint64_t begin = comm.transport().now_ns();
        if (const status bad = detail::run_broadcast(comm, std::span(&go, 1), root{0}, flat{})) return bad;
        if (const status bad = run_typed(comm, timed, typed)) return bad;
        const std::uint64_t end = comm.transport().now_ns();
        if (i > repetitions / 4) times.push_back(static_cast<double>(end - begin));
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    median_ns = *middle;
    return {};
}

} // namespace detail

// Collective. Throws bough::error if the group breaks. If the fit lacks something (fewer than three
// ranks), fit.error says so.
template <class X>
measurement measure(communicator<X>& comm, const measure_options& options = {}) {
    BOUGH_EXPECTS(options.max_ranks >= 1 && options.repetitions >= 1, "options: at least one rank and one repetition");
    measurement found;
    if (!detail::fits_memory(std::max(options.short_bytes, options.long_bytes))) {
        found.fit.error = invalid_argument("bytes: no memory is so long");
        return found;
    }
    const rank_t most = std::min(options.max_ranks, comm.size());
    for (const std::uint64_t bytes : {options.short_bytes, options.long_bytes})
        for (const bool with_op : {false, true})
            for (rank_t ranks = 1; ranks <= most; ++ranks) {
                std::vector<double> data(static_cast<std::size_t>(bytes / sizeof(double)), 1.0);
                std::vector<double> out(data.size());
                double ns = 0;
                detail::throw_if(detail::time_serial(comm, {ranks - 1, with_op}, data, out, options.repetitions, ns));
                found.samples.push_back({ranks, data.size() * sizeof(double), with_op, ns});
            }
    std::vector<double> times;
    for (const model::reduction_sample& s : found.samples) times.push_back(s.ns);
    broadcast(comm, std::span(times), root{0}); // only the clock of rank 0 counts
    for (std::size_t i = 0; i != times.size(); ++i) found.samples[i].ns = times[i];
    double there_and_back_ns = 0;
    for (const model::reduction_sample& s : found.samples)
        if (s.ranks == 2 && !s.with_op && (there_and_back_ns == 0 || s.ns < there_and_back_ns))
            there_and_back_ns = s.ns;
    for (model::reduction_sample& s : found.samples)
        if (s.ranks > 1) s.ns = std::max(0.0, s.ns - there_and_back_ns / 2);
    found.fit = model::fit_lrc(found.samples);
    return found;
}

} // namespace bough

#endif
