// SPDX-License-Identifier: BSL-1.0
// How often choose takes an algorithm within 10 % of the fastest, and within half as much again, on simulated networks with
// parameters that it was not fitted to. The same output on every machine.
//
//   bench-choice          the counts
//   bench-choice all      every point that is not within 10 %
#include "choice.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    using namespace bough_benchmark;
    const bool all = argc > 1 && std::string_view(argv[1]) == "all";
    std::size_t points = 0, near = 0, fair = 0;
    double worst = 1;
    std::printf("%-20s %-15s %7s %12s %12s %8s\n", "network", "collective", "points", "within 10 %", "within 1.5x",
                "worst");
    for_each_network([&](const char* name, const auto& network) {
        const auto fitted = fitted_to(network);
        if (all)
            std::printf("%s: alpha %.0f ns, beta %.3f, gamma %.3f ns a byte, f %.2f %.2f, held %.2f %.2f\n", name,
                        fitted.alpha_ns, fitted.beta_ns_per_byte, fitted.gamma_ns_per_byte, fitted.f_alpha,
                        fitted.f_beta, fitted.held_alpha, fitted.held_beta);
        for_each_choice_goal(network, [&]<class Goal>(Goal, const char* goal_name) {
            std::size_t here = 0, near_here = 0, fair_here = 0;
            double worst_here = 1;
            for (const bough::rank_t p : {2u, 3u, 4u, 5u, 7u, 8u, 12u, 13u, 16u, 24u, 32u, 48u, 64u})
                for (std::uint64_t bytes = 8; bytes <= 1u << 24; bytes *= bytes < 1u << 23 ? 4 : 2) {
                    const choice_point point = choose_on<Goal>(network, fitted, p, bytes);
                    ++here;
                    near_here += point.factor() <= 1.1;
                    fair_here += point.factor() <= 1.5;
                    worst_here = std::max(worst_here, point.factor());
                    if (all && point.factor() > 1.1)
                        std::printf("    p %2u, %8llu bytes: %5.2f x  %s, not %s\n", p,
                                    static_cast<unsigned long long>(bytes), point.factor(), point.chosen.c_str(),
                                    point.fastest.c_str());
                }
            std::printf("%-20s %-15s %7zu %10.1f %% %10.1f %% %8.2f\n", name, goal_name, here,
                        100.0 * static_cast<double>(near_here) / static_cast<double>(here),
                        100.0 * static_cast<double>(fair_here) / static_cast<double>(here), worst_here);
            std::fflush(stdout);
            points += here, near += near_here, fair += fair_here;
            worst = std::max(worst, worst_here);
        });
    });
    std::printf("%-36s %7zu %10.1f %% %10.1f %% %8.2f\n", "all", points,
                100.0 * static_cast<double>(near) / static_cast<double>(points),
                100.0 * static_cast<double>(fair) / static_cast<double>(points), worst);
    return near * 10 >= points * 9 && fair == points ? 0 : 1;
}
