// SPDX-License-Identifier: BSL-1.0
// What the parts of one rank of bough::mpi share: the group, its peers and their credits, the
// frames that leave, and the events for the user.
#ifndef BOUGH_TRANSPORT_MPI_RANK_CORE_HPP
#define BOUGH_TRANSPORT_MPI_RANK_CORE_HPP

#include <bough/core/rank.hpp>
#include <bough/transport/detail/credits.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/mpi/frame.hpp>
#include <bough/transport/mpi/group.hpp>
#include <bough/transport/mpi/outgoing.hpp>
#include <bough/transport/mpi/peers.hpp>

#include <cstddef>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

struct mpi_rank_core {
    mpi_group group;
    mpi_peers peers{0};
    message_credits credits{0, 0};
    mpi_outgoing outgoing{0};
    due_events events;

    // Makes room: the next say() allocates nothing. If memory runs out, nothing has happened.
    void make_room() {
        outgoing.make_room([this](int other) { peers.fail(static_cast<rank_t>(other)); });
    }
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
    // Tells a rank that it may send more, once that is half a window more than it knows.
    void give_room(rank_t from) {
        if (credits.owes(from) && !peers.is_lost(from)) say(from, {.kind = mpi_frame::room});
    }
};

} // namespace bough::detail

#endif
