// SPDX-License-Identifier: BSL-1.0
// Reporter: what a communicator has for its reports: the recorder of its calls, and what was reported.
#ifndef BOUGH_COMMUNICATOR_REPORTER_HPP
#define BOUGH_COMMUNICATOR_REPORTER_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/report/asked.hpp>
#include <bough/report/options.hpp>
#include <bough/report/recorder.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct reporter {
    reporter(const recorded_communicator& of, const report_options& options) : recorded(of, options) {
        BOUGH_EXPECTS(options.calls >= 1, "report.calls: at least one call must be recorded");
        if (options.on_signal != 0)
            BOUGH_EXPECTS(detail::listen_for_reports(options.on_signal, answered),
                          "report.on_signal: no signal that a program can handle");
    }
    // Has the signal come since this was asked last?
    bool is_asked(int signal) noexcept {
        if (signal == 0) return false;
        const std::uint32_t now = detail::reports_asked(signal);
        if (now == answered) return false;
        answered = now;
        return true;
    }

    recorder recorded;
    std::uint32_t answered = 0; // signals
    bool has_reported = false;  // that the group broke
    bool is_plain = true;       // the options have no hook, no signal and nobody who gets reports
    bool in_hook = false;       // the hook of a wait runs
};

} // namespace bough::detail

#endif
