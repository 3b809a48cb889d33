// SPDX-License-Identifier: BSL-1.0
// play: runs all ranks of a plan in one thread, on values of any type, one value a block. For tests of ops.
//
// The values come from the steps alone: no engine, no transport, no binding to memory.
#ifndef BOUGH_TEST_SUPPORT_PLAY_HPP
#define BOUGH_TEST_SUPPORT_PLAY_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/step.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace test {

// What a plan tells each rank to do.
template <class Plan>
std::vector<std::vector<bough::step>> steps_of(const Plan& plan) {
    std::vector<std::vector<bough::step>> steps(plan.size());
    for (bough::rank_t r = 0; r != plan.size(); ++r)
        plan.emit(r, bough::step_sink{[&](const bough::step& s) { steps[r].push_back(s); }});
    return steps;
}

// The outputs of all ranks, block by block. In place: input and output are one.
template <class T, class Op>
std::vector<std::vector<T>> play(const std::vector<std::vector<bough::step>>& steps,
                                 const std::vector<std::vector<T>>& inputs, const Op& op) {
    using namespace bough;
    const std::size_t size = steps.size();
    std::vector<std::map<std::uint32_t, std::vector<T>>> memory(size);
    for (std::size_t r = 0; r != size; ++r) memory[r][0] = inputs[r];
    const auto at = [&](std::size_t r, slice s) {
        std::vector<T>& plane = memory[r][storage_of(s.buffer)];
        if (plane.empty()) plane.resize(inputs[r].size());
        return plane.begin() + s.first;
    };
    std::map<std::pair<std::size_t, std::size_t>, std::deque<T>> channels;
    std::vector<std::size_t> next(size, 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t r = 0; r != size; ++r) {
            for (; next[r] != steps[r].size(); ++next[r], moved = true) {
                const step& s = steps[r][next[r]];
                if (s.verb == verb::receive) {
                    std::deque<T>& channel = channels[{s.peer, r}];
                    if (channel.size() < s.out.count) break;
                    for (block_t b = 0; b != s.out.count; ++b, channel.pop_front()) at(r, s.out)[b] = channel.front();
                } else {
                    for (block_t b = 0; b != s.blocks(); ++b) {
                        if (s.verb == verb::send) channels[{r, s.peer}].push_back(at(r, s.a)[b]);
                        if (s.verb == verb::copy) at(r, s.out)[b] = at(r, s.a)[b];
                        if (s.verb == verb::combine) at(r, s.out)[b] = op(at(r, s.a)[b], at(r, s.b)[b]);
                    }
                }
            }
        }
    }
    std::vector<std::vector<T>> outputs;
    for (std::size_t r = 0; r != size; ++r) {
        if (next[r] != steps[r].size()) throw std::runtime_error("the plan does not end");
        outputs.push_back(memory[r][0]);
    }
    return outputs;
}

} // namespace test

#endif
