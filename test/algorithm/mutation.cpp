// SPDX-License-Identifier: BSL-1.0
// Mutation: spoil one step of a proved plan, of every algorithm, in every way of a list. verify must see
// a fault or other traits.
//
// Two kinds of mutant are no worse than the plan, and only they may survive:
//   - two neighbouring steps of a rank have changed places, and neither waits for the other. Such a pair
//     is recognised by its dependences alone: renumbered, the mutant's waits and channels are those of
//     the plan, so both admit the same executions with the same values.
//   - every message and every result has the same value as before, since what the changed step reads
//     stands in two places, or what it writes is not read where it was. Such a mutant is recognised by
//     playing it, one step after the other.
#include "support/catch.hpp"
#include "support/plans.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/multicast/many.hpp>
#include <bough/algorithm/multicast/tree.hpp>
#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/core/random.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print.hpp>
#include <bough/verify/verify.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct count {
    std::size_t mutants = 0;
    std::size_t faults = 0;
    std::size_t other_traits = 0;
    std::size_t renumbered = 0;
    std::size_t same_values = 0;
    std::size_t unexplained = 0;
};
std::map<std::string, count> counts; // by kind of mutation

// What step i waits for and what it is posted after, with steps `low` and `low + 1` renumbered as each
// other.
std::pair<std::set<std::uint32_t>, std::uint32_t> waits(const dependences& all, std::uint32_t i, std::uint32_t low) {
    const auto renumbered = [&](std::uint32_t n) { return n == low ? low + 1 : n == low + 1 ? low : n; };
    std::set<std::uint32_t> before;
    for (const std::uint32_t b : all.of(i)) before.insert(renumbered(b));
    return {before, all.channel[i] == no_step ? no_step : renumbered(all.channel[i])};
}

// Did swapping steps `low` and `low + 1` leave every dependence and every channel as it was?
bool only_renumbered(const schedule& plan, const schedule& mutant, std::uint32_t low) {
    const dependences before = infer_dependences(plan.steps);
    const dependences after = infer_dependences(mutant.steps);
    for (std::uint32_t i = 0; i != plan.size(); ++i) {
        const std::uint32_t now = i == low ? low + 1 : i == low + 1 ? low : i;
        if (!(plan[i] == mutant[now])) return false;
        if (waits(before, i, no_step - 1) != waits(after, now, low)) return false;
    }
    return true;
}

// What ranks send and what they have in the end, if each does its steps one after the other. Values are
// numbers; that of a combine tells its operands and their order.
struct outcome {
    bool ended = true;
    std::map<std::pair<rank_t, rank_t>, std::vector<std::uint64_t>> sent; // by sender and receiver
    std::vector<std::map<block_t, std::uint64_t>> results;                // by rank
    friend bool operator==(const outcome&, const outcome&) = default;
};

outcome play(const std::vector<schedule>& schedules) {
    const auto ranks = static_cast<rank_t>(schedules.size());
    outcome made;
    std::map<std::pair<rank_t, rank_t>, std::size_t> taken;
    std::vector<std::map<std::pair<std::uint32_t, block_t>, std::uint64_t>> memory(ranks);
    std::vector<std::size_t> done(ranks, 0);
    const auto at = [&](rank_t r, const slice& s, block_t k) -> std::uint64_t& {
        const auto [there, is_new] = memory[r].try_emplace({s.buffer.index, s.first + k}, 0);
        if (is_new && s.buffer == input) there->second = mix_bits(std::uint64_t{r} << 32 | (s.first + k));
        return there->second;
    };
    const auto run = [&](rank_t r) {
        bool moved = false;
        for (; done[r] != schedules[r].size(); ++done[r], moved = true) {
            const step& s = schedules[r][done[r]];
            if (s.verb == verb::receive && s.out.count > made.sent[{s.peer, r}].size() - taken[{s.peer, r}]) break;
            for (block_t k = 0; k != (s.writes() ? s.out.count : s.a.count); ++k) {
                if (s.verb == verb::send) made.sent[{r, s.peer}].push_back(at(r, s.a, k));
                if (s.verb == verb::receive) at(r, s.out, k) = made.sent[{s.peer, r}][taken[{s.peer, r}]++];
                if (s.verb == verb::copy) at(r, s.out, k) = at(r, s.a, k);
                if (s.verb == verb::combine) {
                    const std::uint64_t lower = at(r, s.a, k), upper = at(r, s.b, k);
                    at(r, s.out, k) = mix_bits(lower + 3 * mix_bits(upper));
                }
            }
        }
        return moved;
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (rank_t r = 0; r != ranks; ++r) moved = run(r) || moved;
    }
    for (rank_t r = 0; r != ranks; ++r) {
        made.ended = made.ended && done[r] == schedules[r].size();
        made.results.emplace_back();
        for (const auto& [place, value] : memory[r])
            if (place.first == output.index) made.results[r][place.second] = value;
    }
    return made;
}

class spoiler {
public:
    template <Plan P>
    explicit spoiler(const P& plan, const char* name, random_sequence& random, std::size_t most) {
        CAPTURE(name, plan.size(), plan.blocks());
        for (rank_t r = 0; r != plan.size(); ++r) {
            schedules_.push_back(plan.schedule_of(r));
            scratch_.push_back(plan.scratch(r));
        }
        const dimensions at{plan.size(), plan.root(), plan.blocks()};
        const auto judge = [&] { return verify_schedules(plan.goal(), at, schedules_, scratch_); };
        const verdict proof = judge();
        REQUIRE(proof);
        const outcome played = play(schedules_);
        std::size_t all = 0;
        const auto count_one = [&](const char*, const schedule&, std::uint32_t = no_step) { ++all; };
        for (const schedule& one : schedules_) spoil(one, at, count_one);
        for (rank_t r = 0; r != plan.size(); ++r) {
            const schedule original = schedules_[r];
            const auto try_mutant = [&](const char* kind, const schedule& mutant, std::uint32_t swapped = no_step) {
                if (random.below(all) >= most || mutant == original) return;
                schedules_[r] = mutant;
                const verdict now = judge();
                count& c = counts[kind];
                ++c.mutants;
                if (!now)
                    ++c.faults;
                else if (now != proof)
                    ++c.other_traits;
                else if (swapped != no_step && only_renumbered(original, mutant, swapped))
                    ++c.renumbered;
                else if (play(schedules_) == played)
                    ++c.same_values;
                else {
                    ++c.unexplained;
                    UNSCOPED_INFO(kind << " on rank " << r << " of:\n" << original << "survives as:\n" << mutant);
                    CHECK(false);
                }
                schedules_[r] = original;
            };
            spoil(original, at, try_mutant);
        }
    }

private:
    template <class F>
    static void spoil(const schedule& original, const dimensions& at, F try_mutant) {
        for (std::uint32_t i = 0; i != original.size(); ++i) {
            schedule mutant = original;
            mutant.steps.erase(mutant.steps.begin() + i);
            try_mutant("dropped step", mutant);

            if (original[i].verb != verb::copy) { // which is no worse if it is done twice
                mutant = original;
                mutant.steps.insert(mutant.steps.begin() + i, original[i]);
                try_mutant("repeated step", mutant);
            }

            if (i + 1 != original.size()) {
                mutant = original;
                std::swap(mutant.steps[i], mutant.steps[i + 1]);
                try_mutant("swapped neighbours", mutant, i);
            }
            if (original[i].verb == verb::combine) {
                mutant = original;
                std::swap(mutant.steps[i].a, mutant.steps[i].b);
                try_mutant("swapped operands", mutant);
            }
            if (original[i].communicates())
                for (rank_t peer = 0; peer != at.size; ++peer) {
                    mutant = original;
                    mutant.steps[i].peer = peer;
                    try_mutant("retargeted message", mutant);
                }
            const step& s = original[i];
            if (s.reads_a()) move(original, i, &step::a, "moved operand", try_mutant);
            if (s.reads_b()) move(original, i, &step::b, "moved operand", try_mutant);
            if (s.writes()) move(original, i, &step::out, "moved result", try_mutant);
        }
    }

    // To the neighbouring blocks; to every other buffer, one unused plane included; to fewer or more
    // blocks.
    template <class F>
    static void move(const schedule& original, std::uint32_t i, slice step::*which, const char* kind, F try_mutant) {
        std::uint32_t buffers = 2;
        for (const step& s : original)
            for (const slice& used : {s.a, s.b, s.out}) buffers = std::max(buffers, used.buffer.index + 1u);
        schedule mutant = original;
        slice& moved = mutant.steps[i].*which;
        const slice home = moved;
        for (const slice& to :
             {slice{home.buffer, home.first - 1, home.count}, slice{home.buffer, home.first + 1, home.count},
              slice{home.buffer, home.first, home.count - 1}, slice{home.buffer, home.first, home.count + 1}}) {
            moved = to;
            try_mutant(kind, mutant);
        }
        for (std::uint32_t index = 0; index != buffers + 1; ++index) {
            moved = home.in(buffer{index});
            try_mutant(kind, mutant);
        }
    }

    std::vector<schedule> schedules_;
    std::vector<block_t> scratch_;
};

} // namespace

TEST_CASE("no mutant of a plan passes for it, unless it does the same") {
    random_sequence random(bough_test::seed(), 0, 0);
    const std::size_t most = bough_test::all() ? 100'000 : 200; // of a plan
    const auto spoil = [&](const char* name, const auto& plan) { spoiler{plan, name, random, most}; };
    for (const rank_t size : {2u, 3u, 5u, 7u, 8u, 9u})
        for (const block_t blocks : {natural_blocks, block_t{3}}) {
            const dimensions at{.size = size, .root = size / 2, .blocks = blocks};
            test::for_each_plan(at, spoil);
            spoil("multicast binomial", plan_multicast(binomial{}, {size - 1, 0}, at));
        }
    for (const rank_t size : {3u, 5u, 8u}) {
        const std::vector<multicast_request> wanted{{0, {size - 1, size / 2}}, {size - 1, {0, size / 2}}, {0, {1}}};
        const std::vector<int> costs(size, 1);
        const auto made = balanced_multicasts(tree_costs<int>{.send = costs, .receive = costs},
                                              std::span<const multicast_request>(wanted));
        spoil("multicasts", plan_multicasts(wanted, made.order, {.size = size}));
    }
    const auto spoil_around = [&](const neighbourhood& around, rank_t size) {
        spoil("neighbour_alltoall, direct", plan_neighbour_alltoall(direct_neighbours{}, around, {.size = size}));
        spoil("neighbour_alltoall, by dimension", plan_neighbour_alltoall(by_dimension{}, around, {.size = size}));
        spoil("neighbour_allgather, direct", plan_neighbour_allgather(direct_neighbours{}, around, {.size = size}));
        spoil("neighbour_allgather, by dimension", plan_neighbour_allgather(by_dimension{}, around, {.size = size}));
    };
    spoil_around(grid_neighbours{.extents = {3, 3}, .offsets = box_offsets(2)}, 9);
    spoil_around(grid_neighbours{.extents = {2, 4}, .offsets = {{1, 1}, {-1, 2}, {0, 3}, {1}}, .ends = {true, false}},
                 8);
    for (const auto& [kind, c] : counts) {
        std::cout << kind << ": " << c.mutants << " mutants, " << c.faults << " faults, " << c.other_traits
                  << " with other traits, " << c.renumbered << " renumbered, " << c.same_values
                  << " with the same values, " << c.unexplained << " unexplained\n";
        CHECK(c.unexplained == 0);
        CHECK((c.renumbered == 0 || kind == "swapped neighbours"));
        CHECK(c.same_values * 500 <= c.mutants);
    }
    CHECK(counts.size() == 7);
}
