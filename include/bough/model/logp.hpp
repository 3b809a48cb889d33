// SPDX-License-Identifier: BSL-1.0
// LogP and its kin: LogP, LogGP, LogGPS and LogGOPS are one model, with more or fewer of its parameters zero.
//
//   L  message_latency_ns    the time of a message on the way, without the rest below
//   o  overhead              each processor's share of a message: base_ns per message, and O per byte
//   g  gap                   base_ns between two messages of one rank, and G per byte
//   S  eager_limit_bytes     longer messages are sent when their receive is posted (rendezvous)
// A message of s bytes takes o(s) + L + G s + o(s) from end to end: the gap g is not part of it, but keeps ports busy. It
// holds the out port of its sender and the in port of its receiver for g + G s, and a NIC takes it in whether or not its
// receiver asks. In LogP as published G counts s - 1 bytes; here, as in LogGOPSim, use what you measured with.
//
// Sources: Culler et al., LogP, PPoPP 1993; Alexandrov et al., LogGP, SPAA 1995; Ino et al., LogGPS, PPoPP 2001; Hoefler,
// Schneider, Lumsdaine, LogGOPSim, LSAP 2010.
#ifndef BOUGH_MODEL_LOGP_HPP
#define BOUGH_MODEL_LOGP_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/model/lrc.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

struct loggops {
    double message_latency_ns = 0;                       // L; at least gap.base_ns
    cost_per_size overhead{};                            // o, O
    cost_per_size gap{};                                 // g, G
    std::uint64_t eager_limit_bytes = ~std::uint64_t{0}; // S
    cost_per_size combine{};
    cost_per_size copy{};

    static constexpr bool homogeneous = true; // all rank pairs are alike
    constexpr double start_ns() const noexcept { return 0; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept { return overhead.at_ns(bytes); }
    // The in port adds g + G s, of which g is not part of the time from end to end.
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t) const noexcept {
        return message_latency_ns - gap.base_ns;
    }
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept { return overhead.at_ns(bytes); }
    constexpr double combine_ns(rank_t, std::uint64_t bytes) const noexcept { return combine.at_ns(bytes); }
    constexpr double copy_ns(rank_t, std::uint64_t bytes) const noexcept { return copy.at_ns(bytes); }
    constexpr double port_ns(rank_t, rank_t, std::uint64_t bytes, bool) const noexcept { return gap.at_ns(bytes); }
    constexpr bool lands_early() const noexcept { return true; }
    constexpr std::uint64_t eager_bytes() const noexcept { return eager_limit_bytes; }

    constexpr status check() const noexcept {
        return message_latency_ns >= gap.base_ns
                   ? status{}
                   : invalid_argument("message_latency_ns: L is at least g, or no message would ever be under way");
    }
    friend constexpr bool operator==(const loggops&, const loggops&) = default;
};

// LogP: L, o and g alone.
constexpr loggops logp(double latency_ns, double overhead_ns, double gap_ns) noexcept {
    return {.message_latency_ns = latency_ns, .overhead = {overhead_ns}, .gap = {gap_ns}};
}
// LogGP: L, o, g and G.
constexpr loggops loggp(double latency_ns, double overhead_ns, double gap_ns, double gap_ns_per_byte) noexcept {
    return {.message_latency_ns = latency_ns, .overhead = {overhead_ns}, .gap = {gap_ns, gap_ns_per_byte}};
}

static_assert(PortedCostModel<loggops>);

} // namespace bough::model

#endif
