// SPDX-License-Identifier: BSL-1.0
// Runs under a launcher that speaks PMIx, or alone: every rank checks the wire-up that this_job() finds, and says how many
// ranks it has (argument). Status 1 if something is wrong.
#include <bough/launch.hpp>
#include <bough/launch/pmix.hpp>
#include <bough/testing/wire_up_conformance.hpp>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    const auto expected = static_cast<bough::rank_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1);
    bough::job job = bough::this_job();
    const auto fault = bough::testing::check_wire_up(job, {.exchanges = 15});
    if (fault) std::printf("rank %u: %s\n", job.rank(), fault.sentence);
    if (job.size() != expected) std::printf("rank %u of %u ranks, not %u\n", job.rank(), job.size(), expected);
    return fault || job.size() != expected ? 1 : 0;
}
