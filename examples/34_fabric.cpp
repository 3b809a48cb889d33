// SPDX-License-Identifier: BSL-1.0
// The same collectives over libfabric, whichever of its providers is named: efa, cxi, verbs on a cluster; here tcp and shm.
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/launch.hpp>
#include <bough/op/location.hpp>
#include <bough/transport/fabric.hpp>

#include <cstdio>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

int rank_of_job(bough::job job, const std::string& provider) {
    bough::status why;
    std::optional<bough::fabric> link = bough::fabric::join(job, {.provider = provider}, why);
    if (!link) return why.code == bough::errc::unsupported ? 3 : 1;
    bough::communicator comm{std::move(*link)};

    // Who has the smallest value? 64 KiB of them: the provider writes long messages straight to where they are wanted.
    using pair = bough::value_location<double>;
    std::vector<pair> best(4096);
    for (std::size_t i = 0; i != best.size(); ++i)
        best[i] = {static_cast<double>((i + 2 * comm.rank()) % comm.size()), comm.rank()};
    bough::allreduce(comm, std::span(best), bough::min_location{});

    std::vector<int> mine{static_cast<int>(comm.rank())}, all(comm.size());
    bough::allgather(comm, std::span<const int>(mine), std::span(all));
    if (comm.rank() == 2)
        std::printf("over %s the smallest of entry 1 is rank %u's; the ranks add up to %d\n", provider.c_str(),
                    static_cast<unsigned>(best[1].location), std::accumulate(all.begin(), all.end(), 0));
    return best[1].location == 1 && best[4095].value == 0 ? 0 : 1;
}

int main() {
    for (const char* provider : {"tcp;ofi_rxm", "shm"}) {
        const auto report = bough::launch(3, [&](bough::job job) { return rank_of_job(std::move(job), provider); });
        if (!report.ok()) std::printf("%s\n", describe(report).c_str());
    }
}
