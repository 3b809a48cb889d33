// SPDX-License-Identifier: BSL-1.0
// Measuring what messages between two threads cost.
#include "costs_transfers.hpp"

#include <bough/communicator.hpp>
#include <bough/transport/in_process.hpp>

#include <stdexcept>
#include <utility>

namespace cli {

bough::transfer_measurement measure_transfers_in_process(bough::rank_t ranks, const bough::transfer_options& options) {
    bough::transfer_measurement measured;
    bough::in_process world{ranks};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bough::transfer_measurement found = bough::measure_transfers(comm, options);
        if (comm.rank() == 0) measured = found;
    });
    if (measured.fit.error) throw std::runtime_error(measured.fit.error.argument);
    return measured;
}

} // namespace cli
