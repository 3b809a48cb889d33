// SPDX-License-Identifier: BSL-1.0
// Compiled alone, optimised
// Where the ranks of one node stand for all, the walk finds what it finds of all ranks.
#include "everything.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/model/two_level.hpp>
#include <bough/select/alike_ranks.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/two_levels.hpp>
#include <bough/transport/measured_costs.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace bough;

namespace {

const model::loggops near_costs = detail::shared_memory_costs.model;
const model::loggops far_costs = detail::tcp_costs.model;
constexpr model::alpha_beta_gamma near_ports{.alpha_ns = 300, .beta_ns_per_byte = 0.05, .gamma_ns_per_byte = 0.01};
constexpr model::alpha_beta_gamma far_ports{.alpha_ns = 5000, .beta_ns_per_byte = 0.1, .gamma_ns_per_byte = 0.01};

// Nodes of neighbours, or dealt to them in turn.
std::vector<rank_t> blocks_of(rank_t size, rank_t each) {
    std::vector<rank_t> node;
    for (rank_t r = 0; r != size; ++r) node.push_back(r / each);
    return node;
}
std::vector<rank_t> dealt_to(rank_t size, rank_t nodes) {
    std::vector<rank_t> node;
    for (rank_t r = 0; r != size; ++r) node.push_back(r % nodes);
    return node;
}

struct counts {
    std::size_t folded = 0, fewer = 0;
};

template <class Near, class Far>
void compare(counts& found, const std::vector<rank_t>& node, const Near& near, const Far& far, rank_t cores = no_rank) {
    const auto size = static_cast<rank_t>(node.size());
    const auto levels = make_two_levels(listed_groups(node), near, far);
    const any_cost_model costs = levels->costs();
    test::for_each_goal({.size = size}, [&]<class Goal>(Goal, candidate_list all) {
        // Blocks of one length, as ranks that do alike have.
        const problem what{.bytes = std::uint64_t{size} * size * 64, .cores = cores};
        levels->add(all, {.size = size}, what);
        detail::alike_ranks<0> alike(costs, size, what);
        for (const candidate& c : all.list) {
            const dimensions at = test::with_blocks(c, {.size = size});
            if (c.algorithm.check(at) || what.bytes % at.blocks != 0) continue;
            const model::folded_ranks* const fold = alike.of(c.algorithm, at);
            if (fold == nullptr) continue;
            const plan_ref plan(c.algorithm, at);
            const walked_price full = costs.walk(plan, what, {}), folded = costs.walk(plan, what, {fold});
            INFO(c.text().c_str() << " over " << size << " ranks, first nodes " << node[0] << node[1] << node[2]
                                  << ", visited " << fold->members() << ", kind " << int{Goal::kind});
            // Up to a combine that is cut in two.
            if (Goal::combines)
                CHECK(folded.ns == Approx(full.ns).epsilon(0.03));
            else
                CHECK(folded.ns == Approx(full.ns).epsilon(1e-12));
            CHECK(folded.steps <= full.steps / fold->groups() * 5 / 4 + 8);
            ++found.folded;
            found.fewer += fold->members() * 2 <= size;
        }
    });
}

} // namespace

TEST_CASE("alike ranks: one node's walk is that of all", "[select][alike_ranks]") {
    counts found;
    for (const std::vector<rank_t>& node : {blocks_of(16, 4), blocks_of(12, 3), blocks_of(24, 8), blocks_of(32, 8),
                                            dealt_to(12, 4), dealt_to(16, 4), dealt_to(15, 5)}) {
        compare(found, node, near_costs, far_costs);
        compare(found, node, near_costs, far_costs, 4);
        compare(found, node, near_ports, far_ports);
        compare(found, node, model::rendezvous{near_costs, 4096}, model::rendezvous{far_costs, 512});
        compare(found, node, near_ports, model::rendezvous{far_ports, 512});
    }
    CAPTURE(found.folded, found.fewer);
    CHECK(found.folded > 500);
    CHECK(found.fewer == found.folded);
}

TEST_CASE("alike ranks: which ones", "[select][alike_ranks]") {
    const auto visited = [](const std::vector<rank_t>& node, const any_algorithm& a, const problem& what = {}) {
        const auto size = static_cast<rank_t>(node.size());
        const model::two_level costs{near_costs, far_costs, node.data()};
        detail::alike_ranks<0> alike(costs, size, what);
        const model::folded_ranks* const found = alike.of(a, {.size = size, .blocks = a.natural_blocks(size)});
        return found == nullptr ? size : found->members();
    };
    CHECK(visited(blocks_of(15, 5), pairwise_alltoall{}) == 5);
    CHECK(visited(blocks_of(16, 4), pairwise_alltoall{}) == 1); // by exclusive or, any rank is like any other
    CHECK(visited(blocks_of(16, 4), bruck_alltoall{}) == 4);
    CHECK(visited(dealt_to(15, 5), bruck_alltoall{}) == 1);
    CHECK(visited(blocks_of(16, 5), bruck_alltoall{}) == 16);              // nodes of 5, 5, 5 and 1
    CHECK(visited({0, 1, 1, 0, 0, 1, 1, 0}, bruck_alltoall{}) == 2);       // the nodes change places
    CHECK(visited({0, 0, 1, 0, 1, 1, 2, 2, 2}, bruck_alltoall{}) == 9);    // no order in them
    CHECK(visited(blocks_of(15, 5), recursive_doubling{}) == 15);          // does not claim it
    CHECK(visited(blocks_of(16, 4), bruck_alltoall{}, {.late = 3}) == 16); // one rank is not like the others
    const std::vector<rank_t> node = blocks_of(12, 4), odd = blocks_of(12, 5);
    CHECK(visited(node, grouped_alltoall{listed_groups(node)}) == 4);
    CHECK(visited(node, grouped_alltoall{contiguous_groups{2}}) ==
          12); // two groups of 2 on a node: moves tear it apart
    CHECK(visited(odd, grouped_alltoall{listed_groups(odd)}) == 12);
    const std::vector<std::uint64_t> times(12, 0);
    // Costs of which it is not known what tells pairs apart.
    const any_cost_model shifted = model::arriving{model::two_level{near_costs, far_costs, node.data()}, times};
    CHECK(shifted.groups_of_ranks() == nullptr);
    CHECK(any_cost_model(far_costs).groups_of_ranks() == nullptr);
}

TEST_CASE("alike ranks: a walk ends when it cannot win any more", "[select][alike_ranks]") {
    const any_cost_model costs = far_costs;
    const any_algorithm flat = pairwise_alltoall{};
    const dimensions at{.size = 33, .blocks = 33 * 33};
    const problem what{.bytes = 33 * 33 * 8};
    const walked_price all = costs.walk(plan_ref(flat, at), what, {});
    CHECK_FALSE(all.is_over);
    CHECK(all.ns == costs.price_ns(plan_ref(flat, at), what));
    const walked_price same = costs.walk(plan_ref(flat, at), what, {.enough_ns = all.ns});
    CHECK((!same.is_over && same.ns == all.ns && same.steps == all.steps));
    const walked_price part = costs.walk(plan_ref(flat, at), what, {.enough_ns = all.ns / 4});
    CHECK((part.is_over && part.ns > all.ns / 4 && part.ns <= all.ns && part.steps < all.steps));
}

TEST_CASE("alike ranks: groups of any ranks are asked only for moves that there are", "[select][alike_ranks]") {
    std::minstd_rand random(1);
    for (int i = 0; i != 20'000; ++i) {
        const auto size = static_cast<rank_t>(5 + random() % 20);
        std::vector<rank_t> node(size);
        for (rank_t r = 0; r != size; ++r)
            node[r] = i % 2 == 0 ? static_cast<rank_t>(random() % size) : (r ^ 3u) < size ? r ^ 3u : r;
        const model::two_level costs{near_costs, far_costs, node.data()};
        detail::alike_ranks<0> alike(costs, size, {});
        const any_algorithm a = pairwise_alltoall{};
        const model::folded_ranks* const found = alike.of(a, {.size = size, .blocks = a.natural_blocks(size)});
        if (found != nullptr && size % found->members() != 0) FAIL(size << " ranks, " << found->members());
    }
}
