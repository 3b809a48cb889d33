// SPDX-License-Identifier: BSL-1.0
// Ranks that are processes and write into each other's memory: messages, collectives and a death over such regions.
//
//   const launch_report report = bough_test::region_messages(3, {.seed = seed}, [&](job& world, std::uint64_t bytes) {
//       return fabric_regions{world, {.region_bytes = bytes}};
//   });
#ifndef BOUGH_TEST_SUPPORT_PROCESS_REGIONS_HPP
#define BOUGH_TEST_SUPPORT_PROCESS_REGIONS_HPP

#include "support/death.hpp"
#include "support/process_collectives.hpp"
#include <bough/launch.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/transport/one_sided.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

namespace bough_test {

// Many large blocks, or, of every other seed, few small ones and a heap beside them; of these, every other one exposes memory
// for long messages.
inline bough::one_sided_options blocks_of(std::uint64_t seed) {
    if (seed % 2 == 0) return {};
    return {.blocks = 2, .block_bytes = 300, .piece_bytes = 512, .static_bytes = 200, .expose_bytes = seed % 4 / 2};
}
inline std::uint64_t region_bytes_of(bough::rank_t ranks, std::uint64_t seed) {
    return bough::one_sided_bytes(ranks, blocks_of(seed)) + (seed % 2) * 40'000;
}

// The rules of a transport. join(job, bytes): a rank's end of a group whose regions have so many bytes.
template <class Join>
bough::launch_report region_messages(bough::rank_t ranks, const bough::testing::process_check& how, const Join& join) {
    return bough::launch(ranks, [&](bough::job world) {
        const auto fault = bough::testing::check_transport_process(
            bough::one_sided{join(world, region_bytes_of(ranks, how.seed)), blocks_of(how.seed)}, how);
        if (fault) std::printf("rank %u, seed %u: %s\n", fault.rank, static_cast<unsigned>(how.seed), fault.sentence);
        return fault ? 1 : 0;
    });
}

// Collectives over vectors of each length: folds, bit by bit.
template <class Join>
bough::launch_report region_collectives(bough::rank_t ranks, std::uint64_t seed, const std::vector<std::size_t>& counts,
                                        const Join& join) {
    return bough::launch(ranks, [&](bough::job world) {
        bough::communicator comm{bough::one_sided{join(world, region_bytes_of(ranks, seed)), blocks_of(seed)}};
        comm.set_timeout_ns(60'000'000'000);
        return wrong_collectives(comm, counts) == 0 ? 0 : 1;
    });
}

// Rank 1 of three is killed amid operations. What ranks 0 and 2 end with says whether they were told.
template <class Join>
bough::launch_report region_death(const Join& join) {
    return bough::launch(3, [&](bough::job world) {
        bough::communicator comm{bough::one_sided{join(world, region_bytes_of(3, 0))}};
        comm.set_timeout_ns(30'000'000'000);
        std::vector<double> x(100, 1.0);
        bough::status s;
        for (int k = 0; k != 50 && !s; ++k) {
            if (k == 20 && comm.rank() == 1) ::raise(SIGKILL);
            bough::allreduce(comm, std::span(x), bough::plus{}, s);
        }
        return is_death_of(s, 1) ? 0 : 1;
    });
}

} // namespace bough_test

#endif
