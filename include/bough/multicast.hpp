// SPDX-License-Identifier: BSL-1.0
// multicast: the members get the root's vector; the other ranks return at once.
//
//   multicast(comm, data, members, root{r} [, choice])   the root's data is only read; throws bough::error
//   multicast(..., ec)                                   never throws; ec: a std::error_code or a
//                                                        bough::status
//   start_multicast(...)                                 returns a bough::operation at once; no ec
//   bind_multicast(...)                                  a persistent_operation, to be started many
//                                                        times; no ec
//
// Data        a span or what one can be made of; that of ranks which do not take part is not looked at.
//             members are bough::rank_t; the root may be listed as one or not
// Choice      a plan, an algorithm (tree_multicast{...}, multicast_among{...}), a tree source
//             (fnomial{.degree = 4}) or automatic{}, which takes a broadcast among the participants by its
//             price; a tree has as many ranks as participate, see bough/algorithm/multicast/tree.hpp
// Agreement   every rank of the communicator calls it, so that operations stay in step, with the same
//             members in the same order, and the same root and choice; the root and the members with the
//             same count and type too
// Time        that of a broadcast among the participants
// Determinism nothing is combined: every member gets the root's bytes
// Errors      invalid_argument and size_overflow for wrong arguments; call_mismatch where ranks do not
//             agree; those of doc/design/005. The data of members other than the root is unspecified then
// Source      each algorithm names its own
#ifndef BOUGH_MULTICAST_HPP
#define BOUGH_MULTICAST_HPP

#include <bough/algorithm/multicast/among.hpp>
#include <bough/algorithm/multicast/tree.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/front_door.hpp>
#include <bough/call/names.hpp>
#include <bough/op/names.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/standard/broadcast.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

using broadcast_plan = plan<goal::broadcast, any_algorithm>;

// The broadcast by which the participants do it: of the standard candidates for so many ranks the one that the costs choose. Where
// all pairs of ranks are alike, one choice serves all lists of a length.
template <class T, RunsCalls Comm>
const broadcast_plan* choose_multicast(Comm& comm, const typed_call<T>& typed, std::span<const rank_t> members) {
    const any_cost_model& costs = comm.options().costs;
    const std::uint8_t size_class = size_class_of(typed.count * typed.element_bytes);
    return comm.template remember_plan<broadcast_plan>(
        {.kind = goal::multicast::kind,
         .size_class = size_class,
         .root = costs.homogeneous() ? 0 : typed.at.root,
         .ranks = typed.ranks,
         .members = costs.homogeneous() ? 0 : hash_members(members)},
        [&] {
            const problem what = problem_of(comm, size_class, false);
            const dimensions among = participants(members, typed.at.root).among(typed.at);
            candidate_list from = standard_candidates<goal::broadcast>(among, what);
            if (costs.homogeneous()) {
                const decision made = choose(from, among, what, costs, {.in_a_loop = true});
                if (!made) return std::shared_ptr<const broadcast_plan>();
                const prospect& best = made.winner();
                return std::make_shared<const broadcast_plan>(best.what.algorithm,
                                                              dimensions{among.size, 0, best.blocks});
            }
            // Between these very ranks.
            from.kind = goal::multicast::kind;
            for (candidate& c : from.list) {
                if (c.blocks == natural_blocks) c.blocks = c.algorithm.natural_blocks(among.size);
                c.algorithm = multicast_among<any_algorithm>{std::move(c.algorithm), {members.begin(), members.end()}};
            }
            const decision made = choose(from, typed.at, what, costs, {.in_a_loop = true});
            if (!made) return std::shared_ptr<const broadcast_plan>();
            const prospect& best = made.winner();
            const auto* chosen = best.what.algorithm.template get<multicast_among<any_algorithm>>();
            return std::make_shared<const broadcast_plan>(chosen->broadcast, dimensions{among.size, 0, best.blocks});
        });
}

// Pre: the root is a rank of the group; the call says who takes part.
template <class T, RunsCalls Comm, class Choice>
status multicast_typed(Comm& comm, const typed_call<T>& given, const participants& who, std::span<const rank_t> members,
                       const Choice& choice) {
    static_assert(explain_choice<goal::multicast, Choice, true>());
    typed_call<T> typed = given;
    if (who.place(comm.rank()) == no_rank) typed.signature.op = takes_no_part;
    const auto wrap = [&]<class C>(const C& c) {
        if constexpr (TreeSource<C>)
            return tree_multicast<C>{c, {members.begin(), members.end()}};
        else
            return c;
    };
    if constexpr (std::same_as<Choice, automatic>) {
        if (const status bad = check_members(sorted_members({members.begin(), members.end()}), comm.size()))
            return comm.refuse(bad);
        if (who.place(comm.rank()) == no_rank)
            return detail::run_choice<goal::multicast>(comm, typed, fnomial{}, wrap); // nothing to do
        const broadcast_plan* best = choose_multicast(comm, typed, members);
        if (best == nullptr) return refuse_choice(comm);
        using among = multicast_among<any_algorithm>;
        const among algorithm{best->algorithm(), {members.begin(), members.end()}};
        return run_typed(comm, plan<goal::multicast, among>(algorithm, {typed.at.size, typed.at.root, best->blocks()}),
                         typed);
    } else if constexpr (TreeSource<Choice>) {
        return detail::run_choice<goal::multicast>(comm, typed, choice, wrap);
    } else {
        goal::multicast wanted{{members.begin(), members.end()}};
        std::sort(wanted.members.begin(), wanted.members.end());
        if (!(choice.goal() == wanted))
            return comm.refuse(invalid_argument("members: not those of the given plan or algorithm"));
        return detail::run_choice<goal::multicast>(comm, typed, choice, wrap);
    }
}

template <class T, RunsCalls Comm, class Choice>
status run_multicast(Comm& comm, std::span<T> data, std::span<const rank_t> members, root from, const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_written<T>() && explain_wire<T>());
        if (from.rank >= comm.size()) return comm.refuse(invalid_argument("root: not a rank of the group"));
        const participants who(members, from.rank);
        const bool takes_part = who.place(comm.rank()) != no_rank;
        if (takes_part)
            if (const status bad = check_data(data.data(), data.size(), sizeof(T))) return comm.refuse(bad);
        typed_call<T> typed{.at = {.size = comm.size(), .root = from.rank}};
        if (takes_part) {
            typed.in = data.data();
            typed.out = data.data();
            typed.count = data.size();
        }
        typed.signature = signature_of<T, void>(typed.count, from.rank);
        typed.ranks = who.size();
        return multicast_typed(comm, typed, who, members, choice);
    });
}

struct multicast_forms : takes<goal::multicast, parameters{.root = true, .lists = true, .trees = true}> {
    template <class On, class T, std::size_t Extent, NotData Choice = automatic>
    static status call(On& on, std::span<T, Extent> data, std::span<const rank_t> members, root from,
                       const Choice& choice = {}) {
        return detail::run_multicast<T>(on, data, members, from, choice);
    }
};

} // namespace detail

inline constexpr detail::blocking<detail::multicast_forms> multicast{};
inline constexpr detail::starting<detail::multicast_forms> start_multicast{};
inline constexpr detail::binding<detail::multicast_forms> bind_multicast{};

} // namespace bough

#endif
