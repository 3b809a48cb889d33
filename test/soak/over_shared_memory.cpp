// SPDX-License-Identifier: BSL-1.0
#include "soak/over.hpp"

#include "soak/rank.hpp"
#include <bough/transport/shared_memory.hpp>

namespace soak {
void play_over_shared_memory(const job_plan& job, seat& mine, bough_test::processes::wire& wire,
                             const std::string& recording) {
    play_rank(job, mine, wire.rank(), recording, [&] { return bough::shared_memory(wire); });
}
} // namespace soak
