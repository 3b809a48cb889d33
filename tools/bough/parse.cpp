// SPDX-License-Identifier: BSL-1.0
// Parsing numbers, ranges of ranks and lists of sizes.
#include "parse.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

namespace cli {

namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

} // namespace

std::uint64_t parse_number(std::string_view argument, std::string_view text, std::uint64_t least, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::invalid_argument || end != text.data() + text.size())
        throw usage_error(argument, "needs a whole number, not " + quoted(text));
    if (error == std::errc::result_out_of_range || value < least || value > most)
        throw usage_error(argument, "needs a number from " + std::to_string(least) + " to " + std::to_string(most) +
                                        ", not " + quoted(text));
    return value;
}

bough::rank_t parse_ranks(std::string_view text) {
    return static_cast<bough::rank_t>(parse_number("--ranks", text, 1, bough::no_rank - 1));
}

rank_range parse_rank_range(std::string_view text) {
    const auto dots = text.find("..");
    if (dots == std::string_view::npos) {
        const bough::rank_t ranks = parse_ranks(text);
        return {ranks, ranks};
    }
    const rank_range range{parse_ranks(text.substr(0, dots)), parse_ranks(text.substr(dots + 2))};
    if (range.last < range.first) throw usage_error("--ranks", "the range " + quoted(text) + " ends before it begins");
    return range;
}

bough::grid_extents parse_extents(std::string_view argument, std::string_view text) {
    bough::grid_extents made;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('x', at), text.size());
        if (made.dimensions == bough::grid_extents::most)
            throw usage_error(argument, "at most " + std::to_string(bough::grid_extents::most) + " dimensions");
        made.add(static_cast<bough::rank_t>(parse_number(argument, text.substr(at, end - at), 1, 1u << 16)));
        at = end + 1;
    }
    return made;
}

std::optional<bough::rank_t> parse_degree(std::string_view text) {
    if (text.empty()) return std::nullopt;
    return static_cast<bough::rank_t>(parse_number("--degree", text, 0, bough::no_rank));
}

void check_transport(std::string_view name) {
    if (name != "in_process")
        throw usage_error("--transport", "there is no " + quoted(name) + "; known are in_process");
}

std::vector<std::uint64_t> parse_sizes(std::string_view argument, std::string_view text) {
    std::vector<std::uint64_t> sizes;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t comma = std::min(text.find(',', at), text.size());
        std::string_view item = text.substr(at, comma - at);
        unsigned shift = 0;
        if (!item.empty()) {
            switch (item.back()) {
            case 'K': shift = 10; break;
            case 'M': shift = 20; break;
            case 'G': shift = 30; break;
            default: break;
            }
        }
        if (shift != 0) item.remove_suffix(1);
        const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() >> shift;
        sizes.push_back(parse_number(argument, item, 0, most) << shift);
        at = comma + 1;
    }
    return sizes;
}

std::uint64_t parse_size(std::string_view argument, std::string_view text) {
    const std::vector<std::uint64_t> sizes = parse_sizes(argument, text);
    if (sizes.size() != 1) throw usage_error(argument, "one size is needed");
    return sizes.front();
}

std::vector<std::uint64_t> parse_size_range(std::string_view argument, std::string_view text) {
    const auto dots = text.find("..");
    std::vector<std::uint64_t> sizes;
    if (dots == std::string_view::npos) {
        sizes = parse_sizes(argument, text);
        std::sort(sizes.begin(), sizes.end());
        return sizes;
    }
    const std::uint64_t first = parse_size(argument, text.substr(0, dots));
    const std::uint64_t last = parse_size(argument, text.substr(dots + 2));
    if (first == 0) throw usage_error(argument, "a range begins at 1 or more, not at 0");
    if (last < first) throw usage_error(argument, "the range " + quoted(text) + " ends before it begins");
    for (std::uint64_t size = first; size <= last && size >= first; size *= 2) sizes.push_back(size);
    return sizes;
}

std::string size_text(std::uint64_t bytes) {
    std::string_view unit = "";
    for (const std::string_view next : {"K", "M", "G"}) {
        if (bytes == 0 || bytes % 1024 != 0) break;
        bytes /= 1024;
        unit = next;
    }
    return std::to_string(bytes) + std::string(unit);
}

} // namespace cli
