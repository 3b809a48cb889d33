// SPDX-License-Identifier: BSL-1.0
// The steps of one rank of the binary blocks algorithms: halving inside each block, and the sums on
// their way up to the largest block.
#ifndef BOUGH_ALGORITHM_DETAIL_BINARY_BLOCKS_HPP
#define BOUGH_ALGORITHM_DETAIL_BINARY_BLOCKS_HPP

#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>

#include <bit>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// One group of 2^exponent ranks, of the sum of different powers of two that the size is; the
// largest begins at rank 0.
struct binary_block {
    rank_t base = 0;
    rank_t ranks = 0; // a power of two; 0: there is no such block
    constexpr bool exists() const noexcept { return ranks != 0; }
};

template <StepSink Sink>
class binary_block_walk {
public:
    constexpr binary_block_walk(rank_t size, rank_t rank, block_t blocks, buffer acc, Sink& out)
        : rank_(rank), blocks_(blocks), acc_(acc), have_(input), out_(out) {
        binary_block next{0, std::bit_floor(size)};
        while (rank >= next.base + next.ranks) {
            larger_ = next;
            next = behind(next, size);
        }
        mine_ = next;
        smaller_ = behind(next, size);
    }

    // Afterwards the ranks of the largest block have their segments of the result in acc.
    constexpr void reduce_scatter() {
        const rank_t i = rank_ - mine_.base;
        for (rank_t cut = 2; cut <= mine_.ranks; cut *= 2) {
            const rank_t other = i ^ (cut / 2);
            send(mine_.base + other, segment(other, cut, have_));
            receive(mine_.base + other, segment(i, cut, landing));
            other < i ? combine(landing, have_, i, cut) : combine(have_, landing, i, cut);
        }
        if (smaller_.exists()) {
            receive(smaller_.base + i % smaller_.ranks, segment(i, mine_.ranks, landing));
            combine(have_, landing, i, mine_.ranks);
        }
        if (larger_.exists())
            for (rank_t to = i; to < larger_.ranks; to += mine_.ranks)
                send(larger_.base + to, segment(to, larger_.ranks, have_));
        else if (have_ == input && blocks_ != 0)
            out_.copy({input, 0, blocks_}, {acc_, 0, blocks_}); // one rank
    }

    constexpr void allgather() {
        const rank_t i = rank_ - mine_.base;
        if (larger_.exists()) // a pair of halves
            for (const rank_t from : {i, i + mine_.ranks})
                receive(larger_.base + from, segment(from, 2 * mine_.ranks, output));
        for (rank_t cut = mine_.ranks; cut != 0; cut /= 2) {
            if (smaller_.exists() && cut == 2 * smaller_.ranks && i < cut)
                send(smaller_.base + i % smaller_.ranks, segment(i, cut, output));
            if (cut == 1) break;
            const rank_t other = i ^ (cut / 2);
            send(mine_.base + other, segment(i, cut, output));
            receive(mine_.base + other, segment(other, cut, output));
        }
    }

    // Gathers to a root. A root outside of the largest block plays the role of rank 0, which sends
    // it its segment.
    constexpr void gather(rank_t root, rank_t size) {
        const rank_t largest = std::bit_floor(size);
        const bool outside = root >= largest;
        const rank_t root_role = outside ? 0 : root;
        if (outside && rank_ == 0) return send(root, segment(0, largest, acc_));
        if (outside && rank_ == root)
            receive(0, segment(0, largest, acc_));
        else if (rank_ >= largest)
            return;
        const rank_t i = rank_ == root ? root_role : rank_;
        for (rank_t cut = largest; cut > 1; cut /= 2) {
            const rank_t other = i ^ (cut / 2);
            const rank_t peer = outside && other == 0 ? root : other;
            if (((i ^ root_role) & (cut / 2)) != 0) return send(peer, segment(i, cut, acc_));
            receive(peer, segment(other, cut, acc_));
        }
    }

private:
    static constexpr buffer landing = bough::scratch(0);

    static constexpr binary_block behind(const binary_block& b, rank_t size) noexcept {
        return {b.base + b.ranks, std::bit_floor(size - b.base - b.ranks)};
    }
    // What member i has of a vector that was halved until there are `cut` segments. The lowest bit
    // of i chose its half in the first halving.
    constexpr slice segment(rank_t i, rank_t cut, buffer where) const noexcept {
        block_t first = 0;
        block_t last = blocks_;
        for (; cut > 1; cut /= 2, i /= 2) {
            const block_t middle = first + (last - first) / 2;
            (i % 2 == 0 ? last : first) = middle;
        }
        return {where, first, last - first};
    }
    constexpr void combine(buffer lower, buffer upper, rank_t i, rank_t cut) {
        const slice s = segment(i, cut, acc_);
        have_ = acc_;
        if (s.count != 0) out_.combine(s.in(lower), s.in(upper), s);
    }
    constexpr void send(rank_t to, const slice& s) {
        if (s.count != 0) out_.send(to, s);
    }
    constexpr void receive(rank_t from, const slice& s) {
        if (s.count != 0) out_.receive(from, s);
    }

    rank_t rank_;
    block_t blocks_;
    buffer acc_, have_;
    Sink& out_;
    binary_block mine_{}, larger_{}, smaller_{};
};

} // namespace bough::detail

#endif
