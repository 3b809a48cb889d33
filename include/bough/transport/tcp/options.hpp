// SPDX-License-Identifier: BSL-1.0
// What can be chosen about bough::tcp, and what it says when a group cannot be joined.
#ifndef BOUGH_TRANSPORT_TCP_OPTIONS_HPP
#define BOUGH_TRANSPORT_TCP_OPTIONS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>

#include <cstdint>
#include <string>

namespace bough::inline BOUGH_ABI {

// Of bough::tcp_tls (bough/transport/tcp/tls.hpp). Each is the path of a PEM file, or PEM text. They are read when
// joining, and no copy is kept: to wipe the text of a key is up to its owner.
struct tls_options {
    std::string certificate{}; // of this rank, and of whoever stands between it and an authority
    std::string key{};         // the private key of the certificate, without a password
    std::string authorities{}; // whose certificates are believed
    std::string name{};        // that every peer's certificate must have, as if it were a host's; empty: any
    friend bool operator==(const tls_options&, const tls_options&) = default;
};

struct tcp_options {
    // The numeric IPv4 or IPv6 address to listen at. Empty: loopback; from a host list: this rank's own entry.
    std::string bind{};
    // The numeric address that the others connect to, where it is not `bind` (behind a translator, or bound to any).
    std::string advertise{};
    std::uint64_t timeout_ns = 30'000'000'000; // for joining
    rank_t eager_mesh = 128;                   // groups up to this size connect all pairs when they are joined
    std::uint64_t unexpected_bytes_per_peer = std::uint64_t{1}
                                              << 20;          // that have come and are not used up; 256 KiB at least
    std::uint64_t unexpected_bytes = std::uint64_t{64} << 20; // in all
    std::uint32_t strangers = 64;                             // sockets that may wait to prove who they are
    std::uint64_t stranger_timeout_ns = 2'000'000'000;        // until they must have; of a near name: for each step
    std::uint64_t linger_ns = 1'000'000'000; // how long a rank that leaves waits for what it has said to go out
    std::uint32_t socket_bytes = 0;          // the kernel's buffers per socket and direction; 0: as it sees fit
    std::uint32_t cores = 0;                 // that the ranks share; 0: ask the systems
    bool near_sockets = true;                // ranks of one system talk over Unix sockets instead of TCP (Linux)
    tls_options tls{};                       // plain tcp refuses to join with any
};

// A group could not be joined: details() says the cause and, if it is known, the rank that is
// missing.
class tcp_error : public error {
public:
    explicit tcp_error(const status& why) : error(why, "bough::tcp") {}
};

} // namespace bough

#endif
