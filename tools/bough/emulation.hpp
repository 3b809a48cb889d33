// SPDX-License-Identifier: BSL-1.0
// What --emulate says: a cluster that the threads of one machine are made to be.
#ifndef BOUGH_TOOLS_EMULATION_HPP
#define BOUGH_TOOLS_EMULATION_HPP

#include <bough/core/rank.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/transport/emulated.hpp>

#include <string>

namespace cli {

// A cluster file, or items with semicolons:
//   send=LIST, receive=LIST     costs of each rank's sends and receives, as 1ms,2.15ms; one for all, or one for each
//   latency=T, jitter=T         of each link
//   bandwidth=N                 of each link, bytes per second, as 1e9
//   window=PERIOD,DURATION,F    when links are F times as slow
//   work=asleep|busy|polled, seed=N
// Throws usage_error.
bough::emulation parse_emulation(const std::string& text, bough::rank_t ranks);

// What messages cost under it, whatever they cost without.
bough::model::heterogeneous costs_of(const bough::emulation&);

} // namespace cli

#endif
