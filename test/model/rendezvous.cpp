// SPDX-License-Identifier: BSL-1.0
// The walk where messages are rendezvous: times worked by hand, Rabenseifner's reading against a second
// derivation, and what the limit leaves as it was.
#include "support/catch.hpp"
#include "support/listed_plan.hpp"
#include <bough/algorithm/allreduce/late_rank.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/alltoall/grouped.hpp>
#include <bough/algorithm/alltoall/pairwise.hpp>
#include <bough/algorithm/binary_blocks.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/double_tree.hpp>
#include <bough/algorithm/halving_doubling.hpp>
#include <bough/algorithm/neighbours/by_dimension.hpp>
#include <bough/algorithm/neighbours/direct.hpp>
#include <bough/algorithm/per_level.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/alpha_beta_gamma_formula.hpp>
#include <bough/model/arriving.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/rendezvous.hpp>
#include <bough/model/two_level.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace {

using namespace bough::model;
using bough::rank_t;
using bough::verb;
using test::listed_plan;
using times = std::vector<double>;

constexpr bough::slice whole{bough::output, 0, 1};
// bough's own network.
constexpr alpha_beta_gamma net{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
constexpr std::uint64_t all_eager = ~std::uint64_t{0};

static_assert(has_rendezvous_v<rendezvous<lrc>> && has_rendezvous_v<loggops> && !has_rendezvous_v<alpha_beta_gamma>);
static_assert(rendezvous<alpha_beta_gamma>::homogeneous);
// At compile time: rank 0 sends to rank 1, which combines first.
static_assert(walk(bough::plan_allreduce(bough::binary_blocks{}, {.size = 2}), rendezvous{net}, 8).makespan_ns ==
              walk(bough::plan_allreduce(bough::binary_blocks{}, {.size = 2}), net, 8).makespan_ns);

// Rabenseifner's words taken one by one: a transfer begins when both ranks are at it and takes alpha + n
// beta, in full duplex; a rank is at one send and at one receive at a time, in the order of its program.
// Of all transfers that can begin, the earliest does. Negative: the plan does not end.
template <class Plan>
double by_the_paper(const Plan& plan, const alpha_beta_gamma& on, std::uint64_t bytes, std::uint64_t element_bytes) {
    struct transfer {
        double sender_ns = -1, receiver_ns = -1, end_ns = -1;
        std::uint64_t bytes = 0;
        rank_t to = 0;
    };
    const rank_t p = plan.size();
    const block_sizes sizes(bytes, plan.blocks(), element_bytes);
    std::vector<transfer> all;
    std::map<std::pair<rank_t, rank_t>, std::vector<std::size_t>> channels;
    std::map<std::pair<rank_t, rank_t>, std::size_t> sent, received;
    const auto number = [&](rank_t from, rank_t to, std::size_t i) {
        auto& channel = channels[{from, to}];
        while (channel.size() <= i) channel.push_back(all.size()), all.push_back({.to = to});
        return channel[i];
    };
    std::vector<bough::schedule> steps;
    for (rank_t r = 0; r != p; ++r) steps.push_back(plan.schedule_of(r));
    times clock(p, 0.0), out_ns(p, 0.0), in_ns(p, 0.0);
    std::vector<std::size_t> next(p, 0);
    std::vector<std::vector<std::size_t>> sends(p);
    const auto go_on = [&](rank_t r) {
        for (std::uint64_t n = 0; next[r] != steps[r].size(); ++next[r]) {
            const bough::step& s = steps[r].steps[next[r]];
            n += sizes.bytes_of(s.verb == verb::send ? s.a : s.out);
            if (s.more) continue;
            if (s.verb == verb::send) {
                const std::size_t i = number(r, s.peer, sent[{r, s.peer}]++);
                all[i].sender_ns = clock[r], all[i].bytes = n;
                sends[r].push_back(i);
            } else if (s.verb == verb::receive) {
                transfer& t = all[number(s.peer, r, received[{s.peer, r}])];
                if (t.receiver_ns < 0) t.receiver_ns = clock[r];
                if (t.end_ns < 0) { // back to the first part
                    while (next[r] != 0 && steps[r].steps[next[r] - 1].more) --next[r];
                    return;
                }
                ++received[{s.peer, r}];
                clock[r] = std::max(clock[r], t.end_ns);
            } else if (s.verb == verb::combine) {
                clock[r] += on.combine_ns(r, n);
            }
            n = 0;
        }
    };
    for (;;) {
        for (rank_t r = 0; r != p; ++r) go_on(r);
        rank_t first = p;
        double first_ns = 0;
        for (rank_t r = 0; r != p; ++r) {
            if (sends[r].empty() || all[sends[r].front()].receiver_ns < 0) continue;
            const transfer& t = all[sends[r].front()];
            const double at_ns = std::max({t.sender_ns, t.receiver_ns, out_ns[r], in_ns[t.to]});
            if (first == p || at_ns < first_ns) first = r, first_ns = at_ns;
        }
        if (first == p) break;
        transfer& t = all[sends[first].front()];
        sends[first].erase(sends[first].begin());
        t.end_ns = out_ns[first] = in_ns[t.to] = first_ns + on.exchange_ns(t.bytes);
    }
    for (rank_t r = 0; r != p; ++r)
        if (next[r] != steps[r].size() || !sends[r].empty()) return -1;
    return *std::max_element(clock.begin(), clock.end());
}

} // namespace

TEST_CASE("a rendezvous begins when its receiver has asked; its sender goes on, but ends no sooner") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
    plan.ranks[0].send(1, whole);
    plan.ranks[0].combine(whole, whole, whole);
    plan.ranks[1].copy(whole, whole);
    plan.ranks[1].receive(0, whole);
    const lrc late{.message_latency_ns = 100, .receive = {10}, .combine = {30}, .startup_ns = 0, .copy = {500}};
    CHECK(finish_times(plan, late, 8) == times{30, 510});
    // The receive is posted at 500, its answer there at 600, the message there at 700.
    CHECK(finish_times(plan, rendezvous{late}, 8) == times{700, 710});
    CHECK(finish_times(plan, rendezvous{late, 7}, 8) == times{700, 710});
    CHECK(finish_times(plan, rendezvous{late, 8}, 8) == times{30, 510}); // the limit itself is eager
    CHECK(finish_times(plan, rendezvous{late}, 0) == times{30, 510});    // the notice is all of it
    // The receive is posted first: the notice is there at 100, the answer at 200, the message at 300.
    const lrc soon{.message_latency_ns = 100, .receive = {10}, .combine = {30}, .startup_ns = 0, .copy = {50}};
    CHECK(finish_times(plan, rendezvous{soon}, 8) == times{300, 310});
    // In the paper's model notices take no time. The message holds its ports for 5008 from when the copy
    // is done.
    CHECK(finish_times(plan, rendezvous{net}, 8) == times{2, 5008});
    std::array<std::uint64_t, 2> at{0, 700};
    CHECK(finish_times(plan, rendezvous{arriving{net, at}}, 8) == times{700, 5708});
    CHECK(finish_times(plan, arriving{rendezvous{net}, at}, 8) == times{700, 5708});
    CHECK(finish_times(plan, arriving{net, at}, 8) == times{2, 5708});
}

TEST_CASE("the messages of a rank begin in the order of its sends, whatever waits for them") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(3), .blocks_ = 10};
    plan.ranks[0].send(1, {bough::output, 0, 9});
    plan.ranks[0].send(2, {bough::output, 9, 1});
    plan.ranks[1].copy(whole, whole);
    plan.ranks[1].receive(0, {bough::output, 0, 9});
    plan.ranks[2].receive(0, {bough::output, 9, 1});
    const lrc late{.message_latency_ns = 100, .receive = {10}, .startup_ns = 0, .copy = {500}};
    CHECK(finish_times(plan, late, 100) == times{0, 510, 110});
    // The long one begins at 600; then the short one, which is eager, may leave.
    CHECK(finish_times(plan, rendezvous{late, 10}, 100) == times{700, 710, 710});
    // If that is a rendezvous, too, its answer has been there since 200.
    CHECK(finish_times(plan, rendezvous{late}, 100) == times{700, 710, 710});
    // With ports it waits until the long one has left.
    const alpha_beta_gamma ports{.alpha_ns = 100, .beta_ns_per_byte = 1};
    CHECK(finish_times(plan, ports, 100) == times{0, 190, 300});
    plan.ranks[1].steps.front() = {};
    plan.ranks[1].steps.front().verb = verb::combine;
    plan.ranks[1].steps.front().out = whole;
    const alpha_beta_gamma combines{.alpha_ns = 100, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 50};
    CHECK(finish_times(plan, rendezvous{combines}, 100) == times{690, 690, 800});
}

TEST_CASE("of two limits the lower holds, and levels have their own") {
    const loggops own{.message_latency_ns = 100, .eager_limit_bytes = 50};
    CHECK(eager_bytes(own, 0, 1) == 50);
    CHECK(eager_bytes(rendezvous{own, 60}, 0, 1) == 50);
    CHECK(eager_bytes(rendezvous{own, 40}, 0, 1) == 40);
    CHECK(eager_bytes(rendezvous{rendezvous{lrc{}, 30}, 60}, 0, 1) == 30);
    CHECK(eager_bytes(lrc{}, 0, 1) == all_eager);
    const auto plan = bough::plan_broadcast(bough::chain{}, {.size = 2});
    CHECK(walk(plan, own, 50).makespan_ns == 100);
    CHECK(walk(plan, own, 51).makespan_ns == 3 * 100);
    const std::array<rank_t, 4> nodes{0, 0, 1, 1};
    const two_level both{lrc{.message_latency_ns = 1}, rendezvous{lrc{.message_latency_ns = 100}, 9}, nodes.data()};
    static_assert(has_rendezvous_v<decltype(both)>);
    CHECK(eager_bytes(both, 0, 1) == all_eager);
    CHECK(eager_bytes(both, 1, 2) == 9);
    const auto chain = bough::plan_broadcast(bough::chain{}, {.size = 4});
    CHECK(walk(chain, both, 9).makespan_ns == 1 + 100 + 1);
    CHECK(walk(chain, both, 10).makespan_ns == 1 + 3 * 100 + 1);
}

TEST_CASE("a plan that rests on messages that nobody has asked for does not end") {
    // Rank 1 wants the word of rank 2 first, which rank 0 sends last.
    listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
    plan.ranks[0].send(1, whole);
    plan.ranks[0].send(2, whole);
    plan.ranks[1].receive(2, whole);
    plan.ranks[1].receive(0, whole);
    plan.ranks[2].receive(0, whole);
    plan.ranks[2].send(1, whole);
    CHECK(!walk(plan, net, 8).deadlock());
    const walk_result stuck = walk(plan, rendezvous{net}, 8);
    CHECK(stuck.deadlock());
    CHECK(stuck.stuck == 0);
    CHECK(stuck.stuck_on == 1);
    CHECK(!walk(plan, rendezvous{net, 8}, 8).deadlock());
    SECTION("a message that is never received holds its sender") {
        listed_plan lost{.ranks = std::vector<bough::schedule>(2)};
        lost.ranks[1].send(0, whole);
        CHECK(!walk(lost, net, 8).deadlock());
        CHECK(walk(lost, rendezvous{net}, 8).stuck == 1);
        CHECK(walk(lost, rendezvous{net}, 8).stuck_on == 0);
        CHECK(walk(lost, rendezvous{net}, 8).unreceived == 1);
    }
}

TEST_CASE("binary blocks in the paper's reading, where both ranks must be at a transfer") {
    const auto priced = [](rank_t p, std::uint64_t bytes) {
        return walk(bough::plan_allreduce(bough::binary_blocks{}, {.size = p}), rendezvous{net}, bytes, 8).makespan_ns;
    };
    // p = 3: 0 and 1 halve; then 2, which has been ready all the time, sends each its half; both halves
    // come back, one after the other, while 0 and 1 double after the first has left.
    const double half = 5000 + 4096, combine = 1024;
    CHECK(priced(3, 8192) == (half + combine) + half + half + combine + half + half);
    CHECK(walk(bough::plan_allreduce(bough::binary_blocks{}, {.size = 3}), net, 8192, 8).makespan_ns < priced(3, 8192));
    // The figure of doc/algorithms/alpha_beta_gamma.md.
    CHECK(priced(13, 65536) == Approx(316'000));
    CHECK(walk(bough::plan_allreduce(bough::binary_blocks{}, {.size = 13}), net, 65536, 8).makespan_ns ==
          Approx(235'464));
    double least = 2, most = 1;
    for (rank_t p = 3; p <= 40; ++p)
        for (const std::uint64_t bytes : {512u, 4096u, 65536u, 1u << 20}) { // no message is empty
            CAPTURE(p, bytes);
            const auto plan = bough::plan_allreduce(bough::binary_blocks{}, {.size = p});
            CHECK(walk(plan, rendezvous{net}, bytes, 8).makespan_ns == Approx(by_the_paper(plan, net, bytes, 8)));
            if ((p & (p - 1)) == 0) continue;
            const double share = priced(p, bytes) / walk(plan, net, bytes, 8).makespan_ns;
            least = std::min(least, share);
            most = std::max(most, share);
        }
    CHECK(least > 1.01);
    CHECK(most > 1.5);
}

TEST_CASE("the closed forms hold in both readings: no rank of these algorithms is early") {
    for (rank_t p = 2; p <= 40; ++p)
        for (const std::uint64_t bytes : {p * 64u, p * 1024u}) { // equal parts, as in the formulas
            CAPTURE(p, bytes);
            const bough::dimensions at{.size = p};
            const auto same = [&](const auto& plan) {
                const double strict = walk(plan, rendezvous{net}, bytes, 8).makespan_ns;
                CHECK(strict == walk(plan, net, bytes, 8).makespan_ns);
                CHECK(strict == Approx(by_the_paper(plan, net, bytes, 8)));
                return strict;
            };
            CHECK(same(bough::plan_allreduce(bough::ring{}, at)) == Approx(ring_allreduce_ns(net, p, bytes)));
            CHECK(same(bough::plan_allreduce(bough::recursive_doubling{}, at)) <=
                  recursive_doubling_allreduce_ns(net, p, bytes) * (1 + 1e-12));
            CHECK(same(bough::plan_allreduce(bough::halving_doubling{}, at)) > 0);
            CHECK(same(bough::plan_allreduce(bough::circulant{}, at)) == Approx(circulant_allreduce_ns(net, p, bytes)));
            CHECK(same(bough::plan_allreduce(bough::circulant{.ports = 2}, at)) > 0);
            CHECK(same(bough::plan_allreduce(bough::per_level{}, at)) > 0);
            CHECK(same(bough::plan_allreduce(bough::binomial{}, at)) == Approx(tree_allreduce_ns(net, p, bytes)));
            CHECK(same(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 7})) > 0);
            CHECK(same(bough::plan_broadcast(bough::double_tree{}, {.size = p, .blocks = 8})) > 0);
        }
}

TEST_CASE("with a late rank, between neighbours and from all to all both readings take the same time") {
    // So the figures of doc/papers/data that benchmark/figures/networks.cpp computes stand for both.
    const auto check = [&](const auto& plan, const auto& model, std::uint64_t bytes) {
        CAPTURE(plan.size(), plan.blocks(), bytes);
        const walk_result strict = walk(plan, rendezvous{model}, bytes);
        CHECK(!strict.deadlock());
        CHECK(strict.makespan_ns == Approx(walk(plan, model, bytes).makespan_ns));
    };
    for (const rank_t p : {2u, 5u, 8u, 13u, 24u, 48u}) {
        const bough::dimensions at{.size = p, .root = 1};
        std::vector<std::uint64_t> arrivals(p, 0);
        arrivals[1] = 10'000'000;
        for (const bough::block_t blocks : {1u, 8u, 64u})
            check(bough::plan_allreduce(bough::late_rank_allreduce{}, {.size = p, .root = 1, .blocks = blocks}),
                  arriving{net, arrivals}, 1 << 20);
        for (const std::uint64_t each : {8u, 1000u}) {
            check(bough::plan_alltoall(bough::pairwise_alltoall{}, at), net, each * p * p);
            for (const rank_t ports : {1u, 3u, 15u})
                check(bough::plan_alltoall(bough::bruck_alltoall{ports}, at), net, each * p * p);
        }
    }
    for (const auto& [grid, reach] : {std::pair{bough::grid_extents{8, 8}, 1},
                                      {bough::grid_extents{4, 4, 4}, 1},
                                      {bough::grid_extents{5, 5, 5}, 2}}) {
        const bough::grid_neighbours around{.extents = grid, .offsets = bough::box_offsets(grid.dimensions, reach)};
        rank_t ranks = 1;
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) ranks *= grid.extent[d];
        const bough::dimensions at{.size = ranks};
        for (const std::uint64_t each : {8u, 32768u}) {
            const auto both = [&](const auto& algorithm) {
                const auto alltoall = bough::plan_neighbour_alltoall(algorithm, around, at);
                const auto allgather = bough::plan_neighbour_allgather(algorithm, around, at);
                check(alltoall, net, each * alltoall.blocks());
                check(allgather, net, each * allgather.blocks());
            };
            both(bough::direct_neighbours{});
            both(bough::by_dimension{});
        }
    }
    std::vector<rank_t> node_of;
    for (rank_t r = 0; r != 64; ++r) node_of.push_back(r / 16);
    constexpr alpha_beta_gamma near{.alpha_ns = 300, .beta_ns_per_byte = 0.05};
    constexpr alpha_beta_gamma far{.alpha_ns = 2000, .beta_ns_per_byte = 0.1};
    for (const rank_t lanes : {1u, 4u, 16u})
        check(bough::plan_alltoall(bough::grouped_alltoall{bough::listed_groups(node_of), lanes}, {.size = 64}),
              two_level{near, far, node_of.data()}, 64 * 64 * 512);
}

TEST_CASE("a limit makes no plan faster, and one that no message exceeds changes nothing") {
    for (const rank_t p : {1u, 3u, 6u, 13u, 24u})
        for (const std::uint64_t bytes : {0u, 8u, 1000u}) {
            CAPTURE(p, bytes);
            const auto check = [&](const auto& plan, const auto& model) {
                CHECK(walk(plan, rendezvous{model, all_eager}, bytes) == walk(plan, model, bytes));
                CHECK(finish_times(plan, rendezvous{model, all_eager}, bytes) == finish_times(plan, model, bytes));
                double before = walk(plan, model, bytes).makespan_ns;
                for (const std::uint64_t limit : {1000u, 500u, 100u, 50u, 10u, 1u, 0u}) {
                    const walk_result strict = walk(plan, rendezvous{model, limit}, bytes);
                    CHECK(!strict.deadlock());
                    CHECK(strict.makespan_ns >= before);
                    before = strict.makespan_ns;
                }
            };
            const auto both = [&](const auto& plan) {
                check(plan, test::uneven{});
                check(plan, net);
                check(plan, loggops{.message_latency_ns = 70, .overhead = {75, 0.05}, .gap = {3, 0.1}});
            };
            both(bough::plan_allreduce(bough::binary_blocks{}, {.size = p}));
            both(bough::plan_allreduce(bough::ring{}, {.size = p}));
            both(bough::plan_allreduce(bough::tree_allreduce{bough::chain{}}, {.size = p, .blocks = 5}));
        }
}
