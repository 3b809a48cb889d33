// SPDX-License-Identifier: BSL-1.0
// Parsing --emulate, items or a cluster file.
#include "emulation.hpp"

#include "cluster.hpp"
#include "parse.hpp"
#include "simulation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <vector>

namespace cli {

namespace {

constexpr const char* argument = "--emulate";

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(at, first), text.size());
        parts.push_back(text.substr(first, end - first));
        first = end + 1;
    }
    return parts;
}

double number(const std::string& text, const char* what) {
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc{} || end != last || !std::isfinite(value) || value <= 0)
        throw usage_error(argument, std::string(what) + " needs a number above 0, not '" + text + "'");
    return value;
}

std::vector<bough::model::cost_per_size> costs(const std::string& name, const std::string& text, bough::rank_t ranks) {
    const auto parts = split(text, ',');
    if (parts.size() != 1 && parts.size() != ranks)
        throw usage_error(argument, name + " needs one cost, or as many as there are ranks, " + std::to_string(ranks));
    std::vector<bough::model::cost_per_size> list;
    for (bough::rank_t r = 0; r != ranks; ++r)
        list.push_back({parse_time(argument, parts[parts.size() == 1 ? 0 : r]), 0});
    return list;
}

bough::emulation of_cluster(const cluster& c, bough::rank_t ranks) {
    if (c.ranks != ranks)
        throw usage_error(argument,
                          "the file is of " + std::to_string(c.ranks) + " ranks, not of " + std::to_string(ranks));
    return {.send = c.costs.send,
            .receive = c.costs.receive,
            .latency_ns = c.costs.message_latency_ns,
            .ns_per_byte = c.costs.latency_ns_per_byte};
}

} // namespace

bough::emulation parse_emulation(const std::string& text, bough::rank_t ranks) {
    if (text.find('=') == std::string::npos) return of_cluster(read_cluster(argument, text), ranks);
    bough::emulation made;
    for (const std::string& item : split(text, ';')) {
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string name = item.substr(0, equals);
        const std::string value = equals == item.size() ? "" : item.substr(equals + 1);
        if (name == "send") {
            made.send = costs(name, value, ranks);
        } else if (name == "receive") {
            made.receive = costs(name, value, ranks);
        } else if (name == "latency") {
            made.latency_ns = parse_time(argument, value);
        } else if (name == "jitter") {
            made.jitter_ns = parse_time(argument, value);
        } else if (name == "bandwidth") {
            made.ns_per_byte = 1e9 / number(value, "bandwidth");
        } else if (name == "seed") {
            made.seed = parse_number(argument, value, 0, ~std::uint64_t{0});
        } else if (name == "window") {
            const auto parts = split(value, ',');
            if (parts.size() != 3) throw usage_error(argument, "window needs PERIOD,DURATION,FACTOR");
            made.slow = {parse_time(argument, parts[0]), parse_time(argument, parts[1]), number(parts[2], "window")};
        } else if (name == "work" && (value == "asleep" || value == "busy" || value == "polled")) {
            made.work = value == "asleep" ? bough::emulated_work::asleep
                        : value == "busy" ? bough::emulated_work::busy
                                          : bough::emulated_work::polled;
        } else if (name == "work") {
            throw usage_error(argument, "work is asleep, busy or polled, not '" + value + "'");
        } else {
            throw usage_error(argument,
                              "there is no '" + item +
                                  "'; known are send, receive, latency, jitter, bandwidth, window, work, seed");
        }
    }
    if (const bough::status bad = made.check(ranks)) throw usage_error(argument, bad.argument);
    return made;
}

bough::model::heterogeneous costs_of(const bough::emulation& e) {
    bough::model::heterogeneous made;
    made.send = e.send;
    made.receive = e.receive;
    made.message_latency_ns = e.latency_ns + e.jitter_ns / 2; // in the mean
    made.latency_ns_per_byte = e.ns_per_byte;
    return made;
}

} // namespace cli
