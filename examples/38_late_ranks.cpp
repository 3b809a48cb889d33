// SPDX-License-Identifier: BSL-1.0
// Who comes last does the work of those that it has kept waiting: a rank that has given its part burns nothing more.
#include <bough/communicator.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/shared_memory.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>

void rank_of_job(bough::job job) {
    bough::communicator comm{bough::shared_memory{job}};
    std::array<std::uint64_t, 4> part{1, comm.rank(), 10 * comm.rank(), 100}, sum{};

    // Rank 3 is late; the others are at work elsewhere by then.
    if (comm.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    constexpr bough::automatic choice{.late_ranks = true};
    bough::operation op = bough::start_reduce(comm, part, sum, bough::plus{}, bough::root{0}, choice);
    if (comm.rank() != 0) return; // its part is done: it may go

    op.wait();
    std::printf("%llu ranks: %llu %llu %llu\n", static_cast<unsigned long long>(sum[0]),
                static_cast<unsigned long long>(sum[1]), static_cast<unsigned long long>(sum[2]),
                static_cast<unsigned long long>(sum[3]));
}

int main() {
    const auto report = bough::launch(6, [](bough::job job) { rank_of_job(std::move(job)); });
    if (!report.ok()) std::printf("%s\n", describe(report).c_str());
}
