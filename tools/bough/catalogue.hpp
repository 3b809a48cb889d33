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
#include "shape.hpp"
#include <bough/schedule/any_algorithm.hpp>
#include <bough/schedule/plan.hpp>
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
    alltoall
};
std::span<const collective> all_collectives();
const char* name_of(collective);
std::optional<collective> collective_of(std::string_view name); // nothing if there is none of that name
// Throws usage_error, which lists the known ones.
collective find_collective(std::string_view name);
// Does it combine values, so that there is an op?
bool combines(collective);
// Does its vector have a block for each rank (for alltoall, for each pair of them)?
bool has_rank_blocks(collective);

// Calls f with the goal of a collective, in its own type.
template <class F>
decltype(auto) with_goal(collective c, F&& f) {
    switch (c) {
    case collective::reduce: return f(bough::goal::reduce{});
    case collective::allreduce: return f(bough::goal::allreduce{});
    case collective::broadcast: return f(bough::goal::broadcast{});
    case collective::barrier: break;
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
std::string known_algorithms(collective);
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

// What automatic choice chooses among.
bough::candidate_list standard_candidates(collective, const bough::dimensions&, const bough::problem&,
                                          const bough::requirements& needed = {});

struct problem {
    cli::collective collective;
    bough::any_algorithm algorithm;
    bough::dimensions at{};
};
// Throws usage_error unless with_plan may be called.
void check(const problem&, std::string_view argument = "ALGORITHM");
// The problem that was typed, checked; the number of ranks may come from a range. Throws usage_error.
problem parse_problem(const plan_arguments&, bough::rank_t ranks);
// "reduce by tree_reduce{binomial} over 13 ranks to root 0, 1 block"
std::string text_of(const problem&);
// The fields "collective", "algorithm", "size", "root" and "blocks".
json json_of(const problem&);

// Calls f with the plan of a problem. Pre: check(what) does not throw.
template <class F>
decltype(auto) with_plan(const problem& what, F&& f) {
    return with_goal(what.collective, [&]<class Goal>(Goal) -> decltype(auto) {
        return f(bough::plan<Goal, bough::any_algorithm>(what.algorithm, what.at));
    });
}

// The limit on what is written out or proved: the steps of all ranks, and blocks times ranks. About a gigabyte.
inline constexpr std::uint64_t most_steps = std::uint64_t{1} << 22;

// A sink that counts, and throws usage_error as soon as there is more than anybody could want to see.
class bounded_sink {
public:
    explicit bounded_sink(std::string_view argument) : argument_(argument) {}
    void send(bough::rank_t, bough::slice) { count(); }
    void receive(bough::rank_t, bough::slice) { count(); }
    void send_part(bough::rank_t, bough::slice) { count(); }
    void receive_part(bough::rank_t, bough::slice) { count(); }
    void combine(bough::slice, bough::slice, bough::slice) { count(); }
    void copy(bough::slice, bough::slice) { count(); }
    std::uint64_t steps() const { return steps_; }

private:
    void count() {
        if (++steps_ > most_steps) refuse();
    }
    [[noreturn]] void refuse() const;

    std::string_view argument_;
    std::uint64_t steps_ = 0;
};

// Throws usage_error if the plan has more steps than most_steps (of one rank, if given), or more blocks. Returns the steps.
std::uint64_t check_affordable(const problem&, std::optional<bough::rank_t> only = {});

} // namespace cli

#endif
