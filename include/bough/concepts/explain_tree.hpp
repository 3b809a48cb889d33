// SPDX-License-Identifier: BSL-1.0
// explain_tree_shape, explain_tree: what a type lacks to be a TreeShape or a Tree, in a sentence.
//
//   static_assert(bough::explain_tree_shape<my_shape>());      // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_TREE_HPP
#define BOUGH_CONCEPTS_EXPLAIN_TREE_HPP

#include <bough/concepts/tree.hpp>

#include <concepts>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_tree = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class S>
consteval bool explain_tree_shape() {
    if constexpr (!detail::Copyable<S>)
        static_assert(detail::no_tree<S>,
                      "bough: a TreeShape needs to be copyable: it is a small value, make its members values");
    if constexpr (!detail::Comparable<S>)
        static_assert(detail::no_tree<S>,
                      "bough: a TreeShape needs ==, by which plans over it are found again: add `friend constexpr bool "
                      "operator==(const S&, const S&) = default;` with its name for S");
    if constexpr (!detail::ShapeHasParent<S>)
        static_assert(
            detail::no_tree<S>,
            "bough: a TreeShape needs `rank_t parent(rank_t v, rank_t n) const`: the parent of v, no_rank for v = 0");
    if constexpr (!detail::ShapeHasChildCount<S>)
        static_assert(
            detail::no_tree<S>,
            "bough: a TreeShape needs `rank_t child_count(rank_t v, rank_t n) const`: how many children v has");
    if constexpr (!detail::ShapeHasChild<S>)
        static_assert(detail::no_tree<S>, "bough: a TreeShape needs `rank_t child(rank_t v, rank_t n, rank_t i) "
                                          "const`: the i-th child of v in send order");
    if constexpr (!detail::ShapeHasCheck<S>)
        static_assert(
            detail::no_tree<S>,
            "bough: a TreeShape needs `status check() const`: ok, or invalid_argument(\"parameter: what it must be\")");
    // An optional member with another signature would be ignored without a word.
    constexpr bool ordered = requires(const S& s) {
        { s.rank_ordered() } -> std::same_as<bool>;
    };
    if constexpr (!ordered && requires { &S::rank_ordered; })
        static_assert(detail::no_tree<S>,
                      "bough: a TreeShape's rank_ordered, if it has one, is `bool rank_ordered() const`");
    if constexpr (
        !requires(const S& s) { s.expects(); } && requires { &S::expects; })
        static_assert(detail::no_tree<S>, "bough: a TreeShape's expects, if it has one, is `void expects() const`");
    return TreeShape<S>;
}

template <class T>
consteval bool explain_tree() {
    if constexpr (!detail::HasSize<T>)
        static_assert(detail::no_tree<T>, "bough: a Tree needs `rank_t size() const`: how many ranks it spans");
    if constexpr (!detail::HasRoot<T>)
        static_assert(detail::no_tree<T>, "bough: a Tree needs `rank_t root() const`: the rank without a parent");
    if constexpr (!detail::HasParent<T>)
        static_assert(detail::no_tree<T>,
                      "bough: a Tree needs `rank_t parent(rank_t r) const`: the parent of r, no_rank for the root");
    if constexpr (!detail::HasChildCount<T>)
        static_assert(detail::no_tree<T>,
                      "bough: a Tree needs `rank_t child_count(rank_t r) const`: how many children r has");
    if constexpr (!detail::HasChild<T>)
        static_assert(
            detail::no_tree<T>,
            "bough: a Tree needs `rank_t child(rank_t r, rank_t i) const`: the i-th child of r in send order");
    return Tree<T>;
}

} // namespace bough

#endif
