// SPDX-License-Identifier: BSL-1.0
// What a plan costs: a reduction over 31 ranks, priced by the formula of Moody et al. (SC 2003) and by walking the plan.
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstdio>

// Table 2 of the paper: L = 2.10 us, r = 0.42 us, C = 9.20 us; c, to combine one message, depends on its length.
constexpr bough::model::lrc nic(double combine_ns) {
    return {
        .message_latency_ns = 2100, .receive = {420, 0}, .combine = {combine_ns, 0}, .startup_ns = 9200, .copy = {}};
}

constexpr double walk_us(bough::rank_t degree, double combine_ns) {
    const auto plan = bough::plan_reduce(bough::fnomial{.degree = degree}, {.size = 31});
    return bough::model::walk(plan, nic(combine_ns), 8).makespan_ns / 1000;
}

int main() {
    constexpr struct {
        int elements;
        double combine_ns;
    } table[] = {{1, 1500}, {2, 2950}, {4, 5800}, {8, 11560}};

    std::printf("31 ranks, in us: formula / walk for the degrees 2 to 5; the best degree by each; the best real one\n");
    for (const auto& row : table) {
        const bough::model::lrc model = nic(row.combine_ns);
        std::printf("%d element%s", row.elements, row.elements == 1 ? " " : "s");
        for (bough::rank_t degree = 2; degree <= 5; ++degree)
            std::printf("  %6.2f / %6.2f", bough::model::fnomial_ns(model, 31, degree, 8) / 1000,
                        walk_us(degree, row.combine_ns));
        const auto plan_of = [](bough::rank_t degree) {
            return bough::plan_reduce(bough::fnomial{.degree = degree}, {.size = 31});
        };
        std::printf("   %u, %u, %.2f\n", bough::model::best_degree_by_formula(model, 31, 8, 31),
                    bough::model::best_degree_by_walk(plan_of, model, 8, 31),
                    bough::model::best_degree_continuous(model, 8));
    }
}
