// SPDX-License-Identifier: BSL-1.0
// launch_report: how the processes of a launch ended, as a value. It has the exit codes or signals
// of all ranks, and which rank failed first.
//
//   const bough::launch_report report = bough::launch(4, f);
//   if (!report.ok()) std::puts(bough::describe(report).c_str());   // "rank 2 was killed by signal 11 (SIGSEGV)"
#ifndef BOUGH_LAUNCH_REPORT_HPP
#define BOUGH_LAUNCH_REPORT_HPP

#include <bough/core/rank.hpp>

#include <csignal>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How the process of one rank ended.
struct rank_end {
    enum class how : unsigned char {
        exited,    // code: its exit status
        signalled, // code: the signal that killed it
        unknown,   // something else waited for the process (SIGCHLD is ignored?), so the code is lost
    };
    rank_t rank = no_rank;
    how what = how::unknown;
    int code = 0;
    constexpr bool ok() const noexcept { return what == how::exited && code == 0; }
    friend constexpr bool operator==(const rank_end&, const rank_end&) = default;
};

struct launch_report {
    std::vector<rank_end> ranks;   // in order of rank
    rank_t first_failed = no_rank; // the first one in time
    bool timed_out = false;        // the time was up, and the ranks that still ran were killed
    bool output_cut = false;       // some of the ranks' output is lost, because nobody read it

    bool ok() const noexcept {
        if (timed_out) return false;
        for (const rank_end& r : ranks)
            if (!r.ok()) return false;
        return true;
    }
};

// "SIGKILL" and the like; empty for a number without a name here.
inline const char* signal_name(int signal) noexcept {
    switch (signal) {
    case SIGHUP: return "SIGHUP";
    case SIGINT: return "SIGINT";
    case SIGQUIT: return "SIGQUIT";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGABRT: return "SIGABRT";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGKILL: return "SIGKILL";
    case SIGUSR1: return "SIGUSR1";
    case SIGSEGV: return "SIGSEGV";
    case SIGUSR2: return "SIGUSR2";
    case SIGPIPE: return "SIGPIPE";
    case SIGALRM: return "SIGALRM";
    case SIGTERM: return "SIGTERM";
    case SIGXCPU: return "SIGXCPU";
    case SIGSYS: return "SIGSYS";
    default: return "";
    }
}

// "rank 2 was killed by signal 11 (SIGSEGV)"
inline std::string describe(const rank_end& end) {
    const std::string who = "rank " + std::to_string(end.rank);
    switch (end.what) {
    case rank_end::how::exited: return who + " ended with exit status " + std::to_string(end.code);
    case rank_end::how::signalled: {
        const std::string name = signal_name(end.code);
        return who + " was killed by signal " + std::to_string(end.code) + (name.empty() ? "" : " (" + name + ")");
    }
    case rank_end::how::unknown: break;
    }
    return who + " ended, nobody knows how";
}

// A line for each rank that did not end well, beginning with the one that failed first. Empty if
// all ended well.
inline std::string describe(const launch_report& report) {
    std::string text;
    const auto add = [&text](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
    if (report.timed_out) add("the time was up: the ranks that were left were killed");
    if (report.output_cut) add("nobody read the output: some of it is lost");
    if (report.first_failed != no_rank) add(describe(report.ranks[report.first_failed]));
    for (const rank_end& r : report.ranks)
        if (!r.ok() && r.rank != report.first_failed) add(describe(r));
    return text;
}

} // namespace bough

#endif
