// SPDX-License-Identifier: BSL-1.0
// The tree sources of bough, for tests that hold for all of them.
#ifndef BOUGH_TEST_SUPPORT_SOURCES_HPP
#define BOUGH_TEST_SUPPORT_SOURCES_HPP

#include <bough/algorithm/tree_source.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>
#include <bough/tree/table.hpp>

namespace test {

// Calls f(name, source, keeps_order) for each tree source; keeps_order: documented to keep rank order at this root.
template <class F>
constexpr void for_each_source(const bough::dimensions& at, F f) {
    using namespace bough;
    const bool front = at.root == 0;
    f("binomial low", binomial{}, front);
    f("binomial high", binomial{.orientation = orientation::high}, false);
    f("fnomial 3", fnomial{.degree = 3}, front);
    f("fnomial 4", fnomial{.degree = 4}, front);
    f("degree_k 3", degree_k{.k = 3}, front);
    f("kary 2", kary{.arity = 2}, false);
    f("kary 3", kary{.arity = 3}, false);
    f("chain", chain{}, front);
    f("flat", flat{}, front);
    f("ordered fnomial 3", ordered<fnomial>{{.degree = 3}}, true);
    f("ordered chain", ordered<chain>{}, true);
    f("table of kary 2", table{tree{kary{.arity = 2}, at.size, at.root}}, false);
}

} // namespace test

#endif
