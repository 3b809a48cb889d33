// SPDX-License-Identifier: BSL-1.0
// explain_tree_shape, explain_tree: what a type lacks to be a TreeShape or a Tree, in a sentence.
//
//   static_assert(bough::explain_tree_shape<my_shape>());      // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_TREE_HPP
#define BOUGH_CONCEPTS_EXPLAIN_TREE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <concepts>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_tree = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class S>
consteval bool explain_tree_shape() {
    constexpr bool copies = detail::Copyable<S>;
    constexpr bool compares = detail::Comparable<S>;
    constexpr bool parent = requires(const S& s, rank_t v) {
        { s.parent(v, v) } -> std::same_as<rank_t>;
    };
    constexpr bool child_count = requires(const S& s, rank_t v) {
        { s.child_count(v, v) } -> std::same_as<rank_t>;
    };
    constexpr bool child = requires(const S& s, rank_t v) {
        { s.child(v, v, v) } -> std::same_as<rank_t>;
    };
    constexpr bool check = requires(const S& s) {
        { s.check() } -> std::same_as<status>;
    };
    if constexpr (!copies)
        static_assert(detail::no_tree<S>,
                      "bough: a TreeShape needs to be copyable: it is a small value, make its members values");
    if constexpr (!compares)
        static_assert(detail::no_tree<S>,
                      "bough: a TreeShape needs ==, by which plans over it are found again: add `friend constexpr bool "
                      "operator==(const S&, const S&) = default;` with its name for S");
    if constexpr (!parent)
        static_assert(
            detail::no_tree<S>,
            "bough: a TreeShape needs `rank_t parent(rank_t v, rank_t n) const`: the parent of v, no_rank for v = 0");
    if constexpr (!child_count)
        static_assert(
            detail::no_tree<S>,
            "bough: a TreeShape needs `rank_t child_count(rank_t v, rank_t n) const`: how many children v has");
    if constexpr (!child)
        static_assert(detail::no_tree<S>, "bough: a TreeShape needs `rank_t child(rank_t v, rank_t n, rank_t i) "
                                          "const`: the i-th child of v in send order");
    if constexpr (!check)
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
    constexpr bool size = requires(const T& t) {
        { t.size() } -> std::same_as<rank_t>;
    };
    constexpr bool root = requires(const T& t) {
        { t.root() } -> std::same_as<rank_t>;
    };
    constexpr bool parent = requires(const T& t, rank_t r) {
        { t.parent(r) } -> std::same_as<rank_t>;
    };
    constexpr bool child_count = requires(const T& t, rank_t r) {
        { t.child_count(r) } -> std::same_as<rank_t>;
    };
    constexpr bool child = requires(const T& t, rank_t r) {
        { t.child(r, r) } -> std::same_as<rank_t>;
    };
    if constexpr (!size)
        static_assert(detail::no_tree<T>, "bough: a Tree needs `rank_t size() const`: how many ranks it spans");
    if constexpr (!root)
        static_assert(detail::no_tree<T>, "bough: a Tree needs `rank_t root() const`: the rank without a parent");
    if constexpr (!parent)
        static_assert(detail::no_tree<T>,
                      "bough: a Tree needs `rank_t parent(rank_t r) const`: the parent of r, no_rank for the root");
    if constexpr (!child_count)
        static_assert(detail::no_tree<T>,
                      "bough: a Tree needs `rank_t child_count(rank_t r) const`: how many children r has");
    if constexpr (!child)
        static_assert(
            detail::no_tree<T>,
            "bough: a Tree needs `rank_t child(rank_t r, rank_t i) const`: the i-th child of r in send order");
    return Tree<T>;
}

} // namespace bough

#endif
