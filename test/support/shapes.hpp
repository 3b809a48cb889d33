// SPDX-License-Identifier: BSL-1.0
// All tree shapes of bough, with awkward parameters, for tests that hold for every shape.
#ifndef BOUGH_TEST_SUPPORT_SHAPES_HPP
#define BOUGH_TEST_SUPPORT_SHAPES_HPP

#include <bough/tree/bine.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/degree_k.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/kary.hpp>

namespace test {

// Calls f(name, shape) for each.
template <class F>
constexpr void for_each_shape(F f) {
    using namespace bough;
    f("fnomial 2", fnomial{.degree = 2});
    f("fnomial 3", fnomial{.degree = 3});
    f("fnomial 4", fnomial{.degree = 4});
    f("fnomial 5", fnomial{.degree = 5});
    f("fnomial 7", fnomial{.degree = 7});
    f("fnomial 8", fnomial{.degree = 8});
    f("fnomial 10", fnomial{.degree = 10});
    f("fnomial 100", fnomial{.degree = 100});
    f("binomial low", binomial{});
    f("binomial high", binomial{.orientation = orientation::high});
    f("degree_k 1", degree_k{.k = 1});
    f("degree_k 2", degree_k{.k = 2});
    f("degree_k 3", degree_k{.k = 3});
    f("degree_k 6", degree_k{.k = 6});
    f("kary 1", kary{.arity = 1});
    f("kary 2", kary{.arity = 2});
    f("kary 3", kary{.arity = 3});
    f("kary 5", kary{.arity = 5});
    f("chain", chain{});
    f("flat", flat{});
    f("bine", bine{});
}

} // namespace test

#endif
