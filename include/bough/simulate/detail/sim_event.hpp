// SPDX-License-Identifier: BSL-1.0
// sim_event: what happens at a time of the discrete-event engine.
#ifndef BOUGH_SIMULATE_DETAIL_SIM_EVENT_HPP
#define BOUGH_SIMULATE_DETAIL_SIM_EVENT_HPP

#include <bough/core/config.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

enum sim_event_kind : std::uint32_t {
    what_begin,  // rank a starts an operation
    what_free,   // rank a's processor is free; b: the deed that it has done
    what_depart, // message a goes onto the links of the network
    what_arrive, // message a is at its receiver
    what_notice, // the notice of rendezvous message a is
    what_answer, // the answer to that notice is back
    what_credit, // the sender on channel a learns that a slot is free
    what_poll    // rank a polls
};

struct sim_event {
    sim_event_kind what = what_begin;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
};

} // namespace bough::detail

#endif
