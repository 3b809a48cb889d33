// SPDX-License-Identifier: BSL-1.0
// export_chrome: writes a simulated run in Chrome's trace format, for Perfetto (ui.perfetto.dev) or
// chrome://tracing. There is a track per rank, a slice per deed, a flow arrow per message, and a
// slice "wait" where a rank waits.
//
//   export_chrome(out, trace(plan, model, {.bytes = 4096}), "allreduce by ring");
// Times are microseconds, as the format demands, with three decimals: nanoseconds.
#ifndef BOUGH_SIMULATE_EXPORT_CHROME_HPP
#define BOUGH_SIMULATE_EXPORT_CHROME_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/simulate/trace.hpp>
#include <bough/tree/export_text.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace bough::inline BOUGH_ABI {

// Writes the run. `out` takes text by <<.
template <class Out>
void export_chrome(Out& out, const sim_trace& run, std::string_view title) {
    out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
           "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"" +
               detail::json_text(title) + "\"}}";
    for (rank_t r = 0; r != run.size; ++r) {
        const std::string track = "\"pid\":0,\"tid\":" + std::to_string(r);
        std::string text = ",\n{\"ph\":\"M\"," + track + ",\"name\":\"thread_name\",\"args\":{\"name\":\"rank " +
                           std::to_string(r) + "\"}}";
        const auto slice = [&](std::string_view name, std::string_view what, double begin_ns, double end_ns,
                               const std::string& args) {
            text += ",\n{\"ph\":\"X\"," + track + ",\"ts\":" + detail::thousandths(begin_ns / 1000) +
                    ",\"dur\":" + detail::thousandths((end_ns - begin_ns) / 1000) + ",\"name\":\"" + std::string(name) +
                    "\",\"cat\":\"" + std::string(what) + "\",\"args\":{" + args + "}}";
        };
        double free_ns = run.arrival_ns[r];
        for (std::size_t i = run.first[r]; i != run.first[r + std::size_t{1}]; ++i) {
            const traced_deed& d = run.deeds[i];
            if (d.verb == verb::receive && d.begin_ns > free_ns)
                slice("wait for " + std::to_string(d.peer), "wait", free_ns, d.begin_ns, "");
            std::string name(verb_name(d.verb));
            std::string args = "\"bytes\":" + std::to_string(d.bytes);
            if (d.peer != no_rank) {
                name += (d.verb == verb::send ? " to " : " from ") + std::to_string(d.peer);
                args += ",\"peer\":" + std::to_string(d.peer) + ",\"message\":" + std::to_string(d.message);
            }
            slice(name, verb_name(d.verb), d.begin_ns, d.end_ns, args);
            if (d.peer != no_rank) {
                const bool sends = d.verb == verb::send;
                // An arrow is bound to the slice in which its time lies, so it gets the middle of
                // the slice.
                text += std::string(",\n{\"ph\":\"") + (sends ? "s\"," : "f\",\"bp\":\"e\",") + track +
                        ",\"ts\":" + detail::thousandths((d.begin_ns + d.end_ns) / 2000) +
                        ",\"id\":" + std::to_string(d.message) + ",\"name\":\"message\",\"cat\":\"message\"}";
            }
            free_ns = d.end_ns;
        }
        out << text;
    }
    out << std::string("\n]}\n");
}

} // namespace bough

#endif
