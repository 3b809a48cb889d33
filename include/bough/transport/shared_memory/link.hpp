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

#include <algorithm>
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
    std::uint64_t common_at = 0;    // in the segment
    std::uint32_t copies_to_me = 0; // the longest payload that the peer copies into the ring to this rank
};

// A sender that did not copy out its pieces in time. Then this rank reads the sender's next messages
// itself, and each time that it happens again twice as many of them.
class shared_silence {
public:
    void noticed() noexcept {
        left_ = length_;
        length_ = std::min(2 * length_, 64u);
    }
    void ended() noexcept { length_ = 1; } // a message came in pieces
    // Whether the next message is read directly.
    bool counts() noexcept { return left_ != 0 && left_-- != 0; }

private:
    std::uint32_t left_ = 0, length_ = 1; // messages
};

struct alignas(64) shared_link {
    rank_t peer = no_rank;
    bool opened = false;        // this rank has begun to send to the peer
    bool wants_room = false;    // a post has been refused
    std::uint32_t arrivals = 0; // how many this rank had had when its last message to the peer left
    shared_loss loss;
    std::uint64_t handle = 0; // handle of its arrivals, without the slot
    segment_head* theirs = nullptr;
    shared_sender out;
    shared_receiver in;
    shared_process process;
    shared_silence silence;
};

} // namespace bough::detail

#endif
