// SPDX-License-Identifier: BSL-1.0
// BOUGH_MPI: what the environment says.
#ifndef BOUGH_TOOLS_MPI_SETTING_HPP
#define BOUGH_TOOLS_MPI_SETTING_HPP

#include <cstdint>
#include <cstdlib>
#include <string_view>

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

} // namespace under_mpi

#endif
