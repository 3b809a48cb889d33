// SPDX-License-Identifier: BSL-1.0
// tcp_tls: tcp for networks that are not trusted: every connection is TLS 1.3, with certificates on
// both sides.
//
//   bough::tcp_options options;
//   options.tls = {.certificate = "rank.pem", .key = "rank.key", .authorities = "job-ca.pem"};   // files, or PEM itself
//   bough::communicator comm{bough::tcp_tls{wire, options}};     // wire: a WireUp; or a list of hosts
//
// A process is turned away before it is told anything if it has no certificate that `authorities`
// vouch for, or speaks an older TLS or none. Inside TLS, the ranks also prove the job's key as
// plain tcp does; each proof is bound to its connection. Everything else is as in
// bough/transport/tcp.hpp. What it costs: doc/transports/tcp.md.
//
// Needs OpenSSL's libssl (1.1.1 or newer) besides what tcp needs: CMake target bough::tls.
#ifndef BOUGH_TRANSPORT_TCP_TLS_HPP
#define BOUGH_TRANSPORT_TCP_TLS_HPP

#include <bough/transport/tcp.hpp>
#include <bough/transport/tcp/tls_channel.hpp>

namespace bough::inline BOUGH_ABI {

using tcp_tls = basic_tcp<openssl_mac, detail::tls_channel>;

static_assert(Transport<tcp_tls> && WaitableTransport<tcp_tls> && DescriptorTransport<tcp_tls>);

} // namespace bough

#endif
