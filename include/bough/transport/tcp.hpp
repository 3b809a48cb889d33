// SPDX-License-Identifier: BSL-1.0
// tcp: ranks are processes on one machine or on several.
//
//   bough::tcp link{wire};                            // `wire`: a WireUp: a launcher's, PMIx's, ...
//   bough::communicator comm{std::move(link)};
//   bough::allreduce(comm, std::span(x), bough::plus{});
//
// To join from a list of hosts and a key: bough/transport/tcp/hosts.hpp. To join without
// exceptions: tcp::join(wire, options, status).
//
// A connection becomes a rank's only after both sides have proved that they know the key of the job
// (handshake.hpp). Afterwards bytes travel in the clear. A rank listens at loopback unless told
// otherwise. Short messages are copied once on the way. Long ones (above 16 KiB) go from the
// sender's memory to the socket, and from the socket to where the receiver takes them. The end of a
// peer's process is reported at once, whatever this rank waits for. There are no threads: nothing
// moves unless somebody polls. What it promises, what it costs and how it fails:
// doc/transports/tcp.md.
//
// Needs Boost.Asio (headers, 1.74 or newer) and OpenSSL's libcrypto: CMake target bough::tcp.
#ifndef BOUGH_TRANSPORT_TCP_HPP
#define BOUGH_TRANSPORT_TCP_HPP

#include <bough/transport/tcp/basic_tcp.hpp>
#include <bough/transport/tcp/openssl_mac.hpp>

namespace bough::inline BOUGH_ABI {

using tcp = basic_tcp<openssl_mac>;

static_assert(Transport<tcp> && WaitableTransport<tcp> && DescriptorTransport<tcp> && !InPlaceTransport<tcp>);

} // namespace bough

#if defined(BOUGH_COMPILED_TEMPLATE)
#include <bough/compiled/tcp.hpp> // as the last line, where the transport is complete
#endif

#endif
