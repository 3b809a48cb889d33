// SPDX-License-Identifier: BSL-1.0
// What can be chosen about bough::fabric.
#ifndef BOUGH_TRANSPORT_FABRIC_OPTIONS_HPP
#define BOUGH_TRANSPORT_FABRIC_OPTIONS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>
#include <string>

namespace bough::inline BOUGH_ABI {

struct fabric_options {
    // As fi_info names it: "tcp;ofi_rxm", "udp;ofi_rxd", "shm", "verbs;ofi_rxm", "efa", "cxi". Empty: the one that libfabric
    // thinks best. The same on all ranks.
    std::string provider{};
    std::string node{};   // host name or address of this rank's own interface; empty: libfabric's choice
    std::string domain{}; // its name, as fi_info says it; empty: libfabric's choice

    std::uint32_t window = 16;        // messages from one rank to another that are not used up; 1 to 4096
    std::uint32_t eager_bytes = 8192; // longer payloads stay with the sender until they are taken; at most 1 MiB
    // Of these two the least of all ranks counts.

    bool remote_writes =
        true; // false: long payloads travel as tagged messages, even if the provider can write remotely
    bool register_all = false; // true: register memory as a network card needs it, even if the provider can do without

    std::uint64_t timeout_ns = 30'000'000'000; // for joining
    std::uint64_t linger_ns = 1'000'000'000;   // how long a rank that leaves waits until its last words are heard
    // How long the memory of a transfer that was given up may stay with the provider. Then this rank leaves the group: that
    // is the only way to have it back.
    std::uint64_t answer_ns = 2'000'000'000;
};

} // namespace bough

#endif
