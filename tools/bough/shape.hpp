// SPDX-License-Identifier: BSL-1.0
// any_shape: a tree shape that is chosen at run time, by name. It is a TreeShape like those it chooses from, so that
// whatever takes a shape takes it.
#ifndef BOUGH_TOOLS_SHAPE_HPP
#define BOUGH_TOOLS_SHAPE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/tree/bine.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cli {

class any_shape {
public:
    using variant = std::variant<bough::binomial, bough::fnomial, bough::degree_k, bough::kary, bough::chain,
                                 bough::flat, bough::bine>;

    any_shape() = default;
    any_shape(variant shape) : shape_(shape) {}

    bough::rank_t parent(bough::rank_t v, bough::rank_t n) const {
        return std::visit([&](const auto& s) { return s.parent(v, n); }, shape_);
    }
    bough::rank_t child_count(bough::rank_t v, bough::rank_t n) const {
        return std::visit([&](const auto& s) { return s.child_count(v, n); }, shape_);
    }
    bough::rank_t child(bough::rank_t v, bough::rank_t n, bough::rank_t i) const {
        return std::visit([&](const auto& s) { return s.child(v, n, i); }, shape_);
    }
    bough::status check() const {
        return std::visit([](const auto& s) { return s.check(); }, shape_);
    }
    bool rank_ordered() const {
        return std::visit([](const auto& s) { return s.rank_ordered(); }, shape_);
    }
    bough::label text() const { // as in C++: fnomial{.degree = 4}
        return std::visit([](const auto& s) { return bough::label_of(s); }, shape_);
    }
    std::string name() const { return text().c_str(); }

    friend bool operator==(const any_shape&, const any_shape&) = default;

private:
    variant shape_;
};

static_assert(bough::TreeShape<any_shape>);

// Every name that find_shape knows.
struct shape_name {
    std::string_view name;
    bool takes_degree = false;
};
std::vector<shape_name> shape_names();
std::string known_shapes(); // with commas

// Nothing, if there is no such shape. Throws usage_error for a degree that the shape does not take.
std::optional<any_shape> find_shape(std::string_view name, std::optional<bough::rank_t> degree);

} // namespace cli

#endif
