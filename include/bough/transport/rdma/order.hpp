// SPDX-License-Identifier: BSL-1.0
// Puts the frames of one peer into the order in which they were sent, whatever order the provider
// delivers them in. If the provider keeps order, nothing is ever stored here.
//
//   switch (order.came(frame.sequence, buffer)) ...
//       next: it is this frame's turn; later: the frame is stored; never: it has come before
//   while (fabric_buffer* const b = order.next()) ...
//       the stored frames whose turn has come since
//
// The buffers themselves are the list: a frame that has come needs no memory.
#ifndef BOUGH_TRANSPORT_RDMA_ORDER_HPP
#define BOUGH_TRANSPORT_RDMA_ORDER_HPP

#include <bough/core/config.hpp>
#include <bough/transport/rdma/op.hpp>

#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class fabric_order {
public:
    enum class turn : std::uint8_t { next, later, never };

    turn came(std::uint32_t sequence, fabric_buffer& buffer) noexcept {
        const std::uint32_t ahead = sequence - expected_;
        if (ahead == 0) return ++expected_, turn::next;
        if (ahead >= std::uint32_t{1} << 31) return turn::never;
        for (const fabric_buffer* k = kept_; k != nullptr; k = k->next)
            if (k->sequence == sequence) return turn::never;
        buffer.sequence = sequence;
        buffer.next = kept_;
        kept_ = &buffer;
        return turn::later;
    }
    // Null: there is none.
    fabric_buffer* next() noexcept {
        for (fabric_buffer** k = &kept_; *k != nullptr; k = &(*k)->next) {
            if ((*k)->sequence != expected_) continue;
            ++expected_;
            return std::exchange(*k, (*k)->next);
        }
        return nullptr;
    }
    bool keeps_any() const noexcept { return kept_ != nullptr; }

private:
    std::uint32_t expected_ = 0;
    fabric_buffer* kept_ = nullptr; // the first of them
};

} // namespace bough::detail

#endif
