// SPDX-License-Identifier: BSL-1.0
// The catalogue: every collective and algorithm that has a name on the command line, and the way from names to a typed
// plan.
//
//   const problem what{collective::reduce, find_algorithm(collective::reduce, {"fnomial", 4}), {.size = 16}};
//   with_plan(what, [](const auto& plan) { ... });       // called once, with the plan's own type
#ifndef BOUGH_TOOLS_CATALOGUE_HPP
#define BOUGH_TOOLS_CATALOGUE_HPP

#include "commands.hpp"
#include "json.hpp"
#include "shape.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace cli {

enum class collective { reduce, allreduce, broadcast, barrier };
const char* name_of(collective);
// Throws usage_error, which lists the known ones.
collective find_collective(std::string_view name);

using algorithm = std::variant<any_shape, bough::ordered<any_shape>, bough::recursive_doubling, bough::dissemination>;

// As a user writes it.
struct algorithm_name {
    std::string name;
    std::optional<bough::rank_t> degree;
    bool ordered = false;
};
// Throws usage_error: not an algorithm of the collective, a bad degree, ordered where there is no order.
algorithm find_algorithm(collective, const algorithm_name&);
std::string known_algorithms(collective);
std::string text_of(const algorithm&); // as in C++: ordered{fnomial{.degree = 4}}

// All that make sense for the collective, in the order of the tables.
std::vector<algorithm> all_algorithms(collective);

struct problem {
    cli::collective collective = collective::reduce;
    cli::algorithm algorithm;
    bough::dimensions at{};
};
// Throws usage_error unless with_plan may be called.
void check(const problem&);
// The problem that was typed, checked; the number of ranks may come from a range. Throws usage_error.
problem parse_problem(const plan_arguments&, bough::rank_t ranks);
// "reduce by binomial over 13 ranks to root 0, 1 block"
std::string text_of(const problem&);
// The fields "collective", "algorithm", "size", "root" and "blocks".
json json_of(const problem&);

// Calls f with the plan of a problem, in its own type. Pre: check(what) does not throw.
template <class F>
decltype(auto) with_plan(const problem& what, F&& f) {
    const bough::dimensions& at = what.at;
    return std::visit(
        [&](const auto& a) {
            using A = std::remove_cvref_t<decltype(a)>;
            if constexpr (bough::TreeSource<A>) {
                switch (what.collective) {
                case collective::reduce: return f(bough::plan_reduce(a, at));
                case collective::allreduce: return f(bough::plan_allreduce(a, at));
                case collective::broadcast: return f(bough::plan_broadcast(a, at));
                case collective::barrier: break;
                }
                return f(bough::plan_barrier(bough::tree_allreduce{a}, at));
            } else if constexpr (std::is_same_v<A, bough::recursive_doubling>) {
                if (what.collective == collective::barrier) return f(bough::plan_barrier(a, at));
                return f(bough::plan_allreduce(a, at));
            } else {
                return f(bough::plan_barrier(a, at));
            }
        },
        what.algorithm);
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

private:
    void count() {
        if (++steps_ > most_steps) refuse();
    }
    [[noreturn]] void refuse() const;

    std::string_view argument_;
    std::uint64_t steps_ = 0;
};

// Throws usage_error if the plan has more steps than most_steps (of one rank, if given), or more blocks.
void check_affordable(const problem&, std::optional<bough::rank_t> only = {});

} // namespace cli

#endif
