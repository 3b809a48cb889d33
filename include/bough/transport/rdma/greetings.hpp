// SPDX-License-Identifier: BSL-1.0
// Waits until the ranks of a new group have greeted each other, so that all are connected before
// the first message or write.
//
//   const auto turn = [&] { ... say what is due, gather what has come ... };
//   return await_greetings(group, device, until_ns, turn, missing, all_sent, died);
#ifndef BOUGH_TRANSPORT_RDMA_GREETINGS_HPP
#define BOUGH_TRANSPORT_RDMA_GREETINGS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/rdma/device.hpp>
#include <bough/transport/rdma/group.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

namespace bough::inline BOUGH_ABI::detail {

// Calls turn() until nobody is missing() and all_sent().
//   missing()   the first rank that has not greeted or could not be greeted; the group's size: none
//   died(late)  a rank that is gone and that the group needs while `late` is missing; no_rank: none
// Errors: peer_dead with the rank that died; would_block at `until_ns`, with the rank that is
// missing, if there is one; no_resources, if a rank is missing, connections take open files, and
// this process could open none during the last 100 ms (which may end after `until_ns`). A library
// that cannot accept a connection tries again without a word, so its user has to ask the system.
template <RdmaConnections Device, class Turn, class Missing, class Sent, class Died>
status await_greetings(const fabric_group& group, const Device& device, std::uint64_t until_ns, const Turn& turn,
                       const Missing& missing, const Sent& all_sent, const Died& died) {
    std::uint64_t starved_ns = 0; // since when no file can be opened; 0: one can
    for (std::uint32_t turns = 1; missing() != group.size || !all_sent(); ++turns) {
        turn();
        if (turns % 16 == 0) {
            const rank_t late = missing();
            if (const rank_t gone = died(late); gone != no_rank) return {.code = errc::peer_dead, .peer = gone};
            const std::uint64_t now = steady_now_ns();
            if (late == group.size || now < until_ns || !device.opens_files() || can_open_file()) {
                starved_ns = 0;
                if (now >= until_ns) return {.code = errc::would_block, .peer = late != group.size ? late : no_rank};
            } else if (starved_ns == 0) {
                starved_ns = now;
            } else if (now - starved_ns >= 100'000'000) {
                return {.code = errc::no_resources, .argument = "open files: no more can be opened"};
            }
        }
        if (group.oversubscribed || turns > 1000)
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        else
            std::this_thread::yield();
    }
    return {};
}

} // namespace bough::detail

#endif
