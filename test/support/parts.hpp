// SPDX-License-Identifier: BSL-1.0
// Algorithms whose messages come in parts, out of order: what no other one does so thoroughly.
#ifndef BOUGH_TEST_SUPPORT_PARTS_HPP
#define BOUGH_TEST_SUPPORT_PARTS_HPP

#include <bough/schedule/plan.hpp>

namespace test {

// Allreduce of two ranks: they exchange the whole vector block by block, from the last to the first.
// Even blocks are combined where they landed; odd ones are copied first, so that both ways are taken.
struct exchange_in_parts {
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using namespace bough;
        const rank_t peer = 1 - rank;
        const auto block = [](buffer b, block_t k) { return slice{b, k, 1}; };
        for (block_t k = at.blocks; k-- != 0;) push_step(out, send_step(peer, block(input, k), k != 0));
        for (block_t k = at.blocks; k-- != 0;) push_step(out, receive_step(peer, block(bough::scratch(0), k), k != 0));
        for (block_t k = 0; k != at.blocks; ++k) {
            const buffer from = bough::scratch(k % 2);
            if (k % 2 == 1) out.copy(block(bough::scratch(0), k), block(from, k));
            const slice lower = block(peer < rank ? from : input, k);
            const slice upper = block(peer < rank ? input : from, k);
            out.combine(lower, upper, block(output, k));
        }
    }
    constexpr bough::block_t natural_blocks(bough::rank_t) const noexcept { return 5; }
    constexpr bough::block_t scratch(const bough::dimensions& at, bough::rank_t) const noexcept {
        return at.blocks + at.blocks / 2;
    }
    constexpr bough::status check(const bough::dimensions& at) const noexcept {
        return at.size == 2 && at.blocks != 0 ? bough::status{} : bough::invalid_argument("size: must be 2");
    }
    constexpr bool keeps_rank_order(const bough::dimensions&) const noexcept { return true; }
    friend constexpr bool operator==(const exchange_in_parts&, const exchange_in_parts&) = default;
};

// Broadcast along a chain of ranks from rank 0, every message in two parts that change places.
struct chain_in_parts {
    constexpr void emit(const bough::dimensions& at, bough::rank_t rank, bough::StepSink auto& out) const {
        using namespace bough;
        const block_t half = at.blocks / 2;
        if (rank != 0) {
            out.receive_part(rank - 1, {output, half, at.blocks - half});
            out.receive(rank - 1, {output, 0, half});
        }
        if (rank + 1 == at.size) return;
        const buffer from = rank == 0 ? input : output;
        out.send_part(rank + 1, {from, half, at.blocks - half});
        out.send(rank + 1, {from, 0, half});
    }
    constexpr bough::block_t natural_blocks(bough::rank_t) const noexcept { return 3; }
    constexpr bough::block_t scratch(const bough::dimensions&, bough::rank_t) const noexcept { return 0; }
    constexpr bough::status check(const bough::dimensions& at) const noexcept {
        return at.root == 0 ? bough::status{} : bough::invalid_argument("root: must be 0");
    }
    friend constexpr bool operator==(const chain_in_parts&, const chain_in_parts&) = default;
};

} // namespace test

#endif
