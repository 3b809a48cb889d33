// SPDX-License-Identifier: BSL-1.0
// A hash table that numbers channels: (sender, receiver) -> 0, 1, 2 ... in the order of first use.
#ifndef BOUGH_MODEL_CHANNEL_TABLE_HPP
#define BOUGH_MODEL_CHANNEL_TABLE_HPP

#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_channel_table {
public:
    static constexpr std::uint32_t none = 0xffff'ffffu;

    constexpr std::uint32_t size() const noexcept { return used_; }
    constexpr std::uint32_t find(rank_t from, rank_t to) const noexcept {
        if (cells_.empty()) return none;
        return cells_[place_of(key_of(from, to))].index;
    }
    // The number of this channel. A new channel gets the next number, and made() is called first.
    template <class Made>
    constexpr std::uint32_t index(rank_t from, rank_t to, Made&& made) {
        if (2 * std::size_t{used_} >= cells_.size()) grow();
        cell& c = cells_[place_of(key_of(from, to))];
        if (c.index == none) {
            made();
            c = {key_of(from, to), used_++};
        }
        return c.index;
    }

private:
    struct cell {
        std::uint64_t key = 0;
        std::uint32_t index = none;
    };

    static constexpr std::uint64_t key_of(rank_t from, rank_t to) noexcept { return std::uint64_t{from} << 32 | to; }
    constexpr std::size_t place_of(std::uint64_t key) const noexcept {
        std::size_t at = static_cast<std::size_t>(((key ^ (key >> 29)) * 0x9e37'79b9'7f4a'7c15u) >> shift_);
        while (cells_[at].index != none && cells_[at].key != key) at = (at + 1) & (cells_.size() - 1);
        return at;
    }
    constexpr void grow() {
        bough::detail::plain_list<cell> old = std::move(cells_);
        const std::size_t size = old.empty() ? 64 : 2 * old.size();
        shift_ = old.empty() ? 58 : shift_ - 1;
        cells_ = {};
        cells_.resize(size, cell{});
        for (const cell& c : old)
            if (c.index != none) cells_[place_of(c.key)] = c;
    }

    bough::detail::plain_list<cell> cells_;
    std::uint32_t used_ = 0;
    unsigned shift_ = 58;
};
using channel_table = basic_channel_table<0>;

} // namespace bough::detail

#endif
