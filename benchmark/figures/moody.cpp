// SPDX-License-Identifier: BSL-1.0
// The figures of doc/papers/moody.md: f-nomial reductions with the values of the paper's Table 2.
#include "csv.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/reduce/vector_split.hpp>
#include <bough/model/lrc_formula.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/statistics.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/postal.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using bough::rank_t;

namespace {

// Table 2, in ns. What a combine of 1, 2, 4, 8 elements costs; between them a line, and the last one goes on.
struct table_2 {
    const char* name = "";
    std::uint64_t element_bytes = 8;
    std::array<double, 4> combine_of{};

    static constexpr double latency = 2100, receive = 420, startup = 9200;

    constexpr double start_ns() const noexcept { return startup; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t) const noexcept { return 0; }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t) const noexcept { return latency; }
    // Of one packet; a packet has 64 bytes.
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept {
        return receive * static_cast<double>(bytes <= 64 ? 1 : (bytes + 63) / 64);
    }
    constexpr double combine_ns(rank_t, std::uint64_t bytes) const noexcept {
        const double elements = static_cast<double>(bytes) / static_cast<double>(element_bytes);
        std::size_t i = 0;
        while (i != 2 && elements > static_cast<double>(2u << i)) ++i;
        const auto from = static_cast<double>(1u << i);
        const double slope = (combine_of[i + 1] - combine_of[i]) / from;
        return combine_of[i] + (elements - from) * slope;
    }
    constexpr double copy_ns(rank_t, std::uint64_t) const noexcept { return 0; }

    // The same for vectors of one length, as lrc.
    constexpr bough::model::lrc of(std::uint64_t bytes) const noexcept {
        return {.message_latency_ns = latency,
                .receive = {receive_ns(0, 0, bytes)},
                .combine = {combine_ns(0, bytes)},
                .startup_ns = startup};
    }
};
static_assert(bough::CostModel<table_2>);

constexpr table_2 int32_add{"int32", 4, {250, 440, 760, 1440}};
constexpr table_2 float64_add{"float64", 8, {1500, 2950, 5800, 11560}};
static_assert(float64_add.combine_ns(0, 8) == 1500 && float64_add.combine_ns(0, 64) == 11560);
constexpr rank_t max_degree = 8;

double walked_us(const auto& algorithm, rank_t ranks, const table_2& model, std::uint64_t elements) {
    const auto plan = bough::plan_reduce(algorithm, {.size = ranks});
    return bough::model::walk(plan, model, elements * model.element_bytes, model.element_bytes).makespan_ns / 1000;
}

struct best_tree {
    rank_t degree = 2;
    double us = 0;
};
// The best of 2 .. max_degree, the smallest of equals, for algorithm_of(degree).
best_tree best(const auto& algorithm_of, rank_t ranks, const table_2& model, std::uint64_t elements) {
    best_tree found{2, walked_us(algorithm_of(rank_t{2}), ranks, model, elements)};
    for (rank_t f = 3; f <= max_degree; ++f)
        if (const double us = walked_us(algorithm_of(f), ranks, model, elements); us < found.us) found = {f, us};
    return found;
}
best_tree best_fnomial(rank_t ranks, const table_2& model, std::uint64_t elements) {
    return best([](rank_t f) { return bough::fnomial{.degree = f}; }, ranks, model, elements);
}
best_tree best_split(rank_t splits, rank_t ranks, const table_2& model, std::uint64_t elements) {
    return best([splits](rank_t f) { return bough::vector_split{.splits = splits, .degree = f}; }, ranks, model,
                elements);
}

// Figure 10: 31 ranks, float64, 1 to 8 elements.
void degrees(const std::string& to) {
    figures::csv curves(to, "moody_degrees", "elements,degree,formula_us,walk_us");
    figures::csv chosen(to, "moody_best_degree", "elements,reported,formula,walk");
    constexpr std::array<int, 4> reported{4, 2, 2, 2};
    for (std::size_t i = 0; i != 4; ++i) {
        const std::uint64_t elements = 1u << i, bytes = 8 * elements;
        const bough::model::lrc model = float64_add.of(bytes);
        for (rank_t f = 2; f <= max_degree; ++f) {
            const double formula = bough::model::fnomial_ns(model, 31, f, bytes) / 1000;
            const double walk = walked_us(bough::fnomial{.degree = f}, 31, float64_add, elements);
            figures::expect(walk <= formula * (1 + 1e-12), "the formula is an upper bound of the walk");
            curves.row(elements, f, formula, walk);
        }
        chosen.row(elements, reported[i], bough::model::best_degree_by_formula(model, 31, bytes, max_degree),
                   best_fnomial(31, float64_add, elements).degree);
    }
}

// Figure 11, as far as the model goes: latency of single elements, and of the optimal tree.
void latencies(const std::string& to) {
    figures::csv out(to, "moody_latency", "type,ranks,four_us,binomial_us,degree,fnomial_us,optimal_us");
    for (const table_2& model : {int32_add, float64_add}) {
        const double gap = table_2::receive + model.combine_of[0];
        for (rank_t ranks = 2; ranks <= 4096; ranks += ranks < 32 ? 1 : std::bit_floor(ranks) / 16) {
            const best_tree f = best_fnomial(ranks, model, 1);
            const double optimal = walked_us(bough::postal_tree(ranks, table_2::latency, gap), ranks, model, 1);
            figures::expect(
                figures::near(optimal * 1000, table_2::startup + bough::postal_ns(ranks, table_2::latency, gap)),
                "the walk of the optimal tree takes what its growth says");
            figures::expect(optimal <= f.us * (1 + 1e-12), "no f-nomial tree is faster than the optimal one");
            out.row(model.name, ranks, walked_us(bough::fnomial{.degree = 4}, ranks, model, 1),
                    walked_us(bough::fnomial{.degree = 2}, ranks, model, 1), f.degree, f.us, optimal);
        }
    }
}

// What was measured on the ALC cluster, one process per node, beside the model: sections 6.3 and 6.4.
void reported(const std::string& to) {
    figures::csv out(to, "moody_reported", "type,ranks,reported_us,four_us,degree,fnomial_us,optimal_us");
    const auto row = [&](const table_2& model, rank_t ranks, double reported_us) {
        const double gap = table_2::receive + model.combine_of[0];
        const best_tree f = best_fnomial(ranks, model, 1);
        out.row(model.name, ranks, reported_us, walked_us(bough::fnomial{.degree = 4}, ranks, model, 1), f.degree, f.us,
                walked_us(bough::postal_tree(ranks, table_2::latency, gap), ranks, model, 1));
    };
    row(int32_add, 906, 40);
    row(float64_add, 906, 65);
    row(float64_add, 900, 73.67);
}

// Figure 13: 512 ranks, 2 to 16 elements, up to 4 splits; and from how many ranks on the first split pays.
void splits(const std::string& to) {
    for (rank_t s = 0; s <= 4; ++s)
        for (rank_t f = 2; f <= 4; ++f)
            figures::expect(static_cast<bool>(bough::verify(
                                bough::plan_reduce(bough::vector_split{.splits = s, .degree = f}, {.size = 48}))),
                            "the split reduction is proved");
    figures::csv curves(to, "moody_split", "type,elements,splits,degree,us,times_as_fast,four_us");
    for (const table_2& model : {int32_add, float64_add})
        for (const std::uint64_t elements : {2u, 4u, 8u, 16u}) {
            double without = 0;
            for (rank_t s = 0; s <= 4 && elements >> s != 0; ++s) {
                const best_tree t = best_split(s, 512, model, elements);
                if (s == 0) {
                    without = t.us;
                    figures::expect(figures::near(t.us, best_fnomial(512, model, elements).us),
                                    "no splits are an f-nomial tree");
                }
                curves.row(model.name, elements, s, t.degree, t.us, without / t.us,
                           walked_us(bough::vector_split{.splits = s, .degree = 4}, 512, model, elements));
            }
        }
    figures::csv turns(to, "moody_crossover", "type,elements,ranks,whole_us,split_us");
    for (const table_2& model : {int32_add, float64_add})
        for (const std::uint64_t elements : {2u, 4u, 8u, 16u})
            for (rank_t ranks = 2; ranks <= 4096; ranks *= 2)
                turns.row(model.name, elements, ranks, best_split(0, ranks, model, elements).us,
                          best_split(1, ranks, model, elements).us);
}

// Figure 12 and table 3: the 4-nomial reduce of a double over 900 ranks, its root's time, with the processors interrupted.
// The costs are the same in both modes. `entry` of C is the processor's: it starts the operation; the rest is the NIC's.
void interference(const std::string& to) {
    constexpr double entry = 200;
    constexpr std::uint32_t runs = 2000;
    const bough::model::lrc model{.message_latency_ns = table_2::latency,
                                  .receive = {table_2::receive},
                                  .combine = {float64_add.combine_of[0]},
                                  .startup_ns = entry};
    const auto run = [&](rank_t ranks, std::uint64_t window_ns, bough::noise::reaches reach) {
        bough::sim_options options{.bytes = 8};
        options.noise.reach = reach;
        options.noise.interruptions = {{.window_ns = window_ns, .min_ns = 20'000, .max_ns = 150'000}};
        return bough::simulate_many(
            bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = ranks}), model, options, runs,
            [](const bough::sim_result& r) { return (r.root_finish_ns + table_2::startup - entry) / 1000; });
    };
    // The largest share of runs that lie within `width` of each other.
    const auto share_within = [](const bough::sample& s, double width) {
        const std::vector<double>& v = s.sorted();
        std::size_t most = 0;
        for (std::size_t i = 0, j = 0; i != v.size(); ++i) {
            while (j != v.size() && v[j] <= v[i] + width) ++j;
            most = std::max(most, j - i);
        }
        return static_cast<double>(most) / static_cast<double>(v.size());
    };
    // As the paper does it: without the highest 1 %.
    const auto lower_99 = [](const bough::sample& s) {
        return bough::sample({s.sorted().begin(), s.sorted().begin() + runs / 100 * 99});
    };
    figures::csv spread(
        to, "moody_noise",
        "ranks,window_ms,mode,least_us,median_us,mean_us,deviation_us,percentile_99_us,within_4,within_20");
    figures::csv bins(to, "moody_histogram", "mode,from_us,share");
    for (const auto& [ranks, window_ms] : {std::pair<rank_t, std::uint64_t>{16, 10},
                                           {64, 10},
                                           {256, 10},
                                           {900, 5},
                                           {900, 10},
                                           {900, 20},
                                           {1024, 10},
                                           {4096, 10}})
        for (const auto reach : {bough::noise::reaches::host, bough::noise::reaches::nic}) {
            const char* mode = reach == bough::noise::reaches::host ? "host" : "NIC";
            const bough::sample all = run(ranks, window_ms * 1'000'000, reach), kept = lower_99(all);
            spread.row(ranks, window_ms, mode, all.least(), all.percentile(50), kept.mean(), kept.deviation(),
                       all.percentile(99), share_within(all, 4), share_within(all, 20));
            if (ranks != 900 || window_ms != 10) continue;
            for (int from = 40; from < 200; from += 4) {
                std::size_t count = 0;
                for (const double us : all.sorted()) count += us >= from && us < from + 4;
                bins.row(mode, from, static_cast<double>(count) / runs);
            }
        }
}

} // namespace

int main(int count, char** arguments) {
    const std::string to = figures::directory(count, arguments);
    degrees(to);
    latencies(to);
    reported(to);
    splits(to);
    interference(to);
}
