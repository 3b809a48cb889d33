// SPDX-License-Identifier: BSL-1.0
// check_first_use: checks what a caller's plan, algorithm or tree claims of itself, when a front door
// first relies on it.
//
// BOUGH_CHECK_CLAIMS (without NDEBUG): an op that is not known to commute relies on rank order, so
// the tree that claims it is walked. Time and memory are linear in its ranks.
//
// BOUGH_VERIFY_PLANS: the plan is proved, with all claims of its algorithm, and its == is checked.
// A plan whose steps touch more than most_verified_blocks is not proved.
//
// Each check is done once for a plan, as long as the plan is kept bound, and every rank comes to
// the same result. Choices of automatic{} are not checked: bough's own tests prove those.
#ifndef BOUGH_CALL_FIRST_USE_HPP
#define BOUGH_CALL_FIRST_USE_HPP

#include <bough/call/runs_calls.hpp>
#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/plan.hpp>

#if BOUGH_VERIFY_PLANS
#include <bough/verify/verify_claims.hpp>

#include <cstddef>
#include <cstdint>
#endif

namespace bough::inline BOUGH_ABI::detail {

#if BOUGH_VERIFY_PLANS

// Blocks that the steps of all ranks touch together: such a proof takes about a millisecond. That
// is a tree over a thousand ranks, or recursive doubling over 128.
inline constexpr std::uint64_t most_verified_blocks = 4096;

// An error names the untrue claim.
template <RunsPlans Comm, Plan P>
status verify_first_use(Comm& comm, const P& plan) {
    if (const P* bound = comm.find_bound(plan)) {
        std::size_t steps = 0;
        for (rank_t r = 0; r != plan.size() && steps <= most_verified_blocks; ++r) {
            const schedule mine = plan.schedule_of(r);
            if (!(bound->schedule_of(r) == mine))
                return invalid_argument("plan: equal (==) to one that has other steps");
            steps += mine.size();
        }
        return {};
    }
    step_counts counts;
    for (rank_t r = 0; r != plan.size(); ++r) {
        plan.emit(r, counts);
        if (counts.blocks_sent + counts.blocks_combined > most_verified_blocks) return {};
    }
    const claim_verdict said = verify_claims(plan);
    return said ? status{} : invalid_argument(describe(said.untrue));
}

#endif

// `relies`: the op is not known to commute.
template <RunsPlans Comm, Plan P>
status check_first_use([[maybe_unused]] Comm& comm, [[maybe_unused]] const P& plan, [[maybe_unused]] bool relies) {
#if BOUGH_VERIFY_PLANS
    return verify_first_use(comm, plan);
#elif BOUGH_CHECK_CLAIMS
    if constexpr (requires { plan.algorithm().check_claims(plan.at()); })
        if (relies && comm.find_bound(plan) == nullptr) return plan.algorithm().check_claims(plan.at());
#endif
    return {};
}

} // namespace bough::detail

#endif
