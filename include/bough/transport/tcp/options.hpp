// SPDX-License-Identifier: BSL-1.0
// The options of bough::tcp, and the error that it throws when a group cannot be joined.
#ifndef BOUGH_TRANSPORT_TCP_OPTIONS_HPP
#define BOUGH_TRANSPORT_TCP_OPTIONS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>

#include <cstdint>
#include <string>

namespace bough::inline BOUGH_ABI {

// The options of bough::tcp_tls (bough/transport/tcp/tls.hpp). The first three are each the path of
// a PEM file, or PEM text. They are read when the group is joined, and no copy is kept. The owner
// of a key's text must wipe it.
struct tls_options {
    std::string certificate{}; // of this rank, followed by those between it and an authority
    std::string key{};         // the private key of the certificate, without a password
    std::string authorities{}; // certificates of the authorities that are trusted
    std::string name{};        // host name that every peer's certificate must have; empty: any
    friend bool operator==(const tls_options&, const tls_options&) = default;
};

// The options of bough::tcp and bough::tcp_tls.
struct tcp_options {
    // The numeric IPv4 or IPv6 address to listen at. Empty: the address that the wire-up says
    // (bough/launch/environment.hpp does), or else loopback; from a host list: this rank's own entry.
    std::string bind{};
    // The numeric address that the other ranks connect to, if it differs from `bind`: behind an
    // address translator, or if `bind` means any address.
    std::string advertise{};
    std::uint64_t timeout_ns = 30'000'000'000; // for joining
    // Groups up to this size connect all pairs when they are joined.
    rank_t eager_mesh = 128;
    // How many bytes a peer may have sent that this rank has not used up yet; 256 KiB at least. Up to
    // here they lie in chunks. Short messages beyond it take as much again at the most (memory.hpp).
    std::uint64_t unexpected_bytes_per_peer = std::uint64_t{1} << 20;
    // Such chunks, and long messages that nobody has taken, of all peers together. Beyond it each may
    // have this much, divided by the number of ranks, in long messages.
    std::uint64_t unexpected_bytes = std::uint64_t{64} << 20;
    // Accepted sockets that may wait to prove who they are.
    std::uint32_t strangers = 64;
    // How long a socket may take to prove who it is. A rank that is called by its near name
    // (nearby.hpp) has this long for each step.
    std::uint64_t stranger_timeout_ns = 2'000'000'000;
    // How long a leaving rank waits until its messages have gone out.
    std::uint64_t linger_ns = 1'000'000'000;
    // The kernel's buffers per socket and direction, at least 4 KiB; 0: the kernel's choice. With the
    // least buffers that Linux gives, a window opens only every 200 ms.
    std::uint32_t socket_bytes = 0;
    std::uint32_t cores = 0; // how many the ranks share; 0: ask the systems
    // Ranks of one system talk over Unix sockets instead of TCP (Linux).
    bool near_sockets = true;
    tls_options tls{}; // bough::tcp refuses to join if any of these is set
};

// Thrown when a group could not be joined. details() says the cause and, if it is known, which rank
// is missing.
class tcp_error : public error {
public:
    explicit tcp_error(const status& why) : error(why, "bough::tcp") {}
};

} // namespace bough

#endif
