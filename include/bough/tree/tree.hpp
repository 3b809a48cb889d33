// SPDX-License-Identifier: BSL-1.0
// tree: a shape bound to a size and a root, on true ranks.
//
//   bough::tree{bough::fnomial{.degree = 3}, 9}                      root 0
//   bough::tree{bough::binomial{}, size, root}                       any root
// Another root than 0 relabels the ranks cyclically: virtual rank v is rank (v + root) mod size.
// That keeps the tree equally good for every root, but not its rank order: see in_order.hpp for the
// tree that keeps it.
#ifndef BOUGH_TREE_TREE_HPP
#define BOUGH_TREE_TREE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>

namespace bough::inline BOUGH_ABI {

// Does combining the own value and then the children in receive order keep rank order? Only a shape
// knows, so the answer is no unless the shape has a member rank_ordered() that says yes.
template <TreeShape Shape>
constexpr bool is_rank_ordered(const Shape& shape) noexcept {
    if constexpr (requires { shape.rank_ordered(); })
        return shape.rank_ordered();
    else
        return false;
}

namespace detail {

// A contract on the parameters of a shape. A shape's own expects() shows its sentence where the
// compiler stops.
template <TreeShape Shape>
constexpr void expect_valid_shape(const Shape& shape) noexcept {
    if constexpr (requires { shape.expects(); }) shape.expects();
    const status checked = shape.check();
    const char* const sentence = checked.argument ? checked.argument : "shape: its check() reports an error";
    BOUGH_EXPECTS(!checked, sentence);
}

} // namespace detail

template <TreeShape Shape>
class tree {
public:
    constexpr tree(Shape shape, rank_t size, rank_t root = 0) noexcept : shape_(shape), size_(size), root_(root) {
        detail::expect_valid_shape(shape_);
        BOUGH_EXPECTS(size >= 1 && size != no_rank, "size: a tree needs between 1 and 2^32 - 2 ranks");
        BOUGH_EXPECTS(root < size, "root: the root of a tree must be one of its ranks, so below size");
    }

    constexpr rank_t size() const noexcept { return size_; }
    constexpr rank_t root() const noexcept { return root_; }
    constexpr const Shape& shape() const noexcept { return shape_; }

    // Pre, here and below: r < size(), i < child_count(r).
    constexpr rank_t parent(rank_t r) const noexcept {
        const rank_t v = shape_.parent(virtual_rank(r), size_);
        return v == no_rank ? no_rank : true_rank(v);
    }
    constexpr rank_t child_count(rank_t r) const noexcept { return shape_.child_count(virtual_rank(r), size_); }
    // The i-th child in send order.
    constexpr rank_t child(rank_t r, rank_t i) const noexcept {
        return true_rank(shape_.child(virtual_rank(r), size_, i));
    }

    // Own value first, then the children in receive order: is that rank order? Never with a
    // relabelled root.
    constexpr bool rank_ordered() const noexcept { return root_ == 0 && is_rank_ordered(shape_); }

    friend constexpr bool operator==(const tree&, const tree&) = default;

private:
    constexpr rank_t virtual_rank(rank_t r) const noexcept { return to_virtual(r, root_, size_); }
    constexpr rank_t true_rank(rank_t v) const noexcept { return from_virtual(v, root_, size_); }

    Shape shape_;
    rank_t size_;
    rank_t root_;
};

} // namespace bough

#endif
