// SPDX-License-Identifier: BSL-1.0
// Reading and writing cluster files; building the trees that are made of their costs.
#include "cluster.hpp"

#include "parse.hpp"
#include <bough/select/print_decision.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/interval.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace cli {

namespace {

using bough::model::cost_per_size;

constexpr std::uint64_t most_ranks = 1u << 20;

// Reads one document and says where it is wrong: "--cluster: file 'x': costs.send[3]: ...".
class cluster_reader {
public:
    cluster_reader(std::string argument, std::string file) : argument_(std::move(argument)), file_(std::move(file)) {}

    cluster read(const json& document) const {
        if (!document.is_object()) refuse("", "is not an object");
        cluster found;
        found.ranks = static_cast<bough::rank_t>(whole(need(document, "", "ranks"), "ranks", 1, most_ranks));
        const json& costs = need(document, "", "costs");
        if (!costs.is_object()) refuse("costs", "is not an object");
        for (const auto& [name, value] : costs.items())
            if (name != "send" && name != "receive" && name != "combine" && name != "latency")
                refuse("costs." + name, "is not a cost; known are send, receive, combine, latency");
        found.costs.send = list(need(costs, "costs.", "send"), "costs.send", found.ranks);
        if (costs.contains("receive")) found.costs.receive = list(costs["receive"], "costs.receive", found.ranks);
        if (costs.contains("combine")) found.costs.combine = list(costs["combine"], "costs.combine", found.ranks);
        if (costs.contains("latency")) {
            const cost_per_size latency = cost(costs["latency"], "costs.latency");
            found.costs.message_latency_ns = latency.base_ns;
            found.costs.latency_ns_per_byte = latency.per_byte_ns;
        }
        if (document.contains("groups")) found.groups = groups(document["groups"], found.ranks);
        return found;
    }

private:
    [[noreturn]] void refuse(const std::string& field, const std::string& what) const {
        throw usage_error(argument_, "file '" + file_ + "': " + (field.empty() ? "it" : field) + " " + what);
    }
    const json& need(const json& of, const std::string& path, const char* name) const {
        if (!of.contains(name)) refuse(path + name, "is missing");
        return of[name];
    }
    std::uint64_t whole(const json& value, const std::string& field, std::uint64_t least, std::uint64_t most) const {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > most)
            refuse(field, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
        return value.get<std::uint64_t>();
    }
    double number(const json& value, const std::string& field) const {
        const double found = value.is_number() ? value.get<double>() : -1;
        if (!std::isfinite(found) || found < 0) refuse(field, "must be a number, not negative, in ns");
        return found;
    }
    cost_per_size cost(const json& value, const std::string& field) const {
        if (value.is_number()) return {number(value, field), 0};
        if (!value.is_object()) refuse(field, "must be a number in ns, or have base_ns and per_byte_ns");
        for (const auto& [name, unused] : value.items())
            if (name != "base_ns" && name != "per_byte_ns")
                refuse(field + "." + name, "is not known; a cost has base_ns and per_byte_ns");
        return {number(need(value, field + ".", "base_ns"), field + ".base_ns"),
                value.contains("per_byte_ns") ? number(value["per_byte_ns"], field + ".per_byte_ns") : 0};
    }
    std::vector<cost_per_size> list(const json& value, const std::string& field, bough::rank_t ranks) const {
        if (!value.is_array() || value.size() != ranks)
            refuse(field, "must list as many costs as there are ranks, " + std::to_string(ranks));
        std::vector<cost_per_size> costs;
        for (std::size_t i = 0; i != value.size(); ++i)
            costs.push_back(cost(value[i], field + "[" + std::to_string(i) + "]"));
        return costs;
    }
    std::vector<cluster::group> groups(const json& value, bough::rank_t ranks) const {
        if (!value.is_array()) refuse("groups", "must be a list");
        std::vector<cluster::group> found;
        std::vector<char> used(ranks, 0);
        for (std::size_t i = 0; i != value.size(); ++i) {
            const std::string field = "groups[" + std::to_string(i) + "]";
            if (!value[i].is_object()) refuse(field, "must have a name and ranks");
            const json& name = need(value[i], field + ".", "name");
            if (!name.is_string()) refuse(field + ".name", "must be a text");
            const json& members = need(value[i], field + ".", "ranks");
            if (!members.is_array()) refuse(field + ".ranks", "must be a list");
            cluster::group group{name, {}};
            for (std::size_t m = 0; m != members.size(); ++m) {
                const std::string at = field + ".ranks[" + std::to_string(m) + "]";
                group.ranks.push_back(static_cast<bough::rank_t>(whole(members[m], at, 0, ranks - 1)));
                if (used[group.ranks.back()]++ != 0) refuse(at, "is in a group already");
            }
            found.push_back(std::move(group));
        }
        return found;
    }

    std::string argument_, file_;
};

json json_of(const cost_per_size& cost) {
    if (!(cost.per_byte_ns > 0)) return cost.base_ns;
    return {{"base_ns", cost.base_ns}, {"per_byte_ns", cost.per_byte_ns}};
}
json json_of(const std::vector<cost_per_size>& costs) {
    json list = json::array();
    for (const cost_per_size& c : costs) list.push_back(json_of(c));
    return list;
}

std::vector<cost_per_size> parse_costs(const std::string& argument, std::string_view text) {
    std::vector<cost_per_size> costs;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string_view item = text.substr(at, comma - at);
        double value = 0;
        const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), value);
        if (error != std::errc{} || end != item.data() + item.size() || !std::isfinite(value) || value < 0)
            throw usage_error(argument, "needs numbers with commas, not '" + std::string(item) + "'");
        costs.push_back({value, 0});
        at = comma + 1;
    }
    return costs;
}

} // namespace

cluster parse_cluster(const std::string& argument, const std::string& name, const json& document) {
    return cluster_reader(argument, name).read(document);
}

cluster read_cluster(const std::string& argument, const std::string& path) {
    std::ifstream in(path);
    if (!in) throw usage_error(argument, "file '" + path + "' cannot be opened");
    json document;
    try {
        document = json::parse(in, nullptr, false);
    } catch (const std::ios_base::failure&) { // a folder, for one
        throw usage_error(argument, "file '" + path + "' cannot be read");
    }
    if (in.bad() || document.is_discarded()) throw usage_error(argument, "file '" + path + "' is not JSON");
    return parse_cluster(argument, path, document);
}

json json_of(const cluster& c) {
    json costs{{"send", json_of(c.costs.send)}};
    if (!c.costs.receive.empty()) costs["receive"] = json_of(c.costs.receive);
    if (!c.costs.combine.empty()) costs["combine"] = json_of(c.costs.combine);
    if (c.costs.message_latency_ns > 0 || c.costs.latency_ns_per_byte > 0)
        costs["latency"] = json_of(cost_per_size{c.costs.message_latency_ns, c.costs.latency_ns_per_byte});
    json document{{"ranks", c.ranks}, {"costs", std::move(costs)}};
    if (!c.groups.empty()) {
        document["groups"] = json::array();
        for (const cluster::group& g : c.groups) document["groups"].push_back({{"name", g.name}, {"ranks", g.ranks}});
    }
    return document;
}

cluster find_cluster(const cost_arguments& typed) {
    if (typed.costs.empty() == typed.file.empty())
        throw usage_error("--costs", "give the costs of the ranks, or a file with --cluster; one of them");
    if (!typed.file.empty()) {
        if (!typed.receive.empty() || !typed.latency.empty())
            throw usage_error("--receive", "and --latency go with --costs; a cluster file has its own");
        return read_cluster("--cluster", typed.file);
    }
    cluster made;
    made.typed = true;
    made.costs.send = parse_costs("--costs", typed.costs);
    made.ranks = static_cast<bough::rank_t>(made.costs.send.size());
    if (!typed.receive.empty()) {
        made.costs.receive = parse_costs("--receive", typed.receive);
        if (made.costs.receive.size() != made.ranks)
            throw usage_error("--receive", "needs as many costs as --costs, " + std::to_string(made.ranks));
    }
    if (!typed.latency.empty()) made.costs.message_latency_ns = parse_costs("--latency", typed.latency)[0].base_ns;
    return made;
}

std::vector<bough::rank_t> parse_rank_list(const std::string& argument, const std::string& text, bough::rank_t size) {
    std::vector<bough::rank_t> ranks;
    if (text == "all") {
        for (bough::rank_t r = 0; r != size; ++r) ranks.push_back(r);
        return ranks;
    }
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        ranks.push_back(static_cast<bough::rank_t>(parse_number(argument, text.substr(at, comma - at), 0, size - 1)));
        if (std::count(ranks.begin(), ranks.end(), ranks.back()) != 1)
            throw usage_error(argument, "lists " + std::to_string(ranks.back()) + " twice");
        at = comma + 1;
    }
    return ranks;
}

priced_ranks price(const cluster& c, std::uint64_t bytes, bough::rank_t root,
                   const std::vector<bough::rank_t>& members) {
    priced_ranks made;
    made.typed = c.typed;
    if (members.empty()) {
        for (bough::rank_t r = 0; r != c.ranks; ++r) made.names.push_back(r);
        made.root = root;
    } else {
        made.names.push_back(root);
        for (const bough::rank_t m : members)
            if (m != root) made.names.push_back(m);
    }
    for (const bough::rank_t r : made.names) {
        made.send.push_back(c.costs.send_ns(r, r, bytes));
        made.receive.push_back(c.costs.receive_ns(r, r, bytes));
        made.combine.push_back(c.costs.combine_ns(r, bytes));
    }
    made.latency = c.costs.latency_ns(0, 0, bytes);
    return made;
}

std::string priced_ranks::time_text(double time) const {
    if (!typed) return bough::time_text(time);
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", time);
    return text;
}

bool is_cost_tree(std::string_view name) {
    return name == "spoc" || name == "fnf" || name == "search" || name == "optimal" || name == "interval";
}

cost_tree build_cost_tree(std::string_view name, const bough::tree_costs<double>& costs, bough::rank_t root) {
    const auto size = static_cast<bough::rank_t>(costs.send.size());
    if (name == "optimal") {
        auto best = bough::optimal_tree(costs, root);
        return {"optimal", std::move(best.tree), best.certificate};
    }
    if (name == "interval" && size > bough::most_interval_ranks)
        throw usage_error("SHAPE", "interval is for at most " + std::to_string(bough::most_interval_ranks) + " ranks");
    bough::table tree = name == "spoc"       ? bough::spoc_tree(costs, root)
                        : name == "fnf"      ? bough::fnf_tree(costs, root)
                        : name == "search"   ? bough::fnf_search_tree(costs, root)
                        : name == "interval" ? bough::interval_tree(costs, root)
                                             : bough::table(bough::tree(bough::binomial{}, size, root));
    const auto known = bough::certify(tree, costs);
    return {std::string(name), std::move(tree), known};
}

std::string outline_of(const bough::table& tree, const std::vector<bough::rank_t>& names) {
    std::string text;
    const auto places = bough::outline(tree);
    const std::string_view all = places.view();
    for (std::size_t i = 0; i != all.size();) {
        if (all[i] < '0' || all[i] > '9') {
            text += all[i++];
            continue;
        }
        bough::rank_t place = 0;
        for (; i != all.size() && all[i] >= '0' && all[i] <= '9'; ++i)
            place = place * 10 + static_cast<bough::rank_t>(all[i] - '0');
        text += std::to_string(names[place]);
    }
    return text;
}

} // namespace cli
