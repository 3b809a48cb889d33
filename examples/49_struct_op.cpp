// SPDX-License-Identifier: BSL-1.0
// A struct with an op of its own: count, mean, spread and range of numbers that are spread over the ranks, in one allreduce.
#include <bough/allreduce.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

struct summary {
    double count = 0, mean = 0, squares = 0; // squares: of the distances from the mean, summed
    double least = INFINITY, most = -INFINITY;
};

summary summary_of(std::span<const double> numbers) {
    summary s;
    for (const double x : numbers) {
        const double distance = x - s.mean;
        s.count += 1;
        s.mean += distance / s.count;
        s.squares += distance * (x - s.mean);
        s.least = std::min(s.least, x);
        s.most = std::max(s.most, x);
    }
    return s;
}

// Two summaries make one (Chan, Golub, LeVeque 1983). `lower` is of the lower ranks.
struct together {
    summary operator()(const summary& lower, const summary& upper) const {
        const double count = lower.count + upper.count, distance = upper.mean - lower.mean;
        if (count == 0) return lower;
        return {.count = count,
                .mean = lower.mean + distance * upper.count / count,
                .squares = lower.squares + upper.squares + distance * distance * lower.count * upper.count / count,
                .least = std::min(lower.least, upper.least),
                .most = std::max(lower.most, upper.most)};
    }
};

// The order of the operands does not matter here: more algorithms may be chosen.
template <>
inline constexpr bool bough::is_commutative_v<together> = true;

int main() {
    bough::in_process{5}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        double numbers[3] = {};
        std::size_t have = comm.rank() == 2 ? 0 : 3; // rank 2 has none
        for (std::size_t i = 0; i != have; ++i) numbers[i] = comm.rank() * 3.0 + static_cast<double>(i);
        summary all = summary_of(std::span(numbers, have));
        bough::allreduce(comm, std::span(&all, 1), together{});
        if (comm.rank() == 4)
            std::printf("%g numbers from %g to %g: mean %g, deviation %.3f\n", all.count, all.least, all.most, all.mean,
                        std::sqrt(all.squares / all.count));
    });
}
