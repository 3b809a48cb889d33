// SPDX-License-Identifier: BSL-1.0
// shared_link: what a rank knows of one peer: the rings in both directions, the peer's process and
// segment, and whether the peer is still there.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_LINK_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_LINK_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/segment.hpp>
#include <bough/transport/shared_memory/receiver.hpp>
#include <bough/transport/shared_memory/sender.hpp>

#include <cstdint>
#include <sys/types.h>

namespace bough::inline BOUGH_ABI::detail {

struct shared_loss {
    bool gone = false;     // the peer has died or left, or has written nonsense
    bool reported = false; // its loss has been reported
    errc why = errc::peer_dead;
};

struct shared_process {
    pid_t pid = 0;
    bool reads_it = false; // this rank can read the peer's private memory
    bool reads_me = false; // the peer can read this rank's private memory
    shared_segment segment;
};

struct alignas(64) shared_link {
    rank_t peer = no_rank;
    bool opened = false;     // this rank has begun to send to the peer
    bool wants_room = false; // a post has been refused
    shared_loss loss;
    std::uint64_t handle = 0; // handle of its arrivals, without the slot
    segment_head* theirs = nullptr;
    shared_sender out;
    shared_receiver in;
    shared_process process;
};

} // namespace bough::detail

#endif
