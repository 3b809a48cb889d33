// SPDX-License-Identifier: BSL-1.0
// Cluster files: what sending, receiving and combining costs each rank. And the trees that are made of these costs.
#ifndef BOUGH_TOOLS_CLUSTER_HPP
#define BOUGH_TOOLS_CLUSTER_HPP

#include "json.hpp"
#include <bough/model/heterogeneous.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/optimal.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct cluster {
    struct group {
        std::string name;
        std::vector<bough::rank_t> ranks;
        friend bool operator==(const group&, const group&) = default;
    };
    bough::rank_t ranks = 0;
    bough::model::heterogeneous costs{};
    std::vector<group> groups{};
    bool typed = false; // its costs were typed in and have no unit
    friend bool operator==(const cluster&, const cluster&) = default;
};

// Throw usage_error, which names the file and the field.
cluster parse_cluster(const std::string& argument, const std::string& name, const json& document);
cluster read_cluster(const std::string& argument, const std::string& path);
json json_of(const cluster&);

// Of --costs and --receive (lists as 100,300), --latency, --cluster: one of --costs and --cluster must be there.
struct cost_arguments {
    std::string costs;
    std::string receive;
    std::string latency;
    std::string file;
    std::string members; // ranks that get the message; empty: all
    std::string bytes = "8";
};
cluster find_cluster(const cost_arguments&);
// `0,3` or `all`, below size.
std::vector<bough::rank_t> parse_rank_list(const std::string& argument, const std::string& text, bough::rank_t size);

// The costs of one message of so many bytes, of the ranks that take part: the root first, then the members; without
// members all ranks by number.
struct priced_ranks {
    std::vector<bough::rank_t> names; // of each place
    std::vector<double> send, receive, combine;
    double latency = 0;
    bough::rank_t root = 0; // its place
    bool typed = false;

    bough::tree_costs<double> broadcast() const { return {send, receive, latency}; }
    std::string time_text(double) const;
};
priced_ranks price(const cluster&, std::uint64_t bytes, bough::rank_t root, const std::vector<bough::rank_t>& members);

inline constexpr const char* known_cost_trees = "spoc, fnf, search, optimal, interval";
bool is_cost_tree(std::string_view name);
struct cost_tree {
    std::string name;
    bough::table tree;
    bough::certificate<double> known;
};
cost_tree build_cost_tree(std::string_view name, const bough::tree_costs<double>&, bough::rank_t root);

// As bough::outline, with the names of the ranks.
std::string outline_of(const bough::table&, const std::vector<bough::rank_t>& names);

} // namespace cli

#endif
