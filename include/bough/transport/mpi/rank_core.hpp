// SPDX-License-Identifier: BSL-1.0
// What the parts of one rank of bough::mpi share: the group, its peers and their credits, the
// frames that leave, and the events for the user.
#ifndef BOUGH_TRANSPORT_MPI_RANK_CORE_HPP
#define BOUGH_TRANSPORT_MPI_RANK_CORE_HPP

#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/transport/detail/credits.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/group.hpp>
#include <bough/transport/mpi/outgoing.hpp>
#include <bough/transport/mpi/peers.hpp>

#include <cstddef>
#include <new>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

struct mpi_rank_core {
    mpi_group group;
    mpi_peers peers{0};
    message_credits credits{0, 0};
    mpi_outgoing outgoing{0};
    due_events events;
    std::size_t lacking = 0; // bytes without which something waits

    // Makes room: the next say() allocates nothing. If memory runs out, nothing has happened.
    void make_room() {
        outgoing.make_room([this](int other) { peers.fail(static_cast<rank_t>(other)); });
    }
    // The same without exceptions. False: there is no memory, and whatever needs it must be tried again.
    bool has_room() noexcept {
        bool is_made = false;
        ignore_exceptions([&] { make_room(), is_made = true; });
        if (!is_made) lacking = outgoing.frame_bytes();
        return is_made;
    }
    // Throws if memory is still lacking. What waits for it is tried in the next poll.
    BOUGH_COLD void tell_lack() const { ::operator delete(::operator new(lacking)); }
    // Sends a frame. False: MPI refuses, and the peer has failed.
    bool say(rank_t to, mpi_frame head, std::span<const std::byte> payload = {}) {
        make_room();
        head.used = credits.used(to);
        credits.told(to);
        const auto fails = [this](int other) { peers.fail(static_cast<rank_t>(other)); };
        if (outgoing.send(group.comm, static_cast<int>(to), head, payload, fails)) return true;
        peers.fail(to);
        return false;
    }
    // Tells a rank that it may send more, once that is half a window more than it knows. Without memory it
    // is owed.
    void give_room(rank_t from) noexcept {
        if (credits.owes(from) && !peers.is_lost(from) && has_room()) say(from, {.kind = mpi_frame::room});
    }
};

} // namespace bough::detail

#endif
