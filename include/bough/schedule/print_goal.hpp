// SPDX-License-Identifier: BSL-1.0
// The names of goals, by the kind that stands in call signatures: for files that say of which collective they are.
#ifndef BOUGH_SCHEDULE_PRINT_GOAL_HPP
#define BOUGH_SCHEDULE_PRINT_GOAL_HPP

#include <array>
#include <cstdint>
#include <string_view>

namespace bough {

namespace detail {
inline constexpr std::array<std::string_view, 14> goal_names{
    "",          "reduce", "allreduce", "broadcast",      "barrier",   "gather",   "scatter",
    "multicast", "scan",   "exscan",    "reduce_scatter", "allgather", "alltoall", "multicasts"};
} // namespace detail

// Empty if there is no such kind.
constexpr std::string_view goal_name(std::uint8_t kind) noexcept {
    return kind < detail::goal_names.size() ? detail::goal_names[kind] : std::string_view{};
}
// 0 if there is no such name.
constexpr std::uint8_t goal_kind(std::string_view name) noexcept {
    for (std::uint8_t kind = 1; kind != detail::goal_names.size(); ++kind)
        if (detail::goal_names[kind] == name) return kind;
    return 0;
}

} // namespace bough

#endif
