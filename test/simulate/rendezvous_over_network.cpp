// SPDX-License-Identifier: BSL-1.0
// Rendezvous over a network: transfers on several ports are under way together, each as soon as both its
// ranks have got to it. Times worked by hand, a second derivation over random plans, and deadlocks.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

using namespace test;
using bough::verb;

namespace {

constexpr bough::model::lrc slow_copies{
    .message_latency_ns = 10, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {500}};
constexpr slice first_block{bough::output, 0, 1}, second_block{bough::output, 1, 1};

// Rank 0 has a cable of 2 bytes per ns, as if it had two ports; the others one of 1.
bough::network two_ports() {
    bough::network n(3, 1);
    for (std::uint32_t h = 0; h != 3; ++h) n.join(h, 3, h == 0 ? 2 : 1);
    n.route();
    return n;
}
// Blocks of 1000 bytes.
sim_result strictly(const listed_plan& plan, const bough::network* over, step_order order = step_order::program) {
    const bough::model::rendezvous model{slow_copies};
    const sim_options options{
        .bytes = std::uint64_t{1000} * plan.blocks(), .order = order, .network = over, .per_rank = true};
    return simulate(plan, model, options);
}

// What the rule says, for messages that need no time on the links: each time is the latest of those that
// it waits for. NaN: that never comes. The makespan.
template <class Model>
double by_the_rule(const listed_plan& plan, const Model& model, std::uint64_t bytes) {
    struct deed {
        verb what = verb::copy;
        rank_t peer = 0;
        std::uint64_t bytes = 0;
        std::vector<std::size_t> waits_for{};
        double begin = NAN, end = NAN, complete = NAN; // complete: a rendezvous has arrived
        double notice = NAN, post = NAN, arrival = NAN;
        deed* other = nullptr;  // of its message
        deed* before = nullptr; // the receive before it on its channel
    };
    const rank_t p = plan.size();
    const bough::model::block_sizes sizes(bytes, plan.blocks(), 1);
    std::vector<std::vector<deed>> deeds(p);
    std::map<std::pair<rank_t, rank_t>, std::vector<deed*>> sends, receives;
    for (rank_t r = 0; r != p; ++r) {
        const auto& steps = plan.ranks[r].steps;
        const bough::dependences waits = bough::infer_dependences(steps);
        std::vector<std::size_t> deed_of;
        std::size_t number = 0;
        for (const bough::step& s : steps) deed_of.push_back(s.more ? number : number++);
        deeds[r].resize(number);
        for (std::size_t i = 0; i != steps.size(); ++i) {
            deed& d = deeds[r][deed_of[i]];
            d.what = steps[i].verb, d.peer = steps[i].peer;
            d.bytes += sizes.bytes_of(steps[i].verb == verb::send ? steps[i].a : steps[i].out);
            for (const std::uint32_t before : waits.of(i))
                if (deed_of[before] != deed_of[i]) d.waits_for.push_back(deed_of[before]);
        }
        for (deed& d : deeds[r])
            if (d.what == verb::send)
                sends[{r, d.peer}].push_back(&d);
            else if (d.what == verb::receive)
                receives[{d.peer, r}].push_back(&d);
    }
    for (auto& [channel, list] : receives)
        for (std::size_t i = 0; i != list.size(); ++i) {
            if (i != 0) list[i]->before = list[i - 1];
            if (i < sends[channel].size()) list[i]->other = sends[channel][i], sends[channel][i]->other = list[i];
        }
    const auto latest = [](std::initializer_list<double> times) { // NaN if any is
        double t = 0;
        for (const double x : times) t = std::isnan(x) ? x : std::isnan(t) ? t : std::max(t, x);
        return t;
    };
    for (bool moved = true; moved;) {
        moved = false;
        const auto set = [&](double& what, double value) {
            if (std::isnan(what) && !std::isnan(value)) what = value, moved = true;
        };
        for (rank_t r = 0; r != p; ++r)
            for (std::size_t i = 0; i != deeds[r].size(); ++i) {
                deed& d = deeds[r][i];
                double there = model.start_ns(); // what it waits for in its rank
                for (const std::size_t before : d.waits_for) there = latest({there, deeds[r][before].complete});
                double begin = latest({there, i == 0 ? 0 : deeds[r][i - 1].end});
                if (d.what == verb::receive) {
                    set(d.post, latest({there, d.before == nullptr ? 0 : d.before->begin}));
                    begin = latest({begin, d.post, d.other == nullptr ? NAN : d.other->arrival});
                    set(d.begin, begin);
                    set(d.end, d.begin + model.receive_ns(d.peer, r, d.bytes));
                } else if (d.what == verb::send) {
                    const bool rendezvous = d.bytes > model.eager_bytes(r, d.peer);
                    const double there_ns = model.latency_ns(r, d.peer, 0);
                    set(d.begin, begin);
                    set(d.end, d.begin + model.send_ns(r, d.peer, d.bytes));
                    set(d.notice, d.end + there_ns);
                    if (rendezvous)
                        set(d.arrival, latest({d.notice, d.other == nullptr ? NAN : d.other->post}) +
                                           model.latency_ns(d.peer, r, 0) + there_ns);
                    else
                        set(d.arrival, d.notice);
                    set(d.complete, rendezvous ? d.arrival : d.end);
                } else {
                    set(d.begin, begin);
                    set(d.end,
                        d.begin + (d.what == verb::copy ? model.copy_ns(r, d.bytes) : model.combine_ns(r, d.bytes)));
                }
                if (d.what != verb::send) set(d.complete, d.end);
            }
    }
    double last = model.start_ns();
    for (const std::vector<deed>& of : deeds)
        for (const deed& d : of) last = latest({last, d.complete});
    return last;
}

} // namespace

TEST_CASE("rendezvous over a network: a late receiver holds up no message to another rank") {
    // Rank 1 copies for 500 ns first, into where it receives; rank 2 does not.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3), .blocks_ = 2};
    plan.ranks[0].send(1, first_block);
    plan.ranks[0].send(2, first_block);
    plan.ranks[1].copy(second_block, first_block);
    plan.ranks[1].receive(0, first_block);
    plan.ranks[2].receive(0, first_block);
    const bough::network over = two_ports();
    const sim_result run = strictly(plan, &over);
    // To 2: notice at 10, answer at 20, the bytes at 1020, and 10 more. To 1: asked for at 500.
    CHECK(run.ranks[2].finish_ns == Approx(1030));
    CHECK(run.ranks[1].finish_ns == Approx(1520));
    CHECK(run.ranks[0].finish_ns == Approx(1520));
    CHECK(strictly(plan, &over, step_order::dependence) == run);
    // One port: the first message is before the second.
    CHECK(strictly(plan, nullptr).ranks[2].finish_ns == Approx(520));
    CHECK(strictly(plan, nullptr, step_order::dependence).ranks[2].finish_ns == Approx(30));
}

TEST_CASE("rendezvous over a network: a late sender holds up no message of another rank, if there is room for it") {
    const auto plan_into = [](const slice& of_2) {
        listed_plan plan{.ranks = std::vector<bough::schedule>(3), .blocks_ = 2};
        plan.ranks[0].receive(1, first_block);
        plan.ranks[0].receive(2, of_2);
        plan.ranks[1].copy(second_block, first_block);
        plan.ranks[1].send(0, first_block);
        plan.ranks[2].send(0, first_block);
        return plan;
    };
    const bough::network over = two_ports();
    // The receive from 2 is posted at once. Rank 0 takes the messages in its order all the same.
    const sim_result apart = strictly(plan_into(second_block), &over);
    CHECK(apart.ranks[2].finish_ns == Approx(1030));
    CHECK(apart.ranks[1].finish_ns == Approx(1530));
    CHECK(apart.ranks[0].finish_ns == Approx(1530));
    // Into the same block it is posted when the first is there.
    const sim_result same = strictly(plan_into(first_block), &over);
    CHECK(same.ranks[1].finish_ns == Approx(1530));
    CHECK(same.ranks[2].finish_ns == Approx(1530 + 1020));
    CHECK(strictly(plan_into(second_block), nullptr).ranks[2].finish_ns == Approx(550));
}

TEST_CASE("rendezvous over a network: what overwrites a message waits until it has arrived") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(2), .blocks_ = 2};
    plan.ranks[0].send(1, first_block);
    plan.ranks[0].copy(second_block, first_block);
    plan.ranks[1].receive(0, first_block);
    const bough::network wire = bough::network::crossbar(2, 1);
    CHECK(strictly(plan, &wire).ranks[0].finish_ns == Approx(1030 + 500));
    plan.ranks[0].steps.back().out = {bough::scratch(0), 0, 1};
    CHECK(strictly(plan, &wire).ranks[0].finish_ns == Approx(1030));
}

TEST_CASE("rendezvous over a network: steps are done as written, so nothing but the messages is out of order") {
    // Rank 0 combines twice for what it received; the second message is there first.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3), .blocks_ = 2};
    plan.ranks[0].receive(1, first_block);
    plan.ranks[0].copy(first_block, {bough::scratch(0), 0, 1});
    plan.ranks[0].receive(2, second_block);
    plan.ranks[0].copy(second_block, {bough::scratch(0), 1, 1});
    plan.ranks[1].copy(second_block, first_block);
    plan.ranks[1].send(0, first_block);
    plan.ranks[2].send(0, first_block);
    const bough::network over = two_ports();
    CHECK(strictly(plan, &over).ranks[0].finish_ns == Approx(1530 + 2 * 500));
    CHECK(strictly(plan, &over, step_order::dependence).ranks[0].finish_ns == Approx(1530 + 500));
}

TEST_CASE("rendezvous over a network: plans that rest on messages that nobody has asked for do not end") {
    const bough::network over = bough::network::crossbar(3, 1);
    const auto eagerly = [&](const listed_plan& plan) {
        return simulate(plan, bough::model::rendezvous{slow_copies, 2000}, {.bytes = 2000, .network = &over});
    };
    SECTION("an exchange in place: each overwrites what the other has not taken") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(2), .blocks_ = 2};
        for (const rank_t r : {0u, 1u}) {
            plan.ranks[r].send(1 - r, first_block);
            plan.ranks[r].receive(1 - r, first_block);
        }
        CHECK(!eagerly(plan).deadlock());
        const sim_result stuck = strictly(plan, &over);
        CHECK(stuck.stuck == 0);
        CHECK(stuck.stuck_on == 1);
        CHECK(strictly(plan, &over, step_order::dependence).stuck_on == 1);
    }
    SECTION("a circle of three: rank 1 wants the word of rank 2 first, which waits for rank 0, which waits for 1") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(3), .blocks_ = 2};
        plan.ranks[0].send(1, first_block);
        plan.ranks[0].copy(second_block, first_block);
        plan.ranks[0].send(2, first_block);
        plan.ranks[1].receive(2, first_block);
        plan.ranks[1].receive(0, first_block);
        plan.ranks[2].receive(0, first_block);
        plan.ranks[2].send(1, first_block);
        CHECK(!eagerly(plan).deadlock());
        const sim_result stuck = strictly(plan, &over);
        CHECK(stuck.stuck == 0);
        CHECK(stuck.stuck_on == 1);
        // With room for both messages and for the next one, nobody waits in a circle.
        plan.ranks[0].steps[1].out = {bough::scratch(0), 0, 1};
        plan.ranks[1].steps[1].out = second_block;
        CHECK(!strictly(plan, &over).deadlock());
    }
    SECTION("a message that is never received") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(2), .blocks_ = 2};
        plan.ranks[1].send(0, first_block);
        CHECK(!eagerly(plan).deadlock());
        CHECK(strictly(plan, &over).stuck == 1);
        CHECK(strictly(plan, &over).stuck_on == 0);
        CHECK(strictly(plan, &over).unreceived == 1);
    }
}

TEST_CASE("rendezvous over a network: random plans take the time that the rule says, or do not end") {
    std::mt19937 random(20261129);
    const bough::network fast = bough::network::crossbar(6, 1e12); // no message takes time there
    std::size_t deadlocks = 0, ends = 0;
    for (int round = 0; round != 2000; ++round) {
        const listed_plan plan = random_plan(random, round % 4 == 0, round % 8 == 0 ? 200 : 40);
        for (const std::uint64_t limit : {0u, 6u, 12u}) {
            CAPTURE(round, limit);
            const bough::model::rendezvous model{uneven{}, limit};
            const sim_result found = simulate(plan, model, {.bytes = 23, .network = &fast});
            const double expected = by_the_rule(plan, model, 23);
            REQUIRE(found.deadlock() == std::isnan(expected));
            if (!found.deadlock()) REQUIRE(found.makespan_ns == Approx(expected));
            if (found.deadlock()) REQUIRE(found.stuck_on < plan.size());
            (found.deadlock() ? deadlocks : ends) += 1;
            // The limit may be the run's as well as the model's.
            REQUIRE(simulate(plan, uneven{}, {.bytes = 23, .eager_bytes = limit, .network = &fast}) == found);
        }
    }
    CHECK(deadlocks > 100);
    CHECK(ends > 500);
}

TEST_CASE("rendezvous over a network: one of others changes nothing for ranks whose messages are eager") {
    std::mt19937 random(77);
    bough::network over = bough::network::crossbar(8, 0.4871);
    over.hop_ns = 0.0193; // no two things happen at one time by chance
    for (int round = 0; round != 300; ++round) {
        CAPTURE(round);
        listed_plan plan = random_plan(random, round % 4 == 0);
        for (const bool early : {false, true}) {
            const sim_options options{.bytes = 23, .eager_bytes = 46, .network = &over, .per_rank = true};
            const auto check = [&](const auto& model, const sim_options& how) {
                const sim_result alone = simulate(plan, model, how);
                listed_plan more = plan;
                const auto a = plan.size(), b = a + 1;
                more.ranks.resize(b + 1);
                const slice all{bough::output, 0, plan.blocks()};
                for (int part = 0; part != 2; ++part)
                    more.ranks[a].send_part(b, all), more.ranks[b].receive_part(a, all);
                more.ranks[a].send(b, all), more.ranks[b].receive(a, all);
                const sim_result beside = simulate(more, model, how);
                REQUIRE(beside.deadlock() == alone.deadlock());
                for (rank_t r = 0; r != plan.size(); ++r) {
                    REQUIRE(beside.ranks[r].finish_ns == Approx(alone.ranks[r].finish_ns));
                    REQUIRE(beside.ranks[r].busy_ns == Approx(alone.ranks[r].busy_ns));
                    REQUIRE(beside.ranks[r].away_ns == Approx(alone.ranks[r].away_ns));
                }
            };
            check(uneven{}, options);
            check(with_ports{early}, options);
            sim_options often = options;
            often.operations = 3, often.compute_ns = 20;
            often.split = {.on = true, .root_too = early, .poll_ns = 30, .poll_cost_ns = 2};
            check(uneven{}, often);
            often.slots = 1;
            check(uneven{}, often);
        }
    }
}
