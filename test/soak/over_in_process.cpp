// SPDX-License-Identifier: BSL-1.0
#include "soak/over.hpp"

#include "soak/rank.hpp"
#include <bough/transport/in_process.hpp>

namespace soak {
void play_over_in_process(const job_plan& job, const board& seats, const std::string& folder) {
    bough::in_process{job.ranks}.run([&](auto link) {
        const bough::rank_t me = link.rank();
        play_rank(job, seats.of(me), me, recording_of(folder, me), [&] { return std::move(link); });
    });
}
} // namespace soak
