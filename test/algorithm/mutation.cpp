// SPDX-License-Identifier: BSL-1.0
// Mutation: spoil one step of a proved plan in every way of a list. verify must see a fault or other
// traits.
//
// One kind of mutant is no worse than the plan, and only that kind may survive: two neighbouring steps of
// a rank have changed places, and neither waits for the other. Such a pair is recognised by its
// dependences alone: renumbered, the mutant's waits and channels are those of the plan, so both admit the
// same executions with the same values.
#include "support/catch.hpp"
#include "support/plans.hpp"
#include <bough/algorithm/allgather/bruck.hpp>
#include <bough/algorithm/by_owner.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/multicast/many.hpp>
#include <bough/algorithm/multicast/tree.hpp>
#include <bough/algorithm/reduce_scatter/pairwise.hpp>
#include <bough/algorithm/ring.hpp>
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
    std::size_t equivalent = 0;
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

class spoiler {
public:
    template <Plan P>
    explicit spoiler(const P& plan, const char* name) {
        CAPTURE(name, plan.size(), plan.blocks());
        for (rank_t r = 0; r != plan.size(); ++r) {
            schedules_.push_back(plan.schedule_of(r));
            scratch_.push_back(plan.scratch(r));
        }
        const dimensions at{plan.size(), plan.root(), plan.blocks()};
        const auto judge = [&] { return verify_schedules(plan.goal(), at, schedules_, scratch_); };
        const verdict proof = judge();
        REQUIRE(proof);
        for (rank_t r = 0; r != plan.size(); ++r) {
            const schedule original = schedules_[r];
            const auto try_mutant = [&](const char* kind, const schedule& mutant, std::uint32_t swapped = no_step) {
                if (mutant == original) return;
                schedules_[r] = mutant;
                const verdict now = judge();
                schedules_[r] = original;
                count& c = counts[kind];
                ++c.mutants;
                if (!now)
                    ++c.faults;
                else if (now != proof)
                    ++c.other_traits;
                else if (swapped != no_step && only_renumbered(original, mutant, swapped))
                    ++c.equivalent;
                else {
                    ++c.unexplained;
                    UNSCOPED_INFO(kind << " on rank " << r << " of:\n" << original << "survives as:\n" << mutant);
                    CHECK(false);
                }
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

template <Plan P>
void spoil(const char* name, const P& plan) {
    spoiler{plan, name};
}

} // namespace

TEST_CASE("no mutant of a plan passes for it, unless it is equivalent") {
    for (const rank_t size : {2u, 3u, 5u, 7u, 8u})
        for (const block_t blocks : {1u, 3u}) {
            const dimensions at{.size = size, .blocks = blocks};
            const dimensions inner{.size = size, .root = size / 2, .blocks = blocks};
            spoil("reduce binomial", plan_reduce(binomial{}, at));
            spoil("reduce fnomial 3", plan_reduce(fnomial{.degree = 3}, inner));
            spoil("reduce fnomial 3, one plane", plan_reduce(tree_reduce{fnomial{.degree = 3}, 1}, at));
            spoil("reduce ordered", plan_reduce(ordered<fnomial>{{.degree = 3}}, inner));
            spoil("reduce reversed", plan_reduce(reverse(tree_broadcast{kary{.arity = 2}}), at));
            spoil("broadcast binomial", plan_broadcast(binomial{}, inner));
            spoil("broadcast chain", plan_broadcast(chain{}, at));
            spoil("allreduce binomial", plan_allreduce(binomial{}, at));
            spoil("allreduce kary 2, one plane", plan_allreduce(tree_allreduce{kary{.arity = 2}, 1}, inner));
            spoil("allreduce recursive doubling", plan_allreduce(recursive_doubling{}, at));
            if (blocks == 1) spoil("barrier dissemination", plan_barrier(dissemination{}, at));
            if (blocks == 1) {
                const dimensions cut{.size = size, .root = size / 2};
                spoil("gather binomial", plan_gather(binomial{}, cut));
                spoil("gather kary 2", plan_gather(kary{.arity = 2}, cut));
                spoil("scatter ordered", plan_scatter(ordered<fnomial>{{.degree = 3}}, cut));
                spoil("scatter chain", plan_scatter(chain{}, cut));
                const dimensions each{.size = size};
                spoil("allgather circulant", plan_allgather(circulant{}, each));
                spoil("allgather lowest bit first", plan_allgather(lowest_bit_first{}, each));
                // With longer messages some copies only put them together: the block may be sent from
                // elsewhere.
                spoil("reduce_scatter lowest bit first, one at a time",
                      plan_reduce_scatter(lowest_bit_first{.aggregation_limit = 1}, each));
                spoil("reduce_scatter ring", plan_reduce_scatter(ring{}, each));
                spoil("reduce_scatter pairwise", plan_reduce_scatter(pairwise_reduce_scatter{}, each));
                spoil("reduce_scatter by owner", plan_reduce_scatter(by_owner{}, each));
                spoil("allreduce by owner", plan_allreduce(by_owner{}, each));
                spoil("reduce by owner", plan_reduce(by_owner{}, cut));
                // Of an odd number, some ranks copy a block only because all others must.
                if (size != 5 && size != 7) spoil("reduce_scatter circulant", plan_reduce_scatter(circulant{}, each));
                spoil("reduce_scatter reversed", plan_reduce_scatter(reverse(bruck_allgather{}, 1), each));
                spoil("allreduce lowest bit first", plan_allreduce(lowest_bit_first{}, each));
            }
            spoil("multicast binomial", plan_multicast(binomial{}, {size - 1, 0}, inner));
            if (blocks == 1 && size > 2) {
                const std::vector<multicast_request> wanted{
                    {0, {size - 1, size / 2}}, {size - 1, {0, size / 2}}, {0, {1}}};
                const std::vector<int> costs(size, 1);
                const auto made = balanced_multicasts(tree_costs<int>{.send = costs, .receive = costs},
                                                      std::span<const multicast_request>(wanted));
                spoil("multicasts", plan_multicasts(wanted, made.order, {.size = size}));
            }
        }
    for (const auto& [kind, c] : counts) {
        std::cout << kind << ": " << c.mutants << " mutants, " << c.faults << " faults, " << c.other_traits
                  << " with other traits, " << c.equivalent << " equivalent, " << c.unexplained << " unexplained\n";
        CHECK(c.unexplained == 0);
        CHECK(c.mutants == c.faults + c.other_traits + c.equivalent);
        CHECK((c.equivalent == 0 || kind == "swapped neighbours"));
    }
    CHECK(counts.size() == 7);
}
