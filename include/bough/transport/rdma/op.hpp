// SPDX-License-Identifier: BSL-1.0
// The interface between the RDMA protocol and the device beneath it. The protocol (lines.hpp,
// endpoint.hpp) knows frames, credits, order and payloads. A device D moves bytes between ranks:
// fabric/device.hpp is the one for libfabric, verbs/device.hpp the one for libibverbs.
//
//   D::options_type, D::costs     what a user chooses; by which costs plans are chosen
//   D::memory                     registered memory; empty by default; reset() and destruction give
//                                 it back
//   D::sends, D::receives, D::writes_from, D::is_written    what memory is registered for
//   D::written_uses_receive       a write with a ticket uses up a posted receive of its target
//   D::tags                       true: some of its devices cannot write remotely, and send tagged
//                                 messages instead
//   d.open(options), d.describe(card, ranks)    -> status. Both also allocate what the exchanges of
//                                 connect() need
//   d.connect(wire, cards, me, last_ns)    -> status; collective, may fail on one rank alone.
//                                 Afterwards ranks are reached by number, once all are ready
//   d.register_memory(bytes, use, memory)  -> bool. descriptor(memory): the handle that this rank's
//                                 own transfers from or to the memory must pass
//   d.receive(buffer, longest), d.send(rank, buffer), d.inject(rank, bytes),
//   d.write(rank, piece, address, key, ticket)
//   d.poll(done)                  -> how many operations have ended
//   d.disconnect(rank)            the rank is lost: what is under way to it may fail at once
//   D::probes, d.probe(rank)      true: probe() asks whether the rank is there; an operation fails
//                                 if it is not
//   d.all_sent()                  nothing that was injected is still under way
//   d.sends_alone()               what the device has taken leaves even if this rank calls nothing
//   d.opens_files()               its connections take open files of this process
//   d.close_endpoint()            the end
//   d.abandon()                   the end in the child of a fork
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
    alignas(std::max_align_t) std::byte context[64]; // belongs to the device while the operation is under way
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
    std::byte* memory = nullptr; // aligned to a cache line
    void* descriptor = nullptr;
    std::size_t length = 0;   // of the frame in it
    std::uint64_t number = 0; // of the frame while it is being sent; otherwise 0
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
