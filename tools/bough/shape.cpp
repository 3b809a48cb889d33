// SPDX-License-Identifier: BSL-1.0
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

constexpr std::array<entry, 7> shapes{{
    {"binomial", false, [](degree) { return any_shape(bough::binomial{}); }},
    {"binomial_high", false, [](degree) { return any_shape(bough::binomial{bough::orientation::high}); }},
    {"fnomial", true, [](degree f) { return any_shape(f ? bough::fnomial{*f} : bough::fnomial{}); }},
    {"degree_k", true, [](degree k) { return any_shape(k ? bough::degree_k{*k} : bough::degree_k{}); }},
    {"kary", true, [](degree k) { return any_shape(k ? bough::kary{*k} : bough::kary{}); }},
    {"chain", false, [](degree) { return any_shape(bough::chain{}); }},
    {"flat", false, [](degree) { return any_shape(bough::flat{}); }},
}};

struct spelling {
    std::string operator()(bough::binomial s) const {
        return s.orientation == bough::orientation::low ? "binomial" : "binomial_high";
    }
    std::string operator()(bough::fnomial s) const { return "fnomial{.degree = " + std::to_string(s.degree) + "}"; }
    std::string operator()(bough::degree_k s) const { return "degree_k{.k = " + std::to_string(s.k) + "}"; }
    std::string operator()(bough::kary s) const { return "kary{.arity = " + std::to_string(s.arity) + "}"; }
    std::string operator()(bough::chain) const { return "chain"; }
    std::string operator()(bough::flat) const { return "flat"; }
};

} // namespace

std::string any_shape::text() const { return std::visit(spelling{}, shape_); }

std::string known_shapes() {
    std::string names;
    for (const entry& e : shapes) names += (names.empty() ? "" : ", ") + std::string(e.name);
    return names;
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
