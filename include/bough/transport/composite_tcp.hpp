// SPDX-License-Identifier: BSL-1.0
// The composite for clusters: shared memory inside a node, tcp between nodes. Needs Linux.
//
//   bough::communicator comm{bough::make_composite(wire)};       // wire: a WireUp, of a launcher for instance
//   bough::allreduce(comm, std::span(x), bough::plus{});
//
//   auto link = bough::make_composite(wire, {.between = {.bind = "10.0.0.7"}});   // tcp_options: where it listens
//   auto link = bough::make_composite(wire, {.node = "left"});                    // nodes by name, to try things
//
// A rank alone on its node uses hardly any shared memory. Ranks of one node have sockets to each
// other that stay idle: doc/transports/composite.md.
//
// Needs what bough/transport/tcp.hpp needs: CMake target bough::tcp.
#ifndef BOUGH_TRANSPORT_COMPOSITE_TCP_HPP
#define BOUGH_TRANSPORT_COMPOSITE_TCP_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/transport/composite.hpp>
#include <bough/transport/composite/join.hpp>
#include <bough/transport/composite/nodes.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace bough::inline BOUGH_ABI {

struct composite_options {
    std::string node{}; // ranks with the same name share memory; empty: node_name()
    shared_memory_options inside{};
    tcp_options between{};
    std::uint64_t timeout_ns =
        30'000'000'000; // for each step of the joining; the two transports have timeouts of their own
};

// The type that make_composite returns.
using shared_memory_tcp = composite<shared_memory, tcp>;

static_assert(InPlaceTransport<shared_memory_tcp> && WaitableTransport<shared_memory_tcp>);

// Collective: every rank of the wire-up calls it, once. When it returns nothing, `result` says why.
// If one rank has an error, all have: the others get peer_aborted, with that error as the cause.
template <WireUp W>
std::optional<shared_memory_tcp> join_composite(W& wire, const composite_options& options, status& result) {
    return join_composite(
        wire, {.node = options.node.empty() ? node_name() : options.node, .timeout_ns = options.timeout_ns}, result,
        [&](auto& part, status& s) { return shared_memory::join(part, options.inside, s); },
        [&](auto& all, status& s) { return tcp::join(all, options.between, s); });
}

// The same; throws bough::error.
template <WireUp W>
shared_memory_tcp make_composite(W& wire, const composite_options& options = {}) {
    status result;
    std::optional<shared_memory_tcp> made = join_composite(wire, options, result);
    detail::throw_if(result);
    return std::move(*made);
}

} // namespace bough

#endif
