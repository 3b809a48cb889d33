// SPDX-License-Identifier: BSL-1.0
// Fit: the alpha_beta_gamma model of a network from timed messages, exchanges and combines.
//
//   one_way            a message from one rank to another: half of a round trip
//   exchange           two ranks send each other a message at the same time
//   exchange_combine   and each combines what has come with what it sent
//   burst              one more message behind others to the same rank: what it adds
//   fan_in             one more message behind others from several ranks: what it adds at their receiver
//   fan_out            one more message behind others to several ranks: what it adds at their sender
//   combine            a combine on one rank
// Each kind is timed over a few sizes. The time of an exchange gives alpha and beta; that of a
// message gives f_alpha alpha and f_beta beta. The extra time of an exchange with a combine gives
// gamma, and what a combine costs whatever its size. If there are no such exchanges, the combines
// alone give these. They know less: a message may be combined where it lies instead of being copied
// first, and what has come from another core may take longer to combine than what is in a cache. A
// burst tells how much of alpha and beta holds ports. In it the slower of the two ends sets the
// pace; the fans tell which end that is, and how fast the other would be. Every sample weighs by
// its own time, so that short messages count as much as long ones: residuals are shares of the
// measured time.
//
// In the model a message is never faster as half of an exchange. So shares above 1 become 1, and
// the times of single messages are then fitted together with those of the exchanges.
#ifndef BOUGH_MODEL_FIT_ALPHA_BETA_GAMMA_HPP
#define BOUGH_MODEL_FIT_ALPHA_BETA_GAMMA_HPP

#include <bough/core/status.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/detail/least_squares.hpp>
#include <bough/model/math.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::model {

// What was timed; see above.
enum class transfer_kind : std::uint8_t { one_way, exchange, combine, burst, fan_in, fan_out, exchange_combine };

// One timed transfer.
struct transfer_sample {
    transfer_kind kind = transfer_kind::one_way;
    std::uint64_t bytes = 0;
    double ns = 0;
    rank_t peers = 1; // for a fan: the number of ranks on its wide side
    friend constexpr bool operator==(const transfer_sample&, const transfer_sample&) = default;
};

// The fitted model, and how well it fits.
struct alpha_beta_gamma_fit {
    status error{}; // invalid_argument: what the samples lack. Then nothing else here means anything.
    alpha_beta_gamma model{};
    // Was a message alone slower than in an exchange? Then f_alpha or f_beta is set to 1.
    bool shares_bounded = false;
    std::size_t points_used = 0;
    double residual_rms = 0; // the model against the samples, as a share of their times
    double residual_max = 0;
};

namespace detail {

// The line base + per_byte * bytes with the least sum of squared relative errors; neither is
// negative.
struct line {
    double base_ns = 0;
    double ns_per_byte = 0;
    constexpr double at_ns(std::uint64_t bytes) const { return base_ns + ns_per_byte * static_cast<double>(bytes); }
};

template <class Takes>
constexpr bool fit_line(std::span<const transfer_sample> samples, const Takes& takes, line& found) {
    const auto solve = [&](double with_base, double with_slope) {
        std::vector<std::array<double, 2>> rows;
        std::vector<double> values;
        for (const transfer_sample& s : samples) {
            if (!takes(s)) continue;
            rows.push_back({with_base / s.ns, with_slope * static_cast<double>(s.bytes) / s.ns});
            values.push_back(1);
        }
        std::array<double, 2> x{};
        if (rows.size() < 2 || !least_squares(rows, values, x)) return false;
        found = {x[0], x[1]};
        return true;
    };
    if (!solve(1, 1)) return false;
    // A value below 0, which noise can produce, becomes 0, and the other is fitted again.
    if (found.base_ns < 0) return solve(0, 1);
    if (found.ns_per_byte < 0) return solve(1, 0);
    return true;
}

// If the times of two ends differ by less than this ratio, noise is the cause.
inline constexpr double ends_alike = 0.9;

constexpr bool sizes_vary(std::span<const transfer_sample> samples, transfer_kind kind) {
    const transfer_sample* seen = nullptr;
    for (const transfer_sample& s : samples) {
        if (s.kind != kind) continue;
        if (seen != nullptr && s.bytes != seen->bytes) return true;
        seen = &s;
    }
    return false;
}

} // namespace detail

// What the model expects of a sample.
constexpr double expected_ns(const alpha_beta_gamma_fit& fit, const transfer_sample& s) {
    switch (s.kind) {
    case transfer_kind::one_way: return fit.model.one_way_ns(s.bytes);
    case transfer_kind::exchange: return fit.model.exchange_ns(s.bytes);
    case transfer_kind::combine: return fit.model.combine_ns(0, s.bytes);
    case transfer_kind::exchange_combine: return fit.model.exchange_ns(s.bytes) + fit.model.combine_ns(0, s.bytes);
    case transfer_kind::burst:
    case transfer_kind::fan_in:
    case transfer_kind::fan_out: break;
    }
    // The slower end sets the pace. The wide side of a fan has several ranks, which share the work.
    const double send_ns = fit.model.send_ns(0, 1, s.bytes) / (s.kind == transfer_kind::fan_in ? s.peers : 1);
    const double receive_ns = fit.model.receive_ns(0, 1, s.bytes) / (s.kind == transfer_kind::fan_out ? s.peers : 1);
    return std::max({fit.model.port_ns(0, 1, s.bytes, false), send_ns, receive_ns});
}

// Fits the model. Without combines, gamma is 0. Without single messages, f_alpha and f_beta are 1.
// Without bursts, ports are held all the time. Without both fans, the two ends of a message take
// alike.
constexpr alpha_beta_gamma_fit fit_alpha_beta_gamma(std::span<const transfer_sample> samples) {
    alpha_beta_gamma_fit fit;
    bool any_single = false, any_combine = false, any_joint = false, any_burst = false, any_in = false, any_out = false;
    rank_t peers = no_rank; // the fewest that a fan has
    for (const transfer_sample& s : samples) {
        if (!(s.ns > 0 && s.ns <= std::numeric_limits<double>::max())) {
            fit.error = invalid_argument("samples: a time must be finite and above 0");
            return fit;
        }
        any_single = any_single || s.kind == transfer_kind::one_way;
        any_combine = any_combine || s.kind == transfer_kind::combine;
        any_joint = any_joint || s.kind == transfer_kind::exchange_combine;
        any_burst = any_burst || s.kind == transfer_kind::burst;
        any_in = any_in || s.kind == transfer_kind::fan_in;
        any_out = any_out || s.kind == transfer_kind::fan_out;
        if (s.kind == transfer_kind::fan_in || s.kind == transfer_kind::fan_out) peers = std::min(peers, s.peers);
    }
    if (!detail::sizes_vary(samples, transfer_kind::exchange))
        fit.error = invalid_argument("samples: alpha and beta need exchanges of two different sizes");
    else if (any_single && !detail::sizes_vary(samples, transfer_kind::one_way))
        fit.error = invalid_argument("samples: f_alpha and f_beta need messages of two different sizes");
    else if (any_combine && !detail::sizes_vary(samples, transfer_kind::combine))
        fit.error = invalid_argument("samples: gamma needs combines of two different sizes");
    else if (any_joint && !detail::sizes_vary(samples, transfer_kind::exchange_combine))
        fit.error = invalid_argument("samples: gamma needs exchanges with combines of two different sizes");
    else if (any_burst && !detail::sizes_vary(samples, transfer_kind::burst))
        fit.error = invalid_argument("samples: what holds ports needs bursts of two different sizes");
    else if ((any_in && !detail::sizes_vary(samples, transfer_kind::fan_in)) ||
             (any_out && !detail::sizes_vary(samples, transfer_kind::fan_out)))
        fit.error = invalid_argument("samples: what each end takes needs fans of two different sizes");
    if (fit.error) return fit;

    const auto of = [](transfer_kind kind) { return [=](const transfer_sample& s) { return s.kind == kind; }; };
    const bool any_fans = any_burst && any_in && any_out;
    detail::line both, single, combine, joint, burst, in, out;
    bool solved = detail::fit_line(samples, of(transfer_kind::exchange), both);
    if (any_single) solved = solved && detail::fit_line(samples, of(transfer_kind::one_way), single);
    if (any_combine) solved = solved && detail::fit_line(samples, of(transfer_kind::combine), combine);
    if (any_joint) solved = solved && detail::fit_line(samples, of(transfer_kind::exchange_combine), joint);
    if (any_burst) solved = solved && detail::fit_line(samples, of(transfer_kind::burst), burst);
    if (any_fans)
        solved = solved && detail::fit_line(samples, of(transfer_kind::fan_in), in) &&
                 detail::fit_line(samples, of(transfer_kind::fan_out), out);
    if (!solved) {
        fit.error = invalid_argument("samples: too few to tell the costs apart");
        return fit;
    }
    if (any_joint)
        combine = {std::max(0.0, joint.base_ns - both.base_ns), std::max(0.0, joint.ns_per_byte - both.ns_per_byte)};
    if (any_single && (single.base_ns > both.base_ns || single.ns_per_byte > both.ns_per_byte)) {
        fit.shares_bounded = true;
        if (single.base_ns >= both.base_ns && single.ns_per_byte >= both.ns_per_byte) {
            // Both directions at once cost nothing, so fit one line to all messages.
            detail::fit_line(
                samples,
                [](const transfer_sample& s) {
                    return s.kind == transfer_kind::one_way || s.kind == transfer_kind::exchange;
                },
                both);
            single = both;
        }
    }
    const auto share = [](double part, double whole) { return part < whole ? part / whole : 1.0; };
    alpha_beta_gamma& m = fit.model;
    m.alpha_ns = both.base_ns;
    m.beta_ns_per_byte = both.ns_per_byte;
    m.gamma_ns_per_byte = combine.ns_per_byte;
    // The time of a message has two parts: the time on the way, and the time that it holds ports. A
    // burst shows the latter.
    if (!any_single) single = both;
    const auto split = [&](double alone, double in_burst, double whole, double& held, double& f) {
        if (any_burst) held = whole > 0 ? 1 - std::max(0.0, std::min(alone, whole) - in_burst) / whole : 1.0;
        // A message alone, less its time on the way.
        const double passing = std::min(alone, whole) - (1 - held) * whole;
        f = held > 0 ? share(passing, held * whole) : 1.0;
    };
    split(single.base_ns, burst.base_ns, both.base_ns, m.held_alpha, m.f_alpha);
    split(single.ns_per_byte, burst.ns_per_byte, both.ns_per_byte, m.held_beta, m.f_beta);
    // Which end of a message sets the pace of a burst? The other end is faster, and ports are held
    // for what that end takes, or not at all if it was still waiting for all its peers. (If a wire
    // carries one direction at a time, f well below 1, the wire sets the pace.)
    const auto tell_ends = [&](double at_in, double at_out, double whole, double f, double& held, double& send,
                               double& receive) {
        if (!any_fans || !(whole > 0) || f < detail::ends_alike) return;
        const double fast = std::min(at_in, at_out), slow = std::max(at_in, at_out);
        const double taken = fast * detail::ends_alike * peers <= slow ? 0 : fast / whole;
        if (taken >= held * detail::ends_alike) return;
        const double slower = std::min(held, 1 - taken);
        held = taken;
        (at_in < at_out ? send : receive) = slower;
    };
    tell_ends(in.base_ns, out.base_ns, both.base_ns, m.f_alpha, m.held_alpha, m.send_alpha, m.receive_alpha);
    tell_ends(in.ns_per_byte, out.ns_per_byte, both.ns_per_byte, m.f_beta, m.held_beta, m.send_beta, m.receive_beta);
    m.combine_start_ns = combine.base_ns;

    double squares = 0;
    for (const transfer_sample& s : samples) {
        const double off = expected_ns(fit, s) / s.ns - 1;
        squares += off * off;
        fit.residual_max = std::max(fit.residual_max, off < 0 ? -off : off);
    }
    fit.points_used = samples.size();
    fit.residual_rms = detail::square_root(squares / static_cast<double>(samples.size()));
    return fit;
}

} // namespace bough::model

#endif
