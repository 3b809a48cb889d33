// SPDX-License-Identifier: BSL-1.0
// How often choose takes an algorithm within 10 % of the fastest, and within half as much again, on simulated networks with
// parameters that it was not fitted to: on those that were looked at when the standard candidates were picked, and on others,
// which were not. The same output on every machine.
//
//   bench-choice          the counts
//   bench-choice all      every point that is not within 10 %
#include "choice.hpp"

#include "../arguments.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

namespace {

using namespace bough_benchmark;

struct count {
    std::size_t points = 0, near = 0, fair = 0;
    double worst = 1;

    void add(const choice_point& point) {
        ++points;
        near += point.factor() <= 1.1;
        fair += point.factor() <= 1.5;
        worst = std::max(worst, point.factor());
    }
    void add(const count& other) {
        points += other.points, near += other.near, fair += other.fair;
        worst = std::max(worst, other.worst);
    }
    void print(const char* network, const char* collective) const {
        const auto percent = [&](std::size_t n) { return 100 * static_cast<double>(n) / static_cast<double>(points); };
        std::printf("%-20s %-15s %7zu %10.1f %% %10.1f %% %8.2f\n", network, collective, points, percent(near),
                    percent(fair), worst);
        std::fflush(stdout);
    }
};

template <CostModel M>
count count_on(const std::string& name, const M& network, const choice_points& where, bool all) {
    const auto fitted = fitted_to(network);
    if (all)
        std::printf("%s: alpha %.0f ns, beta %.3f, gamma %.3f ns a byte, f %.2f %.2f, held %.2f %.2f, "
                    "send %.2f %.2f, receive %.2f %.2f\n",
                    name.c_str(), fitted.alpha_ns, fitted.beta_ns_per_byte, fitted.gamma_ns_per_byte, fitted.f_alpha,
                    fitted.f_beta, fitted.held_alpha, fitted.held_beta, fitted.send_alpha, fitted.send_beta,
                    fitted.receive_alpha, fitted.receive_beta);
    count total;
    for_each_choice_goal([&]<class Goal>(Goal, const char* goal_name) {
        count here;
        where.for_each([&](rank_t p, std::uint64_t bytes) {
            const choice_point point = choose_on<Goal>(network, fitted, p, bytes);
            here.add(point);
            if (all && point.factor() > 1.1)
                std::printf("    p %2u, %8llu bytes: %5.2f x  %s, not %s\n", p, static_cast<unsigned long long>(bytes),
                            point.factor(), point.chosen.c_str(), point.fastest.c_str());
        });
        here.print(name.c_str(), goal_name);
        total.add(here);
    });
    return total;
}

} // namespace

int main(int argc, char** argv) {
    const bool all = !arguments::list(argc, argv, 1, "bench-choice [all]").word(1, "what to print", {"all"}).empty();
    std::printf("%-20s %-15s %7s %12s %12s %8s\n", "network", "collective", "points", "within 10 %", "within 1.5x",
                "worst");
    count known, held_out;
    for_each_known_network(
        [&](const std::string& name, const auto& network) { known.add(count_on(name, network, known_points, all)); });
    for_each_held_out_network([&](const std::string& name, const auto& network) {
        held_out.add(count_on(name, network, held_out_points, all));
    });
    known.print("known", "all");
    held_out.print("held out", "all");
    const auto good = [](const count& c) { return c.near * 10 >= c.points * 9 && c.fair == c.points; };
    return good(known) && good(held_out) ? 0 : 1;
}
