// SPDX-License-Identifier: BSL-1.0
// Deeds: steps in the form in which the simulator keeps them, eight bytes each: a verb, a peer and
// a size. A message in several parts is one deed.
#ifndef BOUGH_SIMULATE_DETAIL_DEEDS_HPP
#define BOUGH_SIMULATE_DETAIL_DEEDS_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct deed {
    bough::verb verb = bough::verb::copy;
    rank_t peer = no_rank;
    std::uint64_t bytes = 0;
    bool turns = false; // a send: the next message step is a receive; a receive: the one before is a send
};

struct packed_deed {
    rank_t peer = no_rank;
    std::uint32_t what = 0; // the verb, and the size or its place in the table of sizes
};

// Packs deeds. Sizes of 2^28 bytes and more are kept in a table.
class deed_packer {
public:
    constexpr packed_deed pack(const deed& d) {
        const std::uint32_t verb = static_cast<std::uint32_t>(d.verb) << 30 | (d.turns ? turns_bit : 0);
        return {d.peer, verb | (d.bytes < large ? static_cast<std::uint32_t>(d.bytes) : large | place_of(d.bytes))};
    }
    constexpr deed unpack(const packed_deed& p) const noexcept {
        const std::uint32_t low = p.what & (large - 1);
        return {static_cast<bough::verb>(p.what >> 30), p.peer, (p.what & large) != 0 ? sizes_[low] : low,
                (p.what & turns_bit) != 0};
    }
    static constexpr void set_turns(packed_deed& p) noexcept { p.what |= turns_bit; }

private:
    static constexpr std::uint32_t large = 1u << 28;
    static constexpr std::uint32_t turns_bit = 1u << 29;
    BOUGH_COLD constexpr std::uint32_t place_of(std::uint64_t bytes) {
        if (sizes_.empty() || sizes_.back() != bytes) sizes_.push_back(bytes);
        return static_cast<std::uint32_t>(sizes_.size() - 1);
    }
    std::vector<std::uint64_t> sizes_;
};

// A sink that makes deeds of steps and calls `take(deed)` with each.
template <class Sizes, class Take>
class deed_sink {
public:
    constexpr deed_sink(const Sizes& sizes, rank_t ranks, Take take)
        : sizes_(sizes), ranks_(ranks), take_(std::move(take)) {}

    constexpr void send_part(rank_t, slice from) { parts_bytes_ += sizes_.bytes_of(from); }
    constexpr void receive_part(rank_t, slice into) { parts_bytes_ += sizes_.bytes_of(into); }
    constexpr void send(rank_t to, slice from) { message(verb::send, to, from); }
    constexpr void receive(rank_t from, slice into) { message(verb::receive, from, into); }
    constexpr void combine(slice, slice, slice out) { take_(deed{verb::combine, no_rank, sizes_.bytes_of(out)}); }
    constexpr void copy(slice, slice to) { take_(deed{verb::copy, no_rank, sizes_.bytes_of(to)}); }

private:
    constexpr void message(verb what, rank_t peer, slice last) {
        BOUGH_EXPECTS(peer < ranks_, "plan: a step names a peer that is not a rank");
        take_(deed{what, peer, std::exchange(parts_bytes_, 0) + sizes_.bytes_of(last)});
    }

    const Sizes& sizes_;
    rank_t ranks_;
    Take take_;
    std::uint64_t parts_bytes_ = 0;
};

} // namespace bough::detail

#endif
