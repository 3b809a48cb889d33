// SPDX-License-Identifier: BSL-1.0
// interval_table: a table that keeps rank order, as a tree source: reductions over it serve ops
// that do not commute.
//
//   reduce(comm, data, op, root{3}, interval_table{interval_tree(costs, 3)})
// A table alone does not say whether its subtrees are intervals, so a front door takes it for
// commutative ops only. This type checks that once, when it is made; check() names the fault of a
// table that does not keep rank order.
#ifndef BOUGH_ALGORITHM_INTERVAL_TABLE_HPP
#define BOUGH_ALGORITHM_INTERVAL_TABLE_HPP

#include <bough/algorithm/tree_source.hpp>
#include <bough/tree/interval.hpp>
#include <bough/tree/table.hpp>

#include <utility>

namespace bough::inline BOUGH_ABI {

class interval_table {
public:
    constexpr explicit interval_table(table tree) : tree_(std::move(tree)) {
        ordered_ = !tree_.check() && is_interval_tree(tree_);
    }
    constexpr const table& tree() const noexcept { return tree_; }
    constexpr bool keeps_rank_order() const noexcept { return ordered_; }
    friend constexpr bool operator==(const interval_table&, const interval_table&) = default;

private:
    table tree_;
    bool ordered_ = false;
};

// What makes an interval_table a tree source; algorithms call these.
constexpr const table& bind_tree(const interval_table& source, const dimensions&) noexcept { return source.tree(); }
constexpr status check_tree(const interval_table& source, const dimensions& at) {
    if (const status bad = check_tree(source.tree(), at)) return bad;
    return source.keeps_rank_order()
               ? status{}
               : invalid_argument("table: its subtrees are not intervals of ranks: no rank order");
}
constexpr bool tree_keeps_rank_order(const interval_table& source, const dimensions&) {
    return source.keeps_rank_order();
}

static_assert(TreeSource<interval_table>);

} // namespace bough

#endif
