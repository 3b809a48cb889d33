// SPDX-License-Identifier: BSL-1.0
// The names of goals, by the kind that stands in call signatures, for files that name their
// collective.
#ifndef BOUGH_SCHEDULE_PRINT_GOAL_HPP
#define BOUGH_SCHEDULE_PRINT_GOAL_HPP

#include <bough/core/collective_name.hpp>

#include <cstdint>
#include <string_view>

namespace bough::inline BOUGH_ABI {

// The name of a kind; empty if there is no such kind.
constexpr std::string_view goal_name(std::uint8_t kind) noexcept { return collective_name(kind); }
// The kind of a name; 0 if there is no such name.
constexpr std::uint8_t goal_kind(std::string_view name) noexcept {
    for (std::uint8_t kind = 1; kind != collective_kinds; ++kind)
        if (goal_name(kind) == name) return kind;
    return 0;
}

} // namespace bough

#endif
