// SPDX-License-Identifier: BSL-1.0
// Printing a decision: the winner, its price, the runners-up, and what excluded the others.
//
//   allreduce over 13 ranks, 65536 bytes: halving_doubling, 57.2 us
//     of 6 candidates, the model expects it to be the fastest
//     rank 0 gets 4 messages of 8192 to 32768 bytes to combine: in place, as all from 2049 bytes on
//     ring                78.5 us   1.37 times as long
//     recursive_doubling  at least 119 us: its busiest rank alone takes that long
//     flat                out: does not keep rank order, and that is required
#ifndef BOUGH_SELECT_PRINT_DECISION_HPP
#define BOUGH_SELECT_PRINT_DECISION_HPP

#include <bough/schedule/print_goal.hpp>
#include <bough/select/choose.hpp>

#include <algorithm>
#include <iosfwd>
#include <string>
#include <string_view>

namespace bough::inline BOUGH_ABI {

// Why a candidate is out: "does not keep rank order, and that is required". Empty if it is not out.
inline std::string reason_text(const prospect& p) {
    switch (p.excluded) {
    case exclusion::none: return "";
    case exclusion::other_collective: return "is an algorithm of another collective";
    case exclusion::dimensions: return std::string("refuses: ") + (p.refusal == nullptr ? "" : p.refusal);
    case exclusion::not_any_size: return "does not serve any number of ranks, and that is required";
    case exclusion::not_in_order: return "does not keep rank order, and that is required";
    case exclusion::not_consistent: return "may give ranks different bits, and that must not be";
    case exclusion::not_exact: return "gives ranks different bits unless the op is exact";
    case exclusion::other_bits: return "is not of the required bracket class: it gives other bits";
    case exclusion::deadlock: return "does not end: it is no plan, or rests on messages that nobody has asked for";
    case exclusion::too_many_steps: return "has more steps than a choice may look at, and might win: price all to know";
    case exclusion::not_measured: return "was not measured";
    case exclusion::no_price: return "has no price: a cost is infinite, negative or not a number";
    }
    return "";
}

// A time with three digits, in us, ms or s. "over 1e15 s" beyond that; "no time" if it is negative
// or NaN.
inline std::string time_text(double ns) {
    if (!(ns >= 0)) return "no time";
    if (ns > 1e24) return "over 1e15 s";
    const char* unit = " us";
    double value = ns / 1e3;
    if (value >= 999.5) value /= 1e3, unit = " ms";
    if (value >= 999.5) value /= 1e3, unit = " s";
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    auto scaled = static_cast<std::uint64_t>(value * (digits == 2 ? 100 : digits == 1 ? 10 : 1) + 0.5);
    std::string text;
    for (int i = 0; i != digits; ++i, scaled /= 10) text.insert(text.begin(), static_cast<char>('0' + scaled % 10));
    if (digits != 0) text.insert(text.begin(), '.');
    return std::to_string(scaled) + text + unit;
}
// Can two times be compared as "so many times as long"? Not if the least time is 0, nor if the
// other is infinite.
inline bool has_factor(double ns, double least_ns) noexcept { return least_ns > 0 && ns / least_ns <= 1e15; }

// A factor, such as "1.37". "over 1e15" beyond that; "no" if it is negative or NaN.
inline std::string factor_text(double factor) {
    if (!(factor >= 0)) return "no";
    if (factor > 1e15) return "over 1e15";
    const auto hundredths = static_cast<std::uint64_t>(factor * 100 + 0.5);
    const std::string last = std::to_string(hundredths % 100);
    return std::to_string(hundredths / 100) + (last.size() == 1 ? ".0" : ".") + last;
}

inline std::string to_string(const requirements& needed) {
    std::string text;
    const auto add = [&](bool is, const char* name) {
        if (is) text += (text.empty() ? "" : " and ") + std::string(name);
    };
    add(needed.order_preserving, "rank order");
    add(needed.rank_consistent, "the same bits on every rank");
    add(needed.any_size, "any number of ranks");
    add(needed.bracket.claimed(), "one bracket class");
    add(needed.any_partition, "the same bits for any partition");
    return text;
}

// "2 messages of 4096 bytes to combine, from far ranks: copied, as all of 89 to 16384 bytes".
inline std::string to_string(const message_way& w) {
    const auto bytes = [](std::uint64_t from, std::uint64_t to) {
        return (from == to ? "" : std::to_string(from) + " to ") + std::to_string(to) + " bytes";
    };
    std::string text = w.count == 0 ? "no messages" : std::to_string(w.count) + " message" + (w.count == 1 ? "" : "s");
    if (w.count != 0) text += " of " + bytes(w.least_bytes, w.most_bytes);
    if (w.combines) text += " to combine";
    if (w.from_far) text += ", from far ranks";
    text += std::string(": ") + way_text(w.way);
    if (w.to_bytes == message_way::longest)
        return text + (w.from_bytes == 0 ? "" : ", as all from " + std::to_string(w.from_bytes) + " bytes on");
    return text + ", as all " + (w.from_bytes == 0 ? "up to " : "of ") +
           (w.from_bytes == 0 ? bytes(w.to_bytes, w.to_bytes) : bytes(w.from_bytes, w.to_bytes));
}

namespace detail {

// Is this price better than that of the winner? Then calls in a loop made the choice. Pre: d has a winner.
inline bool is_better(const prospect& p, const decision& d) {
    return as_good_as(p.predicted_ns, d.last_arrival_ns) < d.winner().predicted_ns;
}
// Is no candidate expected to be faster than the winner? Pre: d has one.
inline bool is_fastest(const decision& d) {
    return std::none_of(d.prospects.begin(), d.prospects.end(), [&](const prospect& p) {
        return p.excluded == exclusion::none && !p.at_least && is_better(p, d);
    });
}

} // namespace detail

inline std::string to_string(const decision& d) {
    const auto size = std::to_string(d.at.size);
    std::string text = std::string(goal_name(d.kind)) + " over " + size + (d.at.size == 1 ? " rank" : " ranks") + ", " +
                       std::to_string(d.what.bytes) + " bytes";
    if (d.at.root != 0) text += ", root " + std::to_string(d.at.root);
    if (d.what.late != no_rank)
        text += ", rank " + std::to_string(d.what.late) + " late by " + time_text(static_cast<double>(d.what.late_ns));
    const std::string needed = to_string(d.needed);
    if (!needed.empty()) text += ", " + needed + " required";
    if (!d) {
        text += ": none of the candidates may be taken\n";
    } else {
        const std::size_t in = static_cast<std::size_t>(std::count_if(
            d.prospects.begin(), d.prospects.end(), [](const prospect& p) { return p.excluded == exclusion::none; }));
        text += ": " + std::string(d.winner().what.text().c_str()) + (d.winner().about ? ", about " : ", ") +
                time_text(d.winner().predicted_ns) + "\n  " +
                (in == 1 ? "the only candidate that may be taken"
                         : "of " + std::to_string(in) + " candidates, " +
                               (d.measured              ? "it was measured as the fastest"
                                : d.on_network          ? "it is the fastest over this network"
                                : detail::is_fastest(d) ? "the model expects it to be the fastest"
                                                        : "it is near the fastest, and better in a loop of calls")) +
                "\n";
        for (const message_way& w : d.ways)
            text +=
                (d.ways_of == no_rank ? "  " : "  rank " + std::to_string(d.ways_of) + " gets ") + to_string(w) + "\n";
    }
    std::size_t width = 0;
    for (const prospect& p : d.prospects) width = std::max(width, p.what.text().size());
    for (std::size_t i = d ? 1 : 0; i != d.prospects.size(); ++i) {
        const prospect& p = d.prospects[i];
        std::string name = p.what.text().c_str();
        name.resize(width, ' ');
        text += "  " + name + "  ";
        if (p.excluded != exclusion::none)
            text += "out: " + reason_text(p);
        else if (p.at_least)
            text += "at least " + time_text(p.predicted_ns) +
                    (detail::is_better(p, d) ? ": another is no slower, and no worse in a loop of calls"
                     : d.on_network          ? ": its busiest link alone takes that long"
                     : p.ended               ? ": a rank is still at work then"
                                             : ": its busiest rank alone takes that long");
        else
            text += (p.about ? "about " : "") + time_text(p.predicted_ns) +
                    (has_factor(p.predicted_ns, d.winner().predicted_ns)
                         ? ", " + factor_text(p.predicted_ns / d.winner().predicted_ns) + " times as long"
                         : "");
        text += "\n";
    }
    return text;
}

// Writes the decision as above.
template <class Char, class Traits>
std::basic_ostream<Char, Traits>& operator<<(std::basic_ostream<Char, Traits>& out, const decision& d) {
    return out << to_string(d).c_str();
}

} // namespace bough

#endif
