// SPDX-License-Identifier: BSL-1.0
// The words between the RDMA protocol and the device beneath it (RdmaDevice, in device.hpp):
// operations, buffers, pieces, and what becomes of them.
#ifndef BOUGH_TRANSPORT_RDMA_OP_HPP
#define BOUGH_TRANSPORT_RDMA_OP_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// One operation of the device, which its completion names. The device keeps a pointer to `context`,
// so `context` must be the first member.
struct fabric_op {
    enum class what : std::uint8_t { receive, frame, push, pull, injected };
    // Belongs to the device while the operation is under way.
    alignas(std::max_align_t) std::byte context[64];
    what kind = what::receive;
    rank_t peer = no_rank;
    std::uint32_t index = 0;

    static fabric_op& of(void* context) noexcept { return *static_cast<fabric_op*>(context); }
};
static_assert(offsetof(fabric_op, context) == 0);

struct fabric_line {
    alignas(64) std::byte bytes[64];
};
// The bytes of an array of lines. (A pointer to those of its first line may not go beyond that line.)
inline std::byte* bytes_of_lines(fabric_line* first) noexcept { return reinterpret_cast<std::byte*>(first); }

// Memory for one frame.
struct fabric_buffer {
    fabric_op op{};
    std::byte* memory = nullptr; // aligned to a cache line
    void* descriptor = nullptr;
    std::size_t length = 0;   // of the frame in it
    std::uint64_t number = 0; // of the frame while it is being sent; otherwise 0
    // In a list of frames that have come, the next one; and the frame's own number there.
    fabric_buffer* next = nullptr;
    std::uint32_t sequence = 0;
};

// The result of a post. full: the device takes no more now; broken: that peer cannot be reached.
enum class fabric_result : std::uint8_t { ok, full, broken };

// An operation that has ended.
struct fabric_done {
    fabric_op* op = nullptr; // with `written`: the receive that the write used up, if it used one
    // written: a peer has written a piece into this rank's memory.
    enum class way : std::uint8_t { ok, failed, written } how = way::ok;
    std::uint32_t ticket = 0; // with `written`: the ticket that came with the write
    std::uint64_t bytes = 0;  // how many were received
};

// A piece of this rank's memory, for one transfer.
struct fabric_piece {
    std::span<const std::byte> bytes{};
    void* descriptor = nullptr;
    fabric_op* op = nullptr;
};

} // namespace bough::detail

#endif
