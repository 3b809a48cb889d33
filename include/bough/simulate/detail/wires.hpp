// SPDX-License-Identifier: BSL-1.0
// Wires: the channels and messages of the discrete-event engine.
#ifndef BOUGH_SIMULATE_DETAIL_WIRES_HPP
#define BOUGH_SIMULATE_DETAIL_WIRES_HPP

#include <bough/core/rank.hpp>
#include <bough/model/channel_table.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct sim_message {
    enum class place : std::uint8_t {
        announced, // rendezvous: its notice is on the way to the receiver
        offered,   // rendezvous: the notice is there; the receiver has not asked for it yet
        under_way, //
        there
    };
    double there_ns = 0;
    std::uint64_t bytes = 0;
    rank_t from = no_rank, to = no_rank;
    std::uint32_t channel = channel_table::none;
    std::uint32_t next = channel_table::none; // the next message of its channel, or the next free one
    std::uint32_t send = channel_table::none; // its sender's deed that waits for its arrival
    place where = place::under_way;
    bool rendezvous = false;
    bool turns = false; // its sender's next message step is a receive
    // For models with ports, which tell an exchange from a message and its answer:
    std::uint32_t number = 0; // its number among its sender's messages
    // The number of the message that its sender got last, if that was from its receiver.
    std::uint32_t answers = 0;
    // With in_turn: the message whose turn comes after it, if both wait for the links.
    std::uint32_t behind = channel_table::none;
};

struct sim_channel {
    std::uint32_t head = channel_table::none, tail = channel_table::none;
    rank_t from = no_rank, to = no_rank;
    std::uint32_t used = 0;                      // how many slots are in use
    std::uint32_t sends = channel_table::none;   // the deed that waits for a slot
    std::uint32_t receive = channel_table::none; // the deed that waits for a message
    // With in_turn: the message that is on the links, and the first and the last that wait for them.
    std::uint32_t flows = channel_table::none, first_waiting = channel_table::none, last_waiting = channel_table::none;
};

template <int>
class basic_wires {
public:
    static constexpr std::uint32_t none = channel_table::none;

    constexpr std::uint32_t channel(rank_t from, rank_t to) {
        return table_.index(from, to, [&] { channels_.push_back({.from = from, .to = to}); });
    }
    constexpr sim_channel& at(std::uint32_t channel) noexcept { return channels_[channel]; }
    constexpr sim_message& message(std::uint32_t m) noexcept { return messages_[m]; }

    // Adds a new message at the end of a channel.
    constexpr std::uint32_t append(std::uint32_t channel, const sim_message& value) {
        std::uint32_t m = free_;
        if (m == none) {
            m = static_cast<std::uint32_t>(messages_.size());
            messages_.push_back(value);
        } else {
            free_ = messages_[m].next;
            messages_[m] = value;
        }
        sim_channel& c = channels_[channel];
        (c.head == none ? c.head : messages_[c.tail].next) = m;
        c.tail = m;
        return m;
    }
    // Takes the first message off a channel. Pre: there is one.
    constexpr void take(std::uint32_t channel) noexcept {
        sim_channel& c = channels_[channel];
        const std::uint32_t m = c.head;
        c.head = messages_[m].next;
        if (c.head == none) c.tail = none;
        messages_[m].next = free_;
        free_ = m;
        ++taken_;
    }
    // May a message go onto the links? Not before those of its channel that set out earlier have left
    // them. They need not be those before it on the channel: a rendezvous sets out when it has its
    // answer.
    constexpr bool takes_turn(std::uint32_t m) noexcept {
        sim_channel& c = channels_[messages_[m].channel];
        if (c.flows == none) c.flows = m;
        if (c.flows == m) return true;
        (c.first_waiting == none ? c.first_waiting : messages_[c.last_waiting].behind) = m;
        c.last_waiting = m;
        return false;
    }
    // A message has left the links. Returns the one whose turn it is, if one is waiting.
    constexpr std::uint32_t passes_turn(std::uint32_t m) noexcept {
        sim_channel& c = channels_[messages_[m].channel];
        c.flows = c.first_waiting;
        if (c.flows != none) c.first_waiting = messages_[c.flows].behind;
        return c.flows;
    }
    // How many messages were taken, off all channels.
    constexpr std::uint64_t taken() const noexcept { return taken_; }

private:
    channel_table table_;
    std::vector<sim_channel> channels_;
    std::vector<sim_message> messages_;
    std::uint32_t free_ = none;
    std::uint64_t taken_ = 0;
};
using wires = basic_wires<0>;

} // namespace bough::detail

#endif
