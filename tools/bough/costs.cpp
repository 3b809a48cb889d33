// SPDX-License-Identifier: BSL-1.0
// Measuring what messages cost between threads.
#include "costs.hpp"

#include <bough/communicator.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <utility>

namespace cli {

measured_costs measure_in_process(bough::rank_t ranks, const bough::measure_options& options) {
    measured_costs costs;
    costs.cores = std::max(1u, std::thread::hardware_concurrency());
    bough::in_process world{ranks};
    world.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bough::measurement found = bough::measure(comm, options);
        if (comm.rank() == 0) costs.found = found;
    });
    if (costs.found.fit.error) throw std::runtime_error(costs.found.fit.error.argument);
    return costs;
}

std::string us_text(double ns) {
    std::array<char, 32> text{};
    const double us = ns / 1000;
    std::snprintf(text.data(), text.size(), us < 10 ? "%.2f" : us < 100 ? "%.1f" : "%.0f", us);
    return text.data();
}

} // namespace cli
