// SPDX-License-Identifier: BSL-1.0
// Parsing what bough simulate is asked for: models, times, noise, networks.
#include "simulation.hpp"

#include "catalogue.hpp"
#include "models.hpp"
#include "parse.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

namespace cli {

namespace {

using strings = std::vector<std::string>;

strings split(std::string_view text, char separator) {
    strings parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

double parse_decimal(const std::string& argument, const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0)
        throw usage_error(argument, "needs a number that is not negative, not '" + text + "'");
    return value;
}
std::uint32_t parse_count(const std::string& argument, const std::string& text, std::uint64_t least,
                          std::uint64_t most) {
    return static_cast<std::uint32_t>(parse_number(argument, text, least, most));
}
// A time of noise: whole, and below 2^32 ns.
std::uint64_t parse_whole_time(const std::string& argument, const std::string& text) {
    const double ns = parse_time(argument, text);
    if (ns != std::floor(ns) || ns >= 0x1p32)
        throw usage_error(argument, "needs whole nanoseconds, less than 4 s, not '" + text + "'");
    return static_cast<std::uint64_t>(ns);
}
// `kind:a,b,c`
std::pair<std::string, strings> parse_kind(const std::string& text) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    return {text.substr(0, colon), colon == text.size() ? strings{} : split(text.substr(colon + 1), ',')};
}
void check_count(const std::string& argument, const strings& numbers, std::size_t least, std::size_t most,
                 const std::string& form) {
    if (numbers.size() < least || numbers.size() > most)
        throw usage_error(argument, "needs " + form + ", not " + std::to_string(numbers.size()) + " values");
}

bough::noise::arrivals parse_skew(const std::string& text) {
    using coming = bough::noise::coming;
    const std::string argument = "--skew";
    if (text.empty()) return {};
    const auto [kind, numbers] = parse_kind(text);
    bough::noise::arrivals made;
    if (kind == "given") {
        made.how = coming::given;
        for (const std::string& n : numbers) made.at_ns.push_back(parse_time(argument, n));
    } else if (kind == "uniform" || kind == "exponential") {
        made.how = kind == "uniform" ? coming::uniform : coming::exponential;
        check_count(argument, numbers, 1, 1, kind + ":TIME");
        made.scale_ns = parse_time(argument, numbers[0]);
    } else {
        throw usage_error(argument, "there is no '" + kind + "'; known are uniform, exponential, given");
    }
    return made;
}

// What bough::noise asks for, said of what was typed.
[[noreturn]] void refuse_noise(std::string_view rule) {
    struct typed_rule {
        std::string_view member, argument;
    };
    for (const typed_rule& known : {typed_rule{"arrival: ", "--skew"}, typed_rule{"slow: ", "--slow"},
                                    typed_rule{"daemons, interruptions: ", "--daemon, --interrupt"},
                                    typed_rule{"daemons: ", "--daemon"}, typed_rule{"interruptions: ", "--interrupt"}})
        if (rule.starts_with(known.member))
            throw usage_error(known.argument, "this must hold: " + std::string(rule.substr(known.member.size())));
    throw usage_error("noise", rule);
}

bough::noise parse_noise(const simulate_arguments& typed, bough::rank_t ranks) {
    bough::noise made;
    made.seed = parse_number("--seed", typed.seed, 0, ~std::uint64_t{0});
    made.arrival = parse_skew(typed.skew);
    for (const std::string& text : typed.daemons) {
        const strings n = split(text, ',');
        check_count("--daemon", n, 2, 3, "PERIOD,DURATION or PERIOD,DURATION,PHASE");
        bough::noise::daemon d{.period_ns = parse_whole_time("--daemon", n[0]),
                               .duration_ns = parse_whole_time("--daemon", n[1])};
        if (n.size() == 3) d.phase_ns = parse_whole_time("--daemon", n[2]), d.random_phase = false;
        made.daemons.push_back(d);
    }
    for (const std::string& text : typed.interruptions) {
        const strings n = split(text, ',');
        check_count("--interrupt", n, 3, 4, "WINDOW,LEAST,MOST or WINDOW,LEAST,MOST,PER_1000");
        made.interruptions.push_back({.window_ns = parse_whole_time("--interrupt", n[0]),
                                      .min_ns = parse_whole_time("--interrupt", n[1]),
                                      .max_ns = parse_whole_time("--interrupt", n[2]),
                                      .per_1000 = n.size() == 4 ? parse_count("--interrupt", n[3], 0, 1000) : 1000});
    }
    if (!typed.slow.empty()) {
        const strings n = split(typed.slow, ',');
        check_count("--slow", n, 2, 2, "FACTOR,PER_1000");
        made.slow.factor = parse_decimal("--slow", n[0]);
        made.slow.per_1000 = parse_count("--slow", n[1], 0, 1000);
    }
    if (typed.mode != "host" && typed.mode != "nic")
        throw usage_error("--mode", "there is no '" + typed.mode + "'; known are host, nic");
    made.reach = typed.mode == "nic" ? bough::noise::reaches::nic : bough::noise::reaches::host;
    made.disturbs_entry = !typed.after_entry;
    if (const bough::status bad = made.check(ranks)) refuse_noise(bad.argument == nullptr ? "" : bad.argument);
    return made;
}

} // namespace

double parse_time(const std::string& argument, const std::string& text) {
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    const std::string_view unit(end, static_cast<std::size_t>(last - end));
    const double factor = unit.empty() || unit == "ns" ? 1
                          : unit == "us"               ? 1e3
                          : unit == "ms"               ? 1e6
                          : unit == "s"                ? 1e9
                                                       : 0;
    if (error != std::errc{} || !std::isfinite(value) || value < 0 || factor == 0)
        throw usage_error(argument, "needs a time as 300, 1.5us, 10ms or 2s, not '" + text + "'");
    return value * factor;
}

simulated_model parse_simulated_model(const std::string& text) {
    if (text == "table2") // Moody et al. 2003: one f64 is added
        return {bough::model::lrc{
                    .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200, .copy = {}},
                "L 2.1 us, r 0.42 us, c 1.5 us, C 9.2 us"};
    if (text == "rdma") // Gupta et al. 2003; To as if combining were as fast as copying
        return {bough::model::rdma{.mpi_ns = 1300,
                                   .descriptor_ns = 600,
                                   .dma_startup_ns = 2000,
                                   .nic_ns = 1520,
                                   .transmit_ns_per_byte = 10,
                                   .operation_ns_per_byte = 2.7,
                                   .copy_ns_per_byte = 2.7,
                                   .acknowledgement_ns = 0,
                                   .worst = false},
                "Tm 1.3 us, Td 0.6 us, Ts 2 us, Tn 1.52 us, Tt 10 ns/byte, To 2.7 ns/byte"};
    const auto [kind, numbers] = parse_kind(text);
    std::vector<double> values;
    if (kind == "lrc" || kind == "loggops") {
        const bool lrc = kind == "lrc";
        check_count("--model", numbers, 3, lrc ? 4 : 5, lrc ? "lrc:L,r,c or lrc:L,r,c,C" : "loggops:L,o,g,G,O");
        for (const std::string& n : numbers) values.push_back(parse_time("--model", n));
        values.resize(5, 0.0);
        if (lrc)
            return {bough::model::lrc{.message_latency_ns = values[0],
                                      .receive = {values[1]},
                                      .combine = {values[2]},
                                      .startup_ns = values[3],
                                      .copy = {}},
                    text};
        const bough::model::loggops model{.message_latency_ns = values[0],
                                          .overhead = {values[1], values[4]},
                                          .gap = {values[2], values[3]},
                                          .combine = {},
                                          .copy = {}};
        if (const bough::status bad = model.check()) throw usage_error("--model", bad.argument);
        return {model, text};
    }
    const named_model known = parse_model(text);
    return std::visit([&](const auto& model) { return simulated_model{model, known.text}; }, known.parameters);
}

bough::network parse_network(const std::string& text, std::uint64_t seed) {
    const std::string argument = "--network";
    constexpr std::uint64_t most_hosts = 4096; // paths between all are kept
    const auto parsed = parse_kind(text);
    const std::string& kind = parsed.first; // clang++ 14 captures no structured binding
    const strings& numbers = parsed.second;
    const auto number = [&](std::size_t i, std::uint64_t least, std::uint64_t most) {
        return parse_count(argument, numbers[i], least, most);
    };
    const auto speed = [&] {
        const double value = parse_decimal(argument, numbers.back());
        if (value <= 0) throw usage_error(argument, "a cable has a speed above 0");
        return value;
    };
    const auto bounded = [&](std::uint64_t hosts) {
        if (hosts > most_hosts) throw usage_error(argument, "at most " + std::to_string(most_hosts) + " hosts");
    };
    if (kind == "crossbar") {
        check_count(argument, numbers, 2, 2, "crossbar:HOSTS,SPEED");
        return bough::network::crossbar(number(0, 1, most_hosts), speed());
    }
    if (kind == "fat_tree") {
        check_count(argument, numbers, 3, 3, "fat_tree:PORTS,LEVELS,SPEED");
        const std::uint32_t k = number(0, 2, 64), levels = number(1, 1, 12);
        std::uint64_t hosts = 1;
        for (std::uint32_t l = 0; l != levels && hosts <= most_hosts; ++l) hosts *= k;
        bounded(hosts);
        return bough::network::fat_tree(k, levels, speed());
    }
    if (kind == "torus") {
        check_count(argument, numbers, 2, 2, "torus:4x4x4,SPEED");
        std::vector<std::uint32_t> extents;
        std::uint64_t hosts = 1;
        for (const std::string& e : split(numbers[0], 'x')) {
            extents.push_back(parse_count(argument, e, 1, most_hosts));
            hosts *= extents.back();
            bounded(hosts);
        }
        return bough::network::torus(extents, speed());
    }
    if (kind == "dragonfly") {
        check_count(argument, numbers, 4, 4, "dragonfly:ROUTERS,HOSTS_EACH,GLOBAL,SPEED");
        const std::uint32_t routers = number(0, 1, 64), each = number(1, 1, 64), global = number(2, 1, 64);
        bounded((std::uint64_t{routers} * global + 1) * routers * each);
        return bough::network::dragonfly(routers, each, global, speed());
    }
    if (kind == "irregular") {
        check_count(argument, numbers, 5, 5, "irregular:HOSTS,SWITCHES,PORTS,PERCENT,SPEED");
        const std::uint32_t hosts = number(0, 1, most_hosts), switches = number(1, 1, most_hosts);
        const std::uint32_t ports = number(2, 1, 4096), percent = number(3, 0, 100);
        if ((hosts + switches - 1) / switches + (switches == 1 ? 0 : 2) > ports)
            throw usage_error(argument, "each switch needs a port for each of its hosts and two more");
        return bough::network::irregular(hosts, switches, ports, percent, seed, speed());
    }
    throw usage_error(argument,
                      "there is no '" + kind + "'; known are crossbar, fat_tree, torus, dragonfly, irregular");
}

bough::sim_options parse_simulation(const simulate_arguments& typed, bough::rank_t ranks) {
    bough::sim_options made;
    made.bytes = one_size_of(find_collective(typed.plan.collective), typed.bytes, "8");
    made.noise = parse_noise(typed, ranks);
    if (typed.order != "program" && typed.order != "dependence")
        throw usage_error("--order", "there is no '" + typed.order + "'; known are program, dependence");
    made.order = typed.order == "program" ? bough::step_order::program : bough::step_order::dependence;
    made.slots = parse_count("--slots", typed.slots, 0, 1u << 30);
    if (!typed.eager.empty()) made.eager_bytes = parse_sizes("--eager", typed.eager).front();
    made.operations = parse_count("--operations", typed.operations, 1, 1u << 20);
    made.compute_ns = parse_time("--compute", typed.compute);
    if (!typed.split.empty()) {
        const strings n = split(typed.split, ',');
        check_count("--split", n, 2, 2, "POLL,COST");
        made.split = {.on = true,
                      .root_too = false,
                      .poll_ns = parse_time("--split", n[0]),
                      .poll_cost_ns = parse_time("--split", n[1])};
    }
    return made;
}

} // namespace cli
