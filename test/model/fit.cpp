// SPDX-License-Identifier: BSL-1.0
// Fitting: exact samples give the model back, noisy ones come near, and samples that cannot tell are refused by name.
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/fit.hpp>
#include <bough/model/walk.hpp>
#include <bough/tree/flat.hpp>

#include <random>
#include <string>

namespace {

using namespace bough::model;
using bough::rank_t;

constexpr lrc truth{.message_latency_ns = 2100,
                    .receive = {.base_ns = 420, .per_byte_ns = 0.5},
                    .combine = {.base_ns = 100, .per_byte_ns = 175},
                    .startup_ns = 9200};

constexpr std::vector<reduction_sample> exact_samples(bool with_start) {
    std::vector<reduction_sample> samples;
    for (rank_t p = with_start ? 1 : 2; p <= 16; p += p < 4 ? 1 : 4)
        for (const std::uint64_t bytes : {8u, 16u, 64u})
            for (const bool with_op : {false, true}) {
                reduction_sample s{.ranks = p, .bytes = bytes, .with_op = with_op};
                s.ns = detail::serial_sample_ns(truth, s);
                samples.push_back(s);
            }
    return samples;
}

constexpr bool near(double a, double b, double tolerance = 1e-9) {
    return a - b <= tolerance * b && b - a <= tolerance * b;
}
constexpr bool near(const lrc& a, const lrc& b, double tolerance = 1e-9) {
    return near(a.message_latency_ns, b.message_latency_ns, tolerance) && near(a.startup_ns, b.startup_ns, tolerance) &&
           near(a.receive.base_ns, b.receive.base_ns, tolerance) &&
           near(a.receive.per_byte_ns, b.receive.per_byte_ns, tolerance) &&
           near(a.combine.base_ns, b.combine.base_ns, tolerance) &&
           near(a.combine.per_byte_ns, b.combine.per_byte_ns, tolerance);
}
constexpr lrc_fit fit_of(const std::vector<reduction_sample>& samples, fit_options options = {}) {
    return fit_lrc(samples, options);
}
std::string refusal(const std::vector<reduction_sample>& samples) {
    const lrc_fit fit = fit_of(samples);
    return fit.error.code == bough::errc::invalid_argument ? fit.error.argument : "";
}

static_assert(near(fit_of(exact_samples(true)).model, truth));
static_assert(fit_of(exact_samples(true)).residual_max_ns < 1e-6);
static_assert(fit_of({}).error.code == bough::errc::invalid_argument);

} // namespace

TEST_CASE("exact samples give the model back") {
    const lrc_fit fit = fit_of(exact_samples(true));
    CHECK_FALSE(fit.error);
    CHECK(near(fit.model, truth));
    CHECK(fit.start_separated);
    CHECK(fit.points_used == exact_samples(true).size());
    CHECK(near(fit_of(exact_samples(true), {.medians = true}).model, truth));
}

TEST_CASE("without runs of one rank, C stays in L and the fit says so") {
    const lrc_fit fit = fit_of(exact_samples(false));
    lrc merged = truth;
    merged.message_latency_ns += merged.startup_ns;
    merged.startup_ns = 0;
    CHECK(near(fit.model, merged));
    CHECK_FALSE(fit.start_separated);
    CHECK(fit.residual_rms_ns < 1e-6);
}

TEST_CASE("samples taken from a walk of the flat tree give the model back") {
    lrc no_op = truth;
    no_op.combine = {};
    std::vector<reduction_sample> samples;
    for (const rank_t p : {1u, 2u, 5u, 31u})
        for (const std::uint64_t bytes : {8u, 4096u})
            for (const bool with_op : {false, true})
                samples.push_back(
                    {p, bytes, with_op,
                     walk(bough::plan_reduce(bough::flat{}, {.size = p}), with_op ? truth : no_op, bytes).makespan_ns});
    CHECK(near(fit_of(samples).model, truth));
}

TEST_CASE("noise moves the estimates little, and medians ignore outliers") {
    std::mt19937 random(7);
    std::normal_distribution<double> noise(0, 30);
    std::vector<reduction_sample> samples, spiked;
    for (int repeat = 0; repeat != 51; ++repeat)
        for (reduction_sample s : exact_samples(true)) {
            s.ns += noise(random);
            samples.push_back(s);
            if (repeat % 10 == 0) s.ns += 1e6; // an interrupted process, in one run of ten
            spiked.push_back(s);
        }
    const lrc_fit fit = fit_of(samples);
    CHECK(near(fit.model.receive.base_ns, 420, 0.02));
    CHECK(near(fit.model.combine.per_byte_ns, 175, 0.02));
    CHECK(near(fit.model.message_latency_ns, 2100, 0.02));
    CHECK(near(fit.model.startup_ns, 9200, 0.01));
    CHECK(near(fit.residual_rms_ns, 30, 0.1));
    CHECK(fit.residual_max_ns > 60);

    CHECK_FALSE(near(fit_of(spiked).model.startup_ns, 9200, 0.5));
    const lrc_fit robust = fit_of(spiked, {.medians = true});
    CHECK(robust.points_used == exact_samples(true).size());
    CHECK(near(robust.model.startup_ns, 9200, 0.01));
    CHECK(near(robust.model.receive.base_ns, 420, 0.05));
    CHECK(near(robust.model.message_latency_ns, 2100, 0.05));
}

TEST_CASE("a part that the samples do not show is zero: one size, no op") {
    const std::vector<reduction_sample> one_size{{2, 8, false, 110}, {3, 8, false, 120}, {6, 8, false, 150}};
    const lrc_fit fit = fit_of(one_size);
    CHECK_FALSE(fit.error);
    CHECK(fit.model.message_latency_ns == Approx(100));
    CHECK(fit.model.receive.base_ns == Approx(10));
    CHECK(fit.model.receive.per_byte_ns == 0);
    CHECK(fit.model.combine == cost_per_size{});
}

TEST_CASE("estimates are never negative") {
    const lrc_fit fit = fit_of({{2, 8, false, 100}, {3, 8, false, 90}, {4, 8, false, 80}});
    CHECK_FALSE(fit.error);
    CHECK(fit.model.receive.base_ns == 0);
    CHECK(fit.residual_max_ns > 0);
}

TEST_CASE("samples that cannot tell are refused, with what they lack") {
    CHECK(refusal({}).find("r needs runs without the op") != std::string::npos);
    CHECK(refusal({{2, 8, false, 1}, {2, 8, false, 2}}).find("two different rank counts") != std::string::npos);
    CHECK(refusal({{1, 8, false, 1}, {2, 8, false, 2}}).find("above 1") != std::string::npos);
    CHECK(refusal({{2, 8, true, 1}, {3, 8, true, 2}}).find("r needs runs without the op") != std::string::npos);
    CHECK(refusal({{2, 8, false, 1}, {3, 8, false, 2}, {3, 8, true, 3}}).find("c needs runs with the op") !=
          std::string::npos);
    CHECK(refusal({{0, 8, false, 1}}).find("at least one rank") != std::string::npos);
    CHECK(refusal({{2, 8, false, -1}}).find("finite and not negative") != std::string::npos);
    // Two runs, three unknowns: the size rises with the ranks.
    CHECK(refusal({{2, 8, false, 1}, {3, 16, false, 2}}).find("too few combinations") != std::string::npos);
}
