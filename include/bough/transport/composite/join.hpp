// SPDX-License-Identifier: BSL-1.0
// join_composite: how the ranks of a wire-up join a composite. They say where they are; then the
// ranks of each node join one transport, and all ranks join the other. Either all ranks get a
// composite, or all are told why not.
//
//   auto link = bough::join_composite(wire, {.node = bough::node_name()}, result,
//       [](auto& part, bough::status& s) { return bough::shared_memory::join(part, {}, s); },   // of this node
//       [](auto& all, bough::status& s) { return bough::tcp::join(all, {}, s); });          // all ranks
//
// Each function takes a WireUp, returns an optional transport, and says in `s` why it is empty.
#ifndef BOUGH_TRANSPORT_COMPOSITE_JOIN_HPP
#define BOUGH_TRANSPORT_COMPOSITE_JOIN_HPP

#include <bough/algorithm/groups.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/composite.hpp>
#include <bough/transport/composite/nodes.hpp>
#include <bough/transport/join_room.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct composite_nodes {
    // The node of this rank: ranks with the same name share a node.
    std::string node{};
    std::uint64_t timeout_ns = 30'000'000'000; // for each step of the joining
};

// Collective over the ranks of `wire`. Ranks in a status are those of `wire`. If a function throws
// a bough::error, or runs out of memory, that is this rank's status. Any other exception is
// reported to the others as op_threw and thrown on.
template <WireUp W, class JoinInside, class JoinBetween>
auto join_composite(W& wire, const composite_nodes& where, status& result, JoinInside&& join_inside,
                    JoinBetween&& join_between) {
    using inside_type = typename std::invoke_result_t<JoinInside&, join_room<W>&, status&>::value_type;
    using between_type = typename std::invoke_result_t<JoinBetween&, join_room<W>&, status&>::value_type;
    std::optional<composite<inside_type, between_type>> made;
    listed_groups groups;
    if ((result = exchange_nodes(wire, where.node, where.timeout_ns, groups))) return made;

    const auto patience = [&where] { return where.timeout_ns; };
    // Calls a function of the caller. If it makes nothing and does not say why, it has given up.
    const auto make = [](auto& join, auto& room, auto& link) {
        status s;
        auto made_here = join(room, s);
        if (!made_here && !s) s.code = errc::cancelled;
        if (!s) link.emplace(std::move(*made_here));
        return s;
    };
    std::optional<inside_type> inside;
    join_room part(wire, groups, forever);
    if ((result = part.run([&] { return make(join_inside, part, inside); }, patience))) return made;
    std::optional<between_type> between;
    join_room all(wire, forever);
    const auto step_between = [&] {
        const status bad = make(join_between, all, between);
        if (!bad) made.emplace(std::move(*inside), std::move(*between), groups);
        return bad;
    };
    if ((result = all.run(step_between, patience))) made.reset();
    return made;
}

} // namespace bough

#endif
