// SPDX-License-Identifier: BSL-1.0
// Rounds of a plan on ranks with several ports, counted without verify: every rank takes its messages in program order.
#ifndef BOUGH_TEST_SUPPORT_PORTS_HPP
#define BOUGH_TEST_SUPPORT_PORTS_HPP

#include <bough/schedule/dependence.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

namespace test {

inline constexpr std::uint32_t stuck = 0xffff'ffffu;

// The fewest rounds if in each a rank sends at most `ports` messages and receives as many, its sends begin in program
// order, and so do its receives. A message takes one round, and no memory between the ranks. `stuck`: those orders
// wait in a circle.
template <bough::Plan P>
std::uint32_t rounds_in_order(const P& plan, std::uint32_t ports = 1) {
    using namespace bough;
    struct event { // a local step, or a message: both of its ends, and all parts
        std::uint32_t waits = 0, round = 0;
        bool is_message = false;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> after; // event, rounds later
    };
    std::vector<event> events;
    std::vector<std::vector<std::uint32_t>> event_of(plan.size());
    std::vector<schedule> schedules;
    std::map<std::tuple<rank_t, rank_t, std::size_t>, std::uint32_t> messages; // from, to, number
    for (rank_t r = 0; r != plan.size(); ++r) {
        schedules.push_back(plan.schedule_of(r));
        std::map<std::pair<verb, rank_t>, std::size_t> numbers;
        for (const step& s : schedules[r]) {
            if (!s.communicates()) {
                event_of[r].push_back(static_cast<std::uint32_t>(events.size()));
                events.emplace_back();
                continue;
            }
            std::size_t& number = numbers[{s.verb, s.peer}];
            const auto key = s.verb == verb::send ? std::tuple{r, s.peer, number} : std::tuple{s.peer, r, number};
            const auto [found, is_new] = messages.try_emplace(key, static_cast<std::uint32_t>(events.size()));
            if (is_new) {
                events.emplace_back();
                events.back().is_message = true;
            }
            event_of[r].push_back(found->second);
            if (!s.more) ++number;
        }
    }
    const auto wait = [&](std::uint32_t later, std::uint32_t earlier, std::uint32_t rounds) {
        if (later == earlier) return; // parts of one message
        events[earlier].after.push_back({later, rounds});
        ++events[later].waits;
    };
    for (rank_t r = 0; r != plan.size(); ++r) {
        const dependences all = infer_dependences(schedules[r].steps);
        std::vector<std::uint32_t> posted[2];
        for (std::uint32_t i = 0; i != schedules[r].size(); ++i) {
            const step& s = schedules[r][i];
            const std::uint32_t me = event_of[r][i];
            for (const std::uint32_t before : all.of(i)) wait(me, event_of[r][before], s.communicates() ? 1 : 0);
            if (!s.communicates() || s.more) continue;
            auto& line = posted[s.verb == verb::send ? 0 : 1];
            if (!line.empty()) wait(me, line.back(), 0);
            if (line.size() >= ports) wait(me, line[line.size() - ports], 1);
            line.push_back(me);
        }
    }
    std::vector<std::uint32_t> ready;
    for (std::uint32_t e = 0; e != events.size(); ++e)
        if (events[e].waits == 0) ready.push_back(e);
    std::uint32_t most = 0;
    std::size_t done = 0;
    for (; !ready.empty(); ++done) {
        const std::uint32_t e = ready.back();
        ready.pop_back();
        if (events[e].is_message) {
            events[e].round = std::max(events[e].round, 1u);
            most = std::max(most, events[e].round);
        }
        for (const auto& [later, rounds] : events[e].after) {
            events[later].round = std::max(events[later].round, events[e].round + rounds);
            if (--events[later].waits == 0) ready.push_back(later);
        }
    }
    return done == events.size() ? most : stuck;
}

} // namespace test

#endif
