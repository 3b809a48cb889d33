// SPDX-License-Identifier: BSL-1.0
// Without noise a simulation takes the time that the walk finds, to the last bit: for all algorithms of the library.
#include "everything.hpp"
#include "simulate/against_walk.hpp"
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/model/rendezvous.hpp>
#include <bough/select/plan_ref.hpp>

#include <cstddef>
#include <cstdint>

TEST_CASE("walk and simulation take the same time with every algorithm") {
    std::size_t plans = 0;
    for (const bough::rank_t size : {1u, 2u, 5u, 8u, 13u})
        for (const bough::rank_t root : {bough::rank_t{0}, size / 2}) {
            const bough::dimensions at{.size = size, .root = root};
            test::for_each_goal(at, [&](auto goal, const bough::candidate_list& list) {
                for (const bough::candidate& c : list.list) {
                    const bough::dimensions here = test::with_blocks(c, at);
                    if (c.algorithm.check(here)) continue;
                    CAPTURE(size, root, int{goal.kind}, here.blocks);
                    const bough::plan_ref plan(c.algorithm, here);
                    test::check_against_walk(plan, test::uneven{}, 1000);
                    test::check_against_walk(plan, test::with_ports{true}, 1000);
                    // No algorithm of the library rests on messages that nobody has asked for.
                    for (const std::uint64_t limit : {0u, 100u}) {
                        const bough::model::rendezvous model{test::with_ports{false}, limit};
                        REQUIRE(!bough::model::walk(plan, model, 1000).deadlock());
                        test::check_against_walk(plan, model, 1000);
                    }
                    ++plans;
                }
            });
        }
    CHECK(plans > 500);
}
