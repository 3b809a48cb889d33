// SPDX-License-Identifier: BSL-1.0
// What the programs of the skew benchmark share: how their ranks agree on times, and the op that takes the time.
#ifndef BOUGH_BENCHMARK_SKEW_WORLD_HPP
#define BOUGH_BENCHMARK_SKEW_WORLD_HPP

#include "skewed.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace skewed {

inline void timed_add(const double* lower, const double* upper, double* out, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) out[i] = lower[i] + upper[i];
    last_combine_ns = now_ns();
}

// Between iterations, never within one.
template <class T>
struct world_of {
    bough::communicator<T>& comm;
    int rank() const { return static_cast<int>(comm.rank()); }
    int size() const { return static_cast<int>(comm.size()); }
    std::int64_t most(std::int64_t x) {
        bough::allreduce(comm, std::span(&x, 1), bough::max{});
        return x;
    }
    double total(double x) {
        bough::allreduce(comm, std::span(&x, 1), bough::plus{});
        return x;
    }
};

} // namespace skewed

#endif
