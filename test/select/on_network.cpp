// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/census.hpp>
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/lowest_bit_first.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/select/on_network.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/simulate/simulate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::lrc over_costs{.message_latency_ns = 1000, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};

// Without packed trees, of which pack_trees.cpp tells.
candidate_list usual_and(const dimensions& at, const network& over) {
    auto made = candidates<goal::allreduce>(ring{}, circulant{}, halving_doubling{});
    add_network_candidates(made, at, {.bytes = 1 << 20}, over);
    std::erase_if(made.list, [](const candidate& c) { return c.algorithm.get<packed_trees_allreduce>() != nullptr; });
    return made;
}

} // namespace

TEST_CASE("on_network: swing wins on a torus of its extents, and is no candidate where there is no grid") {
    network torus = network::torus({4, 4}, 50, 200);
    torus.hop_ns = 50;
    const dimensions at{.size = 16};
    const problem what{.bytes = 1 << 20};
    const candidate_list from = usual_and(at, torus);
    REQUIRE(from.list.size() == 6);
    const decision d = choose(from, at, what, on_network{torus, over_costs});
    REQUIRE(d);
    CHECK(d.winner().what.algorithm == any_algorithm(swing_allreduce{{4, 4}}));
    CHECK(to_string(d).find("swing{.extents = {4, 4}}, ") != std::string::npos);
    CHECK(to_string(d).find("it is the fastest over this network") != std::string::npos);
    CHECK(to_string(d).find("its busiest link alone takes that long") != std::string::npos);

    CHECK(usual_and({.size = 15}, torus).list.size() == 3);
    CHECK(usual_and(at, network::crossbar(16, 50)).list.size() == 3);
    torus.placement = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    CHECK(usual_and(at, torus).list.size() == 3);
    const auto cube = [](std::size_t dimensions) {
        return network::torus(std::vector<std::uint32_t>(dimensions, 2), 50, 200);
    };
    CHECK(usual_and({.size = 64}, cube(grid_extents::most)).list.size() > 3);
    CHECK(usual_and({.size = 128}, cube(grid_extents::most + 1)).list.size() == 3);
    candidate_list gathers{goal::allgather::kind, {}}, scatters{goal::reduce_scatter::kind, {}},
        scans{goal::scan::kind, {}};
    torus.placement.clear();
    for (candidate_list* one : {&gathers, &scatters, &scans}) add_network_candidates(*one, at, {}, torus);
    CHECK(gathers.list.size() == 2);
    CHECK(scatters.list.size() == 2);
    CHECK(scans.list.empty());
}

TEST_CASE("on_network: bucket wins on a torus of unlike extents with long vectors") {
    const grid_extents grid{6, 10};
    const dimensions at{.size = 60};
    const problem what{.bytes = 32 << 20};
    network torus = network::torus({6, 10}, 50, 200);
    torus.hop_ns = 50;
    const decision d = choose(usual_and(at, torus), at, what, on_network{torus, over_costs});
    REQUIRE(d);
    CHECK(d.winner().what.algorithm == any_algorithm(bucket_allreduce{grid}));
    const auto half_wins = [&](auto kind, const auto& expected) {
        candidate_list from{decltype(kind)::kind, {}};
        add_network_candidates(from, at, what, torus);
        const decision half = choose(from, at, what, on_network{torus, over_costs});
        REQUIRE(half);
        CHECK(half.winner().what.algorithm == any_algorithm(expected));
    };
    half_wins(goal::reduce_scatter{}, bucket_reduce_scatter{grid});
    half_wins(goal::allgather{}, bucket_allgather{grid});
}

TEST_CASE(
    "on_network: trivance wins on a torus of powers of three for blocks of middle length, a census for an exact op") {
    network torus = network::torus({3, 3, 3}, 50, 300);
    torus.hop_ns = 50;
    const dimensions at{.size = 27};
    const auto winner = [&](std::uint64_t bytes, bool exact) {
        const problem what{.bytes = bytes, .exact_op = exact};
        auto from = candidates<goal::allreduce>(ring{}, circulant{.ports = 2}, halving_doubling{}, census{});
        add_network_candidates(from, at, what, torus);
        const decision d = choose(from, at, what, on_network{torus, over_costs});
        REQUIRE(d);
        return d.winner().what.algorithm;
    };
    const grid_extents grid{3, 3, 3};
    CHECK(winner(1 << 20, true) == any_algorithm(trivance_allreduce{grid}));
    CHECK(winner(1 << 20, false) == any_algorithm(trivance_allreduce{grid}));
    CHECK(winner(1 << 16, true) == any_algorithm(trivance_census{grid}));
    CHECK(winner(1 << 16, false) == any_algorithm(trivance_allreduce{grid}));
    CHECK(usual_and({.size = 16}, network::torus({4, 4}, 50, 200)).list.size() == 6); // not for powers of two
    CHECK(usual_and(at, network::mesh({3, 9}, 50, 200)).list.size() == 7);            // on a mesh, too
}

TEST_CASE("on_network: bucket wins on a mesh with long vectors, swing with shorter ones") {
    for (const std::vector<std::uint32_t>& extents : {std::vector<std::uint32_t>{8, 8}, {4, 8}}) {
        network mesh = network::mesh(extents, 50, 200);
        mesh.hop_ns = 50;
        const grid_extents grid{extents[0], extents[1]};
        const dimensions at{.size = mesh.hosts()};
        const auto winner = [&](std::uint64_t bytes) {
            const problem what{.bytes = bytes};
            const decision d = choose(usual_and(at, mesh), at, what, on_network{mesh, over_costs});
            REQUIRE(d);
            return d.winner().what.algorithm;
        };
        CHECK(winner(32 << 20) == any_algorithm(bucket_allreduce{grid}));
        CHECK(winner(1 << 20).get<swing_allreduce>() != nullptr);
        // Short vectors have no use for either.
        CHECK(winner(64).get<swing_allreduce>() == nullptr);
    }
}

TEST_CASE("on_network: two chains win on ranks in a row that send both ways at once, and are no candidate elsewhere") {
    const auto chains = [](const dimensions& at, const network& over) {
        std::size_t count = 0;
        for (const candidate& c : usual_and(at, over).list) count += c.algorithm.get<dual_root_allreduce>() != nullptr;
        return count;
    };
    const dimensions at{.size = 8};
    const problem what{.bytes = 1 << 20};
    network row = network::mesh({8}, 1, 2);
    const decision d = choose(usual_and(at, row), at, what, on_network{row, over_costs});
    REQUIRE(d);
    CHECK(d.winner().what.algorithm == any_algorithm(dual_root_allreduce{.arity = 1, .slack = false}));
    const network slow_hosts = network::mesh({8}, 1, 1); // a host sends one way at a time
    const decision other = choose(usual_and(at, slow_hosts), at, what, on_network{slow_hosts, over_costs});
    REQUIRE(other);
    CHECK(other.winner().what.algorithm.get<dual_root_allreduce>() == nullptr);

    CHECK(chains(at, row) != 0);
    CHECK(chains({.size = 5}, row) != 0); // the first five stand in a row, too
    CHECK(chains({.size = 2}, row) == 0);
    CHECK(chains({.size = 9}, row) == 0); // the last is on the first's host
    CHECK(chains(at, network::torus({8}, 1, 2)) == 0);
    CHECK(chains(at, network::mesh({2, 4}, 1, 2)) == 0);
    CHECK(chains(at, network::crossbar(8, 1)) == 0);
    row.placement = {7, 6, 5, 4, 3, 2, 1, 0};
    CHECK(chains(at, row) != 0);
    row.placement = {0, 2, 4, 6, 7, 5, 3, 1};
    CHECK(chains(at, row) == 0);
}

TEST_CASE("on_network: what ends soonest after the last rank has come wins, however late that is") {
    const network over = network::crossbar(8, 10);
    const dimensions at{.size = 8};
    const problem what{.bytes = 1 << 16};
    // Whichever comes first wins if all count as equal.
    const auto from = candidates<goal::allreduce>(halving_doubling{}, circulant{}, ring{});
    const auto chosen = [&](std::uint64_t late_ns) {
        std::vector<std::uint64_t> arrivals(8, 0);
        arrivals[2] = late_ns;
        const model::arriving costs{over_costs, arrivals};
        const decision d = choose(from, at, what, on_network{over, costs});
        REQUIRE(d);
        CAPTURE(late_ns, to_string(d));
        CHECK(d.last_arrival_ns == static_cast<double>(late_ns));
        double best = d.winner().predicted_ns;
        for (const prospect& p : d.prospects) best = std::min(best, p.predicted_ns);
        CHECK(d.winner().predicted_ns <= best + (best - d.last_arrival_ns) * equal_price_share);
        return d.winner().what;
    };
    const candidate soonest = chosen(500'000);
    for (const std::uint64_t late_ns : {50'000'000u, 500'000'000u, 4'000'000'000u}) CHECK(chosen(late_ns) == soonest);
    CHECK(soonest != from.list.front());
}

TEST_CASE("on_network: a slow cable is gone around, and only a slow one") {
    const auto star = [](double slow) {
        network made(8, 1);
        for (std::uint32_t h = 0; h != 8; ++h) made.join(h, 8, h == 5 ? slow : 25.0);
        made.route();
        return made;
    };
    const dimensions at{.size = 8};
    const problem what{.bytes = 64 << 20};
    const network half = star(12.5);
    const candidate_list from = usual_and(at, half);
    REQUIRE(from.list.size() == 6);
    const decision d = choose(from, at, what, on_network{half, over_costs});
    REQUIRE(d);
    REQUIRE(d.winner().what.algorithm.get<slow_rank_allreduce>() != nullptr);
    CHECK(d.winner().what.algorithm.get<slow_rank_allreduce>()->slow == 5);
    CHECK(usual_and(at, star(25)).list.size() == 3);
    // A candidate, but not the best: a cable that is hardly slower.
    const network nearly = star(24);
    const decision usual = choose(usual_and(at, nearly), at, what, on_network{nearly, over_costs});
    REQUIRE(usual);
    CHECK(usual.winner().what.algorithm.get<slow_rank_allreduce>() == nullptr);
    network two = star(12.5);
    two.placement = {5, 5, 0, 1, 2, 3, 4, 6}; // two ranks behind the slow cable
    CHECK(usual_and(at, two).list.size() == 3);
}

TEST_CASE("on_network: between groups of hosts, blocks of middle length go by swing on one ring") {
    network over = network::fat_tree({16, 8}, {1, 2}, 10); // 8 switches of 16 hosts
    const dimensions at{.size = 128};
    const problem what{.bytes = 65536};
    for (const rank_t shift : {0u, 3u}) {
        over.placement.clear();
        for (rank_t r = 0; r != 128; ++r) over.placement.push_back((r + shift) % 128);
        auto from = candidates<goal::reduce_scatter>(ring{}, lowest_bit_first{}, circulant{}, halving_doubling{});
        add_network_candidates(from, at, what, over);
        REQUIRE(from.list.size() == 5);
        const decision d = choose(from, at, what, on_network{over, over_costs});
        REQUIRE(d);
        CAPTURE(shift, to_string(d));
        // Aligned groups suit halving as well.
        if (shift != 0) CHECK(d.winner().what.algorithm == any_algorithm(swing_reduce_scatter{}));
    }
    candidate_list gathers{goal::allgather::kind, {}}, all{goal::allreduce::kind, {}}, scans{goal::scan::kind, {}};
    for (candidate_list* one : {&gathers, &all, &scans}) add_network_candidates(*one, at, what, over);
    CHECK(gathers.list.size() == 1);
    CHECK((all.list.size() == 1 && all.list[0].algorithm == any_algorithm(swing_allreduce{.ports = 1})));
    CHECK(scans.list.empty());
}

TEST_CASE("on_network: a lower bound changes no choice, and is one") {
    network torus = network::torus({3, 4}, 2, 8);
    for (const network& over : {torus, network::fat_tree({4, 3}, {1, 2}, 1), network::crossbar(12, 1)})
        for (const std::uint64_t bytes : {12u, 12000u, 1200000u}) {
            const dimensions at{.size = 12};
            const problem what{.bytes = bytes};
            const candidate_list from = usual_and(at, over);
            const decision quick = choose(from, at, what, on_network{over, over_costs});
            const decision full = choose(from, at, what, on_network{over, over_costs}, {.price_all = true});
            REQUIRE(quick);
            CAPTURE(bytes, to_string(quick), to_string(full));
            CHECK(quick.winner() == full.winner());
            for (const prospect& p : quick.prospects) {
                const auto same = std::find_if(full.prospects.begin(), full.prospects.end(),
                                               [&](const prospect& f) { return f.what == p.what; });
                CHECK(p.predicted_ns <= same->predicted_ns);
                if (!p.at_least) CHECK(p.predicted_ns == same->predicted_ns);
            }
        }
}

TEST_CASE("on_network: what is required, and what is too much") {
    const network over = network::crossbar(8, 1);
    const dimensions at{.size = 8};
    const candidate_list from = usual_and(at, over);
    const decision ordered =
        choose(from, at, {.bytes = 800}, on_network{over, over_costs}, {.needed = order_preserving});
    REQUIRE(ordered);
    CHECK(ordered.winner().what.algorithm == any_algorithm::of<goal::allreduce>(halving_doubling{}));
    // All have too many steps: the one with the least bound is taken.
    const decision unrun = choose(from, at, {.bytes = 800}, on_network{over, over_costs}, {.most_steps = 0});
    REQUIRE(unrun);
    CHECK(unrun.winner().about);
    CHECK(unrun.prospects[1].excluded == exclusion::too_many_steps);
    CHECK(unrun.prospects[1].predicted_ns == 0); // not the bound that it was sorted by
    for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
        const decision broken = choose(from, at, {.bytes = 800},
                                       on_network{over, model::lrc{.message_latency_ns = bad}}, {.price_all = true});
        CHECK_FALSE(broken);
        for (const prospect& p : broken.prospects) CHECK(p.excluded == exclusion::no_price);
    }
}

namespace {

// Two ranks that exchange in place: each overwrites what the other has not taken yet.
struct exchange_in_place {
    using serves = goals<goal::allreduce>;
    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
        if (rank > 1) return;
        out.send(1 - rank, {output, 0, at.blocks});
        out.receive(1 - rank, {output, 0, at.blocks});
    }
    constexpr block_t natural_blocks(rank_t) const noexcept { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t) const noexcept { return 0; }
    constexpr status check(const dimensions&) const noexcept { return {}; }
    constexpr label text() const { return label("exchange_in_place"); }
    friend constexpr bool operator==(const exchange_in_place&, const exchange_in_place&) = default;
};

constexpr std::uint64_t up_to_64_kib = 65536;

// The choice where longer messages are rendezvous; its prices are those of runs.
decision strict_choice(const candidate_list& from, const dimensions& at, const problem& what, const network& over,
                       std::uint64_t eager_bytes = up_to_64_kib) {
    const model::rendezvous strict{over_costs, eager_bytes};
    const decision d = choose(from, at, what, on_network{over, strict}, {.price_all = true});
    for (const prospect& p : d.prospects) {
        CAPTURE(p.what.algorithm.text());
        const problem seen = problem_for(p.what.algorithm, what);
        const sim_result run = simulate(plan_ref(p.what.algorithm, {at.size, at.root, p.blocks}), over_costs,
                                        {.bytes = seen.bytes, .eager_bytes = eager_bytes, .network = &over});
        CHECK(run.deadlock() == (p.excluded == exclusion::deadlock));
        if (p.excluded == exclusion::none) CHECK(run.makespan_ns == p.predicted_ns);
    }
    return d;
}

} // namespace

TEST_CASE("on_network: messages that need both their ranks use all ports and both directions at once") {
    SECTION("a torus: swing and bucket on all ports stay four times as fast as on one, and as the others") {
        network torus = network::torus({4, 4}, 50, 200);
        torus.hop_ns = 50;
        const dimensions at{.size = 16};
        const problem what{.bytes = 32 << 20};
        const decision d = strict_choice(usual_and(at, torus), at, what, torus);
        REQUIRE(d);
        CHECK((d.winner().what.algorithm == any_algorithm(swing_allreduce{{4, 4}}) ||
               d.winner().what.algorithm == any_algorithm(bucket_allreduce{{4, 4}})));
        for (const prospect& p : d.prospects) {
            const bool all_ports = p.what.algorithm == any_algorithm(swing_allreduce{{4, 4}}) ||
                                   p.what.algorithm == any_algorithm(bucket_allreduce{{4, 4}});
            CAPTURE(p.what.algorithm.text(), p.predicted_ns);
            CHECK((p.predicted_ns < 1.2 * d.winner().predicted_ns) == all_ports);
            if (!all_ports) CHECK(p.predicted_ns > 3 * d.winner().predicted_ns);
        }
    }
    SECTION("a slow cable: going around it stays 1.6 times as fast as a ring") {
        network star(8, 1);
        for (std::uint32_t h = 0; h != 8; ++h) star.join(h, 8, h == 3 ? 12.5 : 25);
        star.route();
        const dimensions at{.size = 8};
        const decision d = strict_choice(usual_and(at, star), at, {.bytes = 64 << 20}, star);
        REQUIRE(d);
        REQUIRE(d.winner().what.algorithm.get<slow_rank_allreduce>() != nullptr);
        CHECK(d.winner().what.algorithm.get<slow_rank_allreduce>()->slow == 3);
        for (const prospect& p : d.prospects)
            if (p.what.algorithm.get<slow_rank_allreduce>() == nullptr)
                CHECK(p.predicted_ns > 1.6 * d.winner().predicted_ns);
    }
}

TEST_CASE("on_network: a plan that does not end where messages need both their ranks is left out") {
    const network over = network::crossbar(3, 1);
    const dimensions at{.size = 3};
    const auto from = candidates<goal::allreduce>(exchange_in_place{}, ring{});
    const decision eager = strict_choice(from, at, {.bytes = 3000}, over, 3000);
    REQUIRE(eager);
    CHECK(eager.winner().what.algorithm == any_algorithm::of<goal::allreduce>(exchange_in_place{}));
    const decision strict = strict_choice(from, at, {.bytes = 3000}, over, 2999);
    REQUIRE(strict);
    CHECK(strict.winner().what.algorithm == any_algorithm::of<goal::allreduce>(ring{}));
    CHECK(strict.prospects.back().excluded == exclusion::deadlock);
}
