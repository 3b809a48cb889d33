// SPDX-License-Identifier: BSL-1.0
// What can be chosen about bough::verbs.
#ifndef BOUGH_TRANSPORT_VERBS_OPTIONS_HPP
#define BOUGH_TRANSPORT_VERBS_OPTIONS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>
#include <string>

namespace bough::inline BOUGH_ABI {

struct verbs_options {
    std::string device{};  // as ibv_devices lists them: "mlx5_0", "rxe0"; empty: the first with a port that is up
    std::uint8_t port = 0; // 0: its first that is up
    int gid_index = -1; // of the port's addresses, as ibv_devinfo -v lists them; -1: RoCE v2 with IPv4, else the first
    std::uint8_t level = 0; // service level, on which switches may act

    std::uint32_t window = 16;        // messages from one rank to another that are not used up; 1 to 4096
    std::uint32_t eager_bytes = 8192; // longer payloads stay with the sender until they are taken; at most 1 MiB
    // Of these two the least of all ranks counts.

    // The card repeats what is not acknowledged after 4.096 us * 2^ack_timeout, six times: then the peer is lost. By default
    // 67 ms, half a second in all; cards may take longer. 1 to 31.
    std::uint8_t ack_timeout = 14;
    std::uint64_t probe_ns = 100'000'000; // how often a rank that waits asks the others' cards whether they are there

    std::uint64_t timeout_ns = 30'000'000'000; // for joining
    std::uint64_t linger_ns = 1'000'000'000;   // how long a rank that leaves waits until its last words are heard
    // How long the memory of a transfer that was given up may stay with the card. Then this rank leaves the group: that is
    // the only way to have it back.
    std::uint64_t answer_ns = 2'000'000'000;
};

} // namespace bough

#endif
