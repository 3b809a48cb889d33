// SPDX-License-Identifier: BSL-1.0
// Changes of single steps of a plan, and the plan that has them.
//
//   3.2.drop          rank 3 leaves out its step 2
//   3.2.twice         it does step 2 twice
//   3.2.swap          the operands of a combine change places
//   3.2.peer.5        the peer of a message
//   3.2.a.input:0:1   a slice of the step: a and b are read, out is written; buffer, first block, blocks
//
// Steps have the numbers of the plan as it was before all changes. ~ stands between two changes.
#ifndef BOUGH_TOOLS_PLAYGROUND_EDITS_HPP
#define BOUGH_TOOLS_PLAYGROUND_EDITS_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/schedule/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace playground {

struct edit {
    enum class kind { drop, twice, swap, peer, a, b, out };
    bough::rank_t rank = 0;
    std::uint32_t line = 0;
    kind what = kind::drop;
    bough::rank_t peer = 0;
    bough::slice slice{};
};
using edit_list = std::vector<edit>;

// Throws cli::usage_error.
edit_list parse_edits(std::string_view text);

// A step of a changed schedule.
struct edited_step {
    bough::step step{};
    std::uint32_t line = 0; // of the schedule before
    bool dropped = false;
    bool changed = false;
};
// What becomes of the steps of a rank. Throws cli::usage_error for a step that there is not.
std::vector<edited_step> apply(const edit_list&, bough::rank_t rank, const bough::schedule&);

// A plan with changed steps. It claims what the plan claims, so that the proof asks the same of it. It
// keeps the steps: the proof and the run both ask for them, and some algorithms take longer to make them
// than the proof takes.
template <bough::Plan P>
class edited_plan {
public:
    // `schedules` are those of the plan, which must outlive it. Throws cli::usage_error as apply().
    edited_plan(const P& plan, std::vector<bough::schedule> schedules, const edit_list& edits)
        : plan_(&plan), schedules_(std::move(schedules)) {
        for (bough::rank_t r = 0; r != plan.size(); ++r) {
            if (std::none_of(edits.begin(), edits.end(), [r](const edit& e) { return e.rank == r; })) continue;
            bough::schedule& made = schedules_[r];
            const std::vector<edited_step> lines = apply(edits, r, made);
            made.steps.clear();
            for (const edited_step& s : lines)
                if (!s.dropped) made.steps.push_back(s.step);
        }
    }
    auto goal() const { return plan_->goal(); }
    const auto& algorithm() const { return plan_->algorithm(); }
    const bough::dimensions& at() const { return plan_->at(); }
    bough::rank_t size() const { return plan_->size(); }
    bough::rank_t root() const { return plan_->root(); }
    bough::block_t blocks() const { return plan_->blocks(); }
    bough::block_t scratch(bough::rank_t rank) const { return plan_->scratch(rank); }
    const std::vector<bough::schedule>& schedules() const { return schedules_; }
    void emit(bough::rank_t rank, bough::StepSink auto&& sink) const {
        for (const bough::step& s : schedules_[rank]) bough::push_step(sink, s);
    }

private:
    const P* plan_;
    std::vector<bough::schedule> schedules_; // by rank
};

} // namespace playground

#endif
