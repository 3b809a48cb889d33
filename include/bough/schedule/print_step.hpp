// SPDX-License-Identifier: BSL-1.0
// Prints slices and steps, each on one line.
//
//   to_string(slice{scratch(2), 3, 1})     scratch2[3..4)
//   send -> 3 input[0..1)
//   receive <- 1 scratch0[0..1)
//   send -> 3 input[4..5) +                                       the message goes on in the next step
//   combine output[0..1) = op(input[0..1), scratch0[0..1))        the lower operand stands left
//   copy output[0..1) = input[0..1)
// Include <ostream> yourself to use <<.
#ifndef BOUGH_SCHEDULE_PRINT_STEP_HPP
#define BOUGH_SCHEDULE_PRINT_STEP_HPP

#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

namespace bough::inline BOUGH_ABI {

// "send", "receive", "combine" or "copy".
constexpr std::string_view verb_name(verb v) noexcept {
    switch (v) {
    case verb::send: return "send";
    case verb::receive: return "receive";
    case verb::combine: return "combine";
    case verb::copy: return "copy";
    }
    return "unknown verb";
}

inline std::string to_string(buffer b) {
    if (b == input) return "input";
    if (b == output) return "output";
    return (b.packed != 0 ? "packed" : "scratch") + std::to_string(scratch_plane(b));
}

inline std::string to_string(const slice& s) {
    // A slice from a file may end beyond the last number: say so rather than wrap around.
    const std::uint64_t last = std::uint64_t{s.first} + s.count;
    return to_string(s.buffer) + '[' + std::to_string(s.first) + ".." + std::to_string(last) + ')';
}

namespace detail {

// "-> 3" for a send, "<- 1" for a receive, nothing for a local step.
inline std::string peer_text(const step& s) {
    if (!s.communicates()) return {};
    return (s.verb == verb::send ? "-> " : "<- ") +
           (s.peer == no_rank ? std::string("nobody") : std::to_string(s.peer));
}

// What the step reads and writes.
inline std::string operands_text(const step& s) {
    switch (s.verb) {
    case verb::send: return to_string(s.a) + (s.more ? " +" : "");
    case verb::receive: return to_string(s.out) + (s.more ? " +" : "");
    case verb::combine: return to_string(s.out) + " = op(" + to_string(s.a) + ", " + to_string(s.b) + ')';
    case verb::copy: return to_string(s.out) + " = " + to_string(s.a);
    }
    return {};
}

} // namespace detail

inline std::string to_string(const step& s) {
    std::string text(verb_name(s.verb));
    if (s.communicates()) text += ' ' + detail::peer_text(s);
    return text + ' ' + detail::operands_text(s);
}

// Writes what to_string gives.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, verb v) {
    return out << verb_name(v);
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, buffer b) {
    return out << to_string(b);
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const slice& s) {
    return out << to_string(s);
}
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const step& s) {
    return out << to_string(s);
}

} // namespace bough

#endif
