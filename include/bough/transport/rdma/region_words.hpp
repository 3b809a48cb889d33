// SPDX-License-Identifier: BSL-1.0
// What the ranks of remote writes say to each other: the ticket that comes with every write, and
// sets of the words that are due or have come.
#ifndef BOUGH_TRANSPORT_RDMA_REGION_WORDS_HPP
#define BOUGH_TRANSPORT_RDMA_REGION_WORDS_HPP

#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// The 32 bits that come with a write: its kind and its sender. All kinds but data and data_too are
// words.
struct fabric_ticket {
    enum what : std::uint32_t { data, hello, question, answer, bye, bye_heard, data_too };
    static constexpr std::uint32_t rank_bits = 29;

    static constexpr std::uint32_t make(what kind, rank_t from) noexcept {
        return static_cast<std::uint32_t>(kind) << rank_bits | from;
    }
    static constexpr what data_of(std::uint32_t kind) noexcept { return kind == 0 ? data : data_too; }
    static constexpr what kind_of(std::uint32_t t) noexcept { return static_cast<what>(t >> rank_bits); }
    static constexpr rank_t from_of(std::uint32_t t) noexcept { return t & ((1u << rank_bits) - 1); }
};

// A set of words.
class fabric_words {
public:
    bool has(fabric_ticket::what word) const noexcept { return (bits_ & bit(word)) != 0; }
    void add(fabric_ticket::what word) noexcept { bits_ |= bit(word); }
    void remove(fabric_ticket::what word) noexcept { bits_ &= ~bit(word); }

private:
    static constexpr std::uint32_t bit(fabric_ticket::what word) noexcept { return std::uint32_t{1} << word; }

    std::uint32_t bits_ = 0;
};

} // namespace bough::detail

#endif
