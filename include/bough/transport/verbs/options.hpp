// SPDX-License-Identifier: BSL-1.0
// The options of bough::verbs.
#ifndef BOUGH_TRANSPORT_VERBS_OPTIONS_HPP
#define BOUGH_TRANSPORT_VERBS_OPTIONS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>
#include <string>

namespace bough::inline BOUGH_ABI {

struct verbs_options {
    // A name that ibv_devices lists: "mlx5_0", "rxe0"; empty: the first with a port that is up.
    std::string device{};
    std::uint8_t port = 0; // 0: the first that is up
    // Which of the port's addresses to use, as ibv_devinfo -v numbers them. -1: one of RoCE v2 with
    // IPv4; if there is none, another one of RoCE v2; if there is none either, the first.
    int gid_index = -1;
    std::uint8_t level = 0; // the service level, by which switches may tell traffic apart; at most 15

    // Where ranks choose different values of these two, the smallest one counts.
    std::uint32_t window = 16; // messages from one rank to another that are not used up; 1 to 4096
    // Longer payloads stay with the sender until they are taken; at most 1 MiB.
    std::uint32_t eager_bytes = 8192;

    // The card sends again what is not acknowledged within 4.096 us * 2^ack_timeout. After six
    // repetitions the peer is lost. The default is 67 ms, half a second in all; cards may take
    // longer. 1 to 31.
    std::uint8_t ack_timeout = 14;
    // How often a rank that waits asks the cards of its peers for a sign of life.
    std::uint64_t probe_ns = 100'000'000;

    std::uint64_t timeout_ns = 30'000'000'000; // for joining
    // How long a rank that leaves waits until its last words are heard.
    std::uint64_t linger_ns = 1'000'000'000;
    // How long the card may keep the memory of a transfer that was given up. Afterwards this rank
    // leaves the group: that is the only way to get the memory back.
    std::uint64_t answer_ns = 2'000'000'000;
};

} // namespace bough

#endif
