// SPDX-License-Identifier: BSL-1.0
// Changes of single steps: reading them, and making them.
#include "edits.hpp"

#include "parse.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace playground {

namespace {

constexpr std::size_t most_edits = 64;
constexpr std::uint64_t most_planes = 64; // the proof gives each rank memory of all planes that its steps name
constexpr std::uint64_t any_number = 0x7fff'ffff;

[[noreturn]] void refuse(std::string_view one) {
    throw cli::usage_error("edit",
                           "'" + std::string(one) +
                               "' is no change of a step; one is as 3.2.drop, 3.2.peer.5 or 3.2.out.scratch0:0:1");
}

// Takes what stands before the next separator off the text.
std::string_view take(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}
std::uint32_t number(std::string_view text, std::uint64_t most = any_number) {
    return static_cast<std::uint32_t>(cli::parse_number("edit", text, 0, most));
}

bough::slice parse_slice(std::string_view text, std::string_view whole) {
    constexpr std::string_view plane = "scratch", packed = "packed"; // and a number
    const std::string_view name = take(text, ':');
    bough::slice made;
    if (name == "input")
        made.buffer = bough::input;
    else if (name == "output")
        made.buffer = bough::output;
    else if (name.starts_with(plane))
        made.buffer = bough::scratch(number(name.substr(plane.size()), most_planes - 1));
    else if (name.starts_with(packed))
        made.buffer = bough::packed_scratch(number(name.substr(packed.size()), most_planes - 1));
    else
        refuse(whole);
    made.first = number(take(text, ':'));
    made.count = number(text);
    return made;
}

edit parse_edit(std::string_view whole) {
    std::string_view text = whole;
    edit made;
    made.rank = number(take(text, '.'));
    made.line = number(take(text, '.'));
    const std::string_view what = take(text, '.');
    const auto sliced = [&](edit::kind k) { made.what = k, made.slice = parse_slice(text, whole); };
    if (what == "peer") {
        made.what = edit::kind::peer;
        made.peer = number(text);
    } else if (what == "a")
        sliced(edit::kind::a);
    else if (what == "b")
        sliced(edit::kind::b);
    else if (what == "out")
        sliced(edit::kind::out);
    else if (!text.empty())
        refuse(whole);
    else if (what == "drop")
        made.what = edit::kind::drop;
    else if (what == "twice")
        made.what = edit::kind::twice;
    else if (what == "swap")
        made.what = edit::kind::swap;
    else
        refuse(whole);
    return made;
}

// Does the step have what is to be changed?
bool fits(edit::kind what, const bough::step& s) {
    switch (what) {
    case edit::kind::drop:
    case edit::kind::twice: return true;
    case edit::kind::peer: return s.communicates();
    case edit::kind::swap:
    case edit::kind::b: return s.reads_b();
    case edit::kind::a: return s.reads_a();
    case edit::kind::out: return s.writes();
    }
    return false;
}

void change(const edit& e, edited_step& to) {
    switch (e.what) {
    case edit::kind::drop: to.dropped = true; break;
    case edit::kind::twice: break; // done last
    case edit::kind::peer: to.step.peer = e.peer; break;
    case edit::kind::swap: std::swap(to.step.a, to.step.b); break;
    case edit::kind::a: to.step.a = e.slice; break;
    case edit::kind::b: to.step.b = e.slice; break;
    case edit::kind::out: to.step.out = e.slice; break;
    }
    to.changed = true;
}

} // namespace

edit_list parse_edits(std::string_view text) {
    edit_list all;
    while (!text.empty()) all.push_back(parse_edit(take(text, '~')));
    if (all.size() > most_edits)
        throw cli::usage_error("edit", "at most " + std::to_string(most_edits) + " changes are made at once");
    return all;
}

std::vector<edited_step> apply(const edit_list& edits, bough::rank_t rank, const bough::schedule& before) {
    std::vector<edited_step> steps;
    for (const bough::step& s : before) steps.push_back({s, static_cast<std::uint32_t>(steps.size())});
    std::vector<std::uint32_t> doubled;
    for (const edit& e : edits) {
        if (e.rank != rank) continue;
        if (e.line >= before.size() || !fits(e.what, before[e.line]))
            throw cli::usage_error("edit", "step " + std::to_string(e.line) + " of rank " + std::to_string(rank) +
                                               " cannot be changed so");
        change(e, steps[e.line]);
        if (e.what == edit::kind::twice) doubled.push_back(e.line);
    }
    std::sort(doubled.rbegin(), doubled.rend());
    for (const std::uint32_t line : doubled) {
        const edited_step copy = steps[line];
        steps.insert(steps.begin() + line, copy);
    }
    return steps;
}

} // namespace playground
