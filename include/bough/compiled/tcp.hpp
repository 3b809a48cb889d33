// SPDX-License-Identifier: BSL-1.0
// What the compiled form holds of the communicators over tcp. Include bough/transport/tcp.hpp;
// it includes this header where the compiled form is used.
#ifndef BOUGH_COMPILED_TCP_HPP
#define BOUGH_COMPILED_TCP_HPP

#include <bough/compiled/communicator.hpp>
#include <bough/core/config.hpp>
#include <bough/launch/job.hpp>
#include <bough/transport/tcp.hpp>

#include <memory>

namespace bough::inline BOUGH_ABI {

BOUGH_COMPILED_COMMUNICATOR(tcp)

#if defined(BOUGH_COMPILED_TEMPLATE)
BOUGH_COMPILED_TEMPLATE class basic_tcp<openssl_mac>;
namespace detail {
BOUGH_COMPILED_TEMPLATE class tcp_connections<openssl_mac>;
BOUGH_COMPILED_TEMPLATE class tcp_membership<openssl_mac>;
BOUGH_COMPILED_TEMPLATE class tcp_links<plain_channel>;
BOUGH_COMPILED_TEMPLATE std::unique_ptr<tcp_connections<openssl_mac, plain_channel>>
join_hosts<openssl_mac, plain_channel>(const tcp_hosts&, const tcp_options&, status&);
BOUGH_COMPILED_TEMPLATE std::unique_ptr<tcp_connections<openssl_mac, plain_channel>>
join_wire_up<openssl_mac, plain_channel>(job&, const tcp_options&, status&);
} // namespace detail
#endif

} // namespace bough

#endif
