// SPDX-License-Identifier: BSL-1.0
// TreeShape and Tree: which rank is whose parent, and in which order a parent serves its children.
//
// A *shape* is a rule on virtual ranks 0 .. n-1 with root 0, for any n >= 1:
//   s.parent(v, n)       -> rank_t   the parent of v; no_rank for v = 0
//   s.child_count(v, n)  -> rank_t   how many children v has
//   s.child(v, n, i)     -> rank_t   the i-th child *in send order*: the first sent first
//   s.check()            -> status   ok, or invalid_argument naming the parameter that is out of range
//   s == t               -> bool     the same rule: plans over equal shapes are made once and used again
// Optional: s.rank_ordered() -> bool, a claim (bough/tree/tree.hpp); s.text() -> label, how it is written.
// A *tree* is a shape bound to a size and a root (or an explicit table), on true ranks:
//   t.size()  t.root()  t.parent(r)  t.child_count(r)  t.child(r, i)
// Laws (bough/testing/tree_laws.hpp): child and parent are inverse, every rank reaches the root, no child twice.
// A reduction receives from the children in the reverse of the send order.
#ifndef BOUGH_CONCEPTS_TREE_HPP
#define BOUGH_CONCEPTS_TREE_HPP

#include <bough/concepts/copyable.hpp>
#include <bough/concepts/members.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <concepts>

namespace bough::inline BOUGH_ABI {

namespace detail {
// What a TreeShape and a Tree need, by name; explain_tree_shape and explain_tree use the same names.
template <class S>
concept ShapeHasParent = requires(const S& shape, rank_t v, rank_t n) {
    { shape.parent(v, n) } -> std::same_as<rank_t>;
};
template <class S>
concept ShapeHasChildCount = requires(const S& shape, rank_t v, rank_t n) {
    { shape.child_count(v, n) } -> std::same_as<rank_t>;
};
template <class S>
concept ShapeHasChild = requires(const S& shape, rank_t v, rank_t n, rank_t i) {
    { shape.child(v, n, i) } -> std::same_as<rank_t>;
};
template <class S>
concept ShapeHasCheck = requires(const S& shape) {
    { shape.check() } -> std::same_as<status>;
};
template <class T>
concept HasParent = requires(const T& tree, rank_t r) {
    { tree.parent(r) } -> std::same_as<rank_t>;
};
template <class T>
concept HasChildCount = requires(const T& tree, rank_t r) {
    { tree.child_count(r) } -> std::same_as<rank_t>;
};
template <class T>
concept HasChild = requires(const T& tree, rank_t r, rank_t i) {
    { tree.child(r, i) } -> std::same_as<rank_t>;
};
} // namespace detail

template <class S>
concept TreeShape = detail::Copyable<S> && detail::Comparable<S> && detail::ShapeHasParent<S> &&
    detail::ShapeHasChildCount<S> && detail::ShapeHasChild<S> && detail::ShapeHasCheck<S>;

template <class T>
concept Tree =
    detail::HasSize<T> && detail::HasRoot<T> && detail::HasParent<T> && detail::HasChildCount<T> && detail::HasChild<T>;

} // namespace bough

#endif
