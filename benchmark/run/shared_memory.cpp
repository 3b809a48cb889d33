// SPDX-License-Identifier: BSL-1.0
// Collectives over processes of one node, beside hand-made exchanges through shared memory in the same run, in turns.
//
//   bench-shared_memory [most bytes]      p = 2: pinned to a core each, if there are two; p = 8, 16: as many as there are
// Times are per operation, medians over rounds; the ratio is the median of the rounds' ratios. Inside the clock every rank
// rewrites its vector and reads its whole result. The floors: 8 bytes, one cache line per side on which the other spins
// (yields, with more ranks than cores); longer, each reads the other's vector where it lies, between two such exchanges.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using bough::rank_t;
using clock_type = std::chrono::steady_clock;
std::size_t most_bytes = std::size_t{16} << 20;

// What the processes of one measurement share: the floors' lines and vectors, and rank 0's results.
struct board : wire_up_board {
    struct alignas(64) line {
        std::atomic<std::uint64_t> sequence{0};
        double value = 0;
    };
    struct result {
        double ours_ns, floor_ns, ratio, fastest_ns, slowest_ns;
    };
    line lines[2][most_ranks];
    line answer[2];
    result results[64];
    std::uint32_t count = 0;
};

// One rank of a measurement.
struct rank_run {
    board& shared_board;
    double* vectors; // of the floor: most_bytes for each of two ranks
    bough::communicator<bough::shared_memory> comm;
    std::uint64_t exchanges = 0;
    bool yields = false;

    void until(const board::line& l) const {
        while (l.sequence.load(std::memory_order_acquire) < exchanges)
            if (yields) std::this_thread::yield();
    }
    // 8 bytes, all to all for two, up and down for more.
    double exchange(double x) {
        const rank_t me = comm.rank(), p = comm.size();
        ++exchanges;
        board::line* lines = shared_board.lines[exchanges & 1];
        board::line& answer = shared_board.answer[exchanges & 1];
        if (p == 2 || me != 0) {
            lines[me].value = x;
            lines[me].sequence.store(exchanges, std::memory_order_release);
        }
        if (p == 2) return until(lines[1 - me]), x + lines[1 - me].value;
        if (me != 0) return until(answer), answer.value;
        for (rank_t r = 1; r != p; ++r) until(lines[r]), x += lines[r].value;
        answer.value = x;
        answer.sequence.store(exchanges, std::memory_order_release);
        return x;
    }
    // Long vectors, for two ranks.
    void exchange(std::span<double> out) {
        const double* mine = vectors + comm.rank() * (most_bytes / sizeof(double));
        const double* theirs = vectors + (1 - comm.rank()) * (most_bytes / sizeof(double));
        exchange(0.0);
        bough::combine(bough::plus{}, mine, theirs, out.data(), out.size());
        exchange(0.0);
    }
    double* floor_vector() { return vectors + comm.rank() * (most_bytes / sizeof(double)); }

    template <class Ours, class Floor>
    void measure(int rounds, Ours&& ours, Floor&& floor) {
        const auto time = [&](int operations, auto&& body) {
            bough::barrier(comm);
            const auto begin = clock_type::now();
            for (int i = 0; i != operations; ++i) body(i);
            return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / operations;
        };
        time(4, floor); // pages, plans
        time(4, ours);
        int operations = static_cast<int>(std::clamp(2e7 / time(20, ours), 4.0, 1e5)); // 20 ms
        bough::broadcast(comm, std::span(&operations, 1), bough::root{0});
        std::vector<double> a, b, ratio;
        for (int r = 0; r != rounds; ++r) {
            b.push_back(time(operations, floor));
            a.push_back(time(operations, ours));
            ratio.push_back(a.back() / b.back());
        }
        if (comm.rank() == 0)
            shared_board.results[shared_board.count++] = {median(a), median(b), median(ratio),
                                                          *std::min_element(a.begin(), a.end()),
                                                          *std::max_element(a.begin(), a.end())};
    }
};

void fill(std::span<double> x, int i) {
    for (double& e : x) e = i + 1;
}
void check(std::span<const double> x, double expected) {
    double wrong = 0;
    for (const double e : x) wrong += e == expected ? 0 : 1;
    if (wrong != 0) std::abort();
}

using body_type = std::function<void(rank_run&)>;

std::vector<board::result> over_processes(rank_t ranks, bool pinned, std::uint64_t heap_bytes, const body_type& body) {
    board* b = shared<board>(1);
    double* vectors = shared<double>(2 * most_bytes / sizeof(double));
    fork_ranks(ranks, pinned, [&](rank_t r) {
        board_wire_up wire(*b, r, ranks);
        rank_run run{*b, vectors, bough::communicator{bough::shared_memory{wire, {.heap_bytes = heap_bytes}}}};
        run.yields = run.comm.transport().oversubscribed();
        body(run);
        bough::barrier(run.comm);
        return 0;
    });
    std::vector<board::result> results(b->results, b->results + b->count);
    ::munmap(b, sizeof *b);
    ::munmap(vectors, 2 * most_bytes);
    return results;
}

void print(const std::string& name, const board::result& r) {
    std::printf("%-44s %10.0f ns  (%8.0f .. %9.0f)   floor %9.0f ns   %5.2f x\n", name.c_str(), r.ours_ns, r.fastest_ns,
                r.slowest_ns, r.floor_ns, r.ratio);
}

void small(rank_run& run) {
    const double p = run.comm.size();
    run.measure(
        21,
        [&](int i) {
            double x = i + 1;
            bough::allreduce(run.comm, std::span(&x, 1), bough::plus{});
            if (x != p * (i + 1)) std::abort();
        },
        [&](int i) {
            if (run.exchange(i + 1.0) != p * (i + 1)) std::abort();
        });
    run.measure(
        21, [&](int) { bough::barrier(run.comm); }, [&](int) { run.exchange(0.0); });
}

void vector_of(rank_run& run, std::size_t bytes, bool in_heap) {
    const std::size_t count = bytes / sizeof(double);
    std::vector<double> in_memory(in_heap ? 0 : 2 * count), sum(count);
    std::span<double> both(in_memory);
    if (in_heap) {
        const std::span<std::byte> piece = run.comm.transport().allocate(2 * bytes);
        both = {reinterpret_cast<double*>(piece.data()), 2 * count};
    }
    const std::span<double> in = both.first(count), out = both.last(count);
    run.measure(
        11,
        [&](int i) {
            fill(in, i);
            bough::allreduce(run.comm, std::span<const double>(in), out, bough::plus{});
            check(out, 2.0 * (i + 1));
        },
        [&](int i) {
            fill({run.floor_vector(), count}, i);
            run.exchange(std::span(sum));
            check(sum, 2.0 * (i + 1));
        });
    if (in_heap) run.comm.transport().deallocate(std::as_writable_bytes(both));
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 1, "bench-shared_memory [most bytes]");
    most_bytes = given.number<std::size_t>(1, "most bytes", 4096, std::size_t{1} << 30, most_bytes);
    const unsigned cores = std::thread::hardware_concurrency();
    std::printf("%u cores; medians (fastest .. slowest round), and of the ratios to the floor\n", cores);
    if (cores >= 2) {
        std::vector<std::size_t> sizes;
        for (std::size_t bytes = 1024; bytes <= most_bytes; bytes *= bytes < 65536 ? 8 : 16) sizes.push_back(bytes);
        const auto results = over_processes(2, true, 2 * most_bytes + 8192, [&](rank_run& run) {
            small(run);
            for (const std::size_t bytes : sizes)
                for (const bool in_heap : {false, true}) vector_of(run, bytes, in_heap);
        });
        print("p = 2: allreduce 8 B", results[0]);
        print("p = 2: barrier", results[1]);
        for (std::size_t i = 0; i != sizes.size(); ++i)
            for (const std::size_t heap : {0u, 1u})
                print("p = 2: allreduce " + std::to_string(sizes[i]) + (heap != 0 ? " B, segment" : " B, private"),
                      results[2 + 2 * i + heap]);
    }
    for (const rank_t ranks : {8u, 16u}) {
        const auto results = over_processes(ranks, false, 0, [](rank_run& run) { small(run); });
        print("p = " + std::to_string(ranks) + ": allreduce 8 B", results[0]);
        print("p = " + std::to_string(ranks) + ": barrier", results[1]);
    }
}
