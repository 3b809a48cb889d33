// SPDX-License-Identifier: BSL-1.0
// bough map: which algorithm wins where, over ranks and bytes. As a picture, as text, or as data.
#include "catalogue.hpp"
#include "commands.hpp"
#include "models.hpp"
#include "on_network.hpp"
#include "parse.hpp"
#include "progress.hpp"
#include "short_name.hpp"
#include <bough/select/choose.hpp>
#include <bough/select/print_decision.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks = 1024;
constexpr std::size_t most_rows = 128; // of ranks; of more, some are left out

// One for each algorithm; the last stands for all that come later.
constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

struct cell {
    std::size_t winner = 0; // of map::names
    double ns = 0;
    double least_ns = 0; // of any plan on the network, if there is one
};

struct winners {
    cli::collective collective{};
    std::vector<bough::rank_t> ranks;
    std::vector<std::uint64_t> sizes;
    std::vector<std::string> names;  // in the order in which they are met
    std::vector<std::size_t> counts; // of cells
    std::vector<cell> cells;         // of each number of ranks, all sizes
    std::string by;                  // the model, or the network

    const cell& at(std::size_t row, std::size_t column) const { return cells[row * sizes.size() + column]; }
};

winners find_winners(const map_arguments& typed) {
    winners found;
    found.collective = find_collective(typed.collective);
    const rank_range range = parse_rank_range(typed.ranks);
    if (range.last > most_ranks)
        throw usage_error("--ranks", "at most " + std::to_string(most_ranks) + ", not '" + typed.ranks + "'");
    const std::size_t step = (range.last - range.first) / most_rows + 1;
    for (std::size_t p = range.first; p <= range.last; p += step) found.ranks.push_back(static_cast<bough::rank_t>(p));
    found.sizes = byte_range_of(found.collective, typed.bytes, "8..16M");
    const bough::choose_options options{.needed = parse_requirements(typed.require)};
    const auto on = parse_priced_network(typed.network, typed.model, typed.eager, range.last);
    bough::any_cost_model costs;
    if (on) {
        found.by = on->text;
    } else {
        const named_model model = parse_model(typed.model);
        const std::uint64_t eager_bytes = parse_eager(typed.eager);
        costs = with_eager(model, eager_bytes);
        found.by = model.text + eager_text(eager_bytes);
    }
    std::uint64_t work = 0; // a choice takes about as many steps as there are ranks
    for (const bough::rank_t p : found.ranks) work += p * found.sizes.size();
    progress::expect(work);
    for (const bough::rank_t p : found.ranks)
        for (const std::uint64_t bytes : found.sizes) {
            progress::step(p);
            const bough::dimensions at{.size = p};
            const bough::problem what{.bytes = bytes};
            const bough::decision d =
                on ? choose_on(*on, found.collective, at, what, options)
                   : bough::choose(standard_candidates(found.collective, at, what, options.needed, costs), at, what,
                                   costs, options);
            if (!d) {
                const auto is_it = [](const bough::prospect& one) {
                    return one.excluded == bough::exclusion::no_price;
                };
                if (std::any_of(d.prospects.begin(), d.prospects.end(), is_it))
                    throw usage_error("--model", "a cost is infinite, negative or not a number");
                throw usage_error("--require", "no algorithm has all of that");
            }
            std::string name = short_name(d.winner().what.algorithm, p);
            auto place = std::find(found.names.begin(), found.names.end(), name);
            if (place == found.names.end() && found.names.size() + 1 >= letters.size()) {
                name = "another";
                place = std::find(found.names.begin(), found.names.end(), name);
            }
            const auto index = static_cast<std::size_t>(place - found.names.begin());
            if (place == found.names.end()) {
                found.names.push_back(name);
                found.counts.push_back(0);
            }
            ++found.counts[index];
            found.cells.push_back({index, d.winner().predicted_ns});
            if (on)
                found.cells.back().least_ns = bound_on(on->over, on->model, found.collective, least_cut(d), bytes).ns();
        }
    return found;
}

// "the winners do 40 to 92 %, 71 % on average, of what this network can do"; empty without a network.
std::string bound_text(const winners& found) {
    double least = std::numeric_limits<double>::infinity(), most = 0, sum = 0;
    std::size_t count = 0;
    for (const cell& c : found.cells) {
        if (c.least_ns == 0 || c.ns == 0) continue;
        const double percent = std::floor(100 * c.least_ns / c.ns + 1e-9);
        least = std::min(least, percent);
        most = std::max(most, percent);
        sum += percent;
        ++count;
    }
    if (count == 0) return "";
    const auto whole = [](double percent) { return std::to_string(static_cast<int>(percent)); };
    return "the winners do " + whole(least) + " to " + whole(most) + " %, " + whole(sum / static_cast<double>(count)) +
           " % on average, of what this network can do";
}

bool is_doubling(const std::vector<std::uint64_t>& sizes) {
    for (std::size_t i = 1; i < sizes.size(); ++i)
        if (sizes[i] != 2 * sizes[i - 1]) return false;
    return true;
}

std::string sizes_text(const std::vector<std::uint64_t>& sizes) {
    if (sizes.size() > 1 && is_doubling(sizes))
        return size_text(sizes.front()) + " .. " + size_text(sizes.back()) + " bytes, each column twice the one before";
    std::string text;
    for (const std::uint64_t size : sizes) text += (text.empty() ? "" : ", ") + size_text(size);
    return text + " bytes";
}

void print_text(std::ostream& out, const winners& found) {
    out << "The fastest " << name_of(found.collective) << " by ranks and bytes; " << found.by << "\n\n";
    for (std::size_t row = found.ranks.size(); row-- != 0;) {
        std::string number = std::to_string(found.ranks[row]);
        out << std::string(6 - std::min<std::size_t>(6, number.size()), ' ') << number << "  ";
        for (std::size_t column = 0; column != found.sizes.size(); ++column)
            out << letters[found.at(row, column).winner] << ' ';
        out << '\n';
    }
    out << "\n        " << sizes_text(found.sizes) << "\n\n";
    for (std::size_t i = 0; i != found.names.size(); ++i)
        out << "  " << letters[i] << "  " << found.names[i] << "  (" << found.counts[i] << " of " << found.cells.size()
            << ")\n";
    if (const std::string text = bound_text(found); !text.empty()) out << "\n  " << text << '\n';
}

json json_of(const winners& found) {
    json document{{"collective", name_of(found.collective)},
                  {"model", found.by},
                  {"ranks", found.ranks},
                  {"bytes", found.sizes},
                  {"algorithms", found.names},
                  {"cells", json::array()}};
    for (std::size_t row = 0; row != found.ranks.size(); ++row)
        for (std::size_t column = 0; column != found.sizes.size(); ++column) {
            const cell& c = found.at(row, column);
            document["cells"].push_back({{"ranks", found.ranks[row]},
                                         {"bytes", found.sizes[column]},
                                         {"algorithm", found.names[c.winner]},
                                         {"ns", c.ns}});
            if (c.least_ns != 0) document["cells"].back()["least_ns"] = c.least_ns;
        }
    return document;
}

// Distinct for most eyes, also for those that do not tell red from green.
constexpr std::array<const char*, 14> colours{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
                                              "#aa3377", "#bbbbbb", "#ee7733", "#009988", "#332288",
                                              "#ddaa99", "#88aa33", "#7755bb", "#444444"};

// Beyond these, turns of the colour wheel.
std::string colour(std::size_t index) {
    if (index < colours.size()) return colours[index];
    return "hsl(" + std::to_string(index * 137 % 360) + ",60%," + std::to_string(35 + index % 3 * 15) + "%)";
}

std::string escaped(const std::string& text) {
    std::string made;
    for (const char c : text) made += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return made;
}

bool is_tick(std::uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

void print_svg(std::ostream& out, const winners& found) {
    const int columns = static_cast<int>(found.sizes.size()), rows = static_cast<int>(found.ranks.size());
    const int cell_width = std::clamp(660 / columns, 12, 60), cell_height = std::clamp(504 / rows, 4, 36);
    const int left = 84, top = 92, width = columns * cell_width, height = rows * cell_height;
    std::size_t longest = 20;
    for (const std::string& name : found.names) longest = std::max(longest, name.size());
    const int legend = left + width + 36;
    const int total = legend + 40 + static_cast<int>(longest) * 8;
    const int bottom = std::max(top + height + 72, top + 40 + 26 * static_cast<int>(found.names.size()));
    const auto text = [&](int x, int y, const std::string& what, const char* more) {
        out << "<text x=\"" << x << "\" y=\"" << y << "\" " << more << ">" << escaped(what) << "</text>\n";
    };
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << total << ' ' << bottom << "\" width=\""
        << total << "\" height=\"" << bottom
        << "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"14\" fill=\"#222\">\n"
        << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    text(left, 38, "The fastest " + std::string(name_of(found.collective)), "font-size=\"24\" font-weight=\"bold\"");
    const std::string of_bound = bound_text(found);
    text(left, 66, found.by + (of_bound.empty() ? "" : "; " + of_bound), "font-size=\"15\" fill=\"#666\"");
    for (int row = 0; row != rows; ++row) {
        const int y = top + (rows - 1 - row) * cell_height;
        for (int begin = 0; begin != columns;) {
            const auto winner = found.at(static_cast<std::size_t>(row), static_cast<std::size_t>(begin)).winner;
            int end = begin;
            while (end != columns &&
                   found.at(static_cast<std::size_t>(row), static_cast<std::size_t>(end)).winner == winner)
                ++end;
            out << "<rect x=\"" << left + begin * cell_width << "\" y=\"" << y << "\" width=\""
                << (end - begin) * cell_width << "\" height=\"" << cell_height << "\" fill=\"" << colour(winner)
                << "\"><title>" << found.ranks[static_cast<std::size_t>(row)]
                << " ranks: " << escaped(found.names[winner]) << "</title></rect>\n";
            begin = end;
        }
    }
    // A faint grid at powers of two, the frame, and the axes.
    out << "<g stroke=\"white\" stroke-opacity=\"0.45\">\n";
    for (int column = 1; column < columns; ++column)
        out << "<path d=\"M" << left + column * cell_width << ' ' << top << "v" << height << "\"/>\n";
    for (int row = 1; row < rows; ++row)
        if (is_tick(found.ranks[static_cast<std::size_t>(row)]) || cell_height >= 12)
            out << "<path d=\"M" << left << ' ' << top + (rows - row) * cell_height << "h" << width << "\"/>\n";
    out << "</g>\n<rect x=\"" << left << "\" y=\"" << top << "\" width=\"" << width << "\" height=\"" << height
        << "\" fill=\"none\" stroke=\"#222\"/>\n";
    for (int row = 0; row != rows; ++row)
        if (is_tick(found.ranks[static_cast<std::size_t>(row)]) || cell_height >= 18)
            text(left - 8, top + (rows - 1 - row) * cell_height + cell_height / 2 + 5,
                 std::to_string(found.ranks[static_cast<std::size_t>(row)]), "text-anchor=\"end\"");
    const int every = cell_width < 40 ? (cell_width < 22 ? 4 : 2) : 1;
    for (int column = 0; column < columns; column += every)
        text(left + column * cell_width + cell_width / 2, top + height + 20,
             size_text(found.sizes[static_cast<std::size_t>(column)]), "text-anchor=\"middle\"");
    text(left + width / 2, top + height + 48, "bytes of a vector", "text-anchor=\"middle\" font-size=\"16\"");
    out << "<text transform=\"translate(26 " << top + height / 2
        << ") rotate(-90)\" text-anchor=\"middle\" font-size=\"16\">ranks</text>\n";
    // The legend, the most frequent first.
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i != found.names.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return found.counts[a] > found.counts[b]; });
    int y = top + 4;
    for (const std::size_t i : order) {
        out << "<rect x=\"" << legend << "\" y=\"" << y << "\" width=\"18\" height=\"18\" rx=\"3\" fill=\"" << colour(i)
            << "\"/>\n";
        text(legend + 28, y + 14, found.names[i], "");
        y += 26;
    }
    out << "</svg>\n";
}

} // namespace

int map(const map_arguments& typed) {
    const winners found = find_winners(typed);
    if (typed.format == "json")
        print(std::cout, json_of(found));
    else if (typed.format == "svg")
        print_svg(std::cout, found);
    else
        print_text(std::cout, found);
    return 0;
}

} // namespace cli
