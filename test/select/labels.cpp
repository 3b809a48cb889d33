// SPDX-License-Identifier: BSL-1.0
// Labels: unequal algorithms of one collective have unequal ones, since decision tables know them by their labels.
#include "everything.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/composed.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/ring.hpp>

#include <string>

using namespace bough;

// An allreduce of both halves of a family bears its name.
static_assert(label_of(algorithm_for<goal::allreduce>(ring{})) == label("ring"));
static_assert(label_of(algorithm_for<goal::allreduce>(circulant{.ports = 2})) == label("circulant{.ports = 2}"));
static_assert(label_of(algorithm_for<goal::allreduce>(lowest_bit_first{})) == label("lowest_bit_first"));
static_assert(label_of(reduce_scatter_allgather{circulant{}, circulant_allgather{}}) == label("circulant"));
static_assert(label_of(reduce_scatter_allgather{circulant{.ports = 2}, circulant{}}) ==
              label("reduce_scatter_allgather{circulant{.ports = 2}, circulant}"));
static_assert(label_of(reduce_scatter_allgather{ring{}, circulant{}}) ==
              label("reduce_scatter_allgather{ring, circulant}"));

namespace {

candidate_list with_composed(candidate_list all, std::uint8_t kind) {
    if (kind != goal::allreduce::kind) return all;
    for (const rank_t g : {2u, 3u}) {
        const contiguous_groups groups{g};
        all.add(any_algorithm::of<goal::allreduce>(compose(ring{}, circulant{}, groups)));
        all.add(any_algorithm::of<goal::allreduce>(compose(circulant{}, ring{}, groups)));
        all.add(any_algorithm::of<goal::allreduce>(compose_leaders(circulant{}, ring{}, groups)));
    }
    return all;
}

} // namespace

TEST_CASE("labels: unequal algorithms of a collective have unequal ones", "[select][label]") {
    for (const rank_t p : {2u, 6u, 7u, 12u, 64u})
        test::for_each_goal({.size = p}, [&]<class Goal>(Goal, const candidate_list& standard) {
            const candidate_list all = with_composed(standard, Goal::kind);
            REQUIRE(!all.list.empty());
            for (std::size_t i = 0; i != all.list.size(); ++i)
                for (std::size_t j = 0; j != i; ++j) {
                    const any_algorithm& a = all.list[i].algorithm;
                    const any_algorithm& b = all.list[j].algorithm;
                    if (a == b) continue;
                    INFO("kind " << int{Goal::kind} << ", p = " << p);
                    CHECK(std::string(a.text().c_str()) != std::string(b.text().c_str()));
                }
        });
}
