// SPDX-License-Identifier: BSL-1.0
// The parts of the simulated world (world.hpp): its options and faults, messages, edges, ranks, and
// what may be due.
#ifndef BOUGH_TRANSPORT_VIRTUAL_NETWORK_TRAFFIC_HPP
#define BOUGH_TRANSPORT_VIRTUAL_NETWORK_TRAFFIC_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/core/random.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI {

// How messages travel, and which faults happen.
struct simulated_options {
    std::uint64_t seed = 1;
    std::uint64_t latency_min_ns = 1'000, latency_max_ns = 20'000; // of each message, drawn evenly
    std::uint64_t detection_ns = 50'000;                           // from a rank's crash to its loss being reported
    std::uint32_t slots = 8;         // most messages on one edge that are not yet released
    std::uint32_t eager_bytes = 256; // longer payloads stay with the sender, whose post is pending until they are read
    // Chances in 1000.
    std::uint32_t refuse = 0;      // a post is refused although there is room
    std::uint32_t spurious = 0;    // a poll finds less than there is
    std::uint32_t straggle = 0;    // a message takes 50 times as long
    std::uint32_t take_late = 500; // a take is pending rather than complete at once (only if arrivals are not in place)
};

// Something that goes wrong when the event number reaches `at`.
struct simulated_fault {
    enum class kind : std::uint8_t {
        crash,   // `rank` is gone; on each edge the last messages that it sent may be lost; the others are told
        stop,    // `rank` does nothing any more, and nobody is told
        slow,    // messages from `rank` take `value` times as long, and it seldom finds what has come
        cut,     // messages between `rank` and `peer` wait until `value` ns from now
        sever,   // the link between `rank` and `peer` breaks, and both are told
        corrupt, // one bit of the next message's envelope flips
    };
    kind what = kind::crash;
    std::uint64_t at = 0;
    rank_t rank = no_rank, peer = no_rank;
    std::uint64_t value = 0;
};

namespace detail {

// Which way a message goes in a simulated world. `in_place`: it is combined where it lies.
constexpr protocol simulated_way(const simulated_options& o, std::uint64_t bytes, bool in_place) noexcept {
    if (bytes <= o.eager_bytes) return protocol::copied;
    return in_place ? protocol::in_place : protocol::direct;
}

enum class simulated_life : std::uint8_t { alive, stopped, gone };
enum class simulated_place : std::uint8_t { free, flying, landed, seen, taking };
struct simulated_message {
    simulated_place where = simulated_place::free;
    bool send_pending = false; // its sender still waits for the end of the post
    bool revoked = false;      // its payload must not be read
    bool claimed = false;      // its payload is being read: its sender cannot have it back
    rank_t from = no_rank, to = no_rank;
    std::uint32_t generation = 0;
    std::uint32_t sequence = 0; // on its edge
    envelope tag{};
    std::uint64_t bytes = 0;
    const std::byte* source = nullptr; // for a long message: the sender's memory
    std::uint64_t digest = 0;          // of that memory when it was posted
    std::uint64_t send_id = 0, take_id = 0;
    std::byte* into = nullptr;
    std::vector<std::byte> copy;
};
struct simulated_edge {
    std::uint32_t used = 0;            // slots
    std::uint32_t sent = 0;            // messages
    std::uint32_t last = 0xffff'ffffu; // the last one that arrives; later ones are lost
    bool broken = false;               // and its end has been reported
    std::uint64_t last_arrival = 0;
    std::uint64_t cut_until = 0;
    bool wanted = false; // a post was refused because no slot was free
};
struct simulated_rank {
    simulated_life life = simulated_life::alive;
    std::uint64_t slow = 1;
    std::vector<event> ready; // from `read` on: not yet polled
    std::size_t read = 0;
    std::vector<std::uint64_t> posts; // pending
};
enum simulated_due : std::uint8_t { due_arrival, due_end, due_take, due_lost, due_wake };
struct simulated_entry {
    simulated_due what;
    std::uint32_t a = 0, b = 0;
    std::uint64_t c = 0;
};

// A digest of a long message's memory, which must not change while the transport has it.
inline std::uint64_t simulated_digest(std::span<const std::byte> bytes) noexcept {
    std::uint64_t h = bytes.size();
    std::size_t i = 0;
    for (std::uint64_t word = 0; i + 8 <= bytes.size(); i += 8) {
        std::memcpy(&word, bytes.data() + i, 8);
        h = (h ^ word) * 0x9e37'79b9'7f4a'7c15u;
    }
    for (; i != bytes.size(); ++i) h = (h ^ static_cast<std::uint64_t>(bytes[i])) * 0x9e37'79b9'7f4a'7c15u;
    return h;
}
} // namespace detail
} // namespace bough

#endif
