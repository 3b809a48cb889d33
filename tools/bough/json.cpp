// SPDX-License-Identifier: BSL-1.0
// Printing JSON: what fits on a line stays on one line.
#include "json.hpp"

#include <ostream>
#include <string>

namespace cli {

namespace {

constexpr std::size_t widest = 110;

void print(std::ostream& out, const json& value, std::size_t indent) {
    const std::string line = value.dump();
    if (!value.is_structured() || value.empty() || indent + line.size() <= widest) {
        out << line;
        return;
    }
    const std::string margin(indent + 2, ' ');
    out << (value.is_object() ? "{" : "[");
    // A long list of numbers is filled like text.
    if (value.is_array() && value.front().is_number()) {
        std::size_t column = widest + 1;
        for (const json& item : value) {
            const std::string text = item.dump() + (&item == &value.back() ? "" : ",");
            if (column + text.size() > widest) {
                out << '\n' << margin;
                column = margin.size();
            }
            out << text;
            column += text.size();
        }
    } else {
        const char* separator = "\n";
        for (auto item = value.begin(); item != value.end(); ++item) {
            out << separator << margin;
            separator = ",\n";
            if (value.is_object()) out << json(item.key()).dump() << ": ";
            print(out, *item, indent + 2);
        }
    }
    out << '\n' << std::string(indent, ' ') << (value.is_object() ? "}" : "]");
}

} // namespace

void print(std::ostream& out, const json& value) {
    print(out, value, 0);
    out << '\n';
}

} // namespace cli
