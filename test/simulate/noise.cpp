// SPDX-License-Identifier: BSL-1.0
// Noise against a clock that ticks through every nanosecond, and the engines against each other under it.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/noise.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/simulate/statistics.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <string>

namespace {

using namespace test;
using bough::noise;
using bough::sim_options;
using bough::sim_result;
using bough::simulate;
using bough::simulator;

noise busy_noise(std::uint64_t seed, noise::reaches reach) {
    return {.seed = seed,
            .arrival = {.how = noise::coming::exponential, .scale_ns = 500},
            .daemons = {{.period_ns = 400, .duration_ns = 30},
                        {.period_ns = 1000, .duration_ns = 100, .phase_ns = 40, .random_phase = false}},
            .interruptions = {{.window_ns = 300, .min_ns = 5, .max_ns = 50, .per_1000 = 500}},
            .slow = {.factor = 1.5, .per_1000 = 300, .ranks = {2}},
            .reach = reach};
}

} // namespace

TEST_CASE("noise: work ends when a clock that ticks through the interruptions says") {
    const noise n{.seed = 5,
                  .daemons = {{.period_ns = 40, .duration_ns = 7},
                              {.period_ns = 90, .duration_ns = 20, .phase_ns = 11, .random_phase = false}},
                  .interruptions = {{.window_ns = 60, .min_ns = 0, .max_ns = 9, .per_1000 = 700}}};
    const bough::detail::noise_of_ranks ranks(n, 4);
    for (rank_t r = 0; r != 4; ++r) {
        // A rank that works without end shows which nanoseconds it has: from t to t + 1 in one nanosecond or not.
        std::vector<char> free;
        for (int t = 0; t != 3000; ++t) free.push_back(ranks.work(r, t, 1) == t + 1);
        CHECK(static_cast<int>(std::count(free.begin(), free.end(), 0)) > 3000 * (7 / 40.0 + 20 / 90.0) * 0.6);
        for (int t = 0; t < 1500; t += 7)
            for (const int work : {1, 2, 5, 20, 100, 400}) {
                int end = t;
                for (int left = work; left != 0; ++end) left -= free[static_cast<std::size_t>(end)];
                REQUIRE(ranks.work(r, t, work) == end);
            }
        // No work ends at once, or when the interruption does.
        for (int t = 0; t != 1500; ++t) {
            int end = t;
            while (!free[static_cast<std::size_t>(end)]) ++end;
            REQUIRE(ranks.work(r, t, 0) == end);
        }
    }
    // The fixed daemon: at 11, 101, 191 ...
    const noise one{.daemons = {{.period_ns = 90, .duration_ns = 20, .phase_ns = 11, .random_phase = false}}};
    const bough::detail::noise_of_ranks fixed(one, 1);
    CHECK(fixed.work(0, 0, 11) == 11);
    CHECK(fixed.work(0, 0, 12) == 32);
    CHECK(fixed.work(0, 11, 0) == 31);
    CHECK(fixed.work(0, 100, 1.5) == 121.5);
}

// Recordings and papers name a seed: what it means stays as it is.
TEST_CASE("noise: a seed means the same interruptions in every version, of each source others") {
    const auto pattern = [](const noise& n, rank_t r) { // a rank's first 64 nanoseconds: has it them?
        std::string text;
        const bough::detail::noise_of_ranks ranks(n, 3);
        for (int t = 0; t != 64; ++t) text += ranks.work(r, t, 1) == t + 1 ? '.' : '#';
        return text;
    };
    const noise::interruption often{.window_ns = 16, .min_ns = 1, .max_ns = 5, .per_1000 = 700};
    const noise::daemon regular{.period_ns = 32, .duration_ns = 3};
    const noise one{.seed = 5, .interruptions = {often}}, three{.seed = 5, .interruptions = {often, often, often}};
    const noise two_daemons{.seed = 5, .daemons = {regular, regular}};
    CHECK(pattern(one, 0) == "..........................###...#####............#..............");
    CHECK(pattern(one, 2) == ".......................#####....................................");
    CHECK(pattern(three, 0) == "###.....###...........#######...#####.....###....#...#####......");
    CHECK(pattern(three, 2) == ".....#########.........#########............####......###...####");
    CHECK(pattern(two_daemons, 0) == "...................###.........###.................###.........#");
    CHECK(pattern(two_daemons, 2) == "...............###.............................###..............");
}

TEST_CASE("noise: both engines price it alike, in both modes") {
    for (std::uint64_t seed = 1; seed != 20; ++seed)
        for (const noise::reaches reach : {noise::reaches::host, noise::reaches::nic}) {
            CAPTURE(seed);
            const noise n = busy_noise(seed, reach);
            const auto check = [&](const auto& plan) {
                const sim_options base{.bytes = 37,
                                       .noise = n,
                                       .operations = 1 + static_cast<std::uint32_t>(seed % 3),
                                       .compute_ns = 77,
                                       .per_rank = true};
                sim_options other = base;
                other.engine = simulator::discrete;
                sim_result a = simulate(plan, uneven{}, base), b = simulate(plan, uneven{}, other);
                REQUIRE(a.busy_ns == Approx(b.busy_ns));
                REQUIRE(a.wait_ns == Approx(b.wait_ns));
                REQUIRE(a.makespan_ns == b.makespan_ns);
                for (rank_t r = 0; r != plan.size(); ++r) {
                    REQUIRE(a.ranks[r].finish_ns == b.ranks[r].finish_ns);
                    REQUIRE(a.ranks[r].busy_ns == Approx(b.ranks[r].busy_ns));
                    REQUIRE(a.ranks[r].arrival_ns == b.ranks[r].arrival_ns);
                }
                REQUIRE(simulate(plan, uneven{}, base) == a); // and again the same
            };
            check(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13}));
            check(bough::plan_reduce(bough::fnomial{.degree = 3}, {.size = 20}));
            check(bough::plan_broadcast(bough::chain{}, {.size = 7, .blocks = 5}));
        }
}

TEST_CASE("noise: a rank that comes late delays what hangs on it") {
    const auto plan = bough::plan_reduce(bough::fnomial{.degree = 8}, {.size = 8});
    const bough::model::lrc model{.message_latency_ns = 100, .receive = {10}, .combine = {0}, .startup_ns = 0};
    sim_options options;
    options.noise.arrival = {.how = noise::coming::given, .at_ns = {0, 0, 0, 5000, 0, 0, 0, 0}};
    const sim_result run = simulate(plan, model, options);
    // The root takes 1 and 2, waits for 3, then takes the four others at once.
    CHECK(run.makespan_ns == 5000 + 100 + 5 * 10);
    CHECK(run.last_arrival_ns == 5000);
    CHECK(run.latency_ns() == 150);
}

TEST_CASE("noise: in NIC mode only the beginning and the end can be delayed") {
    // A daemon at 50 to 1050, once: in the middle of the operation of 9200 + 3 * 4020, and at its end.
    constexpr bough::model::lrc model{
        .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 8});
    const double quiet = 9200 + 3 * 4020.0;
    const auto with = [&](std::uint64_t phase, noise::reaches reach) {
        sim_options options;
        options.noise.daemons = {
            {.period_ns = 1'000'000, .duration_ns = 1000, .phase_ns = phase, .random_phase = false}};
        options.noise.reach = reach;
        return simulate(plan, model, options).makespan_ns;
    };
    CHECK(with(50, noise::reaches::nic) == quiet + 1000);
    CHECK(with(50, noise::reaches::host) == quiet + 1000);
    CHECK(with(12'000, noise::reaches::nic) == quiet); // while the NIC is at it
    CHECK(with(12'000, noise::reaches::host) > quiet);
    CHECK(with(21'000, noise::reaches::nic) == 22'000); // the end is seen late
}

TEST_CASE("noise: where it does not disturb the entry, only what follows can be delayed") {
    constexpr bough::model::lrc model{
        .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 8});
    const auto with = [&](std::uint64_t phase, noise::reaches reach) {
        sim_options options{.operations = 2, .compute_ns = 100};
        options.noise.daemons = {
            {.period_ns = 1'000'000, .duration_ns = 1000, .phase_ns = phase, .random_phase = false}};
        options.noise.reach = reach;
        options.noise.disturbs_entry = false;
        const double time = simulate(plan, model, options).makespan_ns;
        options.engine = simulator::discrete;
        REQUIRE(simulate(plan, model, options).makespan_ns == time);
        return time;
    };
    const double once = 9200 + 3 * 4020.0;
    for (const noise::reaches reach : {noise::reaches::host, noise::reaches::nic}) {
        CHECK(with(50, reach) == 2 * once + 100);
        CHECK(with(21'300, reach) == 2 * once + 1100); // the work between is delayed
    }
    CHECK(with(11'400, noise::reaches::host) > 2 * once + 100);
    CHECK(with(11'400, noise::reaches::nic) == 2 * once + 100);
}

TEST_CASE("noise: 900 ranks are more consistent in NIC mode, once all have entered") {
    // Moody et al. 2003: a sharp spike, against values spread over a wide range.
    constexpr bough::model::lrc model{
        .message_latency_ns = 2100, .receive = {420}, .combine = {1500}, .startup_ns = 9200};
    const auto plan = bough::plan_reduce(bough::fnomial{.degree = 4}, {.size = 900});
    const auto latencies = [&](noise::reaches reach) {
        sim_options options;
        options.noise = {
            .daemons = {{.period_ns = 10'000'000, .duration_ns = 50'000}}, .reach = reach, .disturbs_entry = false};
        return bough::simulate_many(plan, model, options, 300, [](const sim_result& r) { return r.root_finish_ns; })
            .without_highest(1);
    };
    const bough::sample host = latencies(noise::reaches::host), nic = latencies(noise::reaches::nic);
    CHECK(nic.share_within(4000) >= 0.97);
    CHECK(host.share_within(20'000) < 0.75);
    CHECK(host.deviation() > 10 * nic.deviation());
    CHECK(host.least() == nic.least());
}

TEST_CASE("noise: what is out of range is named") {
    CHECK_FALSE(noise{}.check(3));
    CHECK(noise{.arrival = {.how = noise::coming::given, .at_ns = {1, 2}}}.check(3));
    CHECK(noise{.daemons = {{.period_ns = 5, .duration_ns = 5}}}.check(3));
    CHECK(noise{.daemons = {{.period_ns = 10, .duration_ns = 6}, {.period_ns = 10, .duration_ns = 6}}}.check(3));
    CHECK(noise{.interruptions = {{.window_ns = 10, .min_ns = 7, .max_ns = 6}}}.check(3));
    CHECK(noise{.slow = {.factor = 0}}.check(3));
}
