// SPDX-License-Identifier: BSL-1.0
// What the walk keeps about ports and about steps that it has seen but not run yet.
#ifndef BOUGH_MODEL_DETAIL_PORTS_HPP
#define BOUGH_MODEL_DETAIL_PORTS_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>

#include <cstddef>
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

// The steps of a rank from where it is stuck, as many as there is room for, so that they need not be emitted again.
struct taped_step {
    std::uint64_t bytes = 0;
    rank_t peer = no_rank;
    bough::verb verb = bough::verb::copy;
    std::uint16_t parts = 0; // of a message, before its last
};
struct tape {
    bough::detail::plain_list<taped_step> steps;
    std::size_t next = 0;
    bool complete = false; // the plan has no more steps for this rank

    constexpr bool empty() const noexcept { return next == steps.size(); }
    constexpr void clear() noexcept { steps.clear(), next = 0, complete = false; }
};

} // namespace bough::model::detail

#endif
