// SPDX-License-Identifier: BSL-1.0
// The largest flow from one vertex to another, and the smallest cut between them.
#ifndef BOUGH_SIMULATE_DETAIL_MAX_FLOW_HPP
#define BOUGH_SIMULATE_DETAIL_MAX_FLOW_HPP

#include <bough/core/contract.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Dinic 1970. Capacities are doubles; what is less than 1e-12 of the largest counts as nothing.
template <int>
class basic_max_flow {
public:
    constexpr explicit basic_max_flow(std::uint32_t vertices) : first_(vertices, none) {}

    // An arc and its way back, which has this capacity, too. Returns the number of the first.
    constexpr std::uint32_t add(std::uint32_t from, std::uint32_t to, double capacity, double back = 0) {
        const auto number = static_cast<std::uint32_t>(arcs_.size());
        arcs_.push_back({to, first_[from], capacity});
        first_[from] = number;
        arcs_.push_back({from, first_[to], back});
        first_[to] = number + 1;
        full_.push_back(capacity);
        full_.push_back(back);
        return number;
    }
    constexpr void set(std::uint32_t number, double capacity) { full_[number] = capacity; }

    // Pre: source and sink differ.
    constexpr double run(std::uint32_t source, std::uint32_t sink) {
        BOUGH_EXPECTS(source != sink, "max_flow: from one vertex to another");
        double largest = 0;
        for (std::size_t a = 0; a != arcs_.size(); ++a) {
            arcs_[a].left = full_[a];
            largest = std::max(largest, full_[a]);
        }
        nothing_ = largest * 1e-12;
        double sum = 0;
        while (measure(source, sink)) {
            next_ = first_;
            sum += push(source, sink);
        }
        return sum;
    }
    // After run(): is the vertex on the source's side of a smallest cut?
    constexpr bool before_cut(std::uint32_t vertex) const { return distance_[vertex] != none; }

private:
    static constexpr std::uint32_t none = 0xffff'ffffu;
    struct arc {
        std::uint32_t to = 0, next = none;
        double left = 0;
    };

    // Distances from the source over arcs that are not full. False: the sink is out of reach.
    constexpr bool measure(std::uint32_t source, std::uint32_t sink) {
        distance_.assign(first_.size(), std::uint32_t{none});
        distance_[source] = 0;
        std::vector<std::uint32_t> open(1, source);
        for (std::size_t i = 0; i != open.size(); ++i)
            for (std::uint32_t a = first_[open[i]]; a != none; a = arcs_[a].next) {
                if (arcs_[a].left <= nothing_ || distance_[arcs_[a].to] != none) continue;
                distance_[arcs_[a].to] = distance_[open[i]] + 1;
                open.push_back(arcs_[a].to);
            }
        return distance_[sink] != none;
    }
    // Fills shortest ways until none is left.
    constexpr double push(std::uint32_t source, std::uint32_t sink) {
        double sum = 0;
        std::vector<std::uint32_t> way; // arcs
        for (std::uint32_t at = source;;) {
            if (at == sink) {
                double least = arcs_[way.front()].left;
                for (const std::uint32_t a : way) least = std::min(least, arcs_[a].left);
                std::size_t keep = way.size();
                for (std::size_t i = way.size(); i-- != 0;) {
                    arcs_[way[i]].left -= least;
                    arcs_[way[i] ^ 1].left += least;
                    if (arcs_[way[i]].left <= nothing_) keep = i;
                }
                sum += least;
                at = arcs_[way[keep] ^ 1].to;
                way.resize(keep);
                continue;
            }
            std::uint32_t& a = next_[at];
            while (a != none && (arcs_[a].left <= nothing_ || distance_[arcs_[a].to] != distance_[at] + 1))
                a = arcs_[a].next;
            if (a != none) {
                way.push_back(a);
                at = arcs_[a].to;
            } else if (way.empty()) {
                return sum;
            } else {
                distance_[at] = none - 1; // a dead end
                at = arcs_[way.back() ^ 1].to;
                way.pop_back();
            }
        }
    }

    std::vector<std::uint32_t> first_, next_, distance_;
    std::vector<arc> arcs_;
    std::vector<double> full_; // capacities
    double nothing_ = 0;
};
using max_flow = basic_max_flow<0>;

} // namespace bough::detail

#endif
