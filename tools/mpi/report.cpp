// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <string>

namespace under_mpi {

namespace {

constexpr std::size_t collectives = static_cast<std::size_t>(collective::count_);
constexpr std::size_t reasons = static_cast<std::size_t>(reason::count_);

struct counts {
    std::atomic<std::uint64_t> taken{0}, bytes{0}, ns{0};
    std::array<std::atomic<std::uint64_t>, reasons> passed_on{};
};
std::array<counts, static_cast<std::size_t>(form::count_) * collectives> all_counts; // those of a form in a row

counts& of(collective which, form how) noexcept {
    return all_counts[static_cast<std::size_t>(which) + static_cast<std::size_t>(how) * collectives];
}

std::string readable(double value, std::initializer_list<const char*> units, double step) {
    const char* const* unit = units.begin();
    for (; value >= step && unit + 1 != units.end(); ++unit) value /= step;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), value < 10 && unit != units.begin() ? "%.1f %s" : "%.0f %s", value, *unit);
    return text.data();
}

} // namespace

const char* text_of(reason why) noexcept {
    switch (why) {
    case reason::not_started: return "bough has not started";
    case reason::other_job: return "ranks of several jobs";
    case reason::too_many: return "too many communicators";
    case reason::no_memory: return "no memory for the communicator";
    case reason::inter: return "intercommunicator";
    case reason::alone: return "one rank";
    case reason::host_only: return "no such collective in bough";
    case reason::of_host: return "as the MPI itself calls it";
    case reason::large: return "a count beyond int";
    case reason::wide: return "a count of MPI_Count for each rank";
    case reason::first: return "nonblocking, before the first blocking one";
    default: return "";
    }
}

const char* name_of(collective which) noexcept {
    constexpr std::array<const char*, collectives> names{
        "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw",      "barrier",
        "bcast",     "exscan",     "gather",    "gatherv",  "reduce",    "reduce_scatter", "reduce_scatter_block",
        "scan",      "scatter",    "scatterv"};
    return names[static_cast<std::size_t>(which)];
}

void count_taken(collective which, std::size_t bytes, std::uint64_t ns, form how) noexcept {
    counts& c = of(which, how);
    c.taken += 1;
    c.bytes += bytes;
    c.ns += ns;
}
void count_passed_on(collective which, reason why, form how) noexcept {
    of(which, how).passed_on[static_cast<std::size_t>(why)] += 1;
}

namespace {

void print_lines() {
    bool has_calls = false;
    for (std::size_t i = 0; i != all_counts.size(); ++i) {
        const counts& c = all_counts[i];
        std::uint64_t passed_on = 0;
        std::string why;
        for (std::size_t r = 0; r != reasons; ++r) {
            const std::uint64_t n = c.passed_on[r];
            if (n == 0) continue;
            passed_on += n;
            why += (why.empty() ? "" : ", ") + std::to_string(n) + " (" + text_of(static_cast<reason>(r)) + ")";
        }
        const std::uint64_t taken = c.taken;
        if (taken + passed_on == 0) continue;
        has_calls = true;
        const auto how = static_cast<form>(i / collectives);
        std::string line = std::string("bough: ") + (how == form::nonblocking ? "i" : "") +
                           name_of(static_cast<collective>(i % collectives)) +
                           (how == form::persistent ? "_init" : "") + " " + std::to_string(taken) + " of " +
                           std::to_string(taken + passed_on) + " calls";
        line += ", " + readable(static_cast<double>(c.bytes), {"B", "kB", "MB", "GB", "TB"}, 1000);
        line += ", " + readable(static_cast<double>(c.ns) / 1000, {"us", "ms", "s"}, 1000);
        if (passed_on != 0) line += "; passed on: " + why;
        std::fprintf(stderr, "%s\n", line.c_str());
    }
    if (!has_calls) std::fputs("bough: no collective has come to it\n", stderr);
}

} // namespace

void print_report() noexcept {
    try {
        print_lines();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bough: the report cannot be printed: %s\n", e.what());
    }
}

} // namespace under_mpi
