// SPDX-License-Identifier: BSL-1.0
// What the tests of the simulator share: models with ports and with latency only, and random plans.
#ifndef BOUGH_TEST_SIMULATE_MODELS_HPP
#define BOUGH_TEST_SIMULATE_MODELS_HPP

#include "support/listed_plan.hpp"
#include <bough/core/slice.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/simulate/simulate.hpp>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace test {

using bough::sim_options;
using bough::sim_result;
using bough::simulate;
using bough::simulator;
using bough::slice;
using bough::step_order;

// Uneven costs, with ports.
struct with_ports : uneven {
    explicit constexpr with_ports(bool e) : early(e) {}
    bool early;
    constexpr double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool duplex) const {
        return (duplex ? 4 : 3) + from * 0.5 + to * 0.25 + (duplex ? 1 : 0.75) * static_cast<double>(bytes);
    }
    constexpr bool lands_early() const { return early; }
};

// Nothing costs anything but the way: `ns`, and one more per byte.
struct only_latency {
    double ns = 100;
    constexpr double start_ns() const { return 0; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t) const { return 0; }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t bytes) const { return ns + static_cast<double>(bytes); }
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t) const { return 0; }
    constexpr double combine_ns(rank_t, std::uint64_t) const { return 0; }
    constexpr double copy_ns(rank_t, std::uint64_t) const { return 0; }
};

// A random plan, written in one global order, so that every receive follows its send; at times one step is lost.
inline listed_plan random_plan(std::mt19937& random, bool loses, std::uint32_t steps = 40) {
    const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
    const rank_t p = 1 + below(6);
    listed_plan plan{.ranks = std::vector<bough::schedule>(p), .blocks_ = 1 + below(4), .root_ = below(p)};
    const auto piece = [&] {
        const block_t first = below(plan.blocks_);
        return slice{bough::buffer{below(4)}, first, below(plan.blocks_ - first + 1)};
    };
    struct letter {
        rank_t from, to;
        bool parts;
        slice part, last;
    };
    std::vector<letter> under_way;
    for (std::uint32_t i = below(steps); i != 0; --i) {
        const rank_t r = below(p);
        switch (below(5)) {
        case 0: plan.ranks[r].copy(piece(), piece()); break;
        case 1: plan.ranks[r].combine(piece(), piece(), piece()); break;
        case 2:
            if (!under_way.empty()) {
                // The oldest of some channel: messages of one channel stay in order.
                auto at = under_way.begin() + below(under_way.size());
                for (auto older = under_way.begin(); older != at; ++older)
                    if (older->from == at->from && older->to == at->to) {
                        at = older;
                        break;
                    }
                if (at->parts) plan.ranks[at->to].receive_part(at->from, at->part);
                plan.ranks[at->to].receive(at->from, at->last);
                under_way.erase(at);
            }
            break;
        default: {
            const letter l{r, below(p), below(3) == 0, piece(), piece()};
            if (l.parts) plan.ranks[r].send_part(l.to, l.part);
            plan.ranks[r].send(l.to, l.last);
            under_way.push_back(l);
        }
        }
    }
    const rank_t loser = below(p);
    auto& steps_of = plan.ranks[loser].steps;
    if (loses && !steps_of.empty()) {
        const auto at = steps_of.begin() + below(steps_of.size());
        if (!at->more && (at == steps_of.begin() || !(at - 1)->more)) steps_of.erase(at);
    }
    return plan;
}

} // namespace test

#endif
