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
#include <bough/schedule/goal.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/in_parts.hpp>
#include <bough/verify/prover/rank_steps.hpp>
#include <bough/verify/prover/results.hpp>
#include <bough/verify/prover/rounds.hpp>
#include <bough/verify/prover/step_graph.hpp>
#include <bough/verify/prover/symbolic_memory.hpp>
#include <bough/verify/prover/turns.hpp>
#include <bough/verify/rules.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// The whole proof at once. emit(r, sink) pushes the steps of rank r; scratch(r) is how many scratch
// blocks they may touch.
template <class Goal, class Emit, class Scratch>
constexpr verdict prove_steps(const Goal& goal, const dimensions& at, const verify_options& options, Emit&& emit,
                              Scratch&& scratch) {
    constexpr auto all = ~std::uint32_t{0};
    findings found;
    rank_check<Goal> ranks(goal, at, found);
    for (rank_t r = 0; r != at.size; ++r) {
        emit(r, ranks.steps_of_next());
        if (!ranks.next_rank(scratch(r))) return found.result();
    }
    ranks.finish();
    step_graph graph = graph_of(ranks.made(), ranks.totals());
    pairs messages{.sends = ranks.made().sends, .receives = ranks.made().receives, .waits = ranks.made().waits};
    pairing pair(graph, messages, found);
    pair.sort();
    if (!pair.pair(all)) return found.result();
    add_pairs(graph, messages);
    turns order;
    turn_finder finder(graph, order);
    finder.start();
    finder.find(all);
    symbolic_contents contents;
    symbolic_memory<Goal> memory(at, graph, contents, found);
    memory.start(goal);
    run_state state;
    prover_rounds rounds(graph, order.of.data(), state, memory, found, options);
    rounds.start();
    rounds.run(~std::uint64_t{0});
    rounds.finish();
    if (found.failed()) return found.result();
    results_so_far seen;
    results_check(goal, at, memory, seen, found, options).run(all);
    return found.result();
}

// The proof of the plan that Make() makes, which has no state.
template <auto Make>
consteval verdict verify_constant() {
    if constexpr (is_small<Make>()) {
        const auto plan = Make();
        const auto emit = [&plan](rank_t r, auto&& sink) { plan.emit(r, sink); };
        const auto scratch = [&plan](rank_t r) { return plan.scratch(r); };
        return prove_steps(plan.goal(), dimensions_of(plan), claimed_options(plan, {}), emit, scratch);
    } else {
        return prove_in_parts<Make>();
    }
}

// Makes a copy of a constant plan.
template <const auto& P>
struct copy_of {
    constexpr auto operator()() const { return P; }
};

} // namespace bough::detail

#endif
