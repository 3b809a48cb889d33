// SPDX-License-Identifier: BSL-1.0
// Choices by runs over a network, and the least time that any plan can have there.
#ifndef BOUGH_TOOLS_ON_NETWORK_HPP
#define BOUGH_TOOLS_ON_NETWORK_HPP

#include "catalogue.hpp"
#include "simulation.hpp"
#include <bough/select/choose.hpp>
#include <bough/simulate/network_bound.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

// What is typed for choices: --network, --model and --eager.
struct priced_network {
    bough::network over;
    simulated_model model;
    std::string text; // "torus:8x8,50,200; L 1 us"
    std::uint64_t eager_bytes = ~std::uint64_t{0};
};
// Nothing if no network was typed. Without a model a message takes 1 us beside the links. Throws
// usage_error, also if the network cannot have so many ranks.
std::optional<priced_network> parse_priced_network(const std::string& network, const std::string& model,
                                                   const std::string& eager, bough::rank_t most_ranks);

// As parse_problem, with the algorithm packed_trees, too: its trees are packed for --network. Whoever
// does not run plans over networks has no other use for that. Throws usage_error.
enum class runs_over { nothing, network };
problem parse_plan(const plan_arguments&, runs_over = runs_over::nothing);
// The same for so many ranks, of a range, whatever --ranks is.
problem parse_plan(const plan_arguments&, bough::rank_t ranks, runs_over = runs_over::nothing);
// The least time that any plan can have along the paths that messages take, if a search for packed trees
// proves it, else 0.
double least_along_paths(const priced_network&, collective, const bough::dimensions&, std::uint64_t bytes);

// The dimensions of the candidate that cuts the blocks of ranks so that the shortest is shorter than any
// other candidate's: with them, a bound is one for all.
bough::dimensions least_cut(const bough::decision&);
// Among the standard candidates and those of the network; where ranks come at these times, if there are any.
bough::decision choose_on(const priced_network&, collective, const bough::dimensions&, const bough::problem&,
                          const bough::choose_options&, const std::vector<std::uint64_t>& arrivals_ns = {});
// Among the algorithms for a neighbourhood.
bough::decision choose_on(const priced_network&, collective, const neighbours&, const bough::problem&,
                          const bough::choose_options&);
bough::network_bound bound_on(const bough::network&, const simulated_model&, collective, const bough::dimensions&,
                              std::uint64_t bytes);
bough::network_bound bound_on(const bough::network&, const simulated_model&, collective, const neighbours&,
                              std::uint64_t bytes);
bough::network_bound bound_on(const bough::network&, const simulated_model&, const problem&, std::uint64_t bytes);
// "84 % of what this network can do: no plan takes less than 317 us"
std::string text_of(const bough::network_bound&, double ns);
// "90 % of what is possible along its paths: no plan takes less than 350 us there"
std::string text_along_paths(double least_ns, double ns);

} // namespace cli

#endif
