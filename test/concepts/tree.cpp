// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_tree.hpp>
#include <bough/concepts/tree.hpp>
#include <bough/testing/tree_archetype.hpp>
#include <bough/tree/fnomial.hpp>
#include <bough/tree/tree.hpp>

#include <concepts>

using namespace bough;

namespace {

struct no_child {
    constexpr rank_t parent(rank_t, rank_t) const { return no_rank; }
    constexpr rank_t child_count(rank_t, rank_t) const { return 0; }
    constexpr status check() const { return {}; }
};
struct wide : no_child { // the wrong result type: no silent conversion
    constexpr long child(rank_t, rank_t, rank_t) const { return 0; }
};
struct full : no_child {
    constexpr rank_t child(rank_t, rank_t, rank_t) const { return 0; }
    friend constexpr bool operator==(const full&, const full&) { return true; }
};
struct unequal : no_child { // without ==
    constexpr rank_t child(rank_t, rank_t, rank_t) const { return 0; }
};
struct pinned : full {
    pinned(const pinned&) = delete;
    pinned& operator=(const pinned&) = delete;
};
struct constant : full { // copies, but cannot be assigned
    const int degree = 2;
};

} // namespace

static_assert(!TreeShape<unequal> && !TreeShape<pinned> && !TreeShape<constant> && !TreeShape<full&>);
static_assert(!std::copyable<pinned> && !std::copyable<constant> && std::copyable<full>);
static_assert(!TreeShape<int> && !TreeShape<no_child> && !TreeShape<wide> && TreeShape<full>);
static_assert(!Tree<full> && Tree<tree<full>>);
static_assert(explain_tree_shape<full>() && explain_tree_shape<fnomial>());
static_assert(explain_tree_shape<bough::testing::tree_shape_archetype>());
static_assert(explain_tree<tree<fnomial>>() && explain_tree<bough::testing::tree_archetype>());

TEST_CASE("tree concepts are checked above, at compile time") { SUCCEED(); }
