// SPDX-License-Identifier: BSL-1.0
#include "soak/over.hpp"

#include "soak/rank.hpp"
#include <bough/transport/tcp.hpp>

namespace soak {
void play_over_tcp(const job_plan& job, seat& mine, bough_test::processes::wire& wire, const std::string& recording) {
    play_rank(job, mine, wire.rank(), recording, [&] { return bough::tcp(wire); });
}
} // namespace soak
