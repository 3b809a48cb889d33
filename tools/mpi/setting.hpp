// SPDX-License-Identifier: BSL-1.0
// BOUGH_MPI and BOUGH_MPI_DEADLINE: what the environment says.
#ifndef BOUGH_TOOLS_MPI_SETTING_HPP
#define BOUGH_TOOLS_MPI_SETTING_HPP

#include <bough/core/deadline.hpp>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace under_mpi {

enum class setting : std::uint8_t {
    off,
    on,     // the default
    report, // prints what was taken and what was passed on
    check,  // calls the host, too, and compares
    unknown
};

inline setting read_setting() noexcept {
    const char* const text = std::getenv("BOUGH_MPI");
    const std::string_view said = text == nullptr ? "" : text;
    if (said == "off") return setting::off;
    if (said.empty() || said == "on") return setting::on;
    if (said == "report") return setting::report;
    return said == "check" ? setting::check : setting::unknown;
}

// How long a collective may take; empty: what is said is no number of seconds. Nothing said: for ever, as MPI
// waits.
inline std::optional<std::uint64_t> read_deadline_ns() noexcept {
    const char* const text = std::getenv("BOUGH_MPI_DEADLINE");
    const std::string_view said = text == nullptr ? "" : text;
    if (said.empty()) return bough::forever;
    double seconds = 0;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), seconds);
    if (error != std::errc() || end != said.data() + said.size() || !(seconds >= 0.001 && seconds <= 1e6))
        return std::nullopt;
    return static_cast<std::uint64_t>(seconds * 1e9);
}

} // namespace under_mpi

#endif
