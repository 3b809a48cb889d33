// SPDX-License-Identifier: BSL-1.0
// Steps and traits as tables and in JSON.
#ifndef BOUGH_TOOLS_DESCRIBE_HPP
#define BOUGH_TOOLS_DESCRIBE_HPP

#include "json.hpp"
#include <bough/core/step.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/traits.hpp>

#include <span>
#include <string>
#include <string_view>

namespace cli {

json json_of(const bough::slice&);
// {"verb", "peer", "from" or "a" and "b", "out", "after"}; "posted_after" is the step before on the same channel.
json json_of(const bough::step&, std::span<const std::uint32_t> after, std::uint32_t posted_after);

// The figures of plan_traits, each with the name that bough gives it and what it counts.
struct trait {
    const char* name;
    const char* meaning;
    std::uint64_t (*value)(const bough::plan_traits&);
};
std::span<const trait> traits();
// The yes and no of plan_traits.
std::span<const trait> properties();

json json_of(const bough::plan_traits&);

} // namespace cli

#endif
