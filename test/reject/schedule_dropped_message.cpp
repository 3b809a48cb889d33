// SPDX-License-Identifier: BSL-1.0
// expect: fault::unmatched_receive(, 1U?, 0U?, 0U?, 0U?>|; unsigned int Rank = 1; unsigned int Step = 0;)
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/verify/verify.hpp>

#include <vector>

// The root forgets its last send: rank 1 waits for ever, and the compiler says so.
constexpr bough::verdict forgetful() {
    const auto plan = bough::plan_broadcast(bough::binomial{}, {.size = 5});
    std::vector<bough::schedule> schedules;
    for (bough::rank_t r = 0; r != plan.size(); ++r) schedules.push_back(plan.schedule_of(r));
    schedules[0].steps.pop_back();
    return bough::verify_schedules(plan.goal(), plan.at(), schedules, std::vector<bough::block_t>(5, 0u));
}
static_assert(bough::proven<forgetful()>());

int main() {}
