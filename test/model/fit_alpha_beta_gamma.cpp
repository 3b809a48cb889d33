// SPDX-License-Identifier: BSL-1.0
// Fitting alpha, beta, gamma and the shares: exact samples give them back, noisy ones nearly; walks serve as samples too.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/model/fit_alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace bough::model;
using bough::rank_t;

constexpr alpha_beta_gamma truth{
    .alpha_ns = 5000, .beta_ns_per_byte = 1.25, .gamma_ns_per_byte = 0.25, .f_alpha = 0.75, .f_beta = 0.5};

constexpr std::vector<transfer_sample> exact_samples(const alpha_beta_gamma& m, double combine_start_ns = 20) {
    std::vector<transfer_sample> samples;
    for (const std::uint64_t bytes : {8u, 512u, 4096u, 65536u, 1048576u}) {
        samples.push_back({transfer_kind::one_way, bytes, m.one_way_ns(bytes)});
        samples.push_back({transfer_kind::exchange, bytes, m.exchange_ns(bytes)});
        samples.push_back({transfer_kind::combine, bytes, combine_start_ns + m.combine_ns(0, bytes)});
    }
    return samples;
}
constexpr bool near(double a, double b, double tolerance) { return a - b <= tolerance * b && b - a <= tolerance * b; }
constexpr bool near(const alpha_beta_gamma& a, const alpha_beta_gamma& b, double tolerance = 1e-9) {
    return near(a.alpha_ns, b.alpha_ns, tolerance) && near(a.beta_ns_per_byte, b.beta_ns_per_byte, tolerance) &&
           near(a.gamma_ns_per_byte, b.gamma_ns_per_byte, tolerance) && near(a.f_alpha, b.f_alpha, tolerance) &&
           near(a.f_beta, b.f_beta, tolerance);
}
std::string refusal(const std::vector<transfer_sample>& samples) {
    const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
    return fit.error.code == bough::errc::invalid_argument ? fit.error.argument : "";
}

static_assert(near(fit_alpha_beta_gamma(exact_samples(truth)).model, truth));
static_assert(fit_alpha_beta_gamma(exact_samples(truth)).residual_max < 1e-9);

} // namespace

TEST_CASE("exact samples give alpha, beta, gamma and the shares back") {
    const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(exact_samples(truth));
    CHECK_FALSE(fit.error);
    CHECK(near(fit.model, truth));
    CHECK(near(fit.model.combine_start_ns, 20, 1e-6));
    CHECK_FALSE(fit.shares_bounded);
    CHECK(fit.points_used == 15);
    CHECK(near(expected_ns(fit, {transfer_kind::combine, 64, 0}), 36, 1e-6));
}

TEST_CASE("bursts tell what holds ports from what is on the way") {
    alpha_beta_gamma pipelined = truth;
    for (const double held_alpha : {1.0, 0.5, 0.125})
        for (const double held_beta : {1.0, 0.75}) {
            CAPTURE(held_alpha, held_beta);
            pipelined.held_alpha = held_alpha;
            pipelined.held_beta = held_beta;
            std::vector<transfer_sample> samples = exact_samples(pipelined);
            for (const std::uint64_t bytes : {8u, 4096u, 1048576u}) {
                // By hand: a message alone takes what it is on the way, and f of what it holds ports.
                const double n = static_cast<double>(bytes);
                const double burst_ns = 0.75 * held_alpha * 5000 + 0.5 * held_beta * 1.25 * n;
                const double alone_ns = burst_ns + (1 - held_alpha) * 5000 + (1 - held_beta) * 1.25 * n;
                CHECK(near(pipelined.one_way_ns(bytes), alone_ns, 1e-12));
                samples.push_back({transfer_kind::burst, bytes, burst_ns});
            }
            const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
            CHECK_FALSE(fit.error);
            CHECK(near(fit.model, pipelined));
            CHECK(near(fit.model.held_alpha, held_alpha, 1e-9));
            CHECK(near(fit.model.held_beta, held_beta, 1e-9));
            CHECK(fit.residual_max < 1e-9);
        }
}

TEST_CASE("fans tell the two ends of a message apart") {
    // By hand: a message is 5000 + 2 n; ports are held for the faster end, and the slower one's processor is busy for its time.
    struct ends {
        double in_ns, out_ns, in_ns_per_byte, out_ns_per_byte;
    };
    constexpr rank_t peers = 8;
    for (const ends& e : {ends{500, 2000, 0.2, 0.2}, ends{2000, 500, 0.8, 0.8}, ends{1000, 1000, 0.2, 1.2},
                          ends{1500, 0, 1, 0}, ends{0, 1500, 0, 1}, ends{1000, 950, 1, 1.05}}) {
        CAPTURE(e.in_ns, e.out_ns, e.in_ns_per_byte, e.out_ns_per_byte);
        std::vector<transfer_sample> samples;
        for (const std::uint64_t bytes : {8u, 4096u, 1048576u}) {
            const double n = static_cast<double>(bytes);
            const double in = e.in_ns + e.in_ns_per_byte * n, out = e.out_ns + e.out_ns_per_byte * n;
            samples.push_back({transfer_kind::one_way, bytes, 5000 + 2 * n});
            samples.push_back({transfer_kind::exchange, bytes, 5000 + 2 * n});
            samples.push_back({transfer_kind::burst, bytes,
                               std::max(e.in_ns, e.out_ns) + std::max(e.in_ns_per_byte, e.out_ns_per_byte) * n});
            samples.push_back({transfer_kind::fan_in, bytes, std::max(in, out / peers), peers});
            samples.push_back({transfer_kind::fan_out, bytes, std::max(out, in / peers), peers});
        }
        const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
        REQUIRE_FALSE(fit.error);
        const alpha_beta_gamma& m = fit.model;
        const auto check = [](double in, double out, double whole, double held, double send, double receive) {
            const double slow = std::max(in, out) / whole, fast = std::min(in, out) / whole;
            const bool alike = fast >= 0.9 * slow;
            CHECK(std::abs(held - (alike ? slow : fast)) < 1e-6);
            CHECK(std::abs(send - (!alike && out > in ? slow : 0)) < 1e-6);
            CHECK(std::abs(receive - (!alike && in > out ? slow : 0)) < 1e-6);
        };
        check(e.in_ns, e.out_ns, 5000, m.held_alpha, m.send_alpha, m.receive_alpha);
        check(e.in_ns_per_byte, e.out_ns_per_byte, 2, m.held_beta, m.send_beta, m.receive_beta);
        CHECK(near(m.one_way_ns(1000), 7000, 1e-6)); // parts of alpha and beta, not on top of them
        CHECK(near(m.send_ns(0, 1, 1000) + m.latency_ns(0, 1, 1000) + m.port_ns(0, 1, 1000, true) +
                       m.receive_ns(0, 1, 1000),
                   7000, 1e-6));
    }
}

TEST_CASE("one fan alone tells nothing, and a fan needs two sizes") {
    std::vector<transfer_sample> samples = exact_samples(truth);
    samples.push_back({transfer_kind::fan_in, 8, 1, 4});
    CHECK(refusal(samples).find("fans of two different sizes") != std::string::npos);
    samples.push_back({transfer_kind::fan_in, 16, 1, 4});
    const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
    CHECK(near(fit.model, truth));
    CHECK(fit.model.send_alpha + fit.model.receive_alpha + fit.model.send_beta + fit.model.receive_beta == 0);
}

TEST_CASE("gamma is what a combine adds to an exchange, whatever combines alone take") {
    std::vector<transfer_sample> samples = exact_samples(truth); // with combines alone
    for (const std::uint64_t bytes : {8u, 4096u, 1048576u})
        samples.push_back(
            {transfer_kind::exchange_combine, bytes, truth.exchange_ns(bytes) + 30 + 0.75 * double(bytes)});
    alpha_beta_gamma expected = truth;
    expected.gamma_ns_per_byte = 0.75;
    const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
    CHECK(near(fit.model, expected));
    CHECK(near(fit.model.combine_start_ns, 30, 1e-6));
    CHECK(near(expected_ns(fit, {transfer_kind::exchange_combine, 1000, 0}), 5000 + 30 + 2000, 1e-6));
    // Quicker with than without, as noise has it: it costs nothing then.
    for (transfer_sample& s : samples)
        if (s.kind == transfer_kind::exchange_combine) s.ns = 0.9 * truth.exchange_ns(s.bytes);
    CHECK(fit_alpha_beta_gamma(samples).model.gamma_ns_per_byte == 0);
    CHECK(fit_alpha_beta_gamma(samples).model.combine_start_ns == 0);
}

TEST_CASE("samples taken from walks of two ranks give the model back") {
    std::vector<transfer_sample> samples;
    for (const std::uint64_t bytes : {8u, 1024u, 1048576u}) {
        alpha_beta_gamma no_op = truth;
        no_op.gamma_ns_per_byte = 0;
        const auto ns = [&](const auto& plan) { return walk(plan, no_op, bytes).makespan_ns; };
        samples.push_back({transfer_kind::one_way, bytes, ns(bough::plan_broadcast(bough::flat{}, {.size = 2}))});
        samples.push_back(
            {transfer_kind::exchange, bytes, ns(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 2}))});
        samples.push_back(
            {transfer_kind::exchange_combine, bytes,
             walk(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 2}), truth, bytes).makespan_ns});
    }
    CHECK(near(fit_alpha_beta_gamma(samples).model, truth));
}

TEST_CASE("noise of 5 % moves the estimates little, in short messages as in long ones") {
    std::mt19937 random(11);
    std::normal_distribution<double> noise(1, 0.05);
    std::vector<transfer_sample> samples;
    for (int repeat = 0; repeat != 40; ++repeat)
        for (transfer_sample s : exact_samples(truth)) {
            s.ns *= noise(random);
            samples.push_back(s);
        }
    const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
    CHECK(near(fit.model, truth, 0.04));
    CHECK(near(fit.residual_rms, 0.05, 0.1));
    CHECK(fit.residual_max > 0.1);
}

TEST_CASE("exchanges that are as fast as single messages: full duplex, one line for all") {
    alpha_beta_gamma duplex = truth;
    duplex.f_alpha = duplex.f_beta = 1;
    CHECK(near(fit_alpha_beta_gamma(exact_samples(duplex)).model, duplex));
    // A message alone that is even slower.
    std::vector<transfer_sample> samples = exact_samples(duplex);
    for (transfer_sample& s : samples)
        if (s.kind == transfer_kind::one_way) s.ns *= 1.1;
    const alpha_beta_gamma_fit fit = fit_alpha_beta_gamma(samples);
    CHECK(fit.shares_bounded);
    CHECK(fit.model.f_alpha == 1);
    CHECK(fit.model.f_beta == 1);
    CHECK(fit.model.alpha_ns > duplex.alpha_ns);
    CHECK(fit.model.alpha_ns < 1.1 * duplex.alpha_ns);
    CHECK(fit.residual_max < 0.06);
}

TEST_CASE("what the samples do not show is free: no combines, no single messages") {
    std::vector<transfer_sample> samples;
    for (const transfer_sample& s : exact_samples(truth))
        if (s.kind == transfer_kind::exchange) samples.push_back(s);
    alpha_beta_gamma expected = truth;
    expected.gamma_ns_per_byte = 0;
    expected.f_alpha = expected.f_beta = 1;
    CHECK(near(fit_alpha_beta_gamma(samples).model, expected));
}

TEST_CASE("estimates of alpha, beta, gamma are never negative") {
    const auto fit = fit_alpha_beta_gamma(std::vector<transfer_sample>{
        {transfer_kind::exchange, 8, 100}, {transfer_kind::exchange, 800, 90}, {transfer_kind::exchange, 8000, 95}});
    CHECK_FALSE(fit.error);
    CHECK(fit.model.beta_ns_per_byte == 0);
    CHECK(near(fit.model.alpha_ns, 95, 0.05));
}

TEST_CASE("transfers that cannot tell are refused, with what they lack") {
    const transfer_sample a{transfer_kind::exchange, 8, 100}, b{transfer_kind::exchange, 16, 110};
    CHECK(refusal({}).find("exchanges of two different sizes") != std::string::npos);
    CHECK(refusal({a, a}).find("exchanges of two different sizes") != std::string::npos);
    CHECK(refusal({a, b, {transfer_kind::one_way, 8, 50}}).find("messages of two different sizes") !=
          std::string::npos);
    CHECK(refusal({a, b, {transfer_kind::combine, 8, 50}}).find("combines of two different sizes") !=
          std::string::npos);
    CHECK(refusal({a, b, {transfer_kind::exchange_combine, 8, 150}}).find("with combines of two different sizes") !=
          std::string::npos);
    CHECK(refusal({a, {transfer_kind::exchange, 16, 0}}).find("above 0") != std::string::npos);
}
