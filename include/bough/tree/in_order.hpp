// SPDX-License-Identifier: BSL-1.0
// in_order: a shape bound to a size and *any* root such that a reduction keeps true rank order.
//
// The ranks root .. size-1 form the shape to the right of the root, the ranks root .. 0, mirrored,
// form it once more to the left. The two halves share the root. Every subtree is a contiguous
// interval; to the right of the root a rank is the lowest of its interval, to the left the highest.
//
//   in_order{binomial{}, 7, 3}, in receive order     3(2 4 1(0) 5(6))
//       left  3 <- 2, 3 <- 1 <- 0          right  3 <- 4, 3 <- 5 <- 6
// A reduction over it starts with its own value and takes the children in receive order: with
// lower_side(parent, child) it combines op(child, own), else op(own, child). Each child is then
// adjacent to what has been combined already.
//
// Send order of the root: first the children that only the side with more of them has, then right
// and left in turn. In both halves the largest subtrees go first, as in the shape. Other ranks keep
// the shape's order.
// Cost: that of the shape. The depth is never above that of the relabelled tree; the root may have
// more children.
#ifndef BOUGH_TREE_IN_ORDER_HPP
#define BOUGH_TREE_IN_ORDER_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/tree.hpp>

namespace bough::inline BOUGH_ABI {

template <TreeShape Shape>
class in_order {
public:
    constexpr in_order(Shape shape, rank_t size, rank_t root = 0) noexcept : shape_(shape), size_(size), root_(root) {
        detail::expect_valid_shape(shape_);
        BOUGH_EXPECTS(is_rank_ordered(shape_), "shape: in_order needs a shape that is rank_ordered()");
        BOUGH_EXPECTS(size >= 1 && size != no_rank, "size: a tree needs between 1 and 2^32 - 2 ranks");
        BOUGH_EXPECTS(root < size, "root: the root of a tree must be one of its ranks, so below size");
    }

    constexpr rank_t size() const noexcept { return size_; }
    constexpr rank_t root() const noexcept { return root_; }
    constexpr const Shape& shape() const noexcept { return shape_; }

    // Pre, here and below: r < size(), i < child_count(r).
    constexpr rank_t parent(rank_t r) const noexcept {
        if (r == root_) return no_rank;
        const half h = half_of(r);
        return h.rank(shape_.parent(h.virtual_rank(r), h.size));
    }

    constexpr rank_t child_count(rank_t r) const noexcept {
        if (r == root_) return count(left()) + count(right());
        const half h = half_of(r);
        return shape_.child_count(h.virtual_rank(r), h.size);
    }

    // The i-th child in send order.
    constexpr rank_t child(rank_t r, rank_t i) const noexcept {
        if (r == root_) return child_of_root(i);
        const half h = half_of(r);
        return h.rank(shape_.child(h.virtual_rank(r), h.size, i));
    }

    // Do the ranks of child's subtree come before those of parent? Pre: parent(child) == parent.
    constexpr bool lower_side(rank_t parent, rank_t child) const noexcept { return child < parent; }

    // Own value first, then the children in receive order, always as the upper operand: rank order
    // if nobody is below.
    constexpr bool rank_ordered() const noexcept { return root_ == 0; }

    friend constexpr bool operator==(const in_order&, const in_order&) = default;

private:
    // One side of the root, the root included: virtual ranks count away from the root.
    struct half {
        rank_t root;
        rank_t size;
        bool lower;
        constexpr rank_t virtual_rank(rank_t r) const noexcept { return lower ? root - r : r - root; }
        constexpr rank_t rank(rank_t v) const noexcept { return lower ? root - v : root + v; }
    };
    constexpr half left() const noexcept { return {root_, root_ + 1, true}; }
    constexpr half right() const noexcept { return {root_, size_ - root_, false}; }
    constexpr half half_of(rank_t r) const noexcept { return r < root_ ? left() : right(); }
    constexpr rank_t count(const half& h) const noexcept { return shape_.child_count(0, h.size); }

    constexpr rank_t child_of_root(rank_t i) const noexcept {
        const rank_t lower = count(left());
        const rank_t upper = count(right());
        const rank_t both = lower < upper ? lower : upper;
        const rank_t extra = lower + upper - 2 * both;
        if (i < extra) { // only the larger side has so many
            const half h = lower > upper ? left() : right();
            return h.rank(shape_.child(0, h.size, i));
        }
        const half h = (i - extra) % 2 == 0 ? right() : left();
        const rank_t skip = (lower > upper) == h.lower ? extra : 0; // what the larger side has sent before
        return h.rank(shape_.child(0, h.size, skip + (i - extra) / 2));
    }

    Shape shape_;
    rank_t size_;
    rank_t root_;
};

} // namespace bough

#endif
