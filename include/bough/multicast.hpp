// SPDX-License-Identifier: BSL-1.0
// multicast: the members get the root's vector; the other ranks return at once.
//
//   multicast(comm, data, members, root{r} [, choice])   the root's data is only read; throws bough::error
//   multicast(..., ec)                                   never throws; ec is a std::error_code or a bough::status
// `choice` is a plan, an algorithm (tree_multicast{...}), a tree source (fnomial{.degree = 4}) or automatic{}; a tree has as
// many ranks as participate, see bough/algorithm/multicast/tree.hpp. The root may be listed as a member or not.
// Every rank of the communicator calls it, so that operations stay in step, with the same members in the same order, and
// the same root and choice; the root and the members with the same count and type too. The data of other ranks is not
// looked at. On error the data of members other than the root is unspecified.
#ifndef BOUGH_MULTICAST_HPP
#define BOUGH_MULTICAST_HPP

#include <bough/algorithm/multicast/tree.hpp>
#include <bough/detail/front_door.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace bough {

namespace detail {

template <class X, class T, class Choice>
status multicast(communicator<X>& comm, std::span<T> data, std::span<const rank_t> members, root from,
                 const Choice& choice) {
    return guard_call(comm, [&]() -> status {
        static_assert(explain_wire<T>());
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
        const auto wrap = [&]<class C>(const C& c) {
            if constexpr (TreeSource<C>)
                return tree_multicast<C>{c, {members.begin(), members.end()}};
            else
                return c;
        };
        if constexpr (std::same_as<Choice, automatic>) {
            const rank_t degrees[] = {2, 4, 8, std::max<rank_t>(2, who.size())};
            const auto over_degree = [&](std::size_t i) {
                return plan_broadcast(fnomial{degrees[i]}, who.among(typed.at));
            };
            const std::size_t winner = choose_once<goal::multicast>(comm, typed, [&](auto&& pick) {
                return pick(over_degree(0), over_degree(1), over_degree(2), over_degree(3));
            });
            return run_choice<goal::multicast>(comm, typed, fnomial{degrees[winner]}, wrap);
        } else if constexpr (TreeSource<Choice>) {
            return run_choice<goal::multicast>(comm, typed, choice, wrap);
        } else {
            goal::multicast wanted{{members.begin(), members.end()}};
            std::sort(wanted.members.begin(), wanted.members.end());
            if (!(choice.goal() == wanted))
                return comm.refuse(invalid_argument("members: not those of the given plan or algorithm"));
            return run_choice<goal::multicast>(comm, typed, choice, wrap);
        }
    });
}

} // namespace detail

template <class X, class T, std::size_t N, class Choice = automatic>
void multicast(communicator<X>& comm, std::span<T, N> data, std::span<const rank_t> members, root from,
               const Choice& choice = {}) {
    detail::throw_if(detail::multicast<X, T>(comm, data, members, from, choice));
}
template <class X, class T, std::size_t N, ErrorResult E>
void multicast(communicator<X>& comm, std::span<T, N> data, std::span<const rank_t> members, root from, E& ec) {
    detail::report(detail::multicast<X, T>(comm, data, members, from, automatic{}), ec);
}
template <class X, class T, std::size_t N, class Choice, ErrorResult E>
void multicast(communicator<X>& comm, std::span<T, N> data, std::span<const rank_t> members, root from,
               const Choice& choice, E& ec) {
    detail::report(detail::multicast<X, T>(comm, data, members, from, choice), ec);
}

} // namespace bough

#endif
