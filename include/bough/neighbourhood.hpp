// SPDX-License-Identifier: BSL-1.0
// gather_neighbourhood: makes the neighbourhood of a graph of which each rank knows its own
// neighbours only.
//
//   const neighbourhood around = gather_neighbourhood(comm, sources, destinations);
//   neighbour_alltoall(comm, in, out, around);
//
// `sources` are the ranks that this rank receives from, `destinations` those that it sends to, in
// the order of its places (bough/schedule/neighbourhood.hpp). Every rank gets the lists of all. For
// a grid, and for a graph that all ranks know, no call is needed: see there.
//
// It throws bough::error. With a std::error_code or bough::status behind the arguments it never
// throws, and gives a std::optional that is empty on error. It is collective over `comm`, which
// makes two calls without names.
//
// Errors      invalid_argument on every rank, with the rank in status::peer, if what a rank says of
//             its sources is not what they say of their destinations, or if a rank is named that
//             there is not; those of doc/design/005
// Source      MPI_Dist_graph_create_adjacent
#ifndef BOUGH_NEIGHBOURHOOD_HPP
#define BOUGH_NEIGHBOURHOOD_HPP

#include <bough/allgather.hpp>
#include <bough/call/arguments.hpp>
#include <bough/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/group.hpp>
#include <bough/schedule/neighbourhood.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

namespace detail {

// Sets the lists of all ranks.
template <class X>
status gather_lists(communicator<X>& comm, std::span<const rank_t> sources, std::span<const rank_t> destinations,
                    graph_neighbours& all) {
    const rank_t ranks = comm.size();
    std::vector<std::uint64_t> lengths(std::size_t{2} * ranks);
    const std::uint64_t mine[] = {sources.size(), destinations.size()};
    status s;
    bough::allgather(comm, std::span(mine), std::span(lengths), s);
    if (s) return s;
    std::vector<std::size_t> counts(ranks);
    std::size_t total = 0;
    for (rank_t r = 0; r != ranks; ++r)
        total += counts[r] = static_cast<std::size_t>(lengths[2 * r] + lengths[2 * r + 1]);
    std::vector<rank_t> own, lists(total);
    own.reserve(sources.size() + destinations.size());
    own.insert(own.end(), sources.begin(), sources.end());
    own.insert(own.end(), destinations.begin(), destinations.end());
    bough::allgatherv(comm, std::span<const rank_t>(own), std::span(lists), counts, s);
    if (s) return s;
    auto next = lists.begin();
    const auto take = [&next](std::uint64_t count) {
        const auto first = next;
        next += static_cast<std::ptrdiff_t>(count);
        return std::vector<rank_t>(first, next);
    };
    for (rank_t r = 0; r != ranks; ++r) {
        all.sources.push_back(take(lengths[2 * r]));
        all.destinations.push_back(take(lengths[2 * r + 1]));
    }
    return {};
}

} // namespace detail

template <class X, ErrorResult E>
[[nodiscard]] std::optional<neighbourhood> gather_neighbourhood(communicator<X>& comm, std::span<const rank_t> sources,
                                                                std::span<const rank_t> destinations, E& ec) {
    std::optional<neighbourhood> made;
    const auto run = [&]() -> status {
        if (const status bad = detail::check_has_no_names(comm)) return bad;
        graph_neighbours all;
        if (const status bad = detail::gather_lists(comm, sources, destinations, all))
            return detail::break_with(comm, bad);
        neighbourhood whole(all);
        if (const status bad = whole.check(comm.size())) return bad; // the same on every rank
        made = std::move(whole);
        return {};
    };
    detail::report(detail::guard_call(comm, run), ec);
    return made;
}
template <class X>
[[nodiscard]] neighbourhood gather_neighbourhood(communicator<X>& comm, std::span<const rank_t> sources,
                                                 std::span<const rank_t> destinations) {
    status s;
    return detail::value_or_throw(gather_neighbourhood(comm, sources, destinations, s), s);
}

} // namespace bough

#endif
