// SPDX-License-Identifier: BSL-1.0
// Reading --neighbours.
#include "neighbours.hpp"

#include "catalogue.hpp"
#include "parse.hpp"
#include <bough/schedule/stencil.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace cli {

namespace {

constexpr std::string_view option = "--neighbours";

// `argument`: what a sentence about a fault begins with, here and below.
neighbours checked(std::string_view argument, neighbours made) {
    const bough::status bad = made.around.check(made.ranks);
    if (!bad) return made;
    std::string sentence = bad.argument;
    sentence.erase(0, sentence.starts_with("neighbours: ") ? std::string_view("neighbours: ").size() : 0);
    throw usage_error(argument, sentence + (bad.peer == bough::no_rank ? "" : ": rank " + std::to_string(bad.peer)));
}

bool names_a_grid(std::string_view text) { return text.starts_with("star:") || text.starts_with("box:"); }

// Pre: names_a_grid(text).
neighbours grid_of(std::string_view argument, const std::string& text) {
    std::istringstream words(text.substr(text.find(':') + 1));
    std::string word;
    std::getline(words, word, ',');
    bough::grid_neighbours grid;
    grid.extents = parse_extents(argument, word);
    std::uint64_t ranks = 1, reach = 1;
    for (std::uint32_t d = 0; d != grid.extents.dimensions; ++d)
        if ((ranks *= grid.extents.extent[d]) > most_steps)
            throw usage_error(argument, "at most " + std::to_string(most_steps) + " ranks");
    while (std::getline(words, word, ','))
        if (word == "ends")
            std::fill_n(grid.ends, grid.extents.dimensions, true);
        else
            reach = parse_number(argument, word, 1, 1u << 16);
    const bool star = text.starts_with("star:");
    std::uint64_t offsets = star ? 0 : 1;
    for (std::uint32_t d = 0; d != grid.extents.dimensions && offsets <= most_steps; ++d)
        offsets = star ? offsets + 2 * reach : offsets * (2 * reach + 1);
    if (offsets * ranks > most_steps)
        throw usage_error(argument, "at most " + std::to_string(most_steps) + " neighbours of all ranks together");
    const auto far = static_cast<std::int32_t>(reach);
    grid.offsets =
        star ? bough::star_offsets(grid.extents.dimensions, far) : bough::box_offsets(grid.extents.dimensions, far);
    return checked(argument, {std::move(grid), static_cast<bough::rank_t>(ranks), text});
}

neighbours graph_of(std::string_view argument, std::vector<std::vector<bough::rank_t>> destinations) {
    neighbours made;
    made.ranks = static_cast<bough::rank_t>(destinations.size());
    made.written = destinations;
    made.around = bough::graph_neighbours{.destinations = std::move(destinations)};
    return checked(argument, std::move(made));
}

// A line as "0: 1 2"; nothing on an empty one. `line`: its number, for the sentence.
void read_line(const std::string& path, std::size_t line, std::string text,
               std::vector<std::vector<bough::rank_t>>& all, std::vector<bool>& told) {
    text.erase(std::min(text.find('#'), text.size()));
    if (text.find_first_not_of(" \t\r") == std::string::npos) return;
    const std::string where = "file '" + path + "', line " + std::to_string(line) + ": ";
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos)
        throw usage_error(option, where + "needs a rank and those it sends to, as '0: 1 2'");
    const auto rank_of = [&](const std::string& word) -> std::size_t {
        if (word.empty() || word.size() > 7 || word.find_first_not_of("0123456789") != std::string::npos)
            throw usage_error(option, where + "'" + word + "' is no rank");
        const std::size_t rank = std::stoul(word);
        if (rank >= most_steps) throw usage_error(option, where + "at most " + std::to_string(most_steps) + " ranks");
        if (all.size() <= rank) all.resize(rank + 1);
        return rank;
    };
    std::istringstream head(text.substr(0, colon)), words(text.substr(colon + 1));
    std::string word, more;
    head >> word;
    if (head >> more) throw usage_error(option, where + "'" + more + "' is behind the rank");
    const std::size_t rank = rank_of(word);
    if (told.size() <= rank) told.resize(rank + 1);
    if (told[rank]) throw usage_error(option, where + "rank " + word + " has a line already");
    told[rank] = true;
    while (words >> word) {
        const std::size_t to = rank_of(word);
        all[rank].push_back(static_cast<bough::rank_t>(to));
    }
}

neighbours file_of(const std::string& path) {
    std::ifstream in(path);
    if (!in)
        throw usage_error(option, "file '" + path + "': cannot be opened; a grid is written as star:8x8 or box:4x4x4");
    std::error_code unused;
    if (std::filesystem::is_directory(path, unused)) throw usage_error(option, "'" + path + "' is a directory");
    std::vector<std::vector<bough::rank_t>> all;
    std::vector<bool> told;
    std::string text;
    for (std::size_t line = 1; std::getline(in, text); ++line) read_line(path, line, text, all, told);
    if (in.bad() || all.empty()) throw usage_error(option, "file '" + path + "': names no ranks");
    return graph_of(option, std::move(all));
}

} // namespace

neighbours parse_neighbours(const std::string& typed) {
    return names_a_grid(typed) ? grid_of(option, typed) : file_of(typed);
}

std::optional<neighbours> neighbours_of(std::string_view argument, const json& written) {
    if (written.is_string() && names_a_grid(written.get<std::string>())) return grid_of(argument, written);
    if (!written.is_array() || written.empty() || written.size() > most_steps) return std::nullopt;
    std::vector<std::vector<bough::rank_t>> all;
    for (const json& list : written) {
        if (!list.is_array()) return std::nullopt;
        auto& to = all.emplace_back();
        for (const json& rank : list) {
            if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() >= bough::no_rank) return std::nullopt;
            to.push_back(rank);
        }
    }
    return graph_of(argument, std::move(all));
}

} // namespace cli
