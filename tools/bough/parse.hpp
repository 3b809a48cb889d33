// SPDX-License-Identifier: BSL-1.0
// Parsing what a user typed: numbers, ranges of ranks, lists of sizes. Whatever is wrong becomes one usage_error.
#ifndef BOUGH_TOOLS_PARSE_HPP
#define BOUGH_TOOLS_PARSE_HPP

#include <bough/core/rank.hpp>
#include <bough/schedule/grid_extents.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The command line asks for something that there is not: exit status 2. The sentence names the argument.
struct usage_error : std::runtime_error {
    explicit usage_error(const std::string& sentence) : std::runtime_error(sentence) {}
    usage_error(std::string_view argument, std::string_view sentence)
        : std::runtime_error(std::string(argument) + ": " + std::string(sentence)) {}
};

// A decimal number in [least, most].
std::uint64_t parse_number(std::string_view argument, std::string_view text, std::uint64_t least, std::uint64_t most);

// A number of ranks, 1 .. 2^32 - 2.
bough::rank_t parse_ranks(std::string_view text);

// `8`, or `1..256`, both ends included.
struct rank_range {
    bough::rank_t first = 1;
    bough::rank_t last = 1;
};
rank_range parse_rank_range(std::string_view text);

// The value of --degree; nothing if it was not given.
std::optional<bough::rank_t> parse_degree(std::string_view text);

// `8x8`, `4x4x4`: up to 6 extents, each from 1 on. Throws usage_error.
bough::grid_extents parse_extents(std::string_view argument, std::string_view text);

// Throws unless there is such a transport.
void check_transport(std::string_view name);

// `8,64K,1M`: bytes; K, M and G are 2^10, 2^20 and 2^30.
std::vector<std::uint64_t> parse_sizes(std::string_view argument, std::string_view text);
std::uint64_t parse_size(std::string_view argument, std::string_view text); // one of them
// `8..16M`: powers of two from the first to the last; or a list as above. Ascending.
std::vector<std::uint64_t> parse_size_range(std::string_view argument, std::string_view text);
std::string size_text(std::uint64_t bytes); // 65536 is 64K

} // namespace cli

#endif
