// SPDX-License-Identifier: BSL-1.0
// The frames of bough::fabric, and what one rank tells the others of itself before they are connected.
#ifndef BOUGH_TRANSPORT_RDMA_FRAME_HPP
#define BOUGH_TRANSPORT_RDMA_FRAME_HPP

#include <bough/concepts/transport.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// Before every payload, and alone as a word between two transports. In the byte order of the machine: all are alike.
struct fabric_frame {
    enum what : std::uint16_t {
        message,      // its payload follows in the frame
        announcement, // of a long message: fabric_announcement follows, its payload waits for `go`
        go,           // put the payload of that long message here: fabric_place follows
        none,         // there is no payload any more, it was taken back: fabric_place follows, as it came
        done,         // I do not want the payload of that long message: fabric_place follows
        room,         // nothing but `used`
        hello,        // not counted; the first frame of a rank
        bye,          // the last one that counts
        farewell,     // not counted; your `bye` has come
    };
    envelope tag{};
    std::uint32_t sequence = 0; // of the frames of its sender to this receiver that count
    std::uint32_t job = 0;      // drawn anew by every group: what is left of another one is dropped
    rank_t from = 0;
    std::uint16_t used = 0; // messages of the receiver of this frame that its sender has used up so far
    std::uint16_t kind = message;

    constexpr bool counts() const noexcept { return kind != hello && kind != farewell; }
};
static_assert(sizeof(fabric_frame) == 48 && std::is_trivially_copyable_v<fabric_frame>);

struct fabric_announcement {
    std::uint64_t bytes = 0;
    std::uint32_t number = 0; // of a long message, counted per pair of ranks
    std::uint32_t unused = 0;
};
struct fabric_place {
    std::uint64_t address = 0, key = 0; // of the receiver's registered memory
    std::uint32_t number = 0;
    std::uint32_t ticket = 0; // of the receiver; comes with the payload
};

// A frame that has come, if its length is one that its kind may have.
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

// What all ranks know of each other.
struct fabric_card {
    static constexpr std::size_t most_address_bytes = 512;

    std::uint32_t format = 0x62'66'61'33; // "bfa3"
    std::uint32_t window = 0, eager_bytes = 0;
    std::uint32_t job = 0;   // rank 0's counts
    std::uint32_t cores = 1; // of its machine
    std::uint64_t machine = 0;
    std::uint64_t processes = 0; // the space that `process` is a number in
    std::uint64_t process = 0;
    std::uint32_t tagged = 0; // long payloads have to travel as tagged messages
    std::uint32_t address_bytes = 0, unused = 0;
    std::array<char, 64> provider{};
    std::array<std::byte, most_address_bytes> address{};
};
static_assert(sizeof(fabric_card) <= most_wire_up_bytes && std::is_trivially_copyable_v<fabric_card>);

} // namespace bough::detail

#endif
