// SPDX-License-Identifier: BSL-1.0
// export_goal: writes a plan in GOAL, the text that LogGOPSim and ATLAHS simulate. Ranks are
// written one after the other, and only one rank's steps are in memory, so plans of any size can be
// written.
//
//   export_goal(out, plan_allreduce(recursive_doubling{}, {.size = 8}), model, {.bytes = 4096});
//
//   num_ranks 8                        per rank: one line per step, then what the steps wait for
//   rank 0 {
//   l0: send 4096b to 1 tag 0          tag: the number of the message on its channel, so that matching
//                                      is unambiguous
//   l1: recv 4096b from 1 tag 0
//   l2: calc 1024                      a combine or a copy: ns, from the model
//   l2 requires l1                     l1 must be complete (bough/schedule/dependence.hpp)
//   l4 irequires l0                    l0 must have begun: an earlier message of the channel
//   }
//
// A message in parts is one send and one recv. GOAL says how much is sent, not what. With
// `annotate`, a comment before each line has the step's slices, for people and for
// bough/interchange/import_goal.hpp.
// Source: T. Hoefler, C. Siebert, A. Lumsdaine: Group Operation Assembly Language, ICPP 2009; the
// grammar is that of LogGOPSim's txt2bin.
#ifndef BOUGH_INTERCHANGE_EXPORT_GOAL_HPP
#define BOUGH_INTERCHANGE_EXPORT_GOAL_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/interchange/export_sizes.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print_goal.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/schedule/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct goal_options {
    std::uint64_t bytes = 8; // the size of the vector that is cut into the plan's blocks
    std::uint64_t element_bytes = 1;
    bool annotate = false; // adds comments with the slices, and with the plan that it is
};

namespace detail {

inline void append_line(std::string& text, std::uint32_t op, const char* what, std::uint32_t other) {
    text += 'l' + std::to_string(op) + what + std::to_string(other) + '\n';
}

template <CostModel M>
std::string goal_of_rank(const schedule& steps, rank_t rank, const M& model, const export_sizes& sizes, bool annotate) {
    const dependences waits = infer_dependences(steps.steps);
    std::vector<std::uint32_t> op_of, tag_of; // by step
    std::string text = "rank " + std::to_string(rank) + " {\n";
    std::uint32_t ops = 0;
    std::uint64_t bytes = 0;
    for (const step& s : steps) {
        const std::uint32_t behind = waits.channel[op_of.size()];
        op_of.push_back(ops);
        tag_of.push_back(behind == no_step ? 0 : tag_of[behind] + 1);
        if (annotate) text += "//bough " + to_string(s) + '\n';
        bytes += sizes.bytes_of(s.verb == verb::send ? s.a : s.out);
        if (s.more) continue;
        text += 'l' + std::to_string(ops++) + ": ";
        if (s.communicates()) {
            const bool sends = s.verb == verb::send;
            text += (sends ? "send " : "recv ") + std::to_string(bytes) + (sends ? "b to " : "b from ") +
                    std::to_string(s.peer) + " tag " + std::to_string(tag_of.back()) + '\n';
        } else {
            const double ns = s.verb == verb::combine ? model.combine_ns(rank, bytes) : model.copy_ns(rank, bytes);
            text += "calc " + std::to_string(static_cast<std::uint64_t>(ns + 0.5)) + '\n';
        }
        bytes = 0;
    }

    std::vector<std::uint32_t> before;
    std::uint32_t channel = no_step;
    for (std::uint32_t i = 0; i != steps.size(); ++i) {
        for (const std::uint32_t b : waits.of(i))
            if (op_of[b] != op_of[i]) before.push_back(op_of[b]);
        if (steps[i].more) continue;
        if (waits.channel[i] != no_step) channel = op_of[waits.channel[i]];
        std::sort(before.begin(), before.end());
        before.erase(std::unique(before.begin(), before.end()), before.end());
        for (const std::uint32_t b : before) append_line(text, op_of[i], " requires l", b);
        if (channel != no_step && !std::binary_search(before.begin(), before.end(), channel))
            append_line(text, op_of[i], " irequires l", channel);
        before.clear();
        channel = no_step;
    }
    return text + "}\n";
}

} // namespace detail

// Writes the plan. `out` takes text by <<.
template <class Out, Plan P, CostModel M>
void export_goal(Out& out, const P& plan, const M& model, const goal_options& options = {}) {
    const export_sizes sizes(options.bytes, plan.blocks(), options.element_bytes);
    std::string head;
    if (options.annotate)
        head = "//bough plan " + std::string(goal_name(decltype(plan.goal())::kind)) + " size " +
               std::to_string(plan.size()) + " root " + std::to_string(plan.root()) + " blocks " +
               std::to_string(plan.blocks()) + " bytes " + std::to_string(options.bytes) + " element " +
               std::to_string(options.element_bytes) + '\n';
    out << head + "num_ranks " + std::to_string(plan.size()) + '\n';
    for (rank_t r = 0; r != plan.size(); ++r) {
        schedule steps;
        plan.emit(r, steps);
        out << '\n' + detail::goal_of_rank(steps, r, model, sizes, options.annotate);
    }
}

} // namespace bough

#endif
