// SPDX-License-Identifier: BSL-1.0
// Series: combines of one rank that follow each other, and could be one combine of many operands.
//
//   t = op(a, b)   t = op(t, c)   out = op(t, d)              the operands are a, b, c, d, in this order
//
// Each but the last writes scratch, which the next one reads as its lower operand; nothing else reads it,
// and nothing writes any of the operands before the last one has run. So it makes no difference whether
// they run one by one, or all operands are combined when the last one runs. The binder and verify_claims
// share this one rule, so what is proved is what runs.
//
// An algorithm that says combines_in_series has no other combines, and each of its series has one operand
// from every rank. It may run ops that combine all contributions at once: those round once.
#ifndef BOUGH_SCHEDULE_SERIES_HPP
#define BOUGH_SCHEDULE_SERIES_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/in_place.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// The combine that goes on with the result of combine i, or no_step.
constexpr std::uint32_t next_in_series(std::span<const step> steps, const dependents_view& waiting, std::uint32_t i) {
    const slice& made = steps[i].out;
    if (!is_scratch(made.buffer)) return no_step;
    std::uint32_t found = no_step;
    for (std::uint32_t e = waiting.first[i]; e != waiting.first[i + 1]; ++e) {
        const std::uint32_t later = waiting.after[e] - waiting.base;
        const step& s = steps[later];
        if (!(s.reads_a() && overlap(s.a, made)) && !(s.reads_b() && overlap(s.b, made))) continue;
        if (found != no_step && steps[found].out == made) break; // that is another value
        if (found != no_step || s.verb != verb::combine || !(s.a == made) || overlap(s.b, made)) return no_step;
        found = later;
    }
    return found;
}

// Calls f(combines) with the steps of each series that is as long as it can be, in order. Series of one
// combine count, too.
template <class F>
constexpr void for_each_series(std::span<const step> steps, const dependents_view& waiting, F&& f) {
    plain_list<unsigned char> goes_on(steps.size(), 0); // it is in a series, but not the first
    plain_list<std::uint32_t> series;
    for (std::uint32_t i = 0; i != steps.size(); ++i) {
        if (steps[i].verb != verb::combine || goes_on[i] != 0) continue;
        series.clear();
        for (std::uint32_t at = i; at != no_step; at = next_in_series(steps, waiting, at)) series.push_back(at);
        // What waits for one of its combines but the last is part of it, or waits for the last, too.
        const std::uint32_t last = series[series.size() - 1];
        for (std::size_t k = 0; k + 1 < series.size(); ++k)
            for (std::uint32_t e = waiting.first[series[k]]; e != waiting.first[series[k] + 1]; ++e) {
                const std::uint32_t later = waiting.after[e] - waiting.base;
                bool known = later == series[k + 1] || later == last;
                for (std::uint32_t m = waiting.first[last]; m != waiting.first[last + 1]; ++m)
                    known = known || waiting.after[m] - waiting.base == later;
                if (!known) return;
            }
        for (std::size_t k = 1; k < series.size(); ++k) goes_on[series[k]] = 1;
        f(std::span<const std::uint32_t>(series));
    }
}

// How many operands each series has, if all combines are in series of equal length; 0: they are not.
constexpr std::uint32_t operands_of_all_series(std::span<const step> steps, const dependents_view& waiting) {
    std::size_t combines = 0, in_series = 0;
    std::uint32_t operands = 0;
    bool equal = true;
    for (const step& s : steps) combines += s.verb == verb::combine ? 1 : 0;
    for_each_series(steps, waiting, [&](std::span<const std::uint32_t> series) {
        const auto found = static_cast<std::uint32_t>(series.size() + 1);
        equal = equal && (operands == 0 || operands == found);
        operands = found;
        in_series += series.size();
    });
    return equal && in_series == combines ? operands : 0;
}

} // namespace bough::inline BOUGH_ABI::detail

#endif
