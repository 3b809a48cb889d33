// SPDX-License-Identifier: BSL-1.0
// The frames that bough::mpi sends, and the tags under which MPI carries them.
#ifndef BOUGH_TRANSPORT_MPI_FRAME_HPP
#define BOUGH_TRANSPORT_MPI_FRAME_HPP

#include <bough/concepts/protocol.hpp>
#include <bough/concepts/transport.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Precedes every short payload, and travels alone as a message between two transports.
struct mpi_frame {
    enum what : std::uint32_t {
        message,      // its payload follows in the frame
        announcement, // announces a long message, whose payload waits for `go`
        go,           // the receive is posted: send the payload of your long message `number`
        none,         // the payload of my long message `number` was taken back
        done,         // I do not want the payload of your long message `number`
        room,         // only tells `used`
        bye,          // the last frame of a rank
    };
    envelope tag{};
    std::uint64_t bytes = 0;  // of the payload
    std::uint32_t number = 0; // the number of a long message, counted per pair of ranks
    std::uint32_t used = 0;   // of the messages from this frame's receiver, how many its sender has used up
    std::uint32_t kind = message;
    std::uint32_t unused = 0;
};
static_assert(sizeof(mpi_frame) == 56);

// Which way a message goes. How a long payload leaves its sender's memory, MPI alone decides.
constexpr protocol mpi_way(std::uint64_t bytes, std::uint64_t eager_bytes) noexcept {
    return bytes <= eager_bytes ? protocol::copied : protocol::staged;
}

inline constexpr int mpi_frame_tag = 0;
// The tag of a long message's payload. MPI guarantees tags up to 32,767.
constexpr int mpi_payload_tag(std::uint32_t number) noexcept { return 1 + static_cast<int>(number % 16'384); }

} // namespace bough::detail

#endif
