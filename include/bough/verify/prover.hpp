// SPDX-License-Identifier: BSL-1.0
// The prover: runs the schedules of all ranks on symbolic values, in rounds, and watches every rule
// on the way.
//
// Why one run is a proof: the steps of a rank are ordered by their dependences, and messages by
// their channels. So a step reads the same in every execution that respects both, and values do not
// depend on timing. If the run with unbuffered messages (a send ends when its receive ends) does
// not get stuck, no execution with buffers does: buffers only remove waiting.
#ifndef BOUGH_VERIFY_PROVER_HPP
#define BOUGH_VERIFY_PROVER_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/block_places.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/results.hpp>
#include <bough/verify/prover/rounds.hpp>
#include <bough/verify/prover/step_graph.hpp>
#include <bough/verify/prover/symbolic_memory.hpp>
#include <bough/verify/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Goal>
class prover {
public:
    // `schedules[r]` has the steps of rank r; `scratch[r]` is how many scratch blocks it may touch.
    constexpr prover(const Goal& goal, const dimensions& at, std::span<const schedule> schedules,
                     std::span<const block_t> scratch, const verify_options& options)
        : goal_(goal), at_(at), options_(options), schedules_(schedules), scratch_(scratch), graph_(schedules),
          memory_(at, graph_, found_) {}

    constexpr verdict run() {
        if (check_ranks() && graph_.link(found_)) {
            prover_rounds(graph_, memory_, found_, options_).run();
            if (!found_.failed() && results_check(goal_, at_, memory_, found_, options_).run()) {
                std::vector<rank_t> met(at_.size, no_rank);
                for (rank_t r = 0; r != at_.size; ++r) add_counts(found_.traits(), schedules_[r], r, met);
            }
        }
        return found_.result();
    }

private:
    // Checks the rules that a rank obeys by itself, and gives each rank its memory.
    constexpr bool check_ranks() {
        block_places<> touched;
        std::vector<unsigned char> written;
        for (rank_t r = 0; r != at_.size; ++r) {
            touched.clear();
            for (const buffer whole : {input, output}) touched.add(whole.index, 0, at_.blocks);
            if (!check_steps(r, touched)) return false;
            std::uint64_t used = 0;
            if (const scratch_fault bad = check_scratch(schedules_[r], touched, scratch_[r], written, used);
                bad.what != fault::none)
                return found_.fail(bad.what, r, bad.step, bad.block);
            found_.traits().scratch_max = std::max(found_.traits().scratch_max, used);
            memory_.add_rank(goal_, touched);
        }
        return true;
    }
    // Checks each step of rank `r` by itself, and collects what the steps touch.
    constexpr bool check_steps(rank_t r, block_places<>& touched) {
        const schedule& steps = schedules_[r];
        for (std::size_t i = 0; i != steps.size(); ++i) {
            const step& s = steps[i];
            const step* next = i + 1 != steps.size() ? &steps[i + 1] : nullptr;
            if (const step_fault bad = check_step(s, next, r, at_); bad.what != fault::none)
                return found_.fail(bad.what, r, i, bad.block, bad.what == fault::bad_peer ? s.peer : no_rank);
            if (s.writes() && s.out.buffer == output)
                for (block_t b = s.out.first; b != s.out.last(); ++b)
                    if (goal_.result(at_, r, b).empty()) return found_.fail(fault::write_to_output, r, i, b);
            const auto touch = [&](const slice& used) { touched.add(used.buffer.index, used.first, used.last()); };
            if (s.reads_a()) touch(s.a);
            if (s.reads_b()) touch(s.b);
            if (s.writes()) touch(s.out);
        }
        return true;
    }

    const Goal& goal_;
    dimensions at_;
    verify_options options_;
    std::span<const schedule> schedules_;
    std::span<const block_t> scratch_;
    findings found_;
    step_graph graph_;
    symbolic_memory<Goal> memory_;
};

} // namespace bough::detail

#endif
