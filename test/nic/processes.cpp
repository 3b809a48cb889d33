// SPDX-License-Identifier: BSL-1.0
// The cases of test/nic/conformance.hpp by hosts that are processes, over shared memory.
#if defined(__linux__)
#include "nic/conformance.hpp"
#include "nic/conformance_host.hpp"
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/transport/shared_memory.hpp>

#include <array>
#include <span>

TEST_CASE("conformance: hosts that are processes", "[nic]") {
    for (const conformance::one_case& c : conformance::cases) {
        const bough::launch_report report = bough::launch(static_cast<bough::rank_t>(c.ranks), [&](bough::job job) {
            bough::communicator comm{bough::shared_memory{job}};
            conformance::digests mine;
            if (conformance::run_by_host(comm, c, mine)) return 2;
            std::array<conformance::u64, 2> sum{mine.results, mine.messages};
            bough::allreduce(comm, std::span(sum), bough::plus{});
            return sum[0] == c.results && sum[1] == c.messages ? 0 : 1;
        });
        INFO(c.name << ": " << bough::describe(report));
        CHECK(report.ok());
    }
}
#endif
