// SPDX-License-Identifier: BSL-1.0
// export_csv: writes a plan as a table, one line per step, for spreadsheets and data frames. Ranks
// come one after the other, as in export_goal.
//
//   rank,step,verb,peer,more,a_buffer,a_first,a_count,b_buffer,...,out_count,bytes,after,posted_after
// `after` lists the steps of the rank that must be complete, with blanks between. Fields that a
// step does not have are empty.
#ifndef BOUGH_INTERCHANGE_EXPORT_CSV_HPP
#define BOUGH_INTERCHANGE_EXPORT_CSV_HPP

#include <bough/concepts/plan.hpp>
#include <bough/interchange/export_sizes.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/schedule/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct csv_options {
    std::uint64_t bytes = 8;
    std::uint64_t element_bytes = 1;
};

namespace detail {
inline std::string csv_slice(bool used, const slice& s) {
    if (!used) return ",,";
    return to_string(s.buffer) + ',' + std::to_string(s.first) + ',' + std::to_string(s.count);
}
} // namespace detail

// Writes the plan. `out` takes text by <<.
template <class Out, Plan P>
void export_csv(Out& out, const P& plan, const csv_options& options = {}) {
    const export_sizes sizes(options.bytes, plan.blocks(), options.element_bytes);
    out << std::string("rank,step,verb,peer,more,a_buffer,a_first,a_count,b_buffer,b_first,b_count,"
                       "out_buffer,out_first,out_count,bytes,after,posted_after\n");
    for (rank_t r = 0; r != plan.size(); ++r) {
        schedule steps;
        plan.emit(r, steps);
        const dependences waits = infer_dependences(steps.steps);
        std::string text;
        for (std::uint32_t i = 0; i != steps.size(); ++i) {
            const step& s = steps[i];
            text += std::to_string(r) + ',' + std::to_string(i) + ',' + std::string(verb_name(s.verb)) + ',' +
                    (s.communicates() ? std::to_string(s.peer) : std::string()) + ',' + (s.more ? "1," : "0,") +
                    detail::csv_slice(s.reads_a(), s.a) + ',' + detail::csv_slice(s.reads_b(), s.b) + ',' +
                    detail::csv_slice(s.writes(), s.out) + ',' +
                    std::to_string(sizes.bytes_of(s.verb == verb::send ? s.a : s.out)) + ',';
            std::vector<std::uint32_t> before(waits.of(i).begin(), waits.of(i).end());
            std::sort(before.begin(), before.end());
            for (std::size_t k = 0; k != before.size(); ++k) text += (k == 0 ? "" : " ") + std::to_string(before[k]);
            text += ',' + (waits.channel[i] == no_step ? std::string() : std::to_string(waits.channel[i])) + '\n';
        }
        out << text;
    }
}

} // namespace bough

#endif
