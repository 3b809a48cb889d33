// SPDX-License-Identifier: BSL-1.0
// Collectives over trees made from costs: proved, priced by the walk, chosen, and run.
#include "tree/heterogeneous.hpp"

#include "proof.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/allreduce/up_down.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/interval_table.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/model/walk.hpp>
#include <bough/select/choose.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/interval.hpp>
#include <bough/tree/optimal.hpp>
#include <bough/tree/reduction.hpp>
#include <bough/tree/spoc.hpp>
#include <bough/verify/verify_claims.hpp>

using namespace bough;
using test::cost_source;

namespace {

constexpr std::vector<int> costs_of(rank_t size) {
    std::vector<int> costs;
    for (rank_t r = 0; r != size; ++r) costs.push_back(static_cast<int>(1 + (5 * r + 3) % 7));
    return costs;
}
constexpr auto up_down_of = [](rank_t size) {
    const auto costs = costs_of(size);
    return plan_allreduce(up_down_allreduce{spoc_tree(std::span(costs)), fnf_tree(std::span(costs))}, {.size = size});
};
constexpr auto ordered_of = [](rank_t size) {
    const auto costs = costs_of(size);
    return plan_reduce(interval_table{interval_tree(std::span(costs), size / 2)}, {.size = size, .root = size / 2});
};
static_assert(test::proven_everywhere<up_down_of>());
static_assert(test::proven_everywhere<ordered_of>());

std::vector<model::cost_per_size> sized(const std::vector<int>& costs) {
    std::vector<model::cost_per_size> list;
    for (const int c : costs) list.push_back({static_cast<double>(c), 0});
    return list;
}

} // namespace

TEST_CASE("a reduction takes what its broadcast takes backwards: the walk of its steps") {
    cost_source random(91);
    for (int i = 0; i != (bough_test::all() ? 400 : 60); ++i) {
        const rank_t n = 1 + random.below(30), root = random.below(n);
        const auto send = random.costs(n, 0, 9), receive = random.costs(n, 0, 9), combine = random.costs(n, 0, 9);
        const reduction_costs<int> costs{.send = send, .receive = receive, .combine = combine, .latency = i % 5};
        const mirrored_costs backwards(costs);
        const model::heterogeneous model{sized(send), sized(receive), sized(combine), static_cast<double>(i % 5)};
        for (const table& t : {spoc_tree(backwards.costs(), root), fnf_tree(backwards.costs(), root),
                               interval_tree(backwards.costs(), root)}) {
            CAPTURE(n, root, i);
            const auto plan = plan_reduce(t, {.size = n, .root = root});
            CHECK(model::walk(plan, model, 8).root_finish_ns == static_cast<double>(reduction_time(t, costs)));
        }
        // And there and back.
        const tree_costs<int> down{.send = send, .receive = receive, .latency = i % 5};
        const up_down_allreduce both{fnf_tree(backwards.costs(), root), fnf_tree(down, root)};
        const auto all = model::walk(plan_allreduce(both, {.size = n, .root = root}), model, 8).makespan_ns;
        CHECK(all == static_cast<double>(reduction_time(both.up, costs) + broadcast_time(both.down, down)));
    }
}

TEST_CASE("up_down_allreduce and interval_table prove what they claim, for any size and root") {
    for (rank_t n = 1; n <= 20; ++n)
        for (const rank_t root : {0u, n / 2, n - 1}) {
            CAPTURE(n, root);
            const auto list = costs_of(n);
            const std::span costs(list);
            const interval_table ordered{interval_tree(costs, root)};
            const dimensions at{.size = n, .root = root, .blocks = 1 + n % 3};
            const auto reduced = plan_reduce(ordered, at);
            CHECK(verify(reduced));
            CHECK(verify(reduced).traits.needs_commutative == false);
            CHECK(keeps_rank_order(reduced.algorithm(), at));
            CHECK(verify(plan_allreduce(up_down_allreduce{ordered, fnf_tree(costs, root)}, at)));
            CHECK(verify(plan_allreduce(up_down_allreduce{ordered, fnf_tree(costs, root)}, at)).traits.rank_consistent);
        }
    const auto list = costs_of(9);
    const interval_table wrong{fnf_tree(std::span(list))};
    CHECK(!wrong.keeps_rank_order());
    CHECK(check_tree(wrong, {.size = 9}).argument ==
          std::string("table: its subtrees are not intervals of ranks: no rank order"));
    CHECK(check_tree(interval_table{interval_tree(std::span(list), 2)}, {.size = 9, .root = 1}));
}

TEST_CASE("choose prices trees of costs by a heterogeneous model, and takes the faster one") {
    const std::vector<int> list(std::begin(test::figure_1), std::end(test::figure_1));
    const model::heterogeneous model{sized(list), {}, {}, 0, 0};
    const dimensions at{.size = 8};
    const auto naive = plan_broadcast(binomial{}, at);
    const auto fnf = plan_broadcast(fnf_tree(std::span(list)), at);
    CHECK(model::walk(naive, model, 8).makespan_ns == 700);
    CHECK(model::walk(plan_broadcast(spoc_tree(std::span(list)), at), model, 8).makespan_ns == 500);
    CHECK(model::walk(fnf, model, 8).makespan_ns == 400);
    CHECK(choose(model, {.bytes = 8}, naive, fnf).winner == 1);
    CHECK(choose(model, {.bytes = 8}, fnf, naive).winner == 0);
    candidate_list from = candidates<goal::broadcast>(tree_broadcast{binomial{}});
    from.add(tree_broadcast{spoc_tree(std::span(list))}).add(tree_broadcast{fnf_tree(std::span(list))});
    CHECK(choose(from, at, {.bytes = 8}, model::heterogeneous_view{&model}).winner().predicted_ns == 400);
}
