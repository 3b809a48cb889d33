// SPDX-License-Identifier: BSL-1.0
// A schedule file: what `bough schedule --format json` prints, read back. It may come from anywhere and say anything.
#ifndef BOUGH_TOOLS_SCHEDULE_FILE_HPP
#define BOUGH_TOOLS_SCHEDULE_FILE_HPP

#include "catalogue.hpp"
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>

#include <string>
#include <vector>

namespace cli {

struct schedule_file {
    cli::collective collective = collective::reduce;
    std::string algorithm;
    bough::dimensions at{};
    cli::neighbours neighbours{};
    std::vector<bough::schedule> schedules;  // of each rank
    std::vector<bough::block_t> scratch_max; // of each rank: all of the planes that its steps name
};

// Throws usage_error, which names the file, if it cannot be read or is no such document.
schedule_file read_schedule_file(const std::string& path);

// Is it right? Dependences are inferred anew: those in the file are for people.
bough::verdict verify(const schedule_file&);

} // namespace cli

#endif
