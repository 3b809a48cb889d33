// SPDX-License-Identifier: BSL-1.0
// sim_rank: what the discrete-event engine knows of a rank.
#ifndef BOUGH_SIMULATE_DETAIL_SIM_RANK_HPP
#define BOUGH_SIMULATE_DETAIL_SIM_RANK_HPP

#include <bough/core/rank.hpp>
#include <bough/simulate/detail/agenda.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

struct sim_rank {
    // When its ports are free, under a model that has ports.
    struct ports {
        double out_free_ns = 0;
        double in_free_ns = 0;
    };
    // Tells an exchange from a message and its answer, under a model that has ports.
    struct talk {
        std::uint32_t sends = 0;   // messages sent so far
        rank_t got_from = no_rank; // the sender of the message received last, and its number there
        std::uint32_t got = 0;
    };

    agenda todo;
    double clock_ns = 0; // since when it waits, or when it ended
    double sent_ns = 0;  // when its last rendezvous was complete
    double busy_ns = 0;
    double away_ns = 0; // split phase
    sim_rank::ports ports{};
    sim_rank::talk talk{};
    std::uint32_t open = 0; // how many rendezvous it has sent that have not arrived
    std::uint32_t operations = 0;
    bool busy = false;  // dependence: is its processor busy?
    bool polls = false; // split phase: something has come, and it will be back at its next poll
    bool ended = false;
};

} // namespace bough::detail

#endif
