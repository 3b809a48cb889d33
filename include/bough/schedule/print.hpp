// SPDX-License-Identifier: BSL-1.0
// Prints schedules and traits. It includes the printing of steps (print_step.hpp) and verdicts
// (print_verdict.hpp).
//
// A schedule prints one line per step: its number, verb, peer, slices, and what it waits for.
//   0  receive <- 1  scratch0[0..1)
//   1  combine       output[0..1) = op(input[0..1), scratch0[0..1))  after 0
//   2  receive <- 1  scratch0[0..1)                                  after 1, posted after 0
// "after": those steps must be complete. "posted after": that step must be posted, since it uses
// the same channel.
#ifndef BOUGH_SCHEDULE_PRINT_HPP
#define BOUGH_SCHEDULE_PRINT_HPP

#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/schedule/traits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

inline std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}
inline std::string right_aligned(std::uint64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    return std::string(width > digits.size() ? width - digits.size() : 0, ' ') + digits;
}

inline std::string waits_text(const dependences& all, std::size_t i) {
    std::vector<std::uint32_t> before(all.of(i).begin(), all.of(i).end());
    std::sort(before.begin(), before.end());
    std::string text;
    for (const std::uint32_t b : before) text += (text.empty() ? "after " : ", ") + std::to_string(b);
    // A step that must be complete has been posted anyway, so it is not named again.
    const std::uint32_t behind = all.channel[i];
    if (behind != no_step && !std::binary_search(before.begin(), before.end(), behind))
        text += (text.empty() ? "posted after " : ", posted after ") + std::to_string(behind);
    return text;
}

inline std::string hexadecimal(std::uint64_t number) {
    std::string text = "0x0000000000000000";
    for (std::size_t at = text.size(); number != 0; number /= 16) text[--at] = "0123456789abcdef"[number % 16];
    return text;
}

} // namespace detail

inline std::string to_string(const schedule& steps) {
    const dependences waits = infer_dependences(steps.steps);
    std::size_t peer_width = 0;
    std::size_t operands_width = 0;
    for (std::size_t i = 0; i != steps.size(); ++i) {
        peer_width = std::max(peer_width, detail::peer_text(steps[i]).size());
        if (!detail::waits_text(waits, i).empty())
            operands_width = std::max(operands_width, detail::operands_text(steps[i]).size());
    }
    const std::size_t number_width = std::to_string(steps.size() == 0 ? 0 : steps.size() - 1).size();

    std::string text;
    for (std::size_t i = 0; i != steps.size(); ++i) {
        const std::string wait = detail::waits_text(waits, i);
        text += detail::right_aligned(i, number_width) + "  ";
        text += detail::padded(std::string(verb_name(steps[i].verb)), 7);
        if (peer_width != 0) text += ' ' + detail::padded(detail::peer_text(steps[i]), peer_width);
        text += "  " + detail::operands_text(steps[i]);
        if (!wait.empty())
            text +=
                std::string(operands_width - std::min(operands_width, detail::operands_text(steps[i]).size()), ' ') +
                "  " + wait;
        text += '\n';
    }
    return text;
}

// One line per trait, each with a word on its unit.
inline std::string to_string(const plan_traits& t) {
    std::string text;
    const auto row = [&](std::string_view name, std::string value, std::string_view unit) {
        text +=
            detail::padded(std::string(name), 20) + std::string(value.size() < 18 ? 18 - value.size() : 0, ' ') + value;
        if (!unit.empty()) text.append("  ").append(unit);
        text += '\n';
    };
    const auto yes_no = [](bool b) { return std::string(b ? "yes" : "no"); };
    row("rounds", std::to_string(t.rounds), "one-ported");
    row("hops", std::to_string(t.hops), "longest chain of messages");
    row("depth", std::to_string(t.depth), "longest chain of combines");
    row("steps_max", std::to_string(t.steps_max), "of any rank");
    row("peers_max", std::to_string(t.peers_max), "of any rank");
    row("messages", std::to_string(t.messages), "of all ranks");
    row("volume_max", std::to_string(t.volume_max), "blocks sent by the busiest rank");
    row("volume", std::to_string(t.volume), "blocks sent by all ranks");
    row("combines_max", std::to_string(t.combines_max), "blocks combined by the busiest rank");
    row("combines", std::to_string(t.combines), "blocks combined by all ranks");
    row("scratch_max", std::to_string(t.scratch_max), "blocks, of any rank");
    row("bracket", detail::hexadecimal(t.bracket), "equal: same bits");
    row("needs_commutative", yes_no(t.needs_commutative), "");
    row("needs_idempotent", yes_no(t.needs_idempotent), "");
    row("rank_consistent", yes_no(t.rank_consistent), "");
    row("position_invariant", yes_no(t.position_invariant), "");
    return text;
}

// Writes what to_string gives.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const schedule& s) {
    return out << to_string(s);
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const plan_traits& t) {
    return out << to_string(t);
}

} // namespace bough

#endif
