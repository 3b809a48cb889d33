// SPDX-License-Identifier: BSL-1.0
// Steps and traits as tables and in JSON: what is said of each.
#include "describe.hpp"

#include <bough/schedule/print_step.hpp>

#include <array>
#include <cstdio>

namespace cli {

namespace {

using traits_t = bough::plan_traits;

constexpr std::array<trait, 11> figures{{
    {"rounds", "one-ported: a rank sends one and receives one message a round",
     [](const traits_t& t) -> std::uint64_t { return t.rounds; }},
    {"hops", "the longest chain of messages", [](const traits_t& t) -> std::uint64_t { return t.hops; }},
    {"depth", "the longest chain of combines in a result: the error bound of a sum",
     [](const traits_t& t) -> std::uint64_t { return t.depth; }},
    {"messages", "by all ranks", [](const traits_t& t) { return t.messages; }},
    {"volume", "blocks sent by all ranks", [](const traits_t& t) { return t.volume; }},
    {"volume_max", "blocks sent by the busiest rank", [](const traits_t& t) { return t.volume_max; }},
    {"combines", "blocks combined by all ranks", [](const traits_t& t) { return t.combines; }},
    {"combines_max", "blocks combined by the busiest rank", [](const traits_t& t) { return t.combines_max; }},
    {"scratch_max", "blocks of scratch memory of the neediest rank", [](const traits_t& t) { return t.scratch_max; }},
    {"steps_max", "the longest schedule of a rank", [](const traits_t& t) -> std::uint64_t { return t.steps_max; }},
    {"peers_max", "the most peers of a rank", [](const traits_t& t) -> std::uint64_t { return t.peers_max; }},
}};

constexpr std::array<trait, 4> answers{{
    {"needs_commutative", "some result is not combined in rank order: op must be commutative",
     [](const traits_t& t) -> std::uint64_t { return t.needs_commutative; }},
    {"needs_idempotent", "some contribution is counted twice: x op x must be x",
     [](const traits_t& t) -> std::uint64_t { return t.needs_idempotent; }},
    {"rank_consistent", "every rank that gets a result gets the same bits",
     [](const traits_t& t) -> std::uint64_t { return t.rank_consistent; }},
    {"position_invariant", "every block is combined alike, so an element's bits do not depend on its place",
     [](const traits_t& t) -> std::uint64_t { return t.position_invariant; }},
}};

} // namespace

json json_of(const bough::slice& s) {
    return {{"buffer", bough::to_string(s.buffer)}, {"first", s.first}, {"count", s.count}};
}

json json_of(const bough::step& s, std::span<const std::uint32_t> after, std::uint32_t posted_after) {
    json value{{"verb", bough::verb_name(s.verb)}};
    switch (s.verb) {
    case bough::verb::send: value.update({{"peer", s.peer}, {"from", json_of(s.a)}}); break;
    case bough::verb::receive: value.update({{"peer", s.peer}, {"out", json_of(s.out)}}); break;
    case bough::verb::combine: value.update({{"a", json_of(s.a)}, {"b", json_of(s.b)}, {"out", json_of(s.out)}}); break;
    case bough::verb::copy: value.update({{"from", json_of(s.a)}, {"out", json_of(s.out)}}); break;
    }
    if (s.more) value["more"] = true;
    value["after"] = json::array();
    for (const std::uint32_t step : after) value["after"].push_back(step);
    if (posted_after != bough::no_step) value["posted_after"] = posted_after;
    return value;
}

std::span<const trait> traits() { return figures; }
std::span<const trait> properties() { return answers; }

json json_of(const bough::plan_traits& t) {
    json value;
    for (const trait& f : figures) value[f.name] = f.value(t);
    for (const trait& a : answers) value[a.name] = a.value(t) != 0;
    std::array<char, 17> bracket{};
    std::snprintf(bracket.data(), bracket.size(), "%016llx", static_cast<unsigned long long>(t.bracket));
    value["bracket"] = bracket.data(); // text: a JSON number does not hold 64 bits everywhere
    return value;
}

} // namespace cli
