// SPDX-License-Identifier: BSL-1.0
// Parsing what bough simulate is asked for: models, times, noise, networks.
#include "simulation.hpp"

#include "catalogue.hpp"
#include "hwloc_file.hpp"
#include "models.hpp"
#include "parse.hpp"
#include <bough/interchange/network.hpp>
#include <bough/interchange/slurm_topology.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {

namespace {

constexpr std::string_view known_networks =
    "crossbar, fat_tree, torus, mesh, dragonfly, rails, sockets, irregular, slurm, hwloc";

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
    const bool is_number = end == text.data() + text.size() && !std::isnan(value);
    if (is_number && (error == std::errc::result_out_of_range || std::isinf(value)))
        throw usage_error(argument, "needs a finite number that a double can hold, not '" + text + "'");
    if (error != std::errc{} || !is_number || value < 0)
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

namespace {

std::string text_of_file(const std::string& argument, const std::string& name, const std::string& or_else) {
    std::ifstream in(name, std::ios::binary);
    if (!in) throw usage_error(argument, "there is no file '" + name + "'" + or_else);
    std::error_code unused;
    if (std::filesystem::is_directory(name, unused)) throw usage_error(argument, "'" + name + "' is a directory");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

bough::network read_network_file(const std::string& argument, const std::string& name) {
    const std::string text = text_of_file(argument, name, ", and it is none of " + std::string(known_networks));
    bough::network_file file = bough::read_network(text);
    if (!file.network) throw usage_error(argument, name + ": " + to_string(file.fault));
    return *std::move(file.network);
}

// What is typed after the colon: numbers, speeds, extents.
class network_numbers {
public:
    network_numbers(std::string argument, strings numbers)
        : argument_(std::move(argument)), numbers_(std::move(numbers)) {}

    // Takes hop=TIME off the end.
    double take_hop() {
        if (numbers_.empty() || !numbers_.back().starts_with("hop=")) return 0;
        const double ns = parse_time(argument_, numbers_.back().substr(4));
        numbers_.pop_back();
        return ns;
    }
    void check(std::size_t least, std::size_t most, const std::string& form) const {
        check_count(argument_, numbers_, least, most, form);
    }
    std::size_t size() const { return numbers_.size(); }
    std::uint32_t count(std::size_t i, std::uint64_t least, std::uint64_t most) const {
        return parse_count(argument_, numbers_[i], least, most);
    }
    // Of a cable; if it is not there, `otherwise`.
    double speed(std::size_t i, double otherwise = 0) const {
        if (i >= numbers_.size()) return otherwise;
        const double value = parse_decimal(argument_, numbers_[i]);
        if (!bough::network::is_speed(value))
            throw usage_error(argument_,
                              "a cable has a speed from 1e-30 to 1e30 bytes per ns, not '" + numbers_[i] + "'");
        return value;
    }
    bool has_extents(std::size_t i) const { return numbers_[i].find('x') != std::string::npos; }
    // 4x4x4
    std::vector<std::uint32_t> extents(const std::string& text) const {
        std::vector<std::uint32_t> made;
        for (const std::string& e : split(text, 'x'))
            made.push_back(parse_count(argument_, e, 1, bough::most_network_hosts));
        return made;
    }
    const std::string& text(std::size_t i) const { return numbers_[i]; }
    // Paths between all hosts are kept.
    void bounded(const std::vector<std::uint32_t>& factors) const {
        std::uint64_t hosts = 1;
        for (const std::uint32_t f : factors)
            if ((hosts *= f) > bough::most_network_hosts)
                throw usage_error(argument_, "at most " + std::to_string(bough::most_network_hosts) + " hosts");
    }

private:
    std::string argument_;
    strings numbers_;
};

bough::network fat_tree_of(const network_numbers& n) {
    const std::string argument = "--network";
    if (n.has_extents(0)) {
        n.check(2, 2, "fat_tree:DOWN/UP,SPEED, as fat_tree:8x8/1x4,1");
        const strings parts = split(n.text(0), '/');
        if (parts.size() != 2) throw usage_error(argument, "needs fat_tree:DOWN/UP,SPEED, as fat_tree:8x8/1x4,1");
        const auto down = n.extents(parts[0]), up = n.extents(parts[1]);
        if (down.size() != up.size())
            throw usage_error(argument, "needs as many numbers up as down, as fat_tree:8x8/1x4,1");
        n.bounded(down);
        n.bounded(up);
        return bough::network::fat_tree(down, up, n.speed(1));
    }
    n.check(3, 3, "fat_tree:PORTS,LEVELS,SPEED");
    const std::uint32_t k = n.count(0, 2, 64), levels = n.count(1, 1, 12);
    n.bounded(std::vector<std::uint32_t>(levels, k));
    return bough::network::fat_tree(k, levels, n.speed(2));
}

bough::network network_of(const std::string& kind, const network_numbers& n, std::uint64_t seed) {
    const std::string argument = "--network";
    constexpr std::uint64_t most = bough::most_network_hosts;
    if (kind == "crossbar") {
        n.check(2, 2, "crossbar:HOSTS,SPEED");
        return bough::network::crossbar(n.count(0, 1, most), n.speed(1));
    }
    if (kind == "fat_tree") {
        n.check(2, 3, "fat_tree:PORTS,LEVELS,SPEED or fat_tree:DOWN/UP,SPEED");
        return fat_tree_of(n);
    }
    if (kind == "torus" || kind == "mesh") {
        n.check(2, 3, kind + ":4x4x4,SPEED or " + kind + ":4x4x4,SPEED,HOST_SPEED");
        const auto extents = n.extents(n.text(0));
        n.bounded(extents);
        return kind == "torus" ? bough::network::torus(extents, n.speed(1), n.speed(2))
                               : bough::network::mesh(extents, n.speed(1), n.speed(2));
    }
    if (kind == "dragonfly") {
        n.check(4, 5,
                "dragonfly:ROUTERS,HOSTS_EACH,GLOBAL,SPEED or dragonfly:ROUTERS,HOSTS_EACH,GLOBAL,SPEED,GLOBAL_SPEED");
        const std::uint32_t routers = n.count(0, 1, 64), each = n.count(1, 1, 64), global = n.count(2, 1, 64);
        n.bounded({routers * global + 1, routers, each});
        return bough::network::dragonfly(routers, each, global, n.speed(3), n.speed(4));
    }
    if (kind == "rails") {
        n.check(4, 4, "rails:NODES,CARDS,CARD_SPEED,INNER_SPEED");
        const std::uint32_t nodes = n.count(0, 1, most), cards = n.count(1, 1, most);
        n.bounded({nodes, cards});
        return bough::network::rails(nodes, cards, n.speed(2), n.speed(3));
    }
    if (kind == "sockets") {
        n.check(6, 6, "sockets:NODES,SOCKETS,CORES,CARD_SPEED,BETWEEN_SPEED,CORE_SPEED");
        const std::uint32_t nodes = n.count(0, 1, most), sockets = n.count(1, 1, most), cores = n.count(2, 1, most);
        n.bounded({nodes, sockets, cores});
        return bough::network::sockets(nodes, sockets, cores, n.speed(3), n.speed(4), n.speed(5));
    }
    if (kind == "irregular") {
        n.check(5, 5, "irregular:HOSTS,SWITCHES,PORTS,PERCENT,SPEED");
        const std::uint32_t hosts = n.count(0, 1, most), switches = n.count(1, 1, most);
        const std::uint32_t ports = n.count(2, 1, 4096), percent = n.count(3, 0, 100);
        if ((hosts + switches - 1) / switches + (switches == 1 ? 0 : 2) > ports)
            throw usage_error(argument, "each switch needs a port for each of its hosts and two more");
        return bough::network::irregular(hosts, switches, ports, percent, seed, n.speed(4));
    }
    if (kind == "slurm") {
        n.check(2, 3, "slurm:FILE,SPEED or slurm:FILE,SPEED,SWITCH_SPEED");
        const std::string text = text_of_file(argument, n.text(0), "");
        bough::slurm_topology read = bough::read_slurm_topology(text, n.speed(1), n.speed(2, n.speed(1)));
        if (!read.network) throw usage_error(argument, n.text(0) + ": " + to_string(read.fault));
        return *std::move(read.network);
    }
    if (kind == "hwloc") {
        n.check(5, 5, "hwloc:FILE,NODES,CARD_SPEED,BETWEEN_SPEED,CORE_SPEED");
        machine_shape machine;
        if (const bough::import_fault bad = read_hwloc(text_of_file(argument, n.text(0), ""), machine); !bad.none())
            throw usage_error(argument, n.text(0) + ": " + to_string(bad));
        const std::uint32_t nodes = n.count(1, 1, most);
        n.bounded({nodes, machine.sockets, machine.cores});
        return bough::network::sockets(nodes, machine.sockets, machine.cores, n.speed(2), n.speed(3), n.speed(4));
    }
    throw usage_error(argument, "there is no '" + kind + "'; known are " + std::string(known_networks));
}

} // namespace

bough::network parse_network(const std::string& text, std::uint64_t seed) {
    const std::string argument = "--network";
    if (text.find(':') == std::string::npos) return read_network_file(argument, text);
    const auto parsed = parse_kind(text);
    network_numbers numbers(argument, parsed.second);
    const double hop_ns = numbers.take_hop();
    bough::network made = network_of(parsed.first, numbers, seed);
    made.hop_ns = hop_ns;
    return made;
}

bough::sim_options parse_simulation(const simulate_arguments& typed, bough::rank_t ranks) {
    bough::sim_options made;
    made.bytes = one_size_of(find_any_collective(typed.plan.collective), typed.bytes, "8");
    made.noise = parse_noise(typed, ranks);
    if (typed.order != "program" && typed.order != "dependence")
        throw usage_error("--order", "there is no '" + typed.order + "'; known are program, dependence");
    made.order = typed.order == "program" ? bough::step_order::program : bough::step_order::dependence;
    made.slots = parse_count("--slots", typed.slots, 0, 1u << 30);
    made.eager_bytes = parse_eager(typed.eager);
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
