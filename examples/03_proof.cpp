// SPDX-License-Identifier: BSL-1.0
// A proof instead of a hope: a plan proved while it compiles, what the proof computes, and what it says of a broken plan.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/schedule/print.hpp>
#include <bough/verify/verify.hpp>

#include <iostream>
#include <vector>

constexpr auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
static_assert(bough::proven<bough::verify(plan)>()); // a wrong plan does not compile

int main() {
    const bough::verdict proof = bough::verify(plan); // the same function, now at run time
    std::cout << proof << '\n' << proof.traits << '\n';

    std::vector<bough::schedule> steps;
    std::vector<bough::block_t> scratch;
    for (bough::rank_t rank = 0; rank != plan.size(); ++rank) {
        steps.push_back(plan.schedule_of(rank));
        scratch.push_back(plan.scratch(rank));
    }
    std::cout << "what rank 12 does:\n" << steps[12] << '\n';

    const auto say = [&](const char* mistake) {
        std::cout << mistake << '\n' << "  " << bough::verify_schedules(plan.goal(), plan.at(), steps, scratch) << '\n';
    };
    steps[12].steps[0].peer = 10;
    say("rank 12 first sends to the wrong rank:");
    steps[12] = plan.schedule_of(12);
    steps[12].steps.pop_back();
    say("rank 12 forgets its last combine:");
}
