// SPDX-License-Identifier: BSL-1.0
// The fit of a target's costs from serial reductions, and the choice of target, degree and levels by it.
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/lrc_formula.hpp>
#include <bough/nic/choose_target.hpp>
#include <bough/tree/flat.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

// Moody's Quadrics network (Table 2), float64.
model::lrc quadrics(double combine_ns) {
    return {
        .message_latency_ns = 2100, .receive = {420, 0}, .combine = {combine_ns, 0.25}, .startup_ns = 9200, .copy = {}};
}
bool equal(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-6; }

} // namespace

TEST_CASE("serial reductions of the simulated NIC give its parameters back", "[nic]") {
    for (const model::lrc& truth :
         {quadrics(1500), quadrics(250),
          model::lrc{
              .message_latency_ns = 777, .receive = {60, 0.5}, .combine = {11, 0.125}, .startup_ns = 3, .copy = {}}}) {
        std::vector<model::reduction_sample> samples;
        const auto fit = nic::fit_serial(
            [&](const model::reduction_sample& run) {
                model::lrc with = truth;
                if (!run.with_op) with.combine = {};
                return nic::priced_ns(plan_reduce(flat{}, {.size = run.ranks}), with, 1, run.bytes);
            },
            {}, &samples);
        CHECK(samples.size() == 2 * 2 * 13);
        REQUIRE(!fit.error);
        CHECK(fit.start_separated);
        CHECK(equal(fit.model.message_latency_ns, truth.message_latency_ns));
        CHECK(equal(fit.model.startup_ns, truth.startup_ns));
        for (const std::uint64_t bytes : {8u, 16u, 64u}) {
            CHECK(equal(fit.model.receive.at_ns(bytes), truth.receive.at_ns(bytes)));
            CHECK(equal(fit.model.combine.at_ns(bytes), truth.combine.at_ns(bytes)));
        }
        CHECK(fit.residual_max_ns < 1e-6);
    }
}

TEST_CASE("the price of programs is that of Moody's formula on full trees, with ranks that enter late", "[nic]") {
    const auto model = quadrics(1500);
    for (const rank_t f : {2u, 4u})
        CHECK(equal(nic::priced_ns(plan_reduce(fnomial{.degree = f}, {.size = 64}), model, 1, 8),
                    model::fnomial_full_ns(model, 64, f, 8)));
    // A leaf that enters late delays the root by as much; the others' messages are taken meanwhile.
    std::vector<double> enter(4, 0.0);
    const auto plan = plan_reduce(flat{}, {.size = 4});
    const double at_once = nic::priced_ns(plan, model, 1, 8);
    CHECK(equal(nic::priced_ns(plan, model, 1, 8, {.enter_ns = enter}), at_once));
    enter[3] = 1e6;
    CHECK(equal(nic::priced_ns(plan, model, 1, 8, {.enter_ns = enter}),
                1e6 + model.startup_ns + model.message_latency_ns + model.message_ns(8)));
    enter[3] = 0, enter[0] = 1e6; // all messages are there: the root has but to combine
    CHECK(equal(nic::priced_ns(plan, model, 1, 8, {.enter_ns = enter}),
                1e6 + model.startup_ns + 3 * model.combine_ns(0, 8)));
    // One processor for all NICs: nothing happens at the same time.
    const double shared = nic::priced_ns(plan_reduce(fnomial{.degree = 2}, {.size = 16}), model, 1, 8, {.cores = 1});
    CHECK(shared >= model.startup_ns + 15 * model.message_ns(8));
    CHECK(shared > nic::priced_ns(plan_reduce(fnomial{.degree = 2}, {.size = 16}), model, 1, 8));
}

TEST_CASE("hosts enter when the model says that their ranks come", "[nic]") {
    const auto model = quadrics(1500);
    const auto plan = plan_reduce(flat{}, {.size = 4});
    const auto price = [&](const std::vector<std::uint64_t>& at_ns, const nic::run_options& options = {}) {
        return nic::priced_ns(plan, model::arriving{model, at_ns}, 1, 8, options);
    };
    for (const rank_t late : {0u, 3u}) {
        std::vector<std::uint64_t> at_ns(4, 0);
        at_ns[late] = 1'000'000;
        const std::vector<double> enter(at_ns.begin(), at_ns.end());
        CHECK(equal(price(at_ns), nic::priced_ns(plan, model, 1, 8, {.enter_ns = enter})));
        // Whoever also enters late enters so much later.
        std::vector<double> twice = enter;
        for (double& ns : twice) ns *= 2;
        CHECK(equal(price(at_ns, {.enter_ns = enter}), nic::priced_ns(plan, model, 1, 8, {.enter_ns = twice})));
    }
    CHECK(equal(price({0, 0, 0, 0}), nic::priced_ns(plan, model, 1, 8)));
}

TEST_CASE("host, NIC, or some levels on each: the cheapest is chosen", "[nic]") {
    const model::lrc slow_host{
        .message_latency_ns = 6000, .receive = {2500, 0}, .combine = {20, 0.1}, .startup_ns = 500, .copy = {}};
    {
        const auto chosen = nic::choose_target(256, 8, {.host = slow_host, .nic = quadrics(250)});
        CHECK(!chosen.winner().is_hybrid());
        CHECK(chosen.winner().upper_on_nic);
        CHECK(chosen.winner().predicted_ns <= chosen.best_on(false).predicted_ns);
    }
    { // combining is dear on the NIC, entering it too: few ranks stay on the host
        const auto chosen = nic::choose_target(2, 8, {.host = slow_host, .nic = quadrics(11560)});
        CHECK(!chosen.winner().upper_on_nic);
    }
    { // hosts of a node are near each other, but their network is far: first there, then NICs
        const model::lrc near_host{
            .message_latency_ns = 300, .receive = {100, 0}, .combine = {5, 0.1}, .startup_ns = 0, .copy = {}};
        model::lrc far_nic = quadrics(1500);
        far_nic.startup_ns = 200;
        const auto all_host = nic::choose_target(64, 8, {.host = near_host, .nic = far_nic});
        CHECK(!all_host.winner().upper_on_nic); // nothing is dearer on hosts
        // A host is disturbed the longer the more messages it takes: dear to receive, cheap to combine.
        const model::lrc few_messages{
            .message_latency_ns = 1000, .receive = {4000, 0}, .combine = {5, 0}, .startup_ns = 0, .copy = {}};
        const auto hybrid = nic::choose_target(64, 8, {.host = few_messages, .nic = quadrics(1500)});
        for (const nic::placement& p : hybrid.tried) CHECK(p.predicted_ns >= hybrid.winner().predicted_ns);
        const std::string text = to_string(hybrid);
        INFO(text);
        CHECK(text.find("all on hosts") != std::string::npos);
        CHECK(text.find("all on NICs") != std::string::npos);
        CHECK(text.find("times as long") != std::string::npos);
    }
    for (const rank_t p : {1u, 2u, 3u, 7u, 31u}) {
        const auto chosen = nic::choose_target(p, 8, {.host = slow_host, .nic = quadrics(1500)});
        // A second derivation of the prices on one target.
        for (const nic::placement& t : chosen.tried)
            if (!t.is_hybrid())
                CHECK(equal(t.predicted_ns, nic::priced_ns(plan_reduce(fnomial{.degree = t.upper_degree}, {.size = p}),
                                                           t.upper_on_nic ? quadrics(1500) : slow_host, 1, 8)));
    }
}

TEST_CASE("a hybrid can win, and its price is that of its two tiers", "[nic]") {
    // A host takes its first message at once, and is slow at the next ones; a NIC is dear to enter.
    const model::lrc host{
        .message_latency_ns = 500, .receive = {1500, 0}, .combine = {10, 0}, .startup_ns = 0, .copy = {}};
    const model::lrc nics{
        .message_latency_ns = 200, .receive = {100, 0}, .combine = {1000, 0}, .startup_ns = 1000, .copy = {}};
    bool any = false;
    for (const rank_t p : {4u, 8u, 16u, 64u}) {
        const auto chosen = nic::choose_target(p, 8, {.host = host, .nic = nics});
        any |= chosen.winner().is_hybrid();
        for (const nic::placement& t : chosen.tried) {
            if (!t.is_hybrid() || p % t.group != 0 || t.group * t.group != p || t.upper_degree != t.lower_degree)
                continue;
            const auto tier = [&](bool on_nic) {
                return nic::priced_ns(plan_reduce(fnomial{.degree = t.lower_degree}, {.size = t.group}),
                                      on_nic ? nics : host, 1, 8);
            };
            CHECK(equal(t.predicted_ns, tier(t.lower_on_nic) + tier(t.upper_on_nic)));
        }
    }
    CHECK(any);
}

TEST_CASE("a choice among more ranks than programs have numbers for is a broken precondition", "[nic]") {
    for (const rank_t size : {0u, 65535u, 70000u}) {
        const auto said = bough_test::last_words_of([&] { (void)nic::choose_target(size, 8, {}); });
        CHECK(said.aborted);
        CHECK(said.has("size: programs are for 1 to 65534 ranks"));
    }
    const auto said = bough_test::last_words_of(
        [] { (void)nic::priced_ns(plan_reduce(flat{}, {.size = 70000}), model::lrc{}, 1, 8); });
    CHECK(said.aborted);
    CHECK(said.has("plan: no program can be made of it"));
}
