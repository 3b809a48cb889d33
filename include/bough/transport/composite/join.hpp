// SPDX-License-Identifier: BSL-1.0
// How the ranks of a wire-up join a composite: they say where they are, those of a node join one transport, then all
// the other. Either all ranks have a composite, or all are told why not.
//
//   auto link = bough::join_composite(wire, {.node = bough::node_name()}, result,
//       [](auto& part, bough::status& s) { return bough::shared_memory::join(part, s); },   // of this node
//       [](auto& all, bough::status& s) { return bough::tcp::join(all, {}, s); });          // all ranks
//
// Each function returns an optional transport, and says in `s` why it is empty.
#ifndef BOUGH_TRANSPORT_COMPOSITE_JOIN_HPP
#define BOUGH_TRANSPORT_COMPOSITE_JOIN_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/composite.hpp>
#include <bough/transport/composite/nodes.hpp>
#include <bough/transport/composite/sub_wire_up.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough {

struct composite_nodes {
    std::string node{};                        // where this rank is: ranks with the same name share a node
    std::uint64_t timeout_ns = 30'000'000'000; // for each step of the joining
};

namespace detail {

// How a step went for all ranks: `mine`, or peer_aborted.
template <WireUp W>
status agree_on(W& wire, const status& mine, std::uint64_t timeout_ns) {
    const std::array<std::byte, 1> said{static_cast<std::byte>(mine.code)};
    std::vector<std::byte> all(wire.size());
    if (const status bad = wire.exchange(said, all, timeout_ns)) return mine ? mine : bad;
    status result = mine;
    for (rank_t r = 0; r != wire.size() && !mine; ++r) {
        const auto code = static_cast<errc>(all[r]);
        if (code != errc::ok && (!result || (result.cause == errc::peer_aborted && code != errc::peer_aborted)))
            result = {.code = errc::peer_aborted, .cause = code, .peer = r};
    }
    return result;
}

} // namespace detail

// Collective over the ranks of `wire`. Of an error by the transport inside a node, `peer` is the rank of the wire-up.
template <WireUp W, class JoinInside, class JoinBetween>
auto join_composite(W& wire, const composite_nodes& where, status& result, JoinInside&& join_inside,
                    JoinBetween&& join_between) {
    using inside_type = typename std::invoke_result_t<JoinInside&, sub_wire_up<W>&, status&>::value_type;
    using between_type = typename std::invoke_result_t<JoinBetween&, W&, status&>::value_type;
    std::optional<composite<inside_type, between_type>> made;
    listed_groups groups;
    if ((result = exchange_nodes(wire, where.node, where.timeout_ns, groups))) return made;

    sub_wire_up<W> part(wire, groups);
    std::optional<inside_type> inside = join_inside(part, result);
    if (result && result.peer < part.size())
        result.peer = groups.member(wire.size(), groups.group_of(wire.size(), wire.rank()), result.peer);
    if ((result = part.finish(result, where.timeout_ns))) return made;
    std::optional<between_type> between = join_between(wire, result);
    if ((result = detail::agree_on(wire, result, where.timeout_ns))) return made;
    made.emplace(std::move(*inside), std::move(*between), groups);
    return made;
}

} // namespace bough

#endif
