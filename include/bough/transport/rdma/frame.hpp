// SPDX-License-Identifier: BSL-1.0
// The frames that bough::fabric and bough::verbs send, and the card by which a rank tells the
// others about itself before they are connected.
#ifndef BOUGH_TRANSPORT_RDMA_FRAME_HPP
#define BOUGH_TRANSPORT_RDMA_FRAME_HPP

#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// The header of every frame. It stands before a payload, or alone as a control message between two
// transports. Its numbers are in the byte order of the machine: all machines must have the same.
struct fabric_frame {
    enum what : std::uint16_t {
        message,      // a short message: its payload follows in the frame
        announcement, // announces a long message: fabric_announcement follows; the payload waits for `go`
        // Asks for the payload of a long message: fabric_place follows and says where to put it.
        go,
        none,     // answers `go`: the payload was taken back. The fabric_place of the `go` follows
        done,     // the receiver does not want the payload of a long message: fabric_place follows
        room,     // carries nothing but `used`
        hello,    // the first frame of a rank; has no sequence number
        bye,      // the last frame of a rank that has a sequence number
        farewell, // answers `bye`; has no sequence number
    };
    envelope tag{};
    std::uint32_t sequence = 0; // numbers the sender's frames to this receiver, except hello and farewell
    // Every group draws a new one, so that frames left over from another are dropped.
    std::uint32_t job = 0;
    rank_t from = 0;
    // How many of the receiver's messages the sender of this frame has used up so far.
    std::uint16_t used = 0;
    std::uint16_t kind = message;

    // Whether the frame has a sequence number.
    constexpr bool counts() const noexcept { return kind != hello && kind != farewell; }
};
static_assert(sizeof(fabric_frame) == 48 && std::is_trivially_copyable_v<fabric_frame>);

struct fabric_announcement {
    std::uint64_t bytes = 0;
    std::uint32_t number = 0; // numbers the long messages from one rank to another
    std::uint32_t unused = 0;
};
struct fabric_place {
    std::uint64_t address = 0, key = 0; // of the receiver's registered memory
    std::uint32_t number = 0;           // of the long message
    std::uint32_t ticket = 0;           // chosen by the receiver; comes back with the payload
};

// The bytes of the longest frame of a group.
constexpr std::size_t longest_frame(std::size_t eager_bytes) noexcept {
    return sizeof(fabric_frame) + std::max(eager_bytes, sizeof(fabric_place));
}
// Whether a frame that has come has a length that its kind may have.
inline bool is_fabric_frame(const fabric_frame& head, std::size_t length, std::size_t eager_bytes) noexcept {
    const std::size_t body = length - sizeof head;
    switch (head.kind) {
    case fabric_frame::message: return body <= eager_bytes;
    case fabric_frame::announcement: return body == sizeof(fabric_announcement);
    case fabric_frame::go:
    case fabric_frame::none:
    case fabric_frame::done: return body == sizeof(fabric_place);
    case fabric_frame::room:
    case fabric_frame::hello:
    case fabric_frame::bye:
    case fabric_frame::farewell: return body == 0;
    default: return false;
    }
}

// What each rank tells all others about itself when it joins.
struct fabric_card {
    static constexpr std::size_t most_address_bytes = 512;

    std::uint32_t format = 0x62'66'61'00 | formats::rdma; // "bfa"
    std::uint32_t window = 0, eager_bytes = 0;
    std::uint32_t job = 0;   // the group uses the one of rank 0
    std::uint32_t cores = 1; // of its machine
    std::uint64_t machine = 0;
    std::uint64_t processes = 0; // the process namespace in which `process` is a number
    std::uint64_t process = 0;
    // 1: this rank's device cannot write remotely, long payloads travel as tagged messages.
    std::uint32_t tagged = 0;
    std::uint32_t address_bytes = 0, unused = 0;
    std::array<char, 64> provider{};
    std::array<std::byte, most_address_bytes> address{};
};
static_assert(sizeof(fabric_card) <= most_wire_up_bytes && std::is_trivially_copyable_v<fabric_card>);

} // namespace bough::detail

#endif
