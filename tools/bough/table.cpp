// SPDX-License-Identifier: BSL-1.0
// bough table: every plan of the catalogue with its computed traits, side by side.
#include "catalogue.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "parse.hpp"
#include "progress.hpp"
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <vector>

namespace cli {

namespace {

constexpr bough::rank_t most_ranks = 4096;

using row = std::vector<std::string>;

// Plans with the same letter give the same bits.
std::string bracket_letter(std::vector<std::uint64_t>& classes, std::uint64_t bracket) {
    auto at = std::find(classes.begin(), classes.end(), bracket);
    if (at == classes.end()) at = classes.insert(at, bracket);
    const auto number = std::distance(classes.begin(), at);
    return std::string(1, static_cast<char>('A' + number % 26)) + (number < 26 ? "" : std::to_string(number / 26));
}

row row_of(const problem& what, const bough::verdict& v, std::vector<std::uint64_t>& classes) {
    const bough::plan_traits& t = v.traits;
    row cells{name_of(what.collective), text_of(what.algorithm)};
    const bool combines = t.depth != 0 && what.collective != collective::barrier; // values, not tokens
    if (!v) {
        cells.push_back("WRONG");
        cells.resize(13, "-");
        return cells;
    }
    for (const std::uint64_t figure : {std::uint64_t{t.rounds}, std::uint64_t{t.hops}, std::uint64_t{t.depth},
                                       t.messages, t.volume, t.volume_max, t.combines_max, t.scratch_max})
        cells.push_back(std::to_string(figure));
    cells.push_back(!combines ? "-" : t.needs_commutative ? "commutative" : "any");
    cells.push_back(!combines ? "-" : t.rank_consistent ? "yes" : "no");
    cells.push_back(combines ? bracket_letter(classes, t.bracket) : "-");
    return cells;
}

const row header{"collective", "algorithm",    "rounds",      "hops", "depth",     "messages", "volume",
                 "volume_max", "combines_max", "scratch_max", "op",   "same_bits", "bracket"};

void print_rows(std::ostream& out, const std::vector<row>& rows, bool markdown) {
    std::vector<std::size_t> widths(header.size(), 0);
    for (const row& r : rows)
        for (std::size_t i = 0; i != r.size(); ++i)
            widths[i] = std::max(widths[i], r[i].size() + (markdown && i == 1 ? 2 : 0));
    const auto is_text = [](std::size_t i) { return i < 2 || i >= 10; };
    const auto print_row = [&](const row& r, bool heading) {
        std::string line = markdown ? "|" : "";
        for (std::size_t i = 0; i != r.size(); ++i) {
            const std::string cell = markdown && i == 1 && !heading ? "`" + r[i] + "`" : r[i];
            const std::string padding(widths[i] - cell.size(), ' ');
            line += (markdown ? " " : i == 0 ? "" : "  ") + (is_text(i) ? cell + padding : padding + cell);
            if (markdown) line += " |";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
    };
    print_row(rows.front(), true);
    if (markdown) {
        std::string line = "|";
        for (std::size_t i = 0; i != widths.size(); ++i)
            line +=
                is_text(i) ? " " + std::string(widths[i], '-') + " |" : " " + std::string(widths[i] - 1, '-') + ": |";
        out << line << '\n';
    }
    for (std::size_t i = 1; i != rows.size(); ++i) print_row(rows[i], false);
}

void print_key(std::ostream& out, bough::rank_t ranks, bool markdown) {
    out << (markdown ? "\nMade by `bough table --ranks " : "\nEvery plan is proved for ") << ranks
        << (markdown ? " --format markdown`; every plan is proved.\n" : " ranks; root 0, one block.\n");
    const auto item = [&](const char* name, const char* meaning) {
        out << (markdown ? "- **" : "  ") << name << (markdown ? "**: " : ": ") << meaning << '\n';
    };
    if (markdown) out << '\n';
    for (const trait& t : traits())
        if (std::find(header.begin(), header.end(), t.name) != header.end()) item(t.name, t.meaning);
    item("op", "any associative op, in rank order; or it must be commutative too");
    item("same_bits", "every rank that gets a result gets the same bits");
    item("bracket", "plans with the same letter combine alike, so they give the same bits");
}

} // namespace

int table(const table_arguments& typed) {
    const auto ranks = static_cast<bough::rank_t>(parse_number("--ranks", typed.ranks, 1, most_ranks));
    std::vector<row> rows{header};
    std::vector<std::uint64_t> classes;
    bool all_right = true;
    json document{{"size", ranks}, {"plans", json::array()}};
    std::uint64_t plans = 0;
    for (const collective c : all_collectives()) plans += all_algorithms(c).size();
    progress::expect(plans);
    for (const collective c : all_collectives())
        for (const bough::any_algorithm& a : all_algorithms(c)) {
            progress::step();
            const problem what{c, a, {.size = ranks}};
            if (const bough::block_t blocks = a.natural_blocks(ranks);
                a.check({.size = ranks, .blocks = blocks}) || blocks > most_steps / ranks)
                continue; // not for this number of ranks
            const bough::verdict v = with_plan(what, [](const auto& plan) { return bough::verify(plan); });
            all_right &= bool(v);
            rows.push_back(row_of(what, v, classes));
            document["plans"].push_back({{"collective", name_of(c)},
                                         {"algorithm", text_of(a)},
                                         {"right", bool(v)},
                                         {"traits", json_of(v.traits)}});
        }
    if (typed.format == "json") {
        print(std::cout, document);
        return all_right ? 0 : 1;
    }
    if (typed.format == "markdown")
        std::cout << "# All algorithms over " << ranks << (ranks == 1 ? " rank\n\n" : " ranks\n\n");
    print_rows(std::cout, rows, typed.format == "markdown");
    print_key(std::cout, ranks, typed.format == "markdown");
    return all_right ? 0 : 1;
}

} // namespace cli
