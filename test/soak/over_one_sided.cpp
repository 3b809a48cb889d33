// SPDX-License-Identifier: BSL-1.0
#include "soak/over.hpp"

#include "soak/rank.hpp"
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/one_sided.hpp>

namespace soak {
namespace {
// Many large blocks, or few small ones, with a heap beside them or not.
bough::one_sided_options blocks_of(const job_plan& job) {
    if (job.seed % 2 == 0) return {};
    return {.blocks = 2, .block_bytes = 300, .piece_bytes = 512, .static_bytes = 200};
}
std::uint64_t heap_bytes_of(const job_plan& job) { return job.seed % 4 / 2 * 1'000'000; }
} // namespace

void play_over_one_sided(const job_plan& job, seat& mine, bough_test::processes::wire& wire,
                         const std::string& recording) {
    play_rank(job, mine, wire.rank(), recording, [&] {
        const bough::one_sided_options blocks = blocks_of(job);
        const std::uint64_t bytes = bough::one_sided_bytes(wire.size(), blocks) + heap_bytes_of(job);
        return bough::one_sided{bough::shared_memory_regions{wire, {.region_bytes = bytes}}, blocks};
    });
}
} // namespace soak
