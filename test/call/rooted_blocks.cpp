// SPDX-License-Identifier: BSL-1.0
// What gather and scatter share: which side has the blocks, and what each rank may give. (Both collectives at all sizes:
// test/frontdoor/gather.cpp and scatter.cpp.)
#include "support/catch.hpp"
#include <bough/algorithm/gather/tree.hpp>
#include <bough/algorithm/scatter/tree.hpp>
#include <bough/call/rooted_blocks.hpp>
#include <bough/communicator.hpp>
#include <bough/select/standard/gather.hpp>
#include <bough/select/standard/scatter.hpp>
#include <bough/transport/self.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>

using namespace bough;

namespace {

using gathers = detail::rooted_blocks<goal::gather, tree_gather, true>;
using scatters = detail::rooted_blocks<goal::scatter, tree_scatter, false>;
using forms = detail::rooted_block_forms<goal::gather, tree_gather, true>;
using list_forms = detail::rooted_list_forms<goal::scatter, tree_scatter, false>;
static_assert(forms::wanted.root && forms::wanted.trees && !forms::wanted.lists && list_forms::wanted.lists);

const detail::rank_blocks one_of(std::size_t each) { return detail::rank_blocks::equal(1, each, sizeof(int)); }
std::string argument_of(const status& s) { return s.argument == nullptr ? "" : s.argument; }

} // namespace

TEST_CASE("rooted_blocks: blocks are the input of a gather, and the output of a scatter") {
    communicator alone{self{}};
    const std::array<int, 2> in{3, 4};
    std::array<int, 2> out{};
    CHECK_FALSE(gathers::apart<int>(alone, std::span(in), std::span(out), one_of(2), root{0}, automatic{}));
    CHECK(out == in);
    out = {};
    CHECK_FALSE(scatters::apart<int>(alone, std::span(in), std::span(out), one_of(2), root{0}, automatic{}));
    CHECK(out == in);
    CHECK_FALSE(gathers::in_place<int>(alone, std::span(out), one_of(2), root{0}, automatic{}));
    CHECK_FALSE(scatters::in_place<int>(alone, std::span(out), one_of(2), root{0}, automatic{}));
    CHECK(out == in);
}

TEST_CASE("rooted_blocks: the whole vector must be as long as all blocks, and is named") {
    const std::array<int, 2> two{3, 4};
    const std::array<int, 3> three{};
    std::array<int, 2> out{};
    std::array<int, 3> long_out{};
    communicator a{self{}}, b{self{}}, c{self{}};
    CHECK(argument_of(gathers::apart<int>(a, std::span(two), std::span(long_out), one_of(2), root{0}, automatic{})) ==
          "out: must hold one block for every rank");
    CHECK(argument_of(scatters::apart<int>(b, std::span(three), std::span(out), one_of(2), root{0}, automatic{})) ==
          "in: must hold one block for every rank");
    CHECK(argument_of(gathers::apart<int>(c, std::span(two), std::span(out), one_of(2), root{1}, automatic{})) ==
          "root: not a rank of the group");
}

TEST_CASE("rooted_blocks: the lengths that the forms find") {
    std::array<int, 3> data{1, 2, 3};
    const std::array<std::size_t, 1> right{3}, wrong{2};
    communicator a{self{}}, b{self{}}, c{self{}};
    CHECK_FALSE(forms::call(a, std::span(data), root{0}));
    CHECK_FALSE(list_forms::call(b, std::span(data), std::span<const std::size_t>(right), root{0}));
    CHECK(argument_of(list_forms::call(c, std::span(data), std::span<const std::size_t>(wrong), root{0})) ==
          "data: at the root, its length is not the sum of counts");
}
