// SPDX-License-Identifier: BSL-1.0
// Instructions of an 8-byte allreduce on elements whose type and op are known at run time only, beside those of one on a
// std::span. Made for callgrind, one function at a time:
//
//   valgrind --tool=callgrind --toggle-collect='measured_span*' bench-run_time           (1000 operations of 2 ranks)
//   valgrind --tool=callgrind --toggle-collect='measured_elements*' bench-run_time
//   valgrind --tool=callgrind --toggle-collect='measured_any_op*' bench-run_time
//   ... bench-run_time alone                                   one rank: the front door alone
//
// One thread drives both ranks, so the count is the same in every run: rank 0 starts its operation, rank 1 starts and ends its
// own, and rank 0 waits for what has come.
#include "../arguments.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/run_time.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

namespace {

using communicator = bough::communicator<bough::in_process::endpoint>;
constexpr int operations = 1000;

void add(void*, const void* in, void* inout, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i)
        static_cast<double*>(inout)[i] = static_cast<const double*>(in)[i] + static_cast<double*>(inout)[i];
}
constexpr bough::run_time_op sum{.function = add, .commutative = true, .identity = 1};
constexpr bough::run_time_type f64{.size = 8, .identity = 1};

// Of the last rank, a blocking call, as nothing is missing any more; of the others, started ones.
template <class Blocking, class Start>
[[gnu::always_inline]] inline void all_ranks(std::vector<communicator>& ranks, Blocking&& blocking, Start&& start) {
    double x = 1, y = 1;
    if (ranks.size() == 1) {
        blocking(ranks[0], x);
    } else {
        bough::operation first = start(ranks[0], x);
        blocking(ranks[1], y);
        first.wait();
    }
    if (x != static_cast<double>(ranks.size())) std::abort();
}

} // namespace

// Not in the unnamed namespace and not inlined: callgrind finds them by name.
[[gnu::noinline]] void measured_span(std::vector<communicator>& ranks) {
    for (int i = 0; i != operations; ++i)
        all_ranks(
            ranks, [](communicator& on, double& x) { bough::allreduce(on, std::span(&x, 1), bough::plus{}); },
            [](communicator& on, double& x) { return bough::start_allreduce(on, std::span(&x, 1), bough::plus{}); });
}
[[gnu::noinline]] void measured_elements(std::vector<communicator>& ranks) {
    for (int i = 0; i != operations; ++i)
        all_ranks(
            ranks,
            [](communicator& on, double& x) {
                bough::allreduce(on, bough::elements{&x, 1, f64, {}}, sum);
            },
            [](communicator& on, double& x) {
                return bough::start_allreduce(on, bough::elements{&x, 1, f64, {}}, sum);
            });
}
[[gnu::noinline]] void measured_any_op(std::vector<communicator>& ranks) {
    const bough::any_op plus = bough::make_any_op<double>(bough::plus{});
    for (int i = 0; i != operations; ++i)
        all_ranks(
            ranks,
            [&plus](communicator& on, double& x) {
                bough::allreduce(on, bough::elements{&x, 1, f64, {}}, plus);
            },
            [&plus](communicator& on, double& x) {
                return bough::start_allreduce(on, bough::elements{&x, 1, f64, {}}, plus);
            });
}

int main(int argc, char** argv) {
    const arguments::list given(argc, argv, 1, "bench-run_time [alone]");
    const bough::rank_t size = given.word(1, "how many ranks", {"alone"}).empty() ? 2 : 1;
    bough::in_process world{size};
    std::vector<communicator> ranks;
    for (bough::rank_t r = 0; r != size; ++r) ranks.emplace_back(world.connect(r));
    // Each in turn twice: the second time, everything is warm.
    for (const auto& measured : {measured_span, measured_elements, measured_any_op}) {
        for (int i = 0; i != 2; ++i) measured(ranks);
    }
    std::printf("%u ranks, 2 times %d operations each\n", size, operations);
}
