// SPDX-License-Identifier: BSL-1.0
// Trees that fit the network and the ranks: the optimal tree among the candidates of a choice, and one for ranks that come
// late; compared in the simulator.
#include <bough/reduce.hpp>
#include <bough/select/choose.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/arrival.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/postal.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

// 2.1 us latency, 0.42 us to receive, 1.5 us to combine: L, and g = r + c.
constexpr bough::model::lrc network{
    .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 0, .copy = {}};
constexpr std::uint64_t latency_ns = 2100, gap_ns = 1920;
constexpr bough::rank_t group = 64;

double reduced_at(const bough::table& tree, const std::vector<std::uint64_t>& arrivals) {
    bough::sim_options options;
    options.noise.arrival.how = bough::noise::coming::given;
    options.noise.arrival.at_ns.assign(arrivals.begin(), arrivals.end());
    const auto plan = bough::plan_reduce(tree, {.size = tree.size(), .root = tree.root()});
    return bough::simulate(plan, network, options).root_finish_ns;
}

int main() {
    // A choice takes it like any other plan.
    const bough::table best = bough::postal_tree(group, latency_ns, gap_ns);
    const auto choice = bough::choose(network, {.bytes = 8}, bough::plan_reduce(bough::binomial{}, {.size = group}),
                                      bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = group}),
                                      bough::plan_reduce(best, {.size = group}));
    const char* const names[] = {"binomial", "4-nomial", "postal_tree"};
    for (std::size_t i = 0; i != 3; ++i)
        std::printf("%-12s %6.2f us%s\n", names[i], choice.predicted_ns[i] / 1000,
                    i == choice.winner ? "   chosen" : "");

    // Seven ranks of which two are late: they are near the root.
    const std::vector<std::uint64_t> seven{0, 20'000, 0, 0, 15'000, 0, 0};
    const bough::table aware = bough::arrival_tree(seven, latency_ns, gap_ns);
    std::printf("\nranks 1 and 4 are late: %s\n", bough::outline(aware).str().c_str());
    std::printf("postal_tree  ends at %6.2f us\n",
                reduced_at(bough::postal_tree(7, latency_ns, gap_ns, 1), seven) / 1000);
    std::printf("arrival_tree ends at %6.2f us; the last rank came at 20.00\n", reduced_at(aware, seven) / 1000);

    // The more they are spread, the more it is worth. Arrivals: a fixed shuffle of 0 .. spread.
    std::printf("\n64 ranks spread over   postal_tree, same root   arrival_tree   after the last arrival, in us\n");
    for (const std::uint64_t spread : {0u, 10u, 20u, 50u, 100u}) {
        std::vector<std::uint64_t> at;
        for (std::uint64_t r = 0; r != group; ++r) at.push_back(spread * 1000 * (r * 37 % group) / (group - 1));
        const auto last = std::max_element(at.begin(), at.end());
        const auto root = static_cast<bough::rank_t>(last - at.begin());
        const double came = static_cast<double>(*last);
        std::printf("%15llu us %20.2f %18.2f\n", static_cast<unsigned long long>(spread),
                    (reduced_at(bough::postal_tree(group, latency_ns, gap_ns, root), at) - came) / 1000,
                    (reduced_at(bough::arrival_tree(at, latency_ns, gap_ns), at) - came) / 1000);
    }
}
