// SPDX-License-Identifier: BSL-1.0
// Prints, as Markdown, what bough's allreduces gain over the five of the paper, in the paper's own model.
#include "comparison.hpp"

#include "../arguments.hpp"

#include <cstdio>
#include <string>

namespace {

std::string size_text(std::uint64_t bytes) {
    if (bytes >= 1 << 20) return std::to_string(bytes >> 20) + " MiB";
    if (bytes >= 1 << 10) return std::to_string(bytes >> 10) + " KiB";
    return std::to_string(bytes) + " B";
}
std::string time_text(double ns) {
    char text[32];
    const double us = ns / 1000;
    std::snprintf(text, sizeof text,
                  us < 1000      ? "%.1f us"
                  : us < 100'000 ? "%.2f ms"
                                 : "%.1f ms",
                  us < 1000 ? us : us / 1000);
    return text;
}

template <class Cell>
void print_table(const char* title, const Cell& cell) {
    std::printf("%s\n\n| p |", title);
    for (const std::uint64_t bytes : comparison::sizes) std::printf(" %s |", size_text(bytes).c_str());
    std::printf("\n|---|");
    for (std::size_t i = 0; i != comparison::sizes.size(); ++i) std::printf("---|");
    for (const bough::rank_t p : comparison::ranks) {
        std::printf("\n| %u |", p);
        for (const std::uint64_t bytes : comparison::sizes) std::printf(" %s |", cell(p, bytes).c_str());
    }
    std::printf("\n\n");
}

} // namespace

int main(int argc, char** argv) {
    const arguments::list none(argc, argv, 0, "bench-comparison");
    using comparison::priced;
    const auto factor = [](const priced& slow, const priced& fast) {
        char text[64];
        std::snprintf(text, sizeof text, "%.2f", slow.ns / fast.ns);
        return std::string(text);
    };
    print_table("The fastest of the paper's five, and its time.", [](bough::rank_t p, std::uint64_t bytes) {
        const comparison::allreduces all = comparison::price(p, bytes);
        return time_text(all.paper().ns) + " " + all.paper().name;
    });
    print_table("How many times faster bough's best for commutative ops is.",
                [&](bough::rank_t p, std::uint64_t bytes) {
                    const comparison::allreduces all = comparison::price(p, bytes);
                    return factor(all.paper(), all.any()) + " " + all.any().name;
                });
    print_table("The same for ops that are only associative: results combine in rank order.",
                [&](bough::rank_t p, std::uint64_t bytes) {
                    const comparison::allreduces all = comparison::price(p, bytes);
                    return factor(all.paper(), all.rank_ordered()) + " " + all.rank_ordered().name;
                });
    print_table("Against the incumbent's choice, reduce and broadcast over a binomial tree: commutative / rank order.",
                [&](bough::rank_t p, std::uint64_t bytes) {
                    const comparison::allreduces all = comparison::price(p, bytes);
                    return factor(all.tree, all.any()) + " / " + factor(all.tree, all.rank_ordered());
                });
}
