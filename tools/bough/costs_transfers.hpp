// SPDX-License-Identifier: BSL-1.0
// What messages between two ranks cost on this machine, and the model alpha_beta_gamma that fits
// them.
#ifndef BOUGH_TOOLS_COSTS_TRANSFERS_HPP
#define BOUGH_TOOLS_COSTS_TRANSFERS_HPP

#include <bough/measure/transfers.hpp>

namespace cli {

// Messages between two of so many ranks that are threads. Pre: ranks >= 2.
bough::transfer_measurement measure_transfers_in_process(bough::rank_t ranks, const bough::transfer_options& = {});

} // namespace cli

#endif
