// SPDX-License-Identifier: BSL-1.0
// alpha_beta_gamma: Rabenseifner's model. Every rank can send one message and receive one at a time, and time goes by per
// message, per byte moved and per byte combined.
//
//   alpha    alpha_ns             a message, whatever its size
//   beta     beta_ns_per_byte     each of its bytes
//   gamma    gamma_ns_per_byte    each byte of the result of a combine
//   f_alpha  f_alpha              alpha of a message that is not half of an exchange, as a share of
//                                 alpha
//   f_beta   f_beta               beta of such a message, as a share of beta
// The shares lie between 0.5 (the network carries one direction at a time) and 1 (it carries both at full speed). A
// message of n bytes holds the out port of its sender and the in port of its receiver for alpha + n beta, or for
// f_alpha alpha + f_beta n beta. Copies are free, and so is the time before the first step.
//
// Three things go beyond the paper.
//
// In the paper a message holds its ports for all of alpha. On most networks it does not: it spends
// some of that time on the way, while the next one leaves.
//   held_alpha, held_beta   the shares of alpha and beta that hold ports; the rest is latency
// They tell how much faster several messages in a row are than several in turn. 1: the paper's
// model.
//
// In the paper a message costs its sender and its receiver the same. If one of the two ends is
// faster than the other, ports are held for the shorter time, and the slower end's processor is
// busy for the rest of what that end needs.
//   send_alpha, send_beta         the shares of alpha and beta that the sender's processor takes
//   receive_alpha, receive_beta   those that the receiver's processor takes
// All four are 0 if both ends take alike. They are parts of alpha and beta, not on top of them:
// held + send + receive <= 1. They tell a fan-out from a fan-in, which two ranks alone cannot show.
//
// In the paper a transfer begins when both ranks are ready for it. With `early`, messages land
// while their receiver still combines, as on a NIC with memory of its own. That is never slower.
//
// The paper gives no values. bough's own tables use {.alpha_ns = 5000, .beta_ns_per_byte = 1,
// .gamma_ns_per_byte = 0.25}: a network of 1 GB/s and 5 us with full duplex.
//
// Source: Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004, section 2.1.
#ifndef BOUGH_MODEL_ALPHA_BETA_GAMMA_HPP
#define BOUGH_MODEL_ALPHA_BETA_GAMMA_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

struct alpha_beta_gamma {
    double alpha_ns = 0;
    double beta_ns_per_byte = 0;
    double gamma_ns_per_byte = 0;
    double f_alpha = 1;
    double f_beta = 1;
    bool early = false; // may messages land before their receiver asks for them?
    double held_alpha = 1;
    double held_beta = 1;
    double combine_start_ns = 0; // what a combine costs whatever its size; 0 in the paper
    double send_alpha = 0;
    double send_beta = 0;
    double receive_alpha = 0;
    double receive_beta = 0;

    static constexpr bool homogeneous = true; // all rank pairs are alike
    constexpr double start_ns() const noexcept { return 0; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept {
        return part_ns(send_alpha, send_beta, bytes);
    }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept {
        const auto rest = [](double taken) { return taken < 1 ? 1 - taken : 0; };
        return part_ns(rest(held_alpha + send_alpha + receive_alpha), rest(held_beta + send_beta + receive_beta),
                       bytes);
    }
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept {
        return part_ns(receive_alpha, receive_beta, bytes);
    }
    constexpr double combine_ns(rank_t, std::uint64_t bytes) const noexcept {
        return combine_start_ns + gamma_ns_per_byte * static_cast<double>(bytes);
    }
    constexpr double copy_ns(rank_t, std::uint64_t) const noexcept { return 0; }
    constexpr double port_ns(rank_t, rank_t, std::uint64_t bytes, bool duplex) const noexcept {
        return duplex ? part_ns(held_alpha, held_beta, bytes)
                      : part_ns(held_alpha * f_alpha, held_beta * f_beta, bytes);
    }
    constexpr bool lands_early() const noexcept { return early; }

    // The time of a message that is half of an exchange, and of one that is not.
    constexpr double exchange_ns(std::uint64_t bytes) const noexcept {
        return alpha_ns + beta_ns_per_byte * static_cast<double>(bytes);
    }
    constexpr double one_way_ns(std::uint64_t bytes) const noexcept {
        const double of_alpha = 1 - held_alpha * (1 - f_alpha);
        const double of_beta = 1 - held_beta * (1 - f_beta);
        return of_alpha * alpha_ns + of_beta * beta_ns_per_byte * static_cast<double>(bytes);
    }
    friend constexpr bool operator==(const alpha_beta_gamma&, const alpha_beta_gamma&) = default;

private:
    constexpr double part_ns(double of_alpha, double of_beta, std::uint64_t bytes) const noexcept {
        return of_alpha * alpha_ns + of_beta * beta_ns_per_byte * static_cast<double>(bytes);
    }
};

static_assert(PortedCostModel<alpha_beta_gamma>);

} // namespace bough::model

#endif
