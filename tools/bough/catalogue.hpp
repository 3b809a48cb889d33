// SPDX-License-Identifier: BSL-1.0
// The catalogue: every collective and algorithm that has a name on the command line, and the way from names to a plan.
//
//   const problem what{collective::reduce, find_algorithm(collective::reduce, {"fnomial", 4}), {.size = 16}};
//   with_plan(what, [](const auto& plan) { ... });       // called once, with a plan of the collective's goal
//
// Algorithms are any_algorithm here: what is done with plans is compiled once per collective, not once per algorithm.
#ifndef BOUGH_TOOLS_CATALOGUE_HPP
#define BOUGH_TOOLS_CATALOGUE_HPP

#include "commands.hpp"
#include "json.hpp"
#include "neighbours.hpp"
#include "shape.hpp"
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/candidates.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

enum class collective {
    reduce,
    allreduce,
    broadcast,
    barrier,
    gather,
    scatter,
    reduce_scatter,
    allgather,
    scan,
    exscan,
    alltoall,
    neighbour_allgather, // these two have neighbours, which must be typed, too
    neighbour_alltoall
};
// Without those that have neighbours.
std::span<const collective> all_collectives();
constexpr bool has_neighbours(collective c) {
    return c == collective::neighbour_allgather || c == collective::neighbour_alltoall;
}
const char* name_of(collective);
std::optional<collective> collective_of(std::string_view name); // nothing if there is none of that name
// One of all_collectives(). Throws usage_error, which lists the known ones.
collective find_collective(std::string_view name);
// One of these, or one with neighbours.
std::optional<collective> any_collective_of(std::string_view name);
collective find_any_collective(std::string_view name);
// Does it combine values, so that there is an op?
bool combines(collective);
// Does its vector have a block for each rank (for alltoall, for each pair of them)?
bool has_rank_blocks(collective);

// Calls f with the goal of a collective, in its own type. Pre: it has no neighbours.
template <class F>
decltype(auto) with_goal(collective c, F&& f) {
    switch (c) {
    case collective::reduce: return f(bough::goal::reduce{});
    case collective::allreduce: return f(bough::goal::allreduce{});
    case collective::broadcast: return f(bough::goal::broadcast{});
    case collective::barrier:
    case collective::neighbour_allgather:
    case collective::neighbour_alltoall: break;
    case collective::gather: return f(bough::goal::gather{});
    case collective::scatter: return f(bough::goal::scatter{});
    case collective::reduce_scatter: return f(bough::goal::reduce_scatter{});
    case collective::allgather: return f(bough::goal::allgather{});
    case collective::scan: return f(bough::goal::scan{});
    case collective::exscan: return f(bough::goal::exscan{});
    case collective::alltoall: return f(bough::goal::alltoall{});
    }
    return f(bough::goal::barrier{});
}

// As a user writes it.
struct algorithm_name {
    std::string name;
    std::optional<bough::rank_t> degree;
    bool ordered = false;
    std::string extents{}; // of a torus, as 8x8; empty: one ring
};
// Throws usage_error: not an algorithm of the collective, a bad degree, ordered where there is no order. `argument` is
// where the name was typed.
bough::any_algorithm find_algorithm(collective, const algorithm_name&, std::string_view argument = "ALGORITHM");
// The same of a collective with neighbours.
bough::any_algorithm find_algorithm(collective, const algorithm_name&, const bough::neighbourhood&);
std::string known_algorithms(collective);
// Are there packed trees for it, the algorithm of a network?
bool has_packed_trees(collective);
std::string text_of(const bough::any_algorithm&); // as in C++: tree_reduce{ordered{fnomial{.degree = 4}}}
std::string text_of(const bough::candidate&);

// All that make sense for the collective, in the order of the tables.
std::vector<bough::any_algorithm> all_algorithms(collective);
// The sizes of --bytes; of `absent`, if nothing was typed. A barrier moves no data: 0, and there is nothing to type.
// Throws usage_error.
std::vector<std::uint64_t> bytes_of(collective, const std::string& typed, const char* absent);
std::uint64_t one_size_of(collective, const std::string& typed, const char* absent);
// The same of a range as 8..16M. Ascending.
std::vector<std::uint64_t> byte_range_of(collective, const std::string& typed, const char* absent);

// What automatic choice chooses among: also what is worth a look only where these costs differ between
// ranks, or where ranks come at these times, if there are any. Whoever has no costs says so: {}.
bough::candidate_list standard_candidates(collective, const bough::dimensions&, const bough::problem&,
                                          const bough::requirements& needed, const bough::any_cost_model& costs,
                                          const std::vector<std::uint64_t>& arrivals_ns = {});
bough::candidate_list neighbour_candidates(collective, const bough::neighbourhood&);

struct problem {
    cli::collective collective;
    bough::any_algorithm algorithm;
    bough::dimensions at{};
    cli::neighbours neighbours{};
};
// Throws usage_error unless with_plan may be called.
void check(const problem&, std::string_view argument = "ALGORITHM");
// The problem that was typed, checked. Throws usage_error.
problem parse_problem(const plan_arguments&);
// The same for so many ranks, of a range, whatever --ranks is.
problem parse_problem(const plan_arguments&, bough::rank_t ranks);
// The same with an algorithm that no name and degree tell.
problem parse_problem(const plan_arguments&, bough::rank_t ranks, bough::any_algorithm);
// "box:4x4x4", or "a graph with 12 edges"
std::string text_of(const neighbours&);
// "reduce by tree_reduce{binomial} over 13 ranks to root 0, 1 block"
std::string text_of(const problem&);
// The fields "collective", "algorithm", "size", "root" and "blocks"; "neighbours", if it has any.
json json_of(const problem&);

// Calls f with the plan of a problem whose collective has no neighbours. Pre: check(what) does not throw.
template <class F>
decltype(auto) with_plain_plan(const problem& what, F&& f) {
    return with_goal(what.collective, [&]<class Goal>(Goal) -> decltype(auto) {
        return f(bough::plan<Goal, bough::any_algorithm>(what.algorithm, what.at));
    });
}

// A plan whose goal has neighbours.
template <class Goal>
class neighbour_plan {
public:
    explicit neighbour_plan(const problem& what)
        : goal_{what.neighbours.around}, algorithm_(what.algorithm), at_(what.at) {
        if (at_.blocks == bough::natural_blocks) at_.blocks = algorithm_.natural_blocks(at_.size);
    }
    Goal goal() const { return goal_; }
    const bough::any_algorithm& algorithm() const { return algorithm_; }
    bough::rank_t size() const { return at_.size; }
    bough::rank_t root() const { return at_.root; }
    bough::block_t blocks() const { return at_.blocks; }
    bough::block_t scratch(bough::rank_t rank) const { return algorithm_.scratch(at_, rank); }
    void emit(bough::rank_t rank, bough::StepSink auto&& sink) const { algorithm_.emit(at_, rank, sink); }
    bough::schedule schedule_of(bough::rank_t rank) const {
        bough::schedule steps;
        emit(rank, steps);
        return steps;
    }

private:
    Goal goal_;
    bough::any_algorithm algorithm_;
    bough::dimensions at_;
};

// Calls f with the plan of a problem. Pre: check(what) does not throw.
template <class F>
decltype(auto) with_plan(const problem& what, F&& f) {
    if (what.collective == collective::neighbour_allgather)
        return f(neighbour_plan<bough::goal::neighbour_allgather>(what));
    if (what.collective == collective::neighbour_alltoall)
        return f(neighbour_plan<bough::goal::neighbour_alltoall>(what));
    return with_plain_plan(what, f);
}

// The limit on what is written out or proved: the steps of all ranks, and blocks times ranks. About 1 GB.
inline constexpr std::uint64_t most_steps = std::uint64_t{1} << 22;

// Throws usage_error if the plan has more steps than most_steps (of one rank, if given), or more blocks. Returns the steps.
std::uint64_t check_affordable(const problem&, std::optional<bough::rank_t> only = {});
// The steps of all ranks, by rank. Throws usage_error as check_affordable(), before it takes memory.
std::vector<bough::schedule> affordable_schedules(const problem&);

} // namespace cli

#endif
