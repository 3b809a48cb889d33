// SPDX-License-Identifier: BSL-1.0
// Tree sources: what a tree algorithm can be given, and how it becomes a tree over the ranks of a plan.
//
//   fnomial{.degree = 4}           any shape: root != 0 by cyclic relabelling (then rank order is lost)
//   ordered{fnomial{.degree = 4}}  the in-order variant: true rank order for any root, for
//                                  non-commutative ops
//   table                          an explicit tree; its size and root must be the plan's
#ifndef BOUGH_ALGORITHM_TREE_SOURCE_HPP
#define BOUGH_ALGORITHM_TREE_SOURCE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/concepts/tree.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/rank_order.hpp>
#include <bough/tree/table.hpp>
#include <bough/tree/tree.hpp>

#include <type_traits>

namespace bough::inline BOUGH_ABI {

// Keeps true rank order for any root. Pre: the shape is rank_ordered().
template <TreeShape S>
struct ordered {
    S shape{};
    constexpr label text() const { return label("ordered").field(label_of(shape)); }
    using text_tells = std::conditional_t<text_tells_v<S>, ordered, void>;
    friend constexpr bool operator==(const ordered&, const ordered&) = default;
};
template <class S>
ordered(S) -> ordered<S>;

// The tree over the ranks of a plan.
template <TreeShape S>
constexpr tree<S> bind_tree(const S& shape, const dimensions& at) {
    return tree<S>(shape, at.size, at.root);
}
template <class S>
constexpr in_order<S> bind_tree(const ordered<S>& source, const dimensions& at) {
    return in_order<S>(source.shape, at.size, at.root);
}
constexpr const table& bind_tree(const table& t, const dimensions&) noexcept { return t; }

// What is wrong with a source for these dimensions, if anything.
template <TreeShape S>
constexpr status check_tree(const S& shape, const dimensions&) {
    return shape.check();
}
template <class S>
constexpr status check_tree(const ordered<S>& source, const dimensions&) {
    if (const status bad = source.shape.check()) return bad;
    return is_rank_ordered(source.shape)
               ? status{}
               : invalid_argument("shape: its subtrees are not intervals of ranks: no rank order");
}
constexpr status check_tree(const table& t, const dimensions& at) {
    if (t.size() != at.size) return invalid_argument("table: its size is not the plan's");
    if (t.root() != at.root) return invalid_argument("table: its root is not the plan's");
    return t.check();
}

// Does a reduction over the tree combine in rank order?
template <TreeShape S>
constexpr bool tree_keeps_rank_order(const S& shape, const dimensions& at) {
    return bough::is_rank_ordered(shape) && at.root == 0;
}
template <class S>
constexpr bool tree_keeps_rank_order(const ordered<S>&, const dimensions&) {
    return true;
}
// Not known without a proof.
constexpr bool tree_keeps_rank_order(const table&, const dimensions&) { return false; }

// Checks, by a walk of the tree, that a source keeps the rank order that it claims. Pre: check_tree
// is ok.
template <class S>
constexpr status check_tree_claims(const S& source, const dimensions& at) {
    if (!tree_keeps_rank_order(source, at) || bough::first_out_of_order(bind_tree(source, at), true) == no_rank)
        return {};
    return invalid_argument("shape: claims rank_ordered(), but the children of a rank do not follow it in rank order");
}

// The bracket class of a reduction over the tree: each source and root has a class of its own,
// named by its label. A table, and a shape whose label does not tell it from others, claim none.
template <class S>
constexpr bracket_class tree_bracket(const S& source, const dimensions& at) {
    if constexpr (requires { source.text(); } || std::is_empty_v<S>)
        return {bracket_family(label_of(source).c_str()), at.root};
    else
        return {};
}

// What a tree algorithm can be given: bind_tree makes the tree of a plan, check_tree says what is
// wrong with it, and tree_keeps_rank_order whether its reductions keep rank order.
template <class S>
concept TreeSource = requires(const S& source, const dimensions& at) {
    { bind_tree(source, at) } -> Tree;
    { check_tree(source, at) } -> std::same_as<status>;
};

} // namespace bough

#endif
