// SPDX-License-Identifier: BSL-1.0
// What the walk keeps of a rank under a model with ports, and of a message on its way between two of them.
#ifndef BOUGH_MODEL_DETAIL_PORTS_HPP
#define BOUGH_MODEL_DETAIL_PORTS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model::detail {

// The two ports of a rank, and its last send, which is handed to the out port when the next message step is known.
struct ports {
    double out_free_ns = 0;
    double in_free_ns = 0;
    double ready_ns = 0; // when the last send was ready for the port
    std::uint64_t bytes = 0;
    rank_t to = no_rank;       // no_rank: nothing is to be handed over
    std::uint32_t sends = 0;   // how many so far; this is the number of the last one
    rank_t got_from = no_rank; // the sender of the message received last, and its number there
    std::uint32_t got = 0;
    std::uint32_t answers = 0; // which message of its receiver the last send may answer
    bool sent_last = false;    // was the last message step a send?
};

// A message on its way to an in port.
struct port_letter {
    double there_ns = 0;
    std::uint32_t number = 0; // its number among its sender's messages
    // The number of the message that its sender got last, if that was from its receiver.
    std::uint32_t answers = 0;
    bool then_receives = false; // is its sender's next message step a receive?
    bool announced = false;     // a rendezvous: this is its notice
};

} // namespace bough::model::detail

#endif
