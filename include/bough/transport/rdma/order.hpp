// SPDX-License-Identifier: BSL-1.0
// Puts the frames of one peer into the order in which they were sent, whatever order the provider
// delivers them in. If the provider keeps order, nothing is ever stored here.
//
//   switch (order.came(frame.sequence, buffer)) ...
//       next: it is this frame's turn; later: the frame is stored; never: it has come before
//   while (order.next(buffer)) ...
//       the stored frames whose turn has come since
#ifndef BOUGH_TRANSPORT_RDMA_ORDER_HPP
#define BOUGH_TRANSPORT_RDMA_ORDER_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class fabric_order {
public:
    enum class turn : std::uint8_t { next, later, never };

    turn came(std::uint32_t sequence, std::uint32_t buffer) {
        const std::uint32_t ahead = sequence - expected_;
        if (ahead == 0) return ++expected_, turn::next;
        if (ahead >= std::uint32_t{1} << 31) return turn::never;
        for (const auto& k : kept_)
            if (k.first == sequence) return turn::never;
        kept_.emplace_back(sequence, buffer);
        return turn::later;
    }
    bool next(std::uint32_t& buffer) noexcept {
        for (auto& k : kept_) {
            if (k.first != expected_) continue;
            buffer = k.second;
            k = kept_.back();
            kept_.pop_back();
            ++expected_;
            return true;
        }
        return false;
    }
    std::size_t kept() const noexcept { return kept_.size(); }

private:
    std::uint32_t expected_ = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> kept_; // sequence, buffer
};

} // namespace bough::detail

#endif
