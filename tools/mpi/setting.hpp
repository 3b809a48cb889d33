// SPDX-License-Identifier: BSL-1.0
// BOUGH_MPI, BOUGH_MPI_DEADLINE, BOUGH_MPI_NODE and BOUGH_MPI_ADDRESS: what the environment says.
#ifndef BOUGH_TOOLS_MPI_SETTING_HPP
#define BOUGH_TOOLS_MPI_SETTING_HPP

#include <bough/core/deadline.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace under_mpi {

// BOUGH_MPI_NODE: ranks with the same name share memory. BOUGH_MPI_ADDRESS: where this rank listens, if there are
// several nodes. Empty: nothing is said. Of what tools/mpirun is told, Open MPI carries to other machines only what
// begins with OMPI_; what a rank has itself comes first.
inline std::string_view read_text(const char* name) noexcept {
    const char* text = std::getenv(name);
    if (text == nullptr) {
        std::array<char, 64> carried{};
        std::snprintf(carried.data(), carried.size(), "OMPI_%s", name);
        text = std::getenv(carried.data());
    }
    return text == nullptr ? std::string_view() : text;
}

enum class setting : std::uint8_t {
    off,
    on,     // the default
    report, // prints what was taken and what was passed on
    check,  // calls the host, too, and compares
    unknown
};

inline setting read_setting() noexcept {
    const std::string_view said = read_text("BOUGH_MPI");
    if (said == "off") return setting::off;
    if (said.empty() || said == "on") return setting::on;
    if (said == "report") return setting::report;
    return said == "check" ? setting::check : setting::unknown;
}

// How long a collective may take; empty: what is said is no number of seconds. Nothing said: for ever, as MPI
// waits.
inline std::optional<std::uint64_t> read_deadline_ns() noexcept {
    const std::string_view said = read_text("BOUGH_MPI_DEADLINE");
    if (said.empty()) return bough::forever;
    double seconds = 0;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), seconds);
    if (error != std::errc() || end != said.data() + said.size() || !(seconds >= 0.001 && seconds <= 1e6))
        return std::nullopt;
    return static_cast<std::uint64_t>(seconds * 1e9);
}

} // namespace under_mpi

#endif
