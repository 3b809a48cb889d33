// SPDX-License-Identifier: BSL-1.0
// Turns: the rounds in which messages would move if every rank's ports served them strictly in
// program order.
//
// Ports that prefer the message with the earlier turn take no more rounds than that. By induction,
// every message has moved by its turn, whatever else moves through ports that would be idle. Ports
// that prefer the message that was ready first may take twice as many rounds, since an early
// message can delay one that others need.
#ifndef BOUGH_SCHEDULE_TURNS_HPP
#define BOUGH_SCHEDULE_TURNS_HPP

#include <bough/core/rank.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/schedule.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// The turns, one per message; no_step for messages that would wait in a circle. The graph is the
// prover's: node_first[r] + i is step i of rank r, node n waits for waits[n] others and is a part of
// message message_of[n], and after[after_first[n]] ... are the nodes that wait for it. Time: linear
// in the graph.
template <class Message>
constexpr std::vector<std::uint32_t>
turns_of(std::span<const schedule> schedules, const std::vector<std::uint32_t>& node_first,
         std::vector<std::uint32_t> waits, const std::vector<std::uint32_t>& message_of,
         const std::vector<Message>& messages, const std::vector<std::uint32_t>& after_first,
         const std::vector<std::uint32_t>& after) {
    std::vector<std::uint32_t> turns(messages.size(), no_step);
    std::vector<std::uint32_t> behind(waits.size(), no_step); // the next message of the node's port
    std::vector<std::uint32_t> reached(waits.size(), 0);      // the last round that the node waits for
    std::vector<std::uint32_t> last(waits.size(), 0);         // for a part: the last part of its message
    std::vector<std::uint32_t> now;
    for (std::size_t r = 0; r != schedules.size(); ++r) {
        std::uint32_t before[2] = {no_step, no_step};
        for (std::uint32_t i = static_cast<std::uint32_t>(schedules[r].size()); i-- != 0;) {
            const step& s = schedules[r][i];
            const std::uint32_t n = node_first[r] + i;
            last[n] = s.more ? last[n + 1] : n;
            if (!s.communicates() || s.more) continue;
            std::uint32_t& next = before[s.verb == verb::send ? 0 : 1];
            behind[n] = next;
            if (next != no_step) ++waits[next];
            next = n;
        }
    }
    for (std::uint32_t n = 0; n != waits.size(); ++n)
        if (waits[n] == 0) now.push_back(n);
    const auto release = [&](std::uint32_t n, std::uint32_t round) {
        reached[n] = std::max(reached[n], round);
        if (--waits[n] == 0) now.push_back(n);
    };
    const auto release_after = [&](std::uint32_t n, std::uint32_t round) {
        for (std::uint32_t e = after_first[n]; e != after_first[n + 1]; ++e) release(after[e], round);
    };
    while (!now.empty()) {
        const std::uint32_t n = now.back();
        now.pop_back();
        const std::uint32_t m = message_of[n];
        if (m == no_step) {
            release_after(n, reached[n]);
        } else if (last[n] != n) {
            release(last[n], reached[n]);
        } else if (const Message& msg = messages[m];
                   turns[m] == no_step && waits[msg.send] == 0 && waits[msg.receive] == 0) {
            const std::uint32_t round = turns[m] = std::max(reached[msg.send], reached[msg.receive]) + 1;
            for (const std::uint32_t end : {msg.send, msg.receive}) {
                if (behind[end] != no_step) release(behind[end], round);
                for (std::uint32_t k = end + 1 - msg.parts; k != end + 1; ++k) release_after(k, round);
            }
        }
    }
    return turns;
}

} // namespace bough::detail

#endif
