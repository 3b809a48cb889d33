// SPDX-License-Identifier: BSL-1.0
// Parsing --model, --require and --table, and the files that they name.
#include "models.hpp"

#include "catalogue.hpp"
#include "parse.hpp"
#include <bough/model/rendezvous.hpp>
#include <bough/select/print_decision.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <deque>
#include <fstream>
#include <utility>

namespace cli {

namespace {

constexpr std::uint64_t all_eager = ~std::uint64_t{0};

json read_document(const std::string& argument, const std::string& path) {
    std::ifstream in(path);
    if (!in) throw usage_error(argument, "file '" + path + "' cannot be opened");
    json value;
    try {
        value = json::parse(in, nullptr, false);
    } catch (const std::ios_base::failure&) { // a folder, for one
        throw usage_error(argument, "file '" + path + "' cannot be read");
    }
    if (in.bad() || value.is_discarded()) throw usage_error(argument, "file '" + path + "' is not JSON");
    return value;
}

// A cost of a document: finite, not negative.
class costs_of {
public:
    costs_of(std::string path, const json& document) : path_(std::move(path)), document_(document) {}
    double operator()(const char* name) const { return number(document_, name); }
    bough::model::cost_per_size sized(const char* name) const {
        if (!document_.contains(name)) refuse(name);
        return {number(document_[name], "base_ns"), number(document_[name], "per_byte_ns")};
    }

private:
    [[noreturn]] void refuse(const char* name) const {
        throw usage_error("--model", "file '" + path_ + "' has no cost \"" + name + "\"");
    }
    double number(const json& of, const char* name) const {
        if (!of.is_object() || !of.contains(name) || !of[name].is_number()) refuse(name);
        const double value = of[name];
        if (!std::isfinite(value) || value < 0) refuse(name);
        return value;
    }
    std::string path_;
    const json& document_;
};

std::string number_text(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", value);
    return text.data();
}

named_model of_alpha_beta_gamma(const bough::model::alpha_beta_gamma& model) {
    return {model,
            "alpha " + bough::time_text(model.alpha_ns) + ", beta " + number_text(model.beta_ns_per_byte) +
                " ns/byte, gamma " + number_text(model.gamma_ns_per_byte) + " ns/byte",
            model};
}

named_model of_cluster(cluster costs) {
    static std::deque<cluster> kept; // models point to them
    kept.push_back(std::move(costs));
    const cluster_model model(kept.back());
    return {model, "costs of " + std::to_string(kept.back().ranks) + " ranks", model};
}

named_model read_model(const std::string& path) {
    json document = read_document("--model", path);
    if (document.is_object() && document.contains("costs") && !document.contains("model"))
        return of_cluster(parse_cluster("--model", path, document));
    const auto has_alpha = [](const json& of) { return of.is_object() && of.contains("alpha_ns"); };
    if (document.is_object() && document.contains("model") && has_alpha(document["model"]))
        document = json(document["model"]);
    if (has_alpha(document)) {
        const costs_of cost(path, document);
        const auto other = [&](const char* name, double absent) {
            return document.contains(name) ? cost(name) : absent;
        };
        bough::model::alpha_beta_gamma model{.alpha_ns = cost("alpha_ns"),
                                             .beta_ns_per_byte = cost("beta_ns_per_byte"),
                                             .gamma_ns_per_byte = cost("gamma_ns_per_byte"),
                                             .f_alpha = other("f_alpha", 1),
                                             .f_beta = other("f_beta", 1)};
        model.early = document.contains("early") && document["early"].is_boolean() && document["early"];
        model.held_alpha = other("held_alpha", 1);
        model.held_beta = other("held_beta", 1);
        model.combine_start_ns = other("combine_start_ns", 0);
        model.send_alpha = other("send_alpha", 0);
        model.send_beta = other("send_beta", 0);
        model.receive_alpha = other("receive_alpha", 0);
        model.receive_beta = other("receive_beta", 0);
        return of_alpha_beta_gamma(model);
    }
    if (!document.is_object() || !document.contains("model"))
        throw usage_error("--model", "file '" + path + "' holds no model");
    const costs_of cost(path, document["model"]);
    const bough::model::lrc model{.message_latency_ns = cost("message_latency_ns"),
                                  .receive = cost.sized("receive"),
                                  .combine = cost.sized("combine"),
                                  .startup_ns = cost("startup_ns"),
                                  .copy = {}};
    return {model,
            "L " + bough::time_text(model.message_latency_ns) + ", r " + bough::time_text(model.receive.base_ns) +
                " + " + number_text(model.receive.per_byte_ns) + " ns/byte, c " +
                bough::time_text(model.combine.base_ns) + " + " + number_text(model.combine.per_byte_ns) + " ns/byte",
            model};
}

} // namespace

const bough::model::heterogeneous& cluster_model::of(bough::rank_t a, bough::rank_t b) const {
    if (std::max(a, b) >= cluster_->ranks)
        throw usage_error("--model", "has costs of " + std::to_string(cluster_->ranks) + " ranks only");
    return cluster_->costs;
}

named_model parse_model(const std::string& text) {
    if (text.empty()) return of_alpha_beta_gamma({.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25});
    if (text.find(',') == std::string::npos) return read_model(text);
    std::array<double, 3> numbers{};
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    for (std::size_t i = 0; i != numbers.size(); ++i) {
        const auto [stop, error] = std::from_chars(at, end, numbers[i]);
        const bool last = i + 1 == numbers.size();
        if (error != std::errc{} || !std::isfinite(numbers[i]) || numbers[i] < 0 ||
            (last ? stop != end : stop == end || *stop != ','))
            throw usage_error("--model", "needs a file, or three costs as 5000,1,0.25 (ns, ns per byte, ns per byte), "
                                         "not '" +
                                             text + "'");
        at = stop + 1;
    }
    return of_alpha_beta_gamma(
        {.alpha_ns = numbers[0], .beta_ns_per_byte = numbers[1], .gamma_ns_per_byte = numbers[2]});
}

std::uint64_t parse_eager(const std::string& text) { return text.empty() ? all_eager : parse_size("--eager", text); }
std::string eager_text(std::uint64_t eager_bytes) {
    return eager_bytes == all_eager ? "" : "; eager up to " + std::to_string(eager_bytes) + " bytes";
}
bough::any_cost_model with_eager(const named_model& model, std::uint64_t eager_bytes) {
    if (eager_bytes == all_eager) return model.costs;
    return std::visit(
        [&](const auto& m) -> bough::any_cost_model {
            return bough::model::rendezvous{m, eager_bytes};
        },
        model.parameters);
}

bough::requirements parse_requirements(const std::string& text) {
    bough::requirements needed;
    for (std::size_t at = 0; !text.empty() && at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        const std::string item = text.substr(at, comma - at);
        if (item == "order")
            needed = needed | bough::order_preserving;
        else if (item == "bits")
            needed = needed | bough::rank_consistent;
        else if (item == "any_size")
            needed = needed | bough::any_size;
        else
            throw usage_error("--require", "there is no '" + item + "'; known are order, bits, any_size");
        at = comma + 1;
    }
    return needed;
}

json json_of(const bough::decision_table& table) {
    json rows = json::array();
    for (const bough::measured_row& r : table.rows)
        rows.push_back({{"collective", bough::goal_name(r.kind)},
                        {"ranks", r.ranks},
                        {"bytes", r.bytes},
                        {"algorithm", r.algorithm.c_str()},
                        {"blocks", r.blocks},
                        {"ns", r.ns}});
    return rows;
}

bough::decision_table read_table(const std::string& path) {
    const json document = read_document("--table", path);
    const auto refuse = [&](const std::string& what) { throw usage_error("--table", "file '" + path + "' " + what); };
    if (!document.is_object() || !document.contains("rows") || !document["rows"].is_array())
        refuse("holds no table: it lacks \"rows\"");
    bough::decision_table table;
    for (const json& row : document["rows"]) {
        const auto number = [&](const char* name, std::uint64_t most) -> std::uint64_t {
            if (!row.is_object() || !row.contains(name) || !row[name].is_number_unsigned() ||
                row[name].get<std::uint64_t>() > most)
                refuse(std::string("has a row whose \"") + name + "\" is not a number from 0 to " +
                       std::to_string(most));
            return row[name];
        };
        const auto text = [&](const char* name) -> std::string {
            if (!row.is_object() || !row.contains(name) || !row[name].is_string())
                refuse(std::string("has a row whose \"") + name + "\" is not text");
            return row[name];
        };
        bough::measured_row made;
        const std::string name = text("collective");
        const auto c = collective_of(name);
        if (!c) refuse("has a row of the collective '" + name + "', which there is not");
        made.kind = with_goal(*c, [](auto goal) { return decltype(goal)::kind; });
        made.ranks = static_cast<bough::rank_t>(number("ranks", bough::no_rank - 1));
        made.bytes = number("bytes", ~std::uint64_t{0} >> 1);
        made.algorithm = bough::label(text("algorithm").c_str());
        made.blocks = static_cast<bough::block_t>(number("blocks", bough::natural_blocks));
        if (!row.contains("ns") || !row["ns"].is_number() || !(row["ns"].get<double>() >= 0))
            refuse("has a row whose \"ns\" is not a time");
        made.ns = row["ns"];
        if (made.ranks == 0) refuse("has a row of no ranks");
        table.rows.push_back(made);
    }
    return table;
}

} // namespace cli
