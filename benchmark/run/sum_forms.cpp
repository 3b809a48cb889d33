// SPDX-License-Identifier: BSL-1.0
// What a sum costs beside the plain one of as many elements: over memory that is not aligned, over elements
// with gaps, and with the same bits for any partition. In turns in the same run.
//
//   bench-sum_forms [ranks [bytes [rounds]]]        bytes: of the elements, without gaps
//
// combine: out is the lower operand, and all operands are one byte off, or none. allreduce over shared_memory:
// in and out are one vector. The forms take turns, and begin with another one in each round. Ratios are the
// median of the rounds' ratios, and that of the shortest times, which other programs disturb least.
#include "../arguments.hpp"
#include "board.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/min_max.hpp>
#include <bough/op/small_float.hpp>
#include <bough/run_time.hpp>
#include <bough/select/standard_set.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

namespace {

using bough::rank_t;
using clock_type = std::chrono::steady_clock;

template <class F>
double time_ns(int turns, F&& f) {
    const auto begin = clock_type::now();
    for (int i = 0; i != turns; ++i) f();
    return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count() / turns;
}

template <class O, class T>
void combine_row(const char* name, std::size_t bytes, int rounds) {
    std::vector<std::byte> lower(bytes + 64), upper(bytes + 64);
    const std::size_t count = bytes / sizeof(T);
    auto* function = &bough::combine_bytes<O, T>;
    const auto run = [&](std::size_t off) {
        return time_ns(20, [&] {
            function(nullptr, lower.data() + off, upper.data() + off, lower.data() + off, count);
            asm volatile("" ::: "memory");
        });
    };
    std::vector<double> whole, off, ratios;
    for (int r = 0; r <= rounds; ++r) {
        const double a = run(0), b = run(1);
        if (r == 0) continue;
        whole.push_back(a), off.push_back(b), ratios.push_back(b / a);
    }
    std::printf("combine %zu bytes, %-18s aligned %8.1f us   not aligned %8.1f us   ratio %5.2f\n", bytes, name,
                median(whole) / 1e3, median(off) / 1e3, median(ratios));
    std::fflush(stdout);
}

constexpr std::size_t forms = 6;
constexpr int most_rounds = 1024;
// "twice as many": plain, over the memory in which every second one lies.
enum form : std::size_t { plain, not_aligned, every_second, column_of_16, same_bits, twice_as_many };
constexpr std::array<const char*, forms> names{"plain",        "not aligned", "every second",
                                               "column of 16", "same bits",   "twice as many"};

struct board : wire_up_board {
    std::atomic<int> turns{0};
    double ns[forms][most_rounds];
};

template <class T>
class data {
public:
    explicit data(std::size_t count) : count_(count), memory_(16 * count * sizeof(T) + 64) {}

    template <class Group>
    void run(Group& g, std::size_t form) {
        using namespace bough;
        run_time_type type = run_time_type_of<T>();
        if (form == every_second) type.extent = 2 * sizeof(T);
        if (form == column_of_16) type.extent = 16 * sizeof(T);
        const elements x{
            memory_.data() + (form == not_aligned ? 1 : 0), form == twice_as_many ? 2 * count_ : count_, type, {}};
        const any_op sum = make_any_op<T>(plus{});
        if (form == same_bits)
            allreduce(g, x, sum, automatic{.required = same_bits_for_any_partition});
        else
            allreduce(g, x, sum);
    }

private:
    std::size_t count_;
    std::vector<std::byte> memory_;
};

template <class T, class Group>
void measure(Group& g, board& b, const char* type, std::size_t bytes, int rounds) {
    data<T> x(bytes / sizeof(T));
    const auto time = [&](std::size_t form, int turns) {
        x.run(g, form); // what the form before has left in the caches
        bough::barrier(g);
        return time_ns(turns, [&] { x.run(g, form); });
    };
    double slowest = 0;
    for (std::size_t f = 0; f != forms; ++f) time(f, 2), slowest = std::max(slowest, time(f, 2));
    if (g.rank() == 0) b.turns = static_cast<int>(std::clamp(1e6 / slowest, 1.0, 500.0)); // about a millisecond
    bough::barrier(g);
    const int turns = b.turns;
    for (int r = 0; r != rounds; ++r)
        for (std::size_t k = 0; k != forms; ++k) {
            const std::size_t f = (k + static_cast<std::size_t>(r)) % forms;
            if (const double ns = time(f, turns); g.rank() == 0) b.ns[f][r] = ns;
        }
    if (g.rank() != 0) return;
    for (std::size_t f = 0; f != forms; ++f) {
        std::vector<double> ratios;
        for (int r = 0; r != rounds; ++r) ratios.push_back(b.ns[f][r] / b.ns[0][r]);
        const auto shortest = [&](std::size_t form) { return *std::min_element(b.ns[form], b.ns[form] + rounds); };
        std::printf("allreduce of %zu bytes, p = %u, %-6s %-18s %8.1f us, shortest %8.1f   to plain %5.2f, %5.2f\n",
                    bytes, g.size(), type, names[f], median({b.ns[f], b.ns[f] + rounds}) / 1e3, shortest(f) / 1e3,
                    median(ratios), shortest(f) / shortest(0));
    }
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 3, "bench-sum_forms [ranks [bytes [rounds]]]");
    const auto ranks = given.number<rank_t>(1, "ranks", 2, wire_up_board::most_ranks, 2);
    const auto bytes = given.number<std::size_t>(2, "bytes", 8, std::size_t{1} << 28, std::size_t{1} << 20);
    const int rounds = given.number<int>(3, "rounds", 1, most_rounds, 101);
    combine_row<bough::plus, float>("float", bytes, rounds);
    combine_row<bough::plus, double>("double", bytes, rounds);
    combine_row<bough::max, double>("max of double", bytes, rounds);
    combine_row<bough::plus, std::int16_t>("int16", bytes, rounds);
    combine_row<bough::plus, std::int32_t>("int32", bytes, rounds);
    combine_row<bough::plus, std::int64_t>("int64", bytes, rounds);
    combine_row<bough::max, std::int32_t>("max of int32", bytes, rounds);
    combine_row<bough::plus, bough::bf16>("bf16", bytes, rounds);
    board* const b = shared<board>(1);
    const unsigned cores = std::thread::hardware_concurrency();
    fork_ranks(ranks, ranks <= cores, [&](rank_t r) {
        board_wire_up wire(*b, r, ranks);
        bough::communicator g{bough::shared_memory{wire}};
        measure<float>(g, *b, "float", bytes, rounds);
        measure<std::int32_t>(g, *b, "int32", bytes, rounds);
        return 0;
    });
    return EXIT_SUCCESS;
}
