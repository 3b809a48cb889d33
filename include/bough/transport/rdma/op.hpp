// SPDX-License-Identifier: BSL-1.0
// What the protocol of bough::fabric and a device beneath it tell each other. The protocol (lines.hpp, endpoint.hpp) knows
// frames, credits, order and payloads; a device D moves bytes between ranks: libfabric's is fabric/device.hpp, that of
// libibverbs verbs/device.hpp.
//
//   D::options_type, D::costs               what a user chooses; what plans are chosen by
//   D::memory                               registered memory; empty by default; reset() and destruction give it back
//   D::sends, D::receives, D::writes_from, D::is_written    what memory is registered for
//   D::written_uses_receive                 a write with a ticket uses up a receive of its target
//   D::tags                                 there may be a device without remote writes, and tagged messages in their stead
//   d.open(options), d.describe(card, ranks)    -> status. Here is found what memory the exchanges of connect() need
//   d.connect(wire, cards, me, last_ns)     -> status; collective, may fail on one rank alone. From here on ranks are
//                                           reached by number, when all are ready
//   d.register_memory(bytes, use, memory)   -> bool; descriptor(memory): what own transfers have to say of it
//   d.receive(buffer, longest), d.send(rank, buffer), d.inject(rank, bytes), d.write(rank, piece, place, ticket)
//   d.poll(done)                            -> how many operations have ended
//   d.disconnect(rank)                      it is lost: what is under way to it may fail at once
//   D::probes, d.probe(rank)                there may be a way to ask whether it is there; if it is not, that fails
//   d.all_sent()                            nothing that was injected is under way
//   d.sends_alone()                         what it has taken leaves though this rank calls nothing
//   d.close_endpoint(), d.abandon()         the end, and the end in the child of a fork
#ifndef BOUGH_TRANSPORT_RDMA_OP_HPP
#define BOUGH_TRANSPORT_RDMA_OP_HPP

#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// What a completion belongs to. The device keeps a pointer to `context`, which comes first.
struct fabric_op {
    enum class what : std::uint8_t { receive, frame, push, pull, injected };
    alignas(std::max_align_t) std::byte context[64]; // the device's, while the operation is under way
    what kind = what::receive;
    rank_t peer = no_rank;
    std::uint32_t index = 0;

    static fabric_op& of(void* context) noexcept { return *static_cast<fabric_op*>(context); }
};
static_assert(offsetof(fabric_op, context) == 0);

struct fabric_line {
    alignas(64) std::byte bytes[64];
};

// Memory for one frame.
struct fabric_buffer {
    fabric_op op{};
    std::byte* memory = nullptr; // on a cache line's boundary
    void* descriptor = nullptr;
    std::size_t length = 0;   // of the frame in it
    std::uint64_t number = 0; // of the frame, while it is on its way out
};

// Of a post. full: not now; broken: that peer cannot be reached.
enum class fabric_result : std::uint8_t { ok, full, broken };

// An operation that has ended.
struct fabric_done {
    fabric_op* op = nullptr; // of `written`: the receive that was used up with it, if one was
    enum class way : std::uint8_t { ok, failed, written } how = way::ok;
    std::uint32_t ticket = 0; // of `written`: a peer has written a piece into this rank's memory
    std::uint64_t bytes = 0;  // that were received
};

// A piece of this rank's memory, for one transfer.
struct fabric_piece {
    std::span<const std::byte> bytes{};
    void* descriptor = nullptr;
    fabric_op* op = nullptr;
};

} // namespace bough::detail

#endif
