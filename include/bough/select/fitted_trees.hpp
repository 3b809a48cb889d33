// SPDX-License-Identifier: BSL-1.0
// Adds trees that are made for the model and the ranks to the candidates: postal_tree for the
// model's latency and gap, arrival_tree for ranks that come at different times.
//
//   auto from = standard_candidates<goal::reduce>(at, what);
//   add_fitted_trees(from, at, what, network);                    reduce and broadcast: postal_tree
//   add_fitted_trees(from, at, what, network, arrivals_ns);       reduce: arrival_tree too
//   choose(from, at, what, model::arriving{network, arrivals_ns})
//
// The latency L and the gap g are those of one whole message between ranks 0 and 1. In a reduction
// g is what the message costs the rank that takes it in and combines it; in a broadcast, what it
// costs the rank that sends it. The trees are tables for this size and root, with a name:
// tree_reduce{table "postal"}, tree_reduce{table "arrival"}.
//
// Rank order  postal_tree keeps it if its subtrees are intervals (is_interval_tree): with root 0.
// Then a
//             choice that needs rank order can take it. There is no arrival tree in rank order:
//             arrival_tree puts the latest rank near the root, whatever its number. For any root,
//             and for costs that differ by rank, see bough/tree/interval.hpp
// A pure function of its arguments, on which all ranks must agree. Time O(p log p), and at most 60
// times that with arrivals.
// Pre: at.size >= 2; arrivals_ns is empty or has a time for each rank; the list is of the goal.
#ifndef BOUGH_SELECT_FITTED_TREES_HPP
#define BOUGH_SELECT_FITTED_TREES_HPP

#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/interval_table.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/tree/arrival.hpp>
#include <bough/tree/postal.hpp>

#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI {

// A tree table with the name of its builder, as a tree source. It is in rank order if its subtrees
// are intervals.
class fitted_table {
public:
    // `by` is the name of the builder, such as "postal".
    constexpr fitted_table(const char* by, table tree)
        : text_(label("table \"").append(by).append("\"")), tree_(std::move(tree)) {}
    constexpr const table& tree() const noexcept { return tree_.tree(); }
    constexpr bool keeps_rank_order() const noexcept { return tree_.keeps_rank_order(); }
    constexpr label text() const { return text_; }
    friend constexpr bool operator==(const fitted_table&, const fitted_table&) = default;

private:
    label text_;
    interval_table tree_;
};

// What makes a fitted_table a tree source; algorithms call these.
constexpr const table& bind_tree(const fitted_table& source, const dimensions&) noexcept { return source.tree(); }
constexpr status check_tree(const fitted_table& source, const dimensions& at) { return check_tree(source.tree(), at); }
constexpr bool tree_keeps_rank_order(const fitted_table& source, const dimensions&) {
    return source.keeps_rank_order();
}
// The name does not tell two tables apart, so there is no bracket class.
constexpr bracket_class tree_bracket(const fitted_table&, const dimensions&) { return {}; }

static_assert(TreeSource<fitted_table>);

template <CostModel M>
void add_fitted_trees(candidate_list& made, const dimensions& at, const problem& what, const M& model,
                      std::span<const std::uint64_t> arrivals_ns = {}) {
    BOUGH_EXPECTS(made.kind == goal::reduce::kind || made.kind == goal::broadcast::kind,
                  "add_fitted_trees: for reduce and broadcast");
    BOUGH_EXPECTS(arrivals_ns.empty() || arrivals_ns.size() == at.size, "arrivals: one time for each rank");
    double out_ns = model.send_ns(0, 1, what.bytes), in_ns = model.receive_ns(0, 1, what.bytes);
    const double way_ns = model.latency_ns(0, 1, what.bytes);
    const bool reduces = made.kind == goal::reduce::kind;
    if (reduces) in_ns += model.combine_ns(0, what.bytes);
    if constexpr (PortedCostModel<M>) (reduces ? in_ns : out_ns) += model.port_ns(0, 1, what.bytes, false);
    const double latency_ns = way_ns + (reduces ? out_ns : in_ns), gap_ns = reduces ? in_ns : out_ns;
    if (latency_ns + gap_ns <= 0) return; // all trees are alike
    const fitted_table postal("postal", postal_tree(at.size, latency_ns, gap_ns, at.root));
    if (!reduces) {
        made.add(tree_broadcast{postal});
        return;
    }
    made.add(tree_reduce{postal});
    if (arrivals_ns.empty()) return;
    const auto whole = [](double ns) {
        return static_cast<std::uint64_t>(ns) + 1;
    }; // rounded up: the tree is sure to fit
    made.add(
        tree_reduce{fitted_table("arrival", arrival_tree(arrivals_ns, whole(latency_ns), whole(gap_ns), at.root))});
}

} // namespace bough

#endif
