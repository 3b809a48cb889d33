// SPDX-License-Identifier: BSL-1.0
// choose: chooses the plan that is expected to be fastest. It is a pure function of what all ranks
// agree on, so all ranks choose alike. Its result keeps the prices and the reasons, so it can say
// why (bough/select/print_decision.hpp).
//
//   auto c = choose(model, {.bytes = 8}, plan_allreduce(recursive_doubling{}, at), plan_allreduce(fnomial{}, at));
//   c.winner, c.predicted_ns[c.winner]
//
//   decision d = choose(candidates<goal::allreduce>(ring{}, recursive_doubling{}), at, {.bytes = 65536}, model);
//   d.winner().what.algorithm, d.winner().predicted_ns; std::cout << d;
//   choose(..., model, {.through = comm})                 it says which way the messages go, too
//
// The price of a plan is its walk under the model. If ranks share cores, two things are added. A
// rank that waits gives the core away and gets it back when the others have had their turn, so a
// message is seen later by one turn of all ranks of a core. And the ranks of a core do not work at
// the same time, so the work of all ranks, divided by the cores, is added to the walk. So trees,
// which have the fewest messages, win there.
//
// In a broadcast, a scatter or a scan, data goes outwards. Most of the ranks that share a core have
// nothing to do at a time, so a message is seen later by one switch only; but each message wakes its
// receiver, and that switch is work of its sender.
//
// In these, and in a reduce or gather, a rank may be done before others have begun. So calls overlap if
// they are made in a loop, and then the busiest rank decides what one takes.
// choose_options::in_a_loop lets that count, too: bough/select/near_prices.hpp.
//
// The second form walks no more plans than it must. It takes the candidates in the order of a lower
// bound (the time that the busiest of a few ranks is busy), and stops when the bound says that the
// rest cannot win. Large plans that say how their time grows are priced from smaller ones
// (bough/select/steady_price.hpp); where nodes do alike, one node is walked
// (bough/select/alike_ranks.hpp); and a long walk ends when a rank takes longer than the best plan so
// far. If a plan in which all ranks do much alike has too many steps even so, what a few ranks do
// tells about how long it takes. *Time*: a few thousand steps per candidate, and the walk of those
// that might win; any other candidate with too many steps is left unpriced and says so.
#ifndef BOUGH_SELECT_CHOOSE_HPP
#define BOUGH_SELECT_CHOOSE_HPP

#include <bough/algorithm/levels.hpp>
#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/search.hpp>
#include <bough/core/stable_sort.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/select/alike_ranks.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>
#include <bough/select/near_prices.hpp>
#include <bough/select/steady_price.hpp>
#include <bough/select/taped_plan.hpp>
#include <bough/select/ways.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Which way the data of a collective goes.
constexpr course course_of(std::uint8_t kind) noexcept {
    if (kind == goal::reduce::kind || kind == goal::gather::kind) return course::inwards;
    const bool is_outwards = kind == goal::broadcast::kind || kind == goal::multicast::kind ||
                             kind == goal::scatter::kind || kind == goal::scan::kind || kind == goal::exscan::kind;
    return is_outwards ? course::outwards : course::all_ways;
}
// The problem as a collective has it.
constexpr problem problem_of_kind(std::uint8_t kind, problem what) noexcept {
    what.goes = course_of(kind);
    return what;
}
// The goal of a plan_ref is not known.
template <class Goal>
constexpr problem problem_of_goal(const Goal&, const problem& what) noexcept {
    if constexpr (requires { Goal::kind; })
        return problem_of_kind(Goal::kind, what);
    else
        return what;
}

} // namespace detail

// What a plan is expected to take, in ns. Infinite or NaN if it has no price: it does not end, or a cost
// is infinite, negative or NaN.
template <CostModel M, Plan P>
constexpr double price_of(const M& model, const problem& what, const P& plan) {
    const problem its = detail::problem_of_goal(plan.goal(), what);
    const auto seen = detail::share_cores(model, its, plan.size());
    const model::walk_result walked = model::walk(plan, seen, what.bytes, what.element_bytes);
    if (walked.deadlock()) return std::numeric_limits<double>::infinity();
    const model::block_sizes sizes(its.bytes, plan.blocks(), its.element_bytes);
    return walked.makespan_ns + detail::shared_work_ns(seen, its, detail::emitted_steps(plan, sizes), plan.size());
}
template <Plan P>
double price_of(const any_cost_model& costs, const problem& what, const P& plan) {
    return costs.price_ns(plan_ref(plan), detail::problem_of_goal(plan.goal(), what));
}

// The price of each candidate, and which one won.
template <std::size_t Extent>
struct choice {
    std::size_t winner = 0; // the first, if several are equal, or none has a price
    std::array<double, Extent> predicted_ns{};
    friend constexpr bool operator==(const choice&, const choice&) = default;
};

// Chooses among plans. M is a CostModel or any_cost_model.
template <class M, Plan... P>
requires(sizeof...(P) != 0) constexpr choice<sizeof...(P)> choose(const M& model, const problem& what,
                                                                  const P&... plans) {
    choice<sizeof...(P)> made;
    made.predicted_ns = {price_of(model, what, plans)...};
    for (std::size_t i = 1; i != sizeof...(P); ++i)
        if (made.predicted_ns[i] >= 0 && !(made.predicted_ns[made.winner] <= made.predicted_ns[i])) made.winner = i;
    return made;
}

// Why a candidate was not considered.
enum class exclusion : std::uint8_t {
    none,
    other_collective, // it does not serve the goal
    dimensions,       // it refuses these dimensions: prospect::refusal says which and why
    not_any_size,     // it does not serve every number of ranks, and that is required
    not_in_order,     // it does not keep rank order, and that is required
    not_consistent,   // ranks may get different bits, and equal bits are required
    not_exact,        // ranks get different bits unless the op is exact, and it is not known to be
    other_bits,       // it is not of the required bracket class
    deadlock,         // its walk does not end: it is no plan, or rests on messages that nobody has asked for
    too_many_steps,   // it has too many steps to be priced
    not_measured,     // the table has nothing about it
    no_price,         // its price is infinite, negative or not a number: so is a cost
};

// One candidate, and what became of it.
struct prospect {
    candidate what;
    block_t blocks = 0; // into so many the vector is cut
    double predicted_ns = 0;
    // predicted_ns is a lower bound, and enough to see that it does not win: it is too slow, or another
    // is no slower than that and no worse in a loop of calls (then predicted_ns may be less than the
    // winner's).
    bool at_least = false;
    bool ended = false; // and its walk was ended there
    bool about = false; // predicted_ns is an estimate, from what a few ranks do
    double loop_ns = 0; // what a call takes in a loop, if that counts (in_a_loop) and it might win; or 0
    exclusion excluded = exclusion::none;
    const char* refusal = nullptr; // for exclusion::dimensions

    friend bool operator==(const prospect&, const prospect&) = default;
};

// The outcome of a choice: the winner first, then the others in the order of their prices, then
// those that were not considered, in the order in which they were given.
struct decision {
    std::uint8_t kind = 0; // of the goal
    dimensions at{};
    problem what{};
    requirements needed{};
    bool measured = false;   // prices are from a table, not from a model
    bool on_network = false; // prices are those of runs over a network (bough/select/on_network.hpp)
    std::vector<prospect> prospects{};
    // Which way the messages of the winner come, if choose_options::through says it: those to one rank, or
    // to all of them (no_rank).
    std::vector<message_way> ways{};
    rank_t ways_of = no_rank;
    double last_arrival_ns = 0; // when the last rank comes, if that is known: within every price

    // Was there a candidate that may be taken?
    explicit operator bool() const noexcept {
        return !prospects.empty() && prospects.front().excluded == exclusion::none;
    }
    const prospect& winner() const { return prospects.front(); } // Pre: *this
    friend bool operator==(const decision&, const decision&) = default;
};

// What is required, and how much work the choice may be.
struct choose_options {
    requirements needed{};
    bool exact = false;     // walk plans in full, also where small ones tell the price of a large one
    bool price_all = false; // and all plans, also those that cannot win, whatever it takes
    // So many are walked in one choice, beyond 512 per rank; eight parts of messages count as one.
    std::uint64_t most_steps = std::uint64_t{1} << 19;
    // Calls are made in a loop: of plans that are nearly as fast, take one that overlaps with its next
    // call.
    bool in_a_loop = false;
    way_teller through{}; // a communicator or transport: the decision says which way its messages come
};

namespace detail {

// A plan of so many steps is walked in full: that takes about as long as to walk parts of it.
inline constexpr std::uint64_t steps_walked_anyway = 4096;

// Does the collective combine what all ranks contribute?
constexpr bool combines_whole(std::uint8_t kind) noexcept {
    return kind == goal::allreduce::kind || kind == goal::reduce::kind || kind == goal::reduce_scatter::kind ||
           kind == goal::scan::kind || kind == goal::exscan::kind;
}

// May a plan that has too many steps be priced by what a few ranks do? They do much alike if each pair of
// ranks has a block, or if the algorithm says so and ranks differ by their places alone. Not if messages
// wait for their receivers: then a plan may not end, and only a walk shows that. Nor if ranks share cores.
inline bool may_be_estimated(const any_algorithm& a, std::uint8_t kind, const dimensions& at, const problem& what,
                             const any_cost_model& costs, const cost_bound& bound) {
    if (bound.waits || what.cores < at.size) return false;
    if (kind == goal::alltoall::kind) return true;
    return (costs.homogeneous() || costs.groups_of_ranks() != nullptr) && a.claims(at).symmetric;
}

inline exclusion excluded_by(const candidate& c, std::uint8_t kind, const dimensions& at, const requirements& needed,
                             bool exact_op, const char*& refusal) {
    if (!c.algorithm.serves_kind(kind)) return exclusion::other_collective;
    if (const status bad = c.algorithm.check(at)) {
        refusal = bad.argument;
        return exclusion::dimensions;
    }
    const claims said = c.algorithm.claims(at);
    if (needed.any_size && !said.any_size) return exclusion::not_any_size;
    if (needed.order_preserving && !said.keeps_rank_order) return exclusion::not_in_order;
    if (said.needs_exact && !exact_op) return exclusion::not_exact;
    if (needed.rank_consistent && !claims_same_bits(said, kind) && !exact_op) return exclusion::not_consistent;
    if (needed.bracket.claimed() && !(said.bracket == needed.bracket)) return exclusion::other_bits;
    if (needed.any_partition && !exact_op && at.size > 2 && combines_whole(kind) &&
        !(said.bracket == level_bracket(fold_levels(at.size))))
        return exclusion::other_bits;
    return exclusion::none;
}

// Sorts out candidates: first those that may be considered, as given, then the others. The
// parameter of this template, and of those below, has no meaning: they are templates only so that a
// program that names its algorithms compiles none of them.
template <int = 0>
decision sort_out(const candidate_list& from, const dimensions& at, const problem& what, const requirements& needed) {
    decision made{from.kind, at, what, needed, false, false, {}};
    made.prospects.reserve(from.list.size());
    for (const candidate& c : from.list) {
        dimensions d = at;
        prospect p{c, 0};
        if (const status bad = check_group(at)) {
            p.excluded = exclusion::dimensions;
            p.refusal = bad.argument;
        } else {
            p.blocks = d.blocks = c.blocks == natural_blocks ? c.algorithm.natural_blocks(at.size) : c.blocks;
            p.excluded = excluded_by(c, from.kind, d, needed, what.exact_op, p.refusal);
        }
        made.prospects.push_back(std::move(p));
    }
    return made;
}

// For a reason that shows when it is priced.
inline void leave_out(prospect& p, exclusion why) {
    p.predicted_ns = 0;
    p.excluded = why;
}

// Sorts the prospects after the first `fixed` by price.
template <int = 0>
void rank_by_price(decision& made, std::ptrdiff_t fixed) {
    bough::detail::stable_sort(
        made.prospects.begin() + fixed, made.prospects.end(), [](const prospect& a, const prospect& b) {
            const bool a_out = a.excluded != exclusion::none, b_out = b.excluded != exclusion::none;
            if (a_out || b_out) return !a_out && b_out;
            if (a.predicted_ns != b.predicted_ns) return a.predicted_ns < b.predicted_ns;
            return !a.at_least && b.at_least;
        });
}
// Puts the winner first, if there is one: its index, or that of no prospect. Those behind it are sorted
// by price.
template <int = 0>
void put_first(decision& made, std::size_t winner) {
    const bool is_any = winner < made.prospects.size();
    const auto begin = made.prospects.begin();
    if (is_any) {
        const auto wins = begin + static_cast<std::ptrdiff_t>(winner);
        std::rotate(begin, wins, wins + 1);
    }
    rank_by_price(made, is_any ? 1 : 0);
}
// The winner is the first of those that are as good as the best.
template <int = 0>
void put_winner_first(decision& made, double best_ns) {
    const double most_ns = as_good_as(best_ns, made.last_arrival_ns);
    const auto wins = detail::find_if(made.prospects, [&](const prospect& p) {
        return p.excluded == exclusion::none && !p.at_least && p.predicted_ns <= most_ns;
    });
    put_first(made, static_cast<std::size_t>(wins - made.prospects.begin()));
}

} // namespace detail

// Adds which way the messages of the winner come to the rank of one transport more. Pre: d has a winner.
template <int = 0>
void add_ways(decision& d, const way_teller& through) {
    if (!through) return;
    d.ways_of = d.ways.empty() ? through.rank() : no_rank;
    through.add(d.ways, plan_ref(d.winner().what.algorithm, {d.at.size, d.at.root, d.winner().blocks}),
                problem_for(d.winner().what.algorithm, d.what));
}

// Chooses among candidates. at.blocks does not matter: each candidate has its own number of blocks.
template <int = 0>
decision choose(const candidate_list& from, const dimensions& at, const problem& asked, const any_cost_model& costs,
                const choose_options& options = {}) {
    const problem what = detail::problem_of_kind(from.kind, asked);
    decision made = detail::sort_out(from, at, asked, options.needed);
    made.last_arrival_ns = costs.last_arrival_ns(what, at.size);
    detail::loop_choice<0> loop(options.in_a_loop && what.goes != course::all_ways, made.last_arrival_ns);
    struct open {
        std::size_t index;
        cost_bound bound;
        bool priced; // is its bound its price?
        detail::few_tapes few;
    };
    detail::plan_tapes memory; // of all candidates
    detail::plain_list<open> left;
    for (std::size_t i = 0; i != made.prospects.size(); ++i) {
        prospect& p = made.prospects[i];
        if (p.excluded != exclusion::none) continue;
        const problem seen = problem_for(p.what.algorithm, what);
        detail::taped_plan plan(plan_ref(p.what.algorithm, {at.size, at.root, p.blocks}), seen.bytes,
                                seen.element_bytes, memory);
        const cost_bound bound = costs.bound_ns(plan, seen);
        left.push_back({i, bound, false, plan.few()});
        if (!p.what.algorithm.claims({at.size, at.root, p.blocks}).symmetric) continue;
        const double ns = costs.symmetric_price_ns(plan, seen);
        if (!detail::is_finite_cost(ns)) continue;
        p.predicted_ns = left.back().bound.ns = ns;
        left.back().priced = true;
    }
    bough::detail::stable_sort(left.begin(), left.end(),
                               [](const open& a, const open& b) { return a.bound.ns < b.bound.ns; });

    double best_ns = std::numeric_limits<double>::infinity();
    std::size_t best = 0; // the index of that price
    const std::uint64_t most_steps = options.most_steps + std::uint64_t{512} * at.size;
    std::uint64_t steps_left = most_steps;
    // If all have too many steps, the one with the fewest is walked.
    const auto fewest = std::min_element(left.begin(), left.end(),
                                         [](const open& a, const open& b) { return a.bound.steps < b.bound.steps; });
    const std::size_t walked_anyway = fewest == left.end() ? made.prospects.size() : fewest->index;
    detail::alike_ranks<0> alike(costs, at.size, what);
    // Who takes longer cannot win.
    const auto enough_ns = [&] { return detail::as_good_as(loop ? loop.near_ns() : best_ns, made.last_arrival_ns); };
    for (const auto& [index, bound, priced, few] : left) {
        prospect& p = made.prospects[index];
        const dimensions d{at.size, at.root, p.blocks};
        const problem seen = problem_for(p.what.algorithm, what);
        detail::taped_plan plan(plan_ref(p.what.algorithm, d), seen.bytes, seen.element_bytes, memory, few);
        // What takes too long alone is not looked at.
        if (loop && detail::is_finite_cost(bound.ns) && (options.price_all || bound.ns <= enough_ns()))
            p.loop_ns = costs.loop_ns(plan, seen, bound.steps);
        if (!priced) {
            if (!detail::is_finite_cost(bound.ns)) {
                detail::leave_out(p, exclusion::no_price);
                continue;
            }
            const bool hopeless = loop ? loop.is_hopeless(index, bound.ns, p.loop_ns)
                                       : bound.ns > enough_ns() || (bound.ns >= best_ns && index > best);
            if (!options.price_all && hopeless) {
                p.predicted_ns = bound.ns;
                p.at_least = true;
                continue;
            }
            const bool is_long = bound.steps > detail::steps_walked_anyway;
            const detail::steady_pricer<0> steady(costs, p.what, d, seen, memory);
            walk_terms terms;
            std::uint64_t steps = bound.steps;
            if (is_long && (terms.fold = alike.of(p.what.algorithm, d)) != nullptr)
                steps = steps / at.size * terms.fold->members();
            if (is_long && !options.price_all) terms.enough_ns = enough_ns();
            const bool estimated = !options.exact && !options.price_all && steps > most_steps / 8 &&
                                   detail::may_be_estimated(p.what.algorithm, from.kind, d, what, costs, bound);
            double drawn_ns = -1; // the price from smaller plans
            const bool may_draw = steady && is_long && !options.exact && !options.price_all;
            if (may_draw && (costs.homogeneous() || std::min(steps, steps_left) > steady.steps(steps))) {
                if (!costs.homogeneous()) steps_left -= steady.steps(steps);
                drawn_ns = steady.ns();
            }
            if (drawn_ns >= 0) {
                p.predicted_ns = drawn_ns;
            } else if (estimated) {
                p.predicted_ns = costs.alike_ns(plan, seen);
                p.about = true;
            } else if (!options.price_all && steps > steps_left &&
                       (index != walked_anyway || best_ns != std::numeric_limits<double>::infinity())) {
                p.excluded = exclusion::too_many_steps;
                continue;
            } else {
                const walked_price found = costs.walk(plan, seen, terms);
                steps_left -= std::min(steps_left, found.steps);
                p.predicted_ns = found.ns;
                p.at_least = p.ended = found.is_over && detail::is_finite_cost(found.ns);
            }
            if (!detail::is_finite_cost(p.predicted_ns)) {
                const bool ends = p.predicted_ns != std::numeric_limits<double>::infinity();
                detail::leave_out(p, ends ? exclusion::no_price : exclusion::deadlock);
                continue;
            }
        }
        if (p.predicted_ns < best_ns || (p.predicted_ns == best_ns && index < best)) {
            best_ns = p.predicted_ns;
            best = index;
        }
        if (!p.at_least) loop.add(index, p.predicted_ns, p.loop_ns);
    }
    if (loop)
        detail::put_first(made, loop.winner());
    else
        detail::put_winner_first(made, best_ns);
    if (made && options.through) add_ways(made, options.through);
    return made;
}

} // namespace bough

#endif
