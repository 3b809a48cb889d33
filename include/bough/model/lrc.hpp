// SPDX-License-Identifier: BSL-1.0
// lrc: Moody's model of a reduction. LogP with the cost of receiving, r, in place of the overhead, and g = r + c.
//
//   L           message_latency_ns   from the send until the message can be received
//   r(M)        receive              the receiver is busy for so long per message of M bytes
//   c(M, op)    combine              and for so long combining it, with the op that was measured
//   C(op)       startup_ns           before anything else, on every rank, once
// Sending is free for the sender, and so is copying unless `copy` says otherwise. All rank pairs are alike. r and c are
// affine in the size; a network whose costs jump (packets, caches) wants a CostModel of its own that looks them up.
//
// Source: Moody et al., Scalable NIC-based Reduction on Large-scale Clusters, SC 2003, section 5.1.
#ifndef BOUGH_MODEL_LRC_HPP
#define BOUGH_MODEL_LRC_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

// A cost that is affine in the size.
struct cost_per_size {
    double base_ns = 0;
    double per_byte_ns = 0;

    constexpr double at_ns(std::uint64_t bytes) const noexcept {
        return base_ns + per_byte_ns * static_cast<double>(bytes);
    }
    friend constexpr bool operator==(const cost_per_size&, const cost_per_size&) = default;
};

struct lrc {
    static constexpr bool homogeneous = true; // all rank pairs are alike
    double message_latency_ns = 0;
    cost_per_size receive{};
    cost_per_size combine{};
    double startup_ns = 0;
    cost_per_size copy{};

    constexpr double start_ns() const noexcept { return startup_ns; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t) const noexcept { return 0; }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t) const noexcept { return message_latency_ns; }
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept { return receive.at_ns(bytes); }
    constexpr double combine_ns(rank_t, std::uint64_t bytes) const noexcept { return combine.at_ns(bytes); }
    constexpr double copy_ns(rank_t, std::uint64_t bytes) const noexcept { return copy.at_ns(bytes); }

    // r + c: what one message costs the rank that takes it in.
    constexpr double message_ns(std::uint64_t bytes) const noexcept {
        return receive.at_ns(bytes) + combine.at_ns(bytes);
    }
    friend constexpr bool operator==(const lrc&, const lrc&) = default;
};

static_assert(CostModel<lrc>);

} // namespace bough::model

#endif
