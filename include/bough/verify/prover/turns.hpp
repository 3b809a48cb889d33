// SPDX-License-Identifier: BSL-1.0
// Turns: the rounds in which messages would move if every rank's ports served them strictly in
// program order.
//
// Ports that prefer the message with the earlier turn take no more rounds than that. By induction,
// every message has moved by its turn, whatever else moves through ports that would be idle. Ports
// that prefer the message that was ready first may take twice as many rounds, since an early
// message can delay one that others need.
#ifndef BOUGH_VERIFY_PROVER_TURNS_HPP
#define BOUGH_VERIFY_PROVER_TURNS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/verify/prover/step_graph.hpp>

#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct turns {
    plain_list<std::uint32_t> of{};      // by message: its turn; no_step for one that would wait in a circle
    plain_list<std::uint32_t> reached{}; // by node: the last round that it waits for
    // By node: for how many others it waits; the message before it at its port counts, too.
    plain_list<std::uint32_t> waits{};
    plain_list<std::uint32_t> now{}; // nodes that wait for nothing any more
};

// Finds the turns. Time: linear in the graph.
class turn_finder {
public:
    constexpr turn_finder(const step_graph& graph, turns& made) : graph_(graph), made_(made) {}

    constexpr void start() {
        made_.of.assign(graph_.message_count, std::uint32_t{no_step});
        made_.reached.assign(graph_.size, 0);
        made_.waits.resize(graph_.size, 0);
        made_.now.reserve(graph_.size);
        std::uint32_t* const waits = made_.waits.data();
        copy_elements(waits, graph_.waits, graph_.size);
        const std::uint32_t* const behind = graph_.behind;
        for (std::uint32_t n = 0; n != graph_.size; ++n)
            if (behind[n] != no_step) ++waits[behind[n]];
        for (std::uint32_t n = 0; n != graph_.size; ++n)
            if (waits[n] == 0) made_.now.push_back(n);
    }
    // Handles up to `most` more nodes. False: there is more to do.
    constexpr bool find(std::size_t most) {
        const std::uint32_t* const reached = made_.reached.data();
        const std::uint32_t* const waits = made_.waits.data();
        while (!made_.now.empty()) {
            if (most-- == 0) return false;
            const std::uint32_t n = made_.now.back();
            made_.now.pop_back();
            const std::uint32_t m = graph_.message_of[n];
            if (m == no_step) {
                release_after(n, n + 1, reached[n]);
            } else if (graph_.last[n] != n) {
                release(graph_.last[n], reached[n]);
            } else if (const paired_message& msg = graph_.messages[m];
                       waits[msg.send] == 0 && waits[msg.receive] == 0 && made_.of.data()[m] == no_step) {
                const std::uint32_t before =
                    reached[msg.send] < reached[msg.receive] ? reached[msg.receive] : reached[msg.send];
                made_.of.data()[m] = before + 1;
                for (const std::uint32_t end : {msg.send, msg.receive}) {
                    if (graph_.behind[end] != no_step) release(graph_.behind[end], before + 1);
                    release_after(end + 1 - msg.parts, end + 1, before + 1);
                }
            }
        }
        return true;
    }

private:
    constexpr void release(std::uint32_t n, std::uint32_t round) {
        if (made_.reached.data()[n] < round) made_.reached.data()[n] = round;
        if (--made_.waits.data()[n] == 0) made_.now.push_back(n);
    }
    // Those that wait for the nodes [first, last).
    constexpr void release_after(std::uint32_t first, std::uint32_t last, std::uint32_t round) {
        const std::uint32_t* const after = graph_.after;
        const std::uint32_t end = graph_.after_first[last];
        for (std::uint32_t e = graph_.after_first[first]; e != end; ++e) release(after[e], round);
    }

    const step_graph& graph_;
    turns& made_;
};

} // namespace bough::detail

#endif
