// SPDX-License-Identifier: BSL-1.0
// The figures of doc/papers/rabenseifner.md: allreduces in the paper's model, for three networks. A
// message begins when both its ranks are at it.
#include "../run/comparison.hpp"
#include "csv.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

using bough::rank_t;

namespace {

// Vectors of doubles. In ns and ns per byte.
struct network {
    const char* name;
    bough::model::alpha_beta_gamma costs;
};
constexpr std::array<network, 3> networks{{
    {"50 80 0.5", {.alpha_ns = 50'000, .beta_ns_per_byte = 80, .gamma_ns_per_byte = 0.5}},
    {"5 1 0.25", {.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25}},
    {"1.5 0.04 0.1", {.alpha_ns = 1500, .beta_ns_per_byte = 0.04, .gamma_ns_per_byte = 0.1}},
}};
constexpr std::uint64_t least_bytes = 8, most_bytes = 16 << 20;
constexpr std::array<const char*, 5> of_paper{"recursive doubling", "halving + doubling", "binary blocks", "ring",
                                              "tree"};

int index_of(std::string_view name) {
    int i = 0;
    while (name != of_paper[static_cast<std::size_t>(i)]) ++i;
    return i;
}

// The fastest of the paper's five: neighbouring sizes with the same winner in one row.
void maps(const std::string& to) {
    int number = 0;
    for (const network& n : networks) {
        figures::csv out(to, "rabenseifner_map_" + std::to_string(++number),
                         "ranks,from_bytes,below_bytes,algorithm,name");
        for (rank_t ranks = 2; ranks <= 64; ++ranks) {
            std::string_view had;
            std::uint64_t from = least_bytes;
            const auto flush = [&](std::uint64_t below) {
                if (!had.empty()) out.row(ranks, from, below, index_of(had), std::string(had));
                from = below;
            };
            for (std::uint64_t bytes = least_bytes; bytes <= most_bytes; bytes *= 2) {
                const std::string_view best = comparison::price(ranks, bytes, n.costs).paper().name;
                if (best == had) continue;
                flush(bytes);
                had = best;
            }
            flush(2 * most_bytes);
        }
    }
}

// Speed against halving + doubling, by size.
void lines(const std::string& to) {
    figures::csv out(to, "rabenseifner_lines",
                     "ranks,bytes,halving_doubling_us,binary_blocks,ring,recursive_doubling,rank_ordered,any_op");
    for (const rank_t ranks : {13u, 15u, 33u, 127u})
        for (std::uint64_t bytes = 1024; bytes <= most_bytes; bytes *= 2) {
            const comparison::allreduces all = comparison::price(ranks, bytes, networks[1].costs);
            const double base = all.halving_doubling.ns;
            out.row(ranks, bytes, base / 1000, base / all.binary_blocks.ns, base / all.ring.ns,
                    base / all.recursive_doubling.ns, base / all.rank_ordered().ns, base / all.any().ns);
        }
}

// Section 3's rule: above 32 ranks, from 16 KiB on, binary blocks are the faster if the largest gap between the exponents of
// successive blocks is below log2(bytes) / 2 - 2.5. In how many cases does the model say so, and what does the rule cost?
void rule(const std::string& to) {
    const auto widest_gap = [](rank_t ranks) {
        int widest = 0;
        for (rank_t left = ranks; left != 0;) {
            const auto high = static_cast<int>(std::bit_width(left));
            left ^= std::bit_floor(left);
            if (left != 0) widest = std::max(widest, high - static_cast<int>(std::bit_width(left)));
        }
        return widest;
    };
    figures::csv out(to, "rabenseifner_rule", "network,cases,agree,worst_factor");
    for (const network& n : networks) {
        int cases = 0, agree = 0;
        double worst = 1;
        for (rank_t ranks = 33; ranks <= 128; ++ranks) {
            if (std::has_single_bit(ranks)) continue;
            for (std::uint64_t bytes = 16 << 10; bytes <= most_bytes; bytes *= 2) {
                const bough::dimensions at{.size = ranks};
                const bough::model::rendezvous costs{n.costs};
                const double blocks =
                    bough::model::walk(bough::plan_allreduce(bough::binary_blocks{}, at), costs, bytes, 8).makespan_ns;
                const double halving =
                    bough::model::walk(bough::plan_allreduce(bough::halving_doubling{}, at), costs, bytes, 8)
                        .makespan_ns;
                const bool by_rule = widest_gap(ranks) < static_cast<double>(std::bit_width(bytes) - 1) / 2 - 2.5;
                ++cases;
                agree += by_rule == (blocks < halving);
                worst = std::max(worst, (by_rule ? blocks : halving) / std::min(blocks, halving));
            }
        }

        out.row(n.name, cases, agree, worst);
    }
}

} // namespace

int main(int count, char** arguments) {
    const std::string to = figures::directory(count, arguments);
    maps(to);
    lines(to);
    rule(to);
}
