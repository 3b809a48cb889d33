// SPDX-License-Identifier: BSL-1.0
// Run-time types: every collective on elements whose type and op are known at run time only, as in an
// MPI, a C library or a framework of tensors.
//
//   elements data{pointer, count, {.size = 8, .identity = 1}};
//   run_time_op op{.function = add, .commutative = true, .identity = 7};
//   allreduce(comm, data, op [, choice]);                and start_, bind_, async_: the same names
//   allreduce(comm, const_elements{in, count, type}, elements{out, count, type}, op [, choice or partial{...}]);
//   reduce(comm, data, op, root{0} [, choice]);          all forms of the other headers that take spans
//   alltoall(comm, data), alltoallv(comm, data, counts)  these two in place, too
//
// Elements stand where a span stands, a run_time_op or an any_op where an op stands. There is no form
// for one value.
//
// Data        a run_time_type (bough/op/run_time_type.hpp) says how an element lies in memory and how it
//             travels. Elements that lie as they travel are used where they are. Others are packed into
//             one message in memory of the operation, before each run, and unpacked after it; bound
//             operations, and blocking calls after the first, allocate nothing for that. Where blocks
//             differ in length, elements may have displacements
// Op          inout[i] = in[i] op inout[i] (bough/op/run_time_op.hpp). What it says of itself,
//             commutative and exact, decides which plans serve it, as the traits of a C++ op do. The
//             results have the same bits as those of a C++ op with these properties
// Agreement   as for spans. Ranks compare the identity and size of the type, the identity of the op, and
//             the count. With run_time_type_of<T>(), and the op of make_any_op<T>(op), a rank matches
//             one that calls with a std::span<T> and that op, if it is one of bough's
// Errors      those of the collective, and invalid_argument: a size of 0, an extent of written elements
//             that is smaller than the size, pieces that are not as long as the size, a function that is
//             null, a null pointer with a count (unless pieces or a pack function may add an address),
//             input and output of different types, and more (doc/run_time_types.md lists all). op_threw
//             if a pack or unpack function throws
// Lifetime    contexts, pieces and displacements must live until the operation has ended
#ifndef BOUGH_RUN_TIME_HPP
#define BOUGH_RUN_TIME_HPP

#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/broadcast.hpp>
#include <bough/call/elements.hpp>
#include <bough/call/explain_run_time.hpp>
#include <bough/call/run_time_blocks.hpp>
#include <bough/call/run_time_call.hpp>
#include <bough/call/run_time_neighbours.hpp>
#include <bough/call/run_time_partial.hpp>
#include <bough/core/config.hpp>
#include <bough/exscan.hpp>
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/multicasts.hpp>
#include <bough/neighbour_allgather.hpp>
#include <bough/neighbour_alltoall.hpp>
#include <bough/op/run_time_op.hpp>
#include <bough/op/run_time_type.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/scatter.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class Forms, class Comm, class Choice>
status run_chosen(Comm& comm, const typed_call<std::byte>& typed, const Choice& choice) {
    using goal_type = typename Forms::goal_type;
    static_assert(explain_choice<goal_type, Choice, Forms::wanted.trees>());
    constexpr bool cuts = std::same_as<goal_type, goal::gather> || std::same_as<goal_type, goal::scatter> ||
                          std::same_as<goal_type, goal::allgather> || std::same_as<goal_type, goal::reduce_scatter>;
    if constexpr (std::same_as<Choice, automatic>)
        return run_time_automatic<goal_type>(comm, typed, choice);
    else if constexpr (std::same_as<goal_type, goal::alltoall>)
        return detail::run_cut<goal_type>(comm, typed, comm.size() * comm.size(), choice);
    else if constexpr (cuts)
        return detail::run_cut<goal_type>(comm, typed, comm.size(), choice, typename Forms::trees{});
    else
        return detail::run_choice<goal_type>(comm, typed, choice, typename Forms::trees{});
}

// --- the forms ---

template <class Own, class Forms>
struct run_time_base {
    using goal_type = typename Forms::goal_type;
    template <class On, class First, class... A>
    static consteval bool explain() {
        return explain_run_time<Own, Forms, On, First, A...>();
    }
    template <class On, class Choice>
    static auto chooser(On& on, const Choice& choice) {
        return [&](const typed_call<std::byte>& typed) { return detail::run_chosen<Forms>(on, typed, choice); };
    }
};

// allreduce, scan, exscan. `Writes`: the first rank that gets a result.
template <class Forms, rank_t Writes>
struct run_time_vector_forms : run_time_base<run_time_forms<Forms>, Forms> {
    using base = run_time_base<run_time_forms<Forms>, Forms>;
    template <class On, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const elements& data, const O& op, const Choice& choice = {}) {
        const bool writes = on.rank() >= Writes;
        if (status said;
            detail::repeat_elements<typename Forms::goal_type>(on, data, data, writes, op, 0, choice, said))
            return said;
        const const_elements all = data;
        return run_whole(on, {all, all, true, writes}, op, {.size = on.size()}, base::chooser(on, choice));
    }
    template <class On, RunTimeData In, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, const O& op, const Choice& choice = {}) {
        const bool writes = on.rank() >= Writes;
        if (status said; detail::repeat_elements<typename Forms::goal_type>(on, in, out, writes, op, 0, choice, said))
            return said;
        const const_elements from = in, to = out;
        return run_whole(on, {from, to, true, writes}, op, {.size = on.size()}, base::chooser(on, choice));
    }
};
template <>
struct run_time_forms<allreduce_forms> : run_time_vector_forms<allreduce_forms, 0>, run_time_partial_forms {
    using run_time_partial_forms::call, run_time_vector_forms<allreduce_forms, 0>::call;
};
template <>
struct run_time_forms<scan_forms> : run_time_vector_forms<scan_forms, 0> {};
template <>
struct run_time_forms<exscan_forms> : run_time_vector_forms<exscan_forms, 1> {};

template <>
struct run_time_forms<reduce_forms> : run_time_base<run_time_forms<reduce_forms>, reduce_forms> {
    template <class On, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const elements& data, const O& op, root to, const Choice& choice = {}) {
        if (status said; repeats(on, data, data, op, to, choice, said)) return said;
        const const_elements all = data;
        return run(on, all, all, op, to, choice);
    }
    template <class On, RunTimeData In, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, const O& op, root to, const Choice& choice = {}) {
        if (status said; repeats(on, in, out, op, to, choice, said)) return said;
        const const_elements from = in, into = out;
        return run(on, from, into, op, to, choice);
    }

private:
    template <class On, class In, class O, class Choice>
    static bool repeats(On& on, const In& in, const elements& out, const O& op, root to, const Choice& choice,
                        status& said) {
        return detail::repeat_elements<goal::reduce>(on, in, out, on.rank() == to.rank, op, to.rank, choice, said);
    }
    template <class On, class O, class Choice>
    static status run(On& on, const const_elements& in, const const_elements& out, const O& op, root to,
                      const Choice& choice) {
        if (to.rank >= on.size()) return on.refuse(invalid_argument("root: not a rank of the group"));
        return run_whole(on, {in, out, true, on.rank() == to.rank}, op, {.size = on.size(), .root = to.rank},
                         chooser(on, choice));
    }
};

template <>
struct run_time_forms<broadcast_forms> : run_time_base<run_time_forms<broadcast_forms>, broadcast_forms> {
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, root from, const Choice& choice = {}) {
        if (from.rank >= on.size()) return on.refuse(invalid_argument("root: not a rank of the group"));
        if (status said;
            detail::repeat_elements<goal::broadcast>(on, data, data, true, no_op{}, from.rank, choice, said))
            return said;
        const const_elements all = data;
        const bool is_root = on.rank() == from.rank;
        return run_whole(on, {all, all, is_root, !is_root, true}, no_op{}, {.size = on.size(), .root = from.rank},
                         chooser(on, choice));
    }
};

template <>
struct run_time_forms<multicast_forms> : run_time_base<run_time_forms<multicast_forms>, multicast_forms> {
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, std::span<const rank_t> members, root from,
                       const Choice& choice = {}) {
        if (from.rank >= on.size()) return on.refuse(invalid_argument("root: not a rank of the group"));
        return guard_call(on, [&] {
            const participants who(members, from.rank);
            const bool takes_part = who.place(on.rank()) != no_rank, is_root = on.rank() == from.rank;
            const_elements all = data;
            if (!takes_part) all = {nullptr, 0, {.size = 1, .identity = data.type.identity}, {}};
            const dimensions at{.size = on.size(), .root = from.rank};
            return run_whole(on, {all, all, is_root, takes_part && !is_root, takes_part}, no_op{}, at,
                             [&](typed_call<std::byte>& typed) {
                                 typed.ranks = who.size();
                                 return multicast_typed(on, typed, who, members, choice);
                             });
        });
    }
};

template <>
struct run_time_forms<multicasts_forms> : run_time_base<run_time_forms<multicasts_forms>, multicasts_forms> {
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, std::span<const multicast_request> wanted,
                       const Choice& choice = {}) {
        const const_elements all = data;
        return run_whole(on, {all, all}, no_op{}, {.size = on.size()}, [&](const typed_call<std::byte>& typed) {
            return multicasts_typed(on, typed, wanted, choice);
        });
    }
};

// gather, scatter, allgather, reduce_scatter. `Counts`: as units_of_blocks() takes them.
template <class Forms>
struct run_time_block_forms : run_time_base<run_time_forms<Forms>, Forms> {
protected:
    template <class On, RunTimeData In, class Counts, class O, class Choice>
    static status run(On& on, const In& in, const elements& out, const Counts& counts, const O& op, root at,
                      const Choice& choice) {
        if constexpr (std::same_as<Counts, equal_lengths>) {
            status said;
            if (from_own ? detail::repeat_blocks<goal_type>(on, kind_at(at), in, out, op, choice, said)
                         : detail::repeat_blocks<goal_type>(on, kind_at(at), out, in, op, choice, said))
                return said;
        }
        const const_elements from = in, to = out;
        return run_blocks_apart(on, kind_at(at), from, to, counts, op, run_time_block_forms::chooser(on, choice));
    }
    template <class On, class Counts, class O, class Choice>
    static status run_in_place(On& on, const elements& data, const Counts& counts, const O& op, root at,
                               const Choice& choice) {
        if constexpr (std::same_as<Counts, equal_lengths>) {
            status said;
            const elements own = own_elements(data, kind_at(at), on.rank(), on.size());
            if (detail::repeat_blocks<goal_type>(on, kind_at(at), own, data, op, choice, said)) return said;
        }
        return run_blocks_in_place(on, kind_at(at), data, counts, op, run_time_block_forms::chooser(on, choice));
    }

private:
    using goal_type = typename Forms::goal_type;
    static constexpr bool from_own = std::same_as<goal_type, goal::gather> || std::same_as<goal_type, goal::allgather>;
    static constexpr block_call kind_at(root at) noexcept { return {from_own, Forms::wanted.root, at}; }
};

template <class Forms>
struct run_time_rooted_forms : run_time_block_forms<Forms> {
    using base = run_time_block_forms<Forms>;
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, root at, const Choice& choice = {}) {
        return base::run_in_place(on, data, equal_lengths{}, no_op{}, at, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, root at, const Choice& choice = {}) {
        return base::run(on, in, out, equal_lengths{}, no_op{}, at, choice);
    }
};
template <class Forms>
struct run_time_rooted_list_forms : run_time_block_forms<Forms> {
    using base = run_time_block_forms<Forms>;
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, std::span<const std::size_t> counts, root at,
                       const Choice& choice = {}) {
        return base::run_in_place(on, data, lengths_known_by<Choice>(counts, at), no_op{}, at,
                                  detail::straight_or(choice));
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, std::span<const std::size_t> counts, root at,
                       const Choice& choice = {}) {
        return base::run(on, in, out, lengths_known_by<Choice>(counts, at), no_op{}, at, detail::straight_or(choice));
    }
};
template <>
struct run_time_forms<gather_forms> : run_time_rooted_forms<gather_forms> {};
template <>
struct run_time_forms<gatherv_forms> : run_time_rooted_list_forms<gatherv_forms> {};
template <>
struct run_time_forms<scatter_forms> : run_time_rooted_forms<scatter_forms> {};
template <>
struct run_time_forms<scatterv_forms> : run_time_rooted_list_forms<scatterv_forms> {};

template <>
struct run_time_forms<allgather_forms> : run_time_block_forms<allgather_forms> {
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, const Choice& choice = {}) {
        return run_in_place(on, data, equal_lengths{}, no_op{}, root{0}, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, const Choice& choice = {}) {
        return run(on, in, out, equal_lengths{}, no_op{}, root{0}, choice);
    }
};
template <>
struct run_time_forms<allgatherv_forms> : run_time_block_forms<allgatherv_forms> {
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, std::span<const std::size_t> counts, const Choice& choice = {}) {
        return run_in_place(on, data, counts, no_op{}, root{0}, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, std::span<const std::size_t> counts,
                       const Choice& choice = {}) {
        return run(on, in, out, counts, no_op{}, root{0}, choice);
    }
};
template <>
struct run_time_forms<reduce_scatter_forms> : run_time_block_forms<reduce_scatter_forms> {
    template <class On, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const elements& data, const O& op, const Choice& choice = {}) {
        return run_in_place(on, data, equal_lengths{}, op, root{0}, choice);
    }
    template <class On, RunTimeData In, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, const O& op, const Choice& choice = {}) {
        return run(on, in, out, equal_lengths{}, op, root{0}, choice);
    }
};
template <>
struct run_time_forms<reduce_scatterv_forms> : run_time_block_forms<reduce_scatterv_forms> {
    template <class On, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const elements& data, std::span<const std::size_t> counts, const O& op,
                       const Choice& choice = {}) {
        return run_in_place(on, data, counts, op, root{0}, choice);
    }
    template <class On, RunTimeData In, RunTimeOp O, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, std::span<const std::size_t> counts, const O& op,
                       const Choice& choice = {}) {
        return run(on, in, out, counts, op, root{0}, choice);
    }
};

template <>
struct run_time_forms<alltoall_forms> : run_time_base<run_time_forms<alltoall_forms>, alltoall_forms> {
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, const Choice& choice = {}) {
        const const_elements all = data;
        return run(on, {all, all}, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, const Choice& choice = {}) {
        if (status said; repeat_matrix(on, in, out, choice, said)) return said;
        const const_elements from = in, to = out;
        return run(on, {from, to}, choice);
    }

private:
    template <class On, class Choice>
    static status run(On& on, const matrix_sides& sides, const Choice& choice) {
        return guard_call(on, [&]() -> status {
            const std::size_t units = units_of(sides.in);
            if (units % on.size() != 0)
                return on.refuse(invalid_argument("in: its length is not a multiple of the number of ranks"));
            const auto blocks = equal_units(on.size(), sides.in.type, units / on.size());
            return run_matrix(on, sides, blocks, blocks, chooser(on, choice));
        });
    }
};
template <>
struct run_time_forms<alltoallv_forms> : run_time_base<run_time_forms<alltoallv_forms>, alltoallv_forms> {
    template <class On, NotElements Choice = automatic>
    requires(!is_at_most_v<Choice>) static status
        call(On& on, const elements& data, std::span<const std::size_t> counts, const Choice& choice = {}) {
        const const_elements all = data;
        return run(on, {all, all, true}, counts, counts, nullptr, choice);
    }
    template <class On, NotElements Choice = automatic>
    static status call(On& on, const elements& data, std::span<const std::size_t> counts, const at_most& most,
                       const Choice& choice = {}) {
        const const_elements all = data;
        return run(on, {all, all, true}, counts, counts, &most, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    requires(!is_at_most_v<Choice>) static status
        call(On& on, const In& in, std::span<const std::size_t> send_counts, const elements& out,
             std::span<const std::size_t> receive_counts, const Choice& choice = {}) {
        const const_elements from = in, to = out;
        return run(on, {from, to, true}, send_counts, receive_counts, nullptr, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, std::span<const std::size_t> send_counts, const elements& out,
                       std::span<const std::size_t> receive_counts, const at_most& most, const Choice& choice = {}) {
        const const_elements from = in, to = out;
        return run(on, {from, to, true}, send_counts, receive_counts, &most, choice);
    }

private:
    template <class On, class Choice>
    static status run(On& on, const matrix_sides& sides, std::span<const std::size_t> send_counts,
                      std::span<const std::size_t> receive_counts, const at_most* most, const Choice& choice) {
        return guard_call(on, [&]() -> status {
            const rank_t size = on.size();
            if (send_counts.size() != size) return on.refuse(invalid_argument("send_counts: one per rank is needed"));
            if (receive_counts.size() != size)
                return on.refuse(invalid_argument("receive_counts: one per rank is needed"));
            const auto row = units_of_counts(size, sides.in.type, send_counts);
            const auto column = units_of_counts(size, sides.out.type, receive_counts);
            return run_matrix(on, sides, row, column, [&](const typed_call<std::byte>& typed) {
                const auto straight = [&] {
                    if constexpr (std::same_as<Choice, automatic>)
                        return detail::run_chosen<alltoallv_forms>(on, typed, pairwise_alltoall{});
                    else
                        return detail::run_chosen<alltoallv_forms>(on, typed, choice);
                };
                if (most == nullptr) return straight();
                const std::size_t units = sides.in.type.size / unit_of(sides.in.type);
                return detail::run_in_slots(on, typed, row, column, most->elements * units, choice, straight);
            });
        });
    }
};

template <class Forms>
struct run_time_neighbour_forms : run_time_base<run_time_forms<Forms>, Forms> {
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, const elements& out, const neighbourhood& around,
                       const Choice& choice = {}) {
        return run_time_neighbours<typename Forms::goal_type>(on, in, out, around, choice);
    }
};
template <>
struct run_time_forms<neighbour_allgather_forms> : run_time_neighbour_forms<neighbour_allgather_forms> {};
template <>
struct run_time_forms<neighbour_alltoall_forms> : run_time_neighbour_forms<neighbour_alltoall_forms> {};
template <>
struct run_time_forms<neighbour_alltoallv_forms>
    : run_time_base<run_time_forms<neighbour_alltoallv_forms>, neighbour_alltoallv_forms> {
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, std::span<const std::size_t> send_counts, const elements& out,
                       std::span<const std::size_t> receive_counts, const neighbourhood& around,
                       const Choice& choice = {}) {
        const auto counts = [&](std::size_t unit, std::size_t units) {
            return neighbour_counts(around, on.rank(), send_counts, receive_counts, unit, units);
        };
        return run_time_neighbour_lengths(on, in, out, around, counts, choice);
    }
    template <class On, RunTimeData In, NotElements Choice = automatic>
    static status call(On& on, const In& in, std::span<const std::size_t> each_counts, const elements& out,
                       const neighbourhood& around, const Choice& choice = {}) {
        const auto counts = [&](std::size_t unit, std::size_t units) {
            return neighbour_counts(around, on.rank(), each_counts, unit, units);
        };
        return run_time_neighbour_lengths(on, in, out, around, counts, choice);
    }
};

} // namespace detail

} // namespace bough

#endif
