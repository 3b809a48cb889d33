// SPDX-License-Identifier: BSL-1.0
// What `bough simulate` is asked for, once it is understood: models, noise, networks from text.
#ifndef BOUGH_TOOLS_SIMULATION_HPP
#define BOUGH_TOOLS_SIMULATION_HPP

#include "commands.hpp"
#include "models.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rdma.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace cli {

struct simulated_model {
    std::variant<bough::model::lrc, bough::model::alpha_beta_gamma, bough::model::loggops, bough::model::rdma,
                 cluster_model>
        costs;
    std::string text;
};
// table2, lrc:L,r,c,C, loggops:L,o,g,G,O, rdma; or what parse_model knows. Throws usage_error.
simulated_model parse_simulated_model(const std::string& text);

// 300, 1.5us, 10ms, 2s: nanoseconds if no unit is given. Throws usage_error.
double parse_time(const std::string& argument, const std::string& text);

// crossbar:64,1.0 and the like. The seed is that of irregular. Throws usage_error.
bough::network parse_network(const std::string& text, std::uint64_t seed);

// All but the network, which the options do not hold. Throws usage_error.
bough::sim_options parse_simulation(const simulate_arguments&, bough::rank_t ranks);

} // namespace cli

#endif
