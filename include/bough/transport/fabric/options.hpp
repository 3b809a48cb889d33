// SPDX-License-Identifier: BSL-1.0
// The options of bough::fabric.
#ifndef BOUGH_TRANSPORT_FABRIC_OPTIONS_HPP
#define BOUGH_TRANSPORT_FABRIC_OPTIONS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>
#include <string>

namespace bough::inline BOUGH_ABI {

struct fabric_options {
    // The provider's name as fi_info shows it: "tcp;ofi_rxm", "udp;ofi_rxd", "shm",
    // "verbs;ofi_rxm", "efa", "cxi". Empty: the one that libfabric lists first. It must be the same
    // on all ranks.
    std::string provider{};
    std::string node{};   // host name or address of this rank's own interface; empty: libfabric's choice
    std::string domain{}; // the domain's name as fi_info shows it; empty: libfabric's choice

    // Where ranks choose different values of these two, the smallest one counts.
    std::uint32_t window = 16; // messages from one rank to another that are not used up; 1 to 4096
    // Longer payloads stay with the sender until they are taken; at most 1 MiB.
    std::uint32_t eager_bytes = 8192;

    bool remote_writes =
        true; // false: long payloads travel as tagged messages, even if the provider can write remotely
    // true: register all memory as network cards need it, even if the provider does not.
    bool register_all = false;

    std::uint64_t timeout_ns = 30'000'000'000; // for joining
    // How long a rank that leaves waits until its last words are heard.
    std::uint64_t linger_ns = 1'000'000'000;
    // How long the provider may keep the memory of a transfer that was given up. Afterwards this
    // rank leaves the group: that is the only way to get the memory back.
    std::uint64_t answer_ns = 2'000'000'000;
};

} // namespace bough

#endif
