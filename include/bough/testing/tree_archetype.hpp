// SPDX-License-Identifier: BSL-1.0
// The TreeShape and the Tree with the least rights: code that compiles with them asks for nothing
// but the concept.
//
// The shape is flat. Neither can be default-constructed, printed or asked about rank order. The
// tree cannot be compared or copied either.
#ifndef BOUGH_TESTING_TREE_ARCHETYPE_HPP
#define BOUGH_TESTING_TREE_ARCHETYPE_HPP

#include <bough/concepts/tree.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

namespace bough::inline BOUGH_ABI::testing {

// The argument of an archetype's constructor, since it has no default constructor.
struct make_archetype {};

// The least TreeShape: every rank but 0 is a child of 0.
class tree_shape_archetype {
public:
    constexpr explicit tree_shape_archetype(make_archetype) noexcept {}

    constexpr rank_t parent(rank_t v, rank_t) const { return v == 0 ? no_rank : 0; }
    constexpr rank_t child_count(rank_t v, rank_t n) const { return v == 0 ? n - 1 : 0; }
    constexpr rank_t child(rank_t, rank_t, rank_t i) const { return i + 1; }
    constexpr status check() const { return {}; }
    friend constexpr bool operator==(const tree_shape_archetype&, const tree_shape_archetype&) { return true; }

    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;
};

class tree_archetype {
public:
    constexpr tree_archetype(make_archetype, rank_t size) noexcept : size_(size) {}
    tree_archetype(const tree_archetype&) = delete;
    tree_archetype& operator=(const tree_archetype&) = delete;

    constexpr rank_t size() const { return size_; }
    constexpr rank_t root() const { return 0; }
    constexpr rank_t parent(rank_t r) const { return r == 0 ? no_rank : 0; }
    constexpr rank_t child_count(rank_t r) const { return r == 0 ? size_ - 1 : 0; }
    constexpr rank_t child(rank_t, rank_t i) const { return i + 1; }

    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

private:
    rank_t size_;
};

static_assert(TreeShape<tree_shape_archetype> && Tree<tree_archetype>);

} // namespace bough::testing

#endif
