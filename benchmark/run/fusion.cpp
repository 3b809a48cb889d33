// SPDX-License-Identifier: BSL-1.0
// Fusion: k allreduces of one double each, in turns: one by one, in split phase all at once, as a batch, as a fused struct.
//
//   bench-fusion [rounds [ranks]]        2 and 4 ranks, if not said
// Times are those of rank 0 for all k together, in us, medians over rounds; in each round every way runs some times, between
// barriers. A ratio is the median over rounds of what the calls one by one took by what the way took.
// Half of the reductions are sums, half minima. Batches are added once and called often; "bound" is a persistent operation.
#include "../arguments.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/batch.hpp>
#include <bough/hana/fuse.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

namespace {

int rounds = 101;
constexpr int calls = 20; // of one way in a round

double median(std::vector<double> x) {
    std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
    return x[x.size() / 2];
}

template <std::size_t K>
struct record {
    std::array<double, K - K / 2> sums;
    std::array<double, K / 2> lows;
};
template <>
struct record<1> {
    std::array<double, 1> sums;
};
template <std::size_t K>
constexpr auto merge = bough::fuse(bough::field<&record<K>::sums>(bough::plus{}),
                                   bough::field<&record<K>::lows>(bough::min{}));
template <>
constexpr auto merge<1> = bough::fuse(bough::field<&record<1>::sums>(bough::plus{}));

enum way { blocking, split, batched, bound, fused, ways };

template <std::size_t K, class X>
void measure(const char* transport, bough::communicator<X>& comm) {
    std::array<double, K> x{};
    record<K> whole{};
    bough::batch all;
    const auto each = [&](auto&& sum, auto&& low) {
        for (std::size_t i = 0; i != K; ++i) i < K - K / 2 ? sum(x[i]) : low(x[i]);
    };
    each([&](double& v) { all.add(v, bough::plus{}); }, [&](double& v) { all.add(v, bough::min{}); });
    bough::persistent_operation kept = bough::bind_allreduce(comm, all);
    std::array<bough::operation, K> started;

    const auto run = [&](way w) {
        std::size_t next = 0;
        switch (w) {
        case blocking:
            each([&](double& v) { bough::allreduce(comm, std::span(&v, 1), bough::plus{}); },
                 [&](double& v) { bough::allreduce(comm, std::span(&v, 1), bough::min{}); });
            break;
        case split:
            each([&](double& v) { started[next++] = bough::start_allreduce(comm, std::span(&v, 1), bough::plus{}); },
                 [&](double& v) { started[next++] = bough::start_allreduce(comm, std::span(&v, 1), bough::min{}); });
            for (bough::operation& op : started) op.wait();
            break;
        case batched: bough::allreduce(comm, all); break;
        case bound:
            kept.start();
            kept.wait();
            break;
        default: bough::allreduce(comm, std::span(&whole, 1), merge<K>); break;
        }
    };
    std::array<std::vector<double>, ways> us, ratio;
    for (int round = -5; round != rounds; ++round) {
        std::array<double, ways> now{};
        for (int w = 0; w != ways; ++w) {
            x.fill(1);
            bough::barrier(comm);
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i != calls; ++i) run(static_cast<way>(w));
            now[static_cast<std::size_t>(w)] =
                std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / calls;
        }
        for (std::size_t w = 0; w != ways && round >= 0; ++w) {
            us[w].push_back(now[w]);
            ratio[w].push_back(now[blocking] / now[w]);
        }
    }
    if (comm.rank() != 0) return;
    std::printf("%-14s %2u %3zu", transport, comm.size(), K);
    for (const auto& t : us) std::printf(" %9.2f", median(t));
    for (std::size_t w = 1; w != ways; ++w) std::printf(" %7.2f", median(ratio[w]));
    std::printf("\n");
    std::fflush(stdout);
}

template <class X>
void measure_all(const char* transport, bough::communicator<X>& comm) {
    measure<1>(transport, comm);
    measure<2>(transport, comm);
    measure<4>(transport, comm);
    measure<8>(transport, comm);
    measure<16>(transport, comm);
}

int over_shared_memory(bough::job job) {
    bough::communicator comm{bough::shared_memory{job}};
    measure_all("shared_memory", comm);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 2, "bench-fusion [rounds [2|4]]");
    rounds = given.number<int>(1, "rounds", 1, 1'000'000, rounds);
    const std::string_view only = given.word(2, "ranks", {"2", "4"});
    std::printf(
        "transport       p   k  blocking     split     batch     bound     fused | split   batch   bound   fused\n");
    for (const bough::rank_t p : {2u, 4u}) {
        if (!only.empty() && only != std::to_string(p)) continue;
        bough::in_process{p}.run([](auto end) {
            bough::communicator comm{std::move(end)};
            measure_all("in_process", comm);
        });
        if (!bough::launch(p, over_shared_memory).ok()) return 1;
    }
}
