// SPDX-License-Identifier: BSL-1.0
// Who comes last does the work of those that it has kept waiting: a rank that has given its part burns nothing more.
#include <bough/direct/combining_tree.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/common_memory.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <utility>

void rank_of_job(bough::job job) {
    bough::combining_tree tree{bough::common_memory{job}};
    std::array<std::uint64_t, 4> part{1, tree.rank(), 10 * tree.rank(), 100}, sum{};

    // Rank 3 is late; the others are at work elsewhere by then.
    if (tree.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    bough::operation op = bough::start_reduce(tree, part, sum, bough::plus{}, bough::root{0});
    if (tree.rank() != 0) return; // its part is done: it may go

    op.wait();
    std::printf("%llu ranks: %llu %llu %llu\n", static_cast<unsigned long long>(sum[0]),
                static_cast<unsigned long long>(sum[1]), static_cast<unsigned long long>(sum[2]),
                static_cast<unsigned long long>(sum[3]));
}

int main() {
    const auto report = bough::launch(6, [](bough::job job) { rank_of_job(std::move(job)); });
    if (!report.ok()) std::printf("%s\n", describe(report).c_str());
}
