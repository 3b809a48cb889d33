// SPDX-License-Identifier: BSL-1.0
// Long vectors in private memory over shared_memory: the ways to read them, in turns in the same run.
//
//   bench-long_vectors [ranks [most bytes [rounds [the only collective]]]]
//
// Ways: what the transport chooses by itself, direct reads alone, and pieces through the segment alone. Each
// has a group of its own over the same processes. In a round every way runs once, one after the other. Inside
// the clock every rank rewrites its input and reads its whole result. A time is the median of the rounds; a
// ratio to the faster of the last two is the median of the rounds' ratios.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/gather.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using bough::rank_t;
using group = bough::communicator<bough::shared_memory>;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t ways = 3;
constexpr std::array<const char*, ways> names{"chosen", "direct", "pieces"};

struct sides {
    std::vector<double> in, out;
    rank_t rank;
};
struct collective {
    const char* name;
    bool whole_input, whole_output; // on every rank; otherwise a block of it
    void (*run)(group&, const sides&, std::span<const double>, std::span<double>);
};
constexpr std::array<collective, 8> all{{
    {"allreduce", true, true,
     [](group& g, const sides&, auto in, auto out) { bough::allreduce(g, in, out, bough::plus{}); }},
    {"reduce", true, true,
     [](group& g, const sides&, auto in, auto out) { bough::reduce(g, in, out, bough::plus{}, bough::root{0}); }},
    {"broadcast", true, true, [](group& g, const sides&, auto, auto out) { bough::broadcast(g, out, bough::root{0}); }},
    {"reduce_scatter", true, false,
     [](group& g, const sides&, auto in, auto out) { bough::reduce_scatter(g, in, out, bough::plus{}); }},
    {"allgather", false, true, [](group& g, const sides&, auto in, auto out) { bough::allgather(g, in, out); }},
    {"alltoall", true, true, [](group& g, const sides&, auto in, auto out) { bough::alltoall(g, in, out); }},
    {"gather", false, true,
     [](group& g, const sides& s, auto in, auto out) {
         bough::gather(g, in, s.rank == 0 ? out : out.first(0), bough::root{0});
     }},
    {"scatter", true, false,
     [](group& g, const sides& s, auto in, auto out) {
         bough::scatter(g, s.rank == 0 ? in : in.first(0), out, bough::root{0});
     }},
}};

struct board : wire_up_board {
    std::atomic<std::uint32_t> operations{0};
    double ns[ways][64];
};

double sum(std::span<const double> x) {
    double s = 0;
    for (const double e : x) s += e;
    return s;
}

// Rank r's median times a way and round, in `b`.
void measure(group (&groups)[ways], board& b, const collective& what, std::size_t bytes, int rounds) {
    const rank_t p = groups[0].size(), me = groups[0].rank();
    const std::size_t count = bytes / sizeof(double) / p * p;
    sides s{std::vector<double>(what.whole_input ? count : count / p),
            std::vector<double>(what.whole_output ? count : count / p), me};
    volatile double kept = 0;
    const auto time = [&](std::size_t way, int operations) {
        bough::barrier(groups[way]);
        const auto begin = clock_type::now();
        for (int i = 0; i != operations; ++i) {
            const bool root_only =
                std::string_view(what.name) == "broadcast" || std::string_view(what.name) == "scatter";
            std::vector<double>& fresh = std::string_view(what.name) == "broadcast" ? s.out : s.in;
            if (!root_only || me == 0) std::fill(fresh.begin(), fresh.end(), i + 1.0);
            what.run(groups[way], s, s.in, s.out);
            const bool result_at_root =
                std::string_view(what.name) == "reduce" || std::string_view(what.name) == "gather";
            if (!result_at_root || me == 0) kept = kept + sum(s.out);
        }
        bough::barrier(groups[way]);
        return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / operations;
    };
    for (std::size_t w = 0; w != ways; ++w) time(w, 2); // pages, plans
    double longest = 0;
    for (std::size_t w = 0; w != ways; ++w) longest = std::max(longest, time(w, 2));
    if (me == 0) b.operations = static_cast<std::uint32_t>(std::clamp(4e6 / longest, 2.0, 2000.0));
    bough::barrier(groups[0]);
    const int operations = static_cast<int>(b.operations.load());
    for (int r = 0; r != rounds; ++r)
        for (std::size_t w = 0; w != ways; ++w)
            if (const double ns = time((w + static_cast<std::size_t>(r)) % ways, operations); me == 0)
                b.ns[(w + static_cast<std::size_t>(r)) % ways][r] = ns;
    if (me != 0) return;
    std::array<double, ways> mid{};
    std::array<std::vector<double>, ways> ratio;
    for (std::size_t w = 0; w != ways; ++w) mid[w] = median({b.ns[w], b.ns[w] + rounds});
    std::vector<double> to_best;
    for (int r = 0; r != rounds; ++r) to_best.push_back(b.ns[0][r] / std::min(b.ns[1][r], b.ns[2][r]));
    std::printf("%-15s %9zu B", what.name, bytes);
    for (std::size_t w = 0; w != ways; ++w) std::printf("  %s %10.1f us", names[w], mid[w] / 1e3);
    std::printf("  chosen / best of both %5.2f  direct / pieces %5.2f\n", median(to_best), mid[1] / mid[2]);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 4,
                                "bench-long_vectors [ranks [most bytes [rounds [the only collective]]]]");
    const auto ranks = given.number<rank_t>(1, "ranks", 2, wire_up_board::most_ranks, 2);
    const auto most = given.number<std::size_t>(2, "most bytes", 16384, std::size_t{1} << 30, std::size_t{16} << 20);
    const int rounds = given.number<int>(3, "rounds", 1, 64, 11);
    const std::string only = given.text(4, "the only collective");
    board* boards[ways];
    for (board*& b : boards) b = shared<board>(1);
    const unsigned cores = std::thread::hardware_concurrency();
    fork_ranks(ranks, ranks <= cores, [&](rank_t r) {
        const auto make = [&](std::size_t w, auto&& options) {
            board_wire_up wire(*boards[w], r, ranks);
            return bough::shared_memory{wire, options};
        };
        group groups[ways]{group{make(0, bough::shared_memory_options{})},
                           group{make(1, bough::shared_memory_options{.direct_reads = true})},
                           group{make(2, bough::shared_memory_options{.direct_reads = false})}};
        if (const bough::shared_memory& t = groups[0].transport(); r == 0)
            std::printf("measured at the join: direct reads from %llu B on, of what is combined from %llu B on\n",
                        static_cast<unsigned long long>(t.copied_directly_from()),
                        static_cast<unsigned long long>(t.combined_directly_from()));
        for (const collective& c : all)
            for (std::size_t bytes = 16384; bytes <= most; bytes *= 4)
                if (only.empty() || only == c.name) measure(groups, *boards[0], c, bytes, rounds);
        bough::barrier(groups[0]);
        return 0;
    });
}
