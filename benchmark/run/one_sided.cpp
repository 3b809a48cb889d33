// SPDX-License-Identifier: BSL-1.0
// Collectives by remote writes beside the same by messages, over processes of one node, in turns in the same run.
//
//   bench-one_sided [rounds [p [provider]]]      p = 2: pinned to a core each, if there are two; p = 4, 8: as many as there are
// With a provider of libfabric, as shm or "tcp;ofi_rxm", over that, fabric beside fabric_regions, in place of shared memory.
// Times are per operation, medians over rounds; a ratio is the median of the rounds' ratios, one-sided / messages. Both
// run the same plans: their costs are the same. For two ranks and 8 bytes also beside the round trip of one cache line that
// two processes pass to and fro.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/transport/shared_memory.hpp>
#if defined(BOUGH_ONE_SIDED_FABRIC)
#include <bough/transport/fabric.hpp>
#include <bough/transport/fabric/regions.hpp>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using bough::rank_t;
using clock_type = std::chrono::steady_clock;
constexpr std::size_t sizes[] = {4, 8, 64, 512, 4096, 16384, 65536};

struct result {
    double messages_ns = 0, ours_ns = 0, ratio = 0;
};
struct board : wire_up_board { // what the processes of one measurement share
    alignas(64) std::atomic<std::uint64_t> ball{0};
    alignas(64) result allreduce[std::size(sizes)];
    result broadcast[std::size(sizes)];
    result round_trip; // a round trip, allreduce of 8 bytes
};

template <class Messages, class Regions>
struct rank_run {
    board& shared;
    int rounds;
    bough::communicator<Messages> messages;
    bough::communicator<bough::one_sided<Regions>> writes;

    template <class F>
    double time(int operations, F&& body) {
        bough::barrier(messages);
        const auto begin = clock_type::now();
        for (int i = 0; i != operations; ++i) body(i);
        return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / operations;
    }
    // Rank 0's figures.
    template <class A, class B>
    void in_turns(result& r, A&& a, B&& b) {
        time(4, a); // pages, plans
        time(4, b);
        int operations = static_cast<int>(std::clamp(1e7 / time(20, a), 4.0, 1e5)); // 10 ms
        bough::broadcast(messages, std::span(&operations, 1), bough::root{0});
        std::vector<double> first, second, ratio;
        for (int k = 0; k != rounds; ++k) {
            const bool turned = k % 2 != 0;
            if (turned) second.push_back(time(operations, b));
            first.push_back(time(operations, a));
            if (!turned) second.push_back(time(operations, b));
            ratio.push_back(second.back() / first.back());
        }
        if (messages.rank() == 0) r = {median(first), median(second), median(ratio)};
    }
    void round_trip(int) {
        const rank_t me = messages.rank();
        const std::uint64_t now = shared.ball.load(std::memory_order_relaxed);
        if (me == 0) {
            shared.ball.store(now + 1, std::memory_order_release);
            while (shared.ball.load(std::memory_order_acquire) != now + 2) bough::detail::relax();
        } else {
            const std::uint64_t mine = ++returned_;
            while (shared.ball.load(std::memory_order_acquire) != 2 * mine - 1) bough::detail::relax();
            shared.ball.store(2 * mine, std::memory_order_release);
        }
    }
    void run() {
        const double p = messages.size();
        for (std::size_t s = 0; s != std::size(sizes); ++s) {
            std::vector<float> x(sizes[s] / sizeof(float));
            const auto sum = [&](auto& comm, int i) { // rewrites its vector, reads the result
                std::fill(x.begin(), x.end(), static_cast<float>(i % 1000));
                bough::allreduce(comm, std::span(x), bough::plus{});
                if (x.front() != p * (i % 1000) || x.back() != x.front()) std::abort();
            };
            in_turns(
                shared.allreduce[s], [&](int i) { sum(messages, i); }, [&](int i) { sum(writes, i); });
            const auto pass = [&](auto& comm, int i) {
                if (comm.rank() == 0) std::fill(x.begin(), x.end(), static_cast<float>(i % 1000));
                bough::broadcast(comm, std::span(x), bough::root{0});
                if (x.front() != static_cast<float>(i % 1000) || x.back() != x.front()) std::abort();
            };
            in_turns(
                shared.broadcast[s], [&](int i) { pass(messages, i); }, [&](int i) { pass(writes, i); });
        }
        if (messages.size() == 2 && std::is_same_v<Messages, bough::shared_memory>) beside_round_trip();
    }
    void beside_round_trip() {
        double y = 0;
        in_turns(
            shared.round_trip, [&](int i) { round_trip(i); },
            [&](int i) {
                y = i;
                bough::allreduce(writes, std::span(&y, 1), bough::plus{});
                if (y != 2.0 * i) std::abort();
            });
    }
    std::uint64_t returned_ = 0;
};

template <class Messages, class Regions>
rank_run<Messages, Regions> run_of(board& b, int rounds, Messages messages, Regions regions) {
    return {b, rounds, bough::communicator{std::move(messages)},
            bough::communicator{bough::one_sided{std::move(regions)}}};
}
int over_shared_memory(board& b, board_wire_up& wire, int rounds) {
    auto run = run_of(b, rounds, bough::shared_memory{wire},
                      bough::shared_memory_regions{wire, {.region_bytes = bough::one_sided_bytes(wire.size())}});
    run.run();
    bough::barrier(run.messages);
    return 0;
}
int over_fabric([[maybe_unused]] board& b, [[maybe_unused]] board_wire_up& wire, [[maybe_unused]] int rounds,
                [[maybe_unused]] const std::string& provider) {
#if defined(BOUGH_ONE_SIDED_FABRIC)
    auto run =
        run_of(b, rounds, bough::fabric{wire, {.provider = provider}},
               bough::fabric_regions{
                   wire, {.region_bytes = bough::one_sided_bytes(wire.size()), .device = {.provider = provider}}});
    run.run();
    bough::barrier(run.messages);
    return 0;
#else
    return std::fprintf(stderr, "made without libfabric\n"), 1;
#endif
}

void over_processes(rank_t ranks, bool pinned, int rounds, const std::string& provider) {
    board* b = shared<board>(1);
    fork_ranks(ranks, pinned, [&](rank_t r) {
        board_wire_up wire(*b, r, ranks);
        return provider.empty() ? over_shared_memory(*b, wire, rounds) : over_fabric(*b, wire, rounds, provider);
    });
    for (const char* what : {"allreduce", "broadcast"})
        for (std::size_t s = 0; s != std::size(sizes); ++s) {
            const result& r = *what == 'a' ? b->allreduce[s] : b->broadcast[s];
            std::printf("p = %u  %-9s %6zu B   messages %9.0f ns   remote writes %9.0f ns   %5.2f x\n", ranks, what,
                        sizes[s], r.messages_ns, r.ours_ns, r.ratio);
        }
    if (ranks == 2 && provider.empty())
        std::printf("p = 2  allreduce      8 B   round trip %7.0f ns   remote writes %9.0f ns   %5.2f x\n",
                    b->round_trip.messages_ns, b->round_trip.ours_ns, b->round_trip.ratio);
    ::munmap(b, sizeof *b);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 3, "bench-one_sided [rounds [2|4|8 [provider]]]");
    const int rounds = given.number<int>(1, "rounds", 1, 1'000'000, 21);
    const unsigned cores = std::thread::hardware_concurrency();
    std::printf("%u cores; medians over %d rounds, and of the rounds' ratios\n", cores, rounds);
    const std::string_view only = given.word(2, "ranks", {"2", "4", "8"});
    const std::string provider = given.text(3, "provider");
    for (const rank_t ranks : {2u, 4u, 8u})
        if (only.empty() || only == std::to_string(ranks)) over_processes(ranks, cores >= ranks, rounds, provider);
}
