// SPDX-License-Identifier: BSL-1.0
// Tree shapes by name and degree.
#include "shape.hpp"

#include "parse.hpp"

#include <array>

namespace cli {

namespace {

using degree = std::optional<bough::rank_t>;

struct entry {
    std::string_view name;
    bool takes_degree;
    any_shape (*make)(degree);
};

constexpr std::array<entry, 8> shapes{{
    {"binomial", false, [](degree) { return any_shape(bough::binomial{}); }},
    {"binomial_high", false, [](degree) { return any_shape(bough::binomial{bough::orientation::high}); }},
    {"fnomial", true, [](degree f) { return any_shape(f ? bough::fnomial{*f} : bough::fnomial{}); }},
    {"degree_k", true, [](degree k) { return any_shape(k ? bough::degree_k{*k} : bough::degree_k{}); }},
    {"kary", true, [](degree k) { return any_shape(k ? bough::kary{*k} : bough::kary{}); }},
    {"chain", false, [](degree) { return any_shape(bough::chain{}); }},
    {"flat", false, [](degree) { return any_shape(bough::flat{}); }},
    {"bine", false, [](degree) { return any_shape(bough::bine{}); }},
}};

} // namespace

std::vector<shape_name> shape_names() {
    std::vector<shape_name> all;
    for (const entry& e : shapes) all.push_back({e.name, e.takes_degree});
    return all;
}

std::string known_shapes() {
    std::string text;
    for (const entry& e : shapes) text += (text.empty() ? "" : ", ") + std::string(e.name);
    return text;
}

std::optional<any_shape> find_shape(std::string_view name, std::optional<bough::rank_t> degree) {
    for (const entry& e : shapes) {
        if (e.name != name) continue;
        if (degree && !e.takes_degree) throw usage_error("--degree", std::string(name) + " has no degree to choose");
        const any_shape shape = e.make(degree);
        if (const bough::status bad = shape.check()) {
            const std::string_view sentence = bad.argument; // "k: a degree-k tree needs ..."
            throw usage_error("--degree", sentence.substr(sentence.find(": ") + 2));
        }
        return shape;
    }
    return std::nullopt;
}

} // namespace cli
