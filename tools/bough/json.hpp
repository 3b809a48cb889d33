// SPDX-License-Identifier: BSL-1.0
// JSON for people too: what fits on a line stays on one line.
#ifndef BOUGH_TOOLS_JSON_HPP
#define BOUGH_TOOLS_JSON_HPP

#include <nlohmann/json.hpp>

#include <iosfwd>

namespace cli {

using json = nlohmann::ordered_json;

// Ends with a new line.
void print(std::ostream& out, const json& value);

} // namespace cli

#endif
