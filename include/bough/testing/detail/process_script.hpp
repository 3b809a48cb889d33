// SPDX-License-Identifier: BSL-1.0
// process_script: which messages each rank sends to each other rank in check_transport_process. All
// ranks compute the same script, so a receiver knows what must come.
#ifndef BOUGH_TESTING_DETAIL_PROCESS_SCRIPT_HPP
#define BOUGH_TESTING_DETAIL_PROCESS_SCRIPT_HPP

#include <bough/concepts/transport.hpp>
#include <bough/testing/detail/transport_traffic.hpp>
#include <bough/testing/transport_rules.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::testing::detail {

class process_script {
public:
    // What the messages of a rank to another are for, in this order.
    enum class section {
        plain,     // of any length
        cancelled, // long; its sender tries to take it back
        report,    // follows each of these: a word with how its post has ended
        // From rank 1 to rank 0: a word with the time; from now on rank 1 does not poll for a
        // while.
        ready,
        flood, // from rank 0 to rank 1, until the link is full; a word ends it
    };
    // The payload of some messages: {~number, value}.
    using word = std::array<std::uint64_t, 2>;

    process_script(const process_check& options, rank_t ranks)
        : ranks_(ranks), messages_(options.messages), cancellations_(options.cancellations),
          longest_(std::max<std::size_t>(options.longest, 64)), traffic_(longest_) {}

    // To this rank, and to no other, go messages that are taken back.
    rank_t next(rank_t r) const { return (r + 1) % ranks_; }
    section section_of(rank_t from, rank_t to, std::uint32_t n) const {
        if (n < messages_) return section::plain;
        if (n < messages_ + rounds(from, to)) return (n - messages_) % 2 == 0 ? section::cancelled : section::report;
        return from == 0 ? section::flood : section::ready;
    }
    // How many messages are due. The flood is not counted: it says itself how many messages it has.
    std::uint32_t due(rank_t from, rank_t to) const { return messages_ + rounds(from, to) + (from == 1 && to == 0); }
    // Whether message n carries a word. The last message of a flood is recognized by its length.
    bool is_word(rank_t from, rank_t to, std::uint32_t n, std::uint64_t bytes) const {
        const section s = section_of(from, to, n);
        return s == section::report || s == section::ready || (s == section::flood && bytes == sizeof(word));
    }
    static envelope tag(rank_t from, rank_t to, std::uint32_t n) {
        return transport_traffic::tag({.from = from, .to = to}, n);
    }
    // The payload of message n, if it is no word.
    std::span<const std::byte> content(rank_t from, rank_t to, std::uint32_t n) const {
        stream s{.from = from, .to = to};
        if (section_of(from, to, n) == section::cancelled) s.fixed = longest_;
        if (section_of(from, to, n) == section::flood) s.fixed = 8;
        return traffic_.payload(s, n);
    }

private:
    std::uint32_t rounds(rank_t from, rank_t to) const { return to == next(from) ? 2 * cancellations_ : 0; }

    rank_t ranks_;
    std::uint32_t messages_, cancellations_;
    std::size_t longest_;
    transport_traffic traffic_;
};

} // namespace bough::testing::detail

#endif
