// SPDX-License-Identifier: BSL-1.0
// The figures of the pages on networks: allreduce on simulated tori.
#include "csv.hpp"
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/algorithm/swing.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace bough;

constexpr model::lrc message_of_1_us{
    .message_latency_ns = 1000, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};

template <class A>
double allreduce_us(const A& algorithm, rank_t ranks, std::uint64_t bytes, const network& net) {
    return simulate(plan_allreduce(algorithm, {.size = ranks}), message_of_1_us, {.bytes = bytes, .network = &net})
               .makespan_ns /
           1000;
}

void swing_on_tori(const std::string& directory) {
    figures::csv table(directory, "networks_swing",
                       "torus,mebibytes,swing_us,one_port_us,best_of_others_us,which,times_faster");
    for (const grid_extents& grid : {grid_extents{8, 8}, {16, 16}, {4, 4, 4}, {6, 10}}) {
        std::string name;
        rank_t ranks = 1;
        std::vector<std::uint32_t> extents;
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) {
            name += (d == 0 ? "" : "x") + std::to_string(grid.extent[d]);
            ranks *= grid.extent[d];
            extents.push_back(grid.extent[d]);
        }
        network net = network::torus(extents, 50, 100.0 * grid.dimensions);
        net.hop_ns = 50;
        for (const std::uint64_t mebibytes : {1u, 32u}) {
            const std::uint64_t bytes = mebibytes << 20;
            const double all_ports = allreduce_us(swing{grid}, ranks, bytes, net);
            const double one_port = allreduce_us(swing{grid, 1}, ranks, bytes, net);
            std::vector<std::pair<double, std::string>> others{
                {allreduce_us(halving_doubling{}, ranks, bytes, net), "halving_doubling"},
                {allreduce_us(lowest_bit_first{}, ranks, bytes, net), "lowest_bit_first"}};
            if (ranks <= 64 || mebibytes == 1) { // a ring and a circulant graph of 256 take minutes
                others.push_back({allreduce_us(ring{}, ranks, bytes, net), "ring"});
                others.push_back({allreduce_us(circulant{}, ranks, bytes, net), "circulant"});
            }
            const auto best = *std::min_element(others.begin(), others.end());
            table.row(name, mebibytes, all_ports, one_port, best.first, best.second, best.first / all_ports);
        }
    }
}

} // namespace

int main(int count, char** arguments) {
    const std::string directory = figures::directory(count, arguments);
    swing_on_tori(directory);
}
