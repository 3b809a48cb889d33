// SPDX-License-Identifier: BSL-1.0
// sim_rank: what the discrete-event engine knows of a rank.
#ifndef BOUGH_SIMULATE_DETAIL_SIM_RANK_HPP
#define BOUGH_SIMULATE_DETAIL_SIM_RANK_HPP

#include <bough/core/rank.hpp>
#include <bough/simulate/detail/agenda.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Program order: the messages of a rank that have not set out, as one of them, the first, is a
// rendezvous.
class messages_in_line {
public:
    constexpr bool empty() const noexcept { return messages_.empty(); }
    constexpr std::uint32_t first() const noexcept { return messages_.front().number; } // Pre: !empty()
    // `ready_ns`: since when it may set out; negative: it is a rendezvous, which has no answer yet.
    constexpr void add(std::uint32_t message, double ready_ns) { messages_.push_back({message, ready_ns}); }
    // Calls set_out(message, when) with those that no longer wait.
    template <class SetOut>
    constexpr void answered(std::uint32_t message, double now_ns, SetOut&& set_out) {
        std::size_t gone = 0;
        for (waiting& m : messages_)
            if (m.number == message) m.ready_ns = now_ns;
        for (; gone != messages_.size() && messages_[gone].ready_ns >= 0; ++gone)
            set_out(messages_[gone].number, std::max(now_ns, messages_[gone].ready_ns));
        messages_.erase(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(gone));
    }

private:
    struct waiting {
        std::uint32_t number = 0;
        double ready_ns = 0;
    };
    std::vector<waiting> messages_;
};

struct sim_rank {
    // When its ports are free, under a model that has ports.
    struct ports {
        double out_free_ns = 0;
        double in_free_ns = 0;
        // A message passes the in port, not before `from_ns`. Returns when it has.
        constexpr double pass_in(double from_ns, double takes_ns) noexcept {
            return in_free_ns = std::max(from_ns, in_free_ns) + takes_ns;
        }
    };
    // Tells an exchange from a message and its answer, under a model that has ports.
    struct talk {
        std::uint32_t sends = 0;   // messages sent so far
        rank_t got_from = no_rank; // the sender of the message received last, and its number there
        std::uint32_t got = 0;
    };

    // Its rendezvous.
    struct outgoing {
        messages_in_line line{};
        std::uint32_t open = 0; // how many it has sent that have not arrived
        double there_ns = 0;    // when the last one that has was there
    };

    agenda todo;
    double clock_ns = 0; // since when it waits, or when it ended
    double busy_ns = 0;
    double away_ns = 0; // split phase
    sim_rank::ports ports{};
    sim_rank::talk talk{};
    outgoing out{};
    std::uint32_t operations = 0;
    bool busy = false;  // is its processor busy?
    bool polls = false; // split phase: something has come, and it will be back at its next poll
    bool ended = false;

    // Split phase: when it polls next after now_ns, if it waits since clock_ns and polls every so many ns.
    constexpr double next_poll_ns(double now_ns, double every_ns) const noexcept {
        const double least_ns = std::max(now_ns, clock_ns);
        if (!(every_ns > 0)) return least_ns;
        double times = static_cast<double>(static_cast<std::uint64_t>((least_ns - clock_ns) / every_ns));
        while (clock_ns + times * every_ns < least_ns) ++times;
        return clock_ns + times * every_ns;
    }
};

} // namespace bough::detail

#endif
