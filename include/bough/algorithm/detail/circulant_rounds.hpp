// SPDX-License-Identifier: BSL-1.0
// Which block a rank sends and receives in each round of the round-optimal broadcast on a circulant graph.
//
// In round i, with k = i mod q, every rank sends to the rank s_k ahead and receives from the rank
// s_k behind; all numbers count from the root. The q entries of a receive schedule say which blocks
// come in q rounds, relative to the blocks of those rounds: -1 is the block before, b(r) >= 0 the
// *baseblock* of the rank, the one that comes earliest. With four conditions this is a broadcast of
// any number of blocks:
//   1. what r receives in round k is what the rank s_k behind sends in round k
//   2. in q rounds r receives b(r) and all of -1 ... -q but b(r) - q; the root would receive -1 ... -q
//   3. what r sends in round k is b(r) - q, or what it has received in an earlier one of the q rounds
//   4. the root sends k in round k
// The search walks sums of skips in depth first, largest first: the k-th block is found at a sum, below
// the sum of the block before, that lies between s_k and s_{k+1} behind r; the smallest skip of a sum is
// the baseblock of the rank there. A skip that has been used is unlinked. O(q) sums for a receive schedule.
//
// A send schedule is found from its last round to its first. In round k the ranks in view are cut at s_k,
// and the part that has r stays in view. If it is the upper one, r sends k - q; otherwise the block of the
// last upper part that had r, or its baseblock if none had. At an edge of a part this may not hold, in at
// most 4 rounds by the paper; there the receiver's schedule says what is sent. O(q), too.
// Source: Traeff, "Round-optimal n-Block Broadcast Schedules in Logarithmic Time", arXiv
// 2312.11236, 2023
#ifndef BOUGH_ALGORITHM_DETAIL_CIRCULANT_ROUNDS_HPP
#define BOUGH_ALGORITHM_DETAIL_CIRCULANT_ROUNDS_HPP

#include <bough/algorithm/detail/skips.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <array>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Blocks of q rounds, relative to the first block of those rounds; entries [0, q) are valid.
using circulant_blocks = std::array<std::int32_t, 33>;

// The smallest skip when r is written as a sum of skips, greedily; q for the root. Pre: r < size.
constexpr std::uint32_t baseblock(const circulant_skips& skips, rank_t r) noexcept {
    std::uint32_t last = skips.rounds;
    for (std::uint32_t k = skips.rounds; k-- != 0 && r != 0;)
        if (skips[k] <= r) {
            r -= skips[k];
            last = k;
        }
    return last;
}

class receive_search {
public:
    // The first `wanted` blocks. `r` counts from the root. Pre: r < size, wanted <= skips.rounds.
    constexpr receive_search(const circulant_skips& skips, rank_t r, std::uint32_t wanted) noexcept
        : skips_(skips), q_(skips.rounds), wanted_(wanted), base_(baseblock(skips, r)),
          target_(std::uint64_t{r} + skips[q_]), found_sum_(2 * target_ + 1) {
        // The skips that may be used, descending; `none` stands before the first and behind the last.
        std::uint32_t before = none;
        for (std::uint32_t e = q_ + 1; e-- != 0;)
            if (e != base_) {
                next_[before] = e;
                previous_[e] = before;
                before = e;
            }
        next_[before] = none;
        previous_[none] = before;
        if (!done()) descend(0, next_[none]);
    }
    constexpr const circulant_blocks& blocks() const noexcept { return blocks_; }

private:
    static constexpr std::uint32_t none = 33;

    constexpr bool done() const noexcept { return found_ == wanted_; }
    // Sums that may give the next block lie in [target - s_{k+1}, target - s_k], below the sum of
    // the last one.
    constexpr bool too_large(std::uint64_t sum) const noexcept {
        return sum > target_ - skips_[found_] || sum >= found_sum_;
    }
    constexpr std::uint64_t low() const noexcept { return target_ - skips_[found_ + 1]; }

    // Adds skips from e downwards to `sum`.
    constexpr void descend(std::uint64_t sum, std::uint32_t e) noexcept {
        for (; e != none; e = next_[e]) {
            const std::uint64_t longer = sum + skips_[e];
            if (too_large(longer)) continue;
            if (longer <= low()) descend(longer, next_[e]);
            if (done() || sum > low()) return;
            blocks_[found_++] = e == q_ ? static_cast<std::int32_t>(base_)
                                        : static_cast<std::int32_t>(e) - static_cast<std::int32_t>(q_);
            found_sum_ = longer;
            next_[previous_[e]] = next_[e];
            previous_[next_[e]] = previous_[e];
            if (done()) return;
        }
    }

    const circulant_skips& skips_;
    std::uint32_t q_, wanted_;
    std::uint32_t base_;
    std::uint64_t target_;
    std::uint64_t found_sum_;
    std::uint32_t found_ = 0;
    std::array<std::uint32_t, none + 1> next_{};
    std::array<std::uint32_t, none + 1> previous_{};
    circulant_blocks blocks_{};
};

constexpr circulant_blocks circulant_receives(const circulant_skips& skips, rank_t r) noexcept {
    return receive_search(skips, r, skips.rounds).blocks();
}
// What the rank s_k ahead of r receives in round k.
constexpr std::int32_t circulant_received_ahead(const circulant_skips& skips, rank_t r, std::uint32_t k) noexcept {
    const rank_t size = skips[skips.rounds];
    const rank_t to = r >= size - skips[k] ? r - (size - skips[k]) : r + skips[k];
    return receive_search(skips, to, k + 1).blocks()[k];
}
constexpr circulant_blocks circulant_sends(const circulant_skips& skips, rank_t r) noexcept {
    const std::uint32_t q = skips.rounds;
    circulant_blocks sends{};
    if (r == 0) {
        for (std::uint32_t k = 0; k != q; ++k) sends[k] = static_cast<std::int32_t>(k);
        return sends;
    }
    // Of the `end` ranks in view, one after the other, this one is number `at`. It sends `block`, unless it is
    // at an edge of its part.
    const auto base = static_cast<std::int32_t>(baseblock(skips, r));
    std::int32_t block = base;
    std::uint64_t at = r, end = skips[q];
    for (std::uint32_t k = q; --k != 0;) {
        const std::uint64_t skip = skips[k];
        const bool is_upper = at >= skip;
        if (is_upper) block = static_cast<std::int32_t>(k) - static_cast<std::int32_t>(q);
        const bool is_its = is_upper ? k == 1 || at > skip || end - skip < skips[k - 1]
                                     : at + skip < end || end < skips[k - 1] || (k == 1 && base > 0);
        sends[k] = is_its ? block : circulant_received_ahead(skips, r, k);
        if (is_upper)
            at -= skip, end -= skip;
        else if (end > skip)
            end = skip;
    }
    sends[0] = base - static_cast<std::int32_t>(q);
    return sends;
}

// What one rank does in the n - 1 + q rounds in which n blocks reach every rank.
class circulant_rounds {
public:
    struct round {
        rank_t to, from;         // true ranks
        block_t sends, receives; // valid if
        bool does_send, does_receive;
    };

    // Pre: size >= 2, root and rank below size.
    constexpr circulant_rounds(rank_t size, rank_t root, rank_t rank, block_t blocks) noexcept
        : skips_(size), virtual_rank_(to_virtual(rank, root, size)), size_(size), root_(root), blocks_(blocks),
          sends_(circulant_sends(skips_, virtual_rank_)), receives_(circulant_receives(skips_, virtual_rank_)),
          skipped_(blocks == 0 ? 0 : (skips_.rounds - (blocks - 1) % skips_.rounds) % skips_.rounds) {}

    constexpr std::uint64_t size() const noexcept {
        return blocks_ == 0 ? 0 : std::uint64_t{blocks_} - 1 + skips_.rounds;
    }
    constexpr round operator[](std::uint64_t i) const noexcept {
        const std::uint64_t number = i + skipped_;
        const auto k = static_cast<std::uint32_t>(number % skips_.rounds);
        const std::int64_t base = static_cast<std::int64_t>(number - k) - skipped_;
        const rank_t to =
            virtual_rank_ >= size_ - skips_[k] ? virtual_rank_ - (size_ - skips_[k]) : virtual_rank_ + skips_[k];
        const rank_t from =
            virtual_rank_ >= skips_[k] ? virtual_rank_ - skips_[k] : virtual_rank_ + (size_ - skips_[k]);
        const std::int64_t sends = base + sends_[k];
        const std::int64_t receives = base + receives_[k];
        return {.to = from_virtual(to, root_, size_),
                .from = from_virtual(from, root_, size_),
                .sends = clamped(sends),
                .receives = clamped(receives),
                .does_send = sends >= 0 && to != 0,
                .does_receive = receives >= 0 && virtual_rank_ != 0};
    }

private:
    constexpr block_t clamped(std::int64_t block) const noexcept {
        return block < 0 ? 0 : block >= std::int64_t{blocks_} ? blocks_ - 1 : static_cast<block_t>(block);
    }

    circulant_skips skips_;
    rank_t virtual_rank_;
    rank_t size_;
    rank_t root_;
    block_t blocks_;
    circulant_blocks sends_;
    circulant_blocks receives_;
    std::uint32_t skipped_; // how many of the first q rounds would carry no block
};

} // namespace bough::detail

#endif
