// SPDX-License-Identifier: BSL-1.0
// Runs under a launcher that speaks PMIx, or alone: every rank checks the wire-up that this_job() finds, and says how many
// ranks it has (argument). With a second argument rank 0 says nothing where the others say a byte, which every rank must
// hear of. Status 1 if something is wrong.
#include <bough/launch.hpp>
#include <bough/launch/pmix.hpp>
#include <bough/testing/wire_up_conformance.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

// LeakSanitizer: PMIx_Init keeps some bytes for good.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libpmix"; }

namespace {

int check_mismatch(bough::job& job) {
    const std::byte said[1]{};
    const std::size_t mine = job.rank() == 0 ? 0 : 1;
    std::vector<std::byte> all(mine * job.size());
    const bough::status s = job.exchange(std::span(said, mine), all, 10'000'000'000);
    if (s.code == bough::errc::call_mismatch && s.mine == mine && s.theirs == 1 - mine) return 0;
    std::printf("rank %u: says %zu bytes, and hears of no mismatch\n", job.rank(), mine);
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    const auto expected = static_cast<bough::rank_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1);
    bough::job job = bough::this_job();
    if (argc > 2) return check_mismatch(job);
    const auto fault = bough::testing::check_wire_up(job, {.exchanges = 15});
    if (fault) std::printf("rank %u: %s\n", job.rank(), fault.sentence);
    if (job.size() != expected) std::printf("rank %u of %u ranks, not %u\n", job.rank(), job.size(), expected);
    return fault || job.size() != expected ? 1 : 0;
}
