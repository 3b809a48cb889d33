// SPDX-License-Identifier: BSL-1.0
// Networks: what the generators build, that sharing is max-min fair, and what contention costs.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/detail/flows.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/simulate/statistics.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace test;
using bough::network;

static_assert(network::crossbar(4, 1).links().size() == 8);
static_assert(network::torus({2, 3}, 1).switches() == 6);

// The length of the path between two hosts, and that it is one.
std::size_t hops(const network& n, std::uint32_t a, std::uint32_t b) {
    std::vector<std::uint32_t> path;
    REQUIRE(n.path(a, b, path));
    std::uint32_t at = a;
    for (const std::uint32_t l : path) {
        REQUIRE(n.links()[l].from == at);
        at = n.links()[l].to;
    }
    REQUIRE(at == b);
    return path.size();
}

// How a child process ends that calls run(): 0, or the signal.
template <class F>
int end_of(F&& run) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL); // Catch2 has a handler of its own
        close(2);
        run();
        _exit(0);
    }
    int how = 0;
    waitpid(child, &how, 0);
    return WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how);
}

} // namespace

TEST_CASE("network: the generators build what they say") {
    const network fat = network::fat_tree(4, 3, 1);
    CHECK(fat.hosts() == 64);
    CHECK(fat.switches() == 48);
    CHECK(fat.links().size() == 2 * (64 + 2 * 64));
    for (std::uint32_t b = 1; b != 64; ++b) CHECK(hops(fat, 0, b) == (b < 4 ? 2 : b < 16 ? 4 : 6));

    const network torus = network::torus({4, 5, 2}, 1);
    CHECK(torus.hosts() == 40);
    for (std::uint32_t b = 0; b != 40; ++b) {
        const auto around = [](std::uint32_t d, std::uint32_t e) { return std::min(d, e - d); };
        CHECK(hops(torus, 0, b) == (b == 0 ? 0 : 2) + around(b % 4, 4) + around(b / 4 % 5, 5) + around(b / 20, 2));
    }

    const network fly = network::dragonfly(4, 2, 2, 1);
    CHECK(fly.hosts() == 9 * 4 * 2);
    CHECK(fly.switches() == 36);
    CHECK(fly.links().size() == 2 * (72 + 9 * 6 + 36));
    std::vector<int> cables(36, 0);
    for (const network::link& l : fly.links())
        if (l.from >= 72 && l.to >= 72 && (l.from - 72) / 4 != (l.to - 72) / 4) ++cables[l.from - 72];
    CHECK(std::count(cables.begin(), cables.end(), 2) == 36); // every router has its two global cables
    for (std::uint32_t b = 0; b != 72; ++b) CHECK(hops(fly, 5, b) <= 5);

    for (std::uint64_t seed = 1; seed != 20; ++seed) {
        const network now = network::irregular(64, 16, 8, 50, seed, 1);
        CHECK(now.hosts() == 64);
        std::vector<std::uint32_t> ports(16, 0);
        std::size_t between = 0;
        for (const network::link& l : now.links()) {
            if (l.from >= 64) ++ports[l.from - 64];
            between += l.from >= 64 && l.to >= 64;
        }
        CHECK(*std::max_element(ports.begin(), ports.end()) <= 8);
        CHECK(between / 2 <= 16); // half of the 64 free ports, two a cable
        CHECK(between / 2 >= 15);
        for (std::uint32_t b = 0; b != 64; ++b) hops(now, 0, b), hops(now, b, 17);
        CHECK(network::irregular(64, 16, 8, 50, seed, 1) == now);
        CHECK_FALSE(network::irregular(64, 16, 8, 50, seed + 100, 1) == now);
    }
}

TEST_CASE("network: cables of hosts, meshes, fat trees with fewer cables up, rails, sockets") {
    const auto speeds = [](const network& n, bool of_hosts) {
        std::map<double, int> count;
        for (const network::link& l : n.links())
            if ((l.from < n.hosts() || l.to < n.hosts()) == of_hosts) ++count[l.bytes_per_ns];
        return count;
    };
    const network torus = network::torus({4, 3}, 50, 200);
    CHECK(speeds(torus, true) == std::map<double, int>{{200, 24}});
    CHECK(speeds(torus, false) == std::map<double, int>{{50, 48}});
    CHECK(network::torus({4, 3}, 50) == network::torus({4, 3}, 50, 50));

    const network mesh = network::mesh({4, 5}, 2, 8);
    CHECK(mesh.links().size() == 2 * (20 + 3 * 5 + 4 * 4));
    for (std::uint32_t b = 1; b != 20; ++b) CHECK(hops(mesh, 0, b) == 2 + b % 4 + b / 4);

    // As many up as down is the tree of one number; the switches of each level are numbered alike.
    const network fat = network::fat_tree({4, 4, 4}, {1, 4, 4}, 1);
    CHECK(fat.hosts() == 64);
    CHECK(fat.switches() == 48);
    CHECK(fat.links().size() == 2 * (64 + 2 * 64));
    for (std::uint32_t b = 1; b != 64; ++b) CHECK(hops(fat, 0, b) == (b < 4 ? 2 : b < 16 ? 4 : 6));
    const network thin = network::fat_tree({8, 4}, {1, 2}, 1); // 8 hosts on a switch, 2 cables up
    CHECK(thin.hosts() == 32);
    CHECK(thin.switches() == 4 + 2);
    CHECK(thin.links().size() == 2 * (32 + 4 * 2));
    for (std::uint32_t b = 1; b != 32; ++b) CHECK(hops(thin, 0, b) == (b < 8 ? 2 : 4));

    const network rails = network::rails(3, 4, 25, 300);
    CHECK(rails.hosts() == 12);
    CHECK(speeds(rails, true) == std::map<double, int>{{300, 48}});
    CHECK(speeds(rails, false) == std::map<double, int>{{25, 24}, {300, 24}});
    for (std::uint32_t b = 1; b != 12; ++b) CHECK(hops(rails, 0, b) == (b < 4 ? 2 : b % 4 == 0 ? 4 : 5));

    const network sockets = network::sockets(3, 2, 4, 25, 40, 10);
    CHECK(sockets.hosts() == 24);
    CHECK(sockets.switches() == 7);
    for (std::uint32_t b = 1; b != 24; ++b) CHECK(hops(sockets, 0, b) == (b < 4 ? 2 : b < 8 ? 3 : b % 8 < 4 ? 4 : 5));
    CHECK(network::sockets(1, 2, 4, 25, 40, 10).switches() == 2);

    std::map<double, int> global = speeds(network::dragonfly(4, 2, 2, 1, 0.25), false);
    CHECK(global == std::map<double, int>{{1, 108}, {0.25, 72}});
}

TEST_CASE("network: what is wrong with one for so many ranks") {
    const auto sentence = [](const bough::status& s) { return std::string(s ? s.argument : ""); };
    network n(4, 1);
    for (std::uint32_t h = 0; h != 3; ++h) n.join(h, 4, 1);
    n.route();
    CHECK(sentence(n.check(3)).empty());
    CHECK(sentence(n.check(4)) == "network: not connected: there is no way between two hosts with ranks");
    n.placement = {2, 1, 0};
    CHECK(sentence(n.check(3)).empty());
    CHECK(sentence(n.check(4)) == "placement: must name a host of the network for each rank");
    n.placement = {2, 3};
    CHECK(sentence(n.check(2)) == "network: not connected: there is no way between two hosts with ranks");
    n.placement = {2, 5};
    CHECK(sentence(n.check(2)) == "placement: must name a host of the network for each rank");
    // Hosts forward nothing: 0 reaches both others over its two cables, and they do not reach each other.
    network star(3, 0);
    star.join(0, 1, 1);
    star.join(0, 2, 1);
    star.route();
    CHECK(sentence(star.check(2)).empty());
    CHECK(sentence(star.check(3)) == "network: not connected: there is no way between two hosts with ranks");
    star.placement = {1, 0, 1, 0};
    CHECK(sentence(star.check(4)).empty());
    star.placement = {1, 0, 1, 2};
    CHECK(sentence(star.check(4)) == "network: not connected: there is no way between two hosts with ranks");
    star.placement.clear();
    star.join(1, 2, 1);
    star.route();
    CHECK(sentence(star.check(3)).empty());
    n.placement.clear();
    n.hop_ns = -1;
    CHECK(sentence(n.check(2)) == "hop_ns: a time that is finite and not negative");
}

TEST_CASE("network: rates are max-min fair") {
    std::mt19937 random(3);
    for (int round = 0; round != 60; ++round) {
        const network n = round % 2 == 0
                              ? network::irregular(20, 6, 8, 50, static_cast<std::uint64_t>(round), 1 + round % 3)
                              : network::torus({3, 4}, 2);
        bough::detail::flows flows(n);
        std::vector<std::vector<std::uint32_t>> paths;
        for (std::uint32_t m = 0, count = 1 + static_cast<std::uint32_t>(random() % 25); m != count; ++m) {
            std::vector<std::uint32_t> path;
            const auto a = static_cast<std::uint32_t>(random() % n.hosts()),
                       b = static_cast<std::uint32_t>(random() % n.hosts());
            n.path(a, b, path);
            REQUIRE(flows.begin(m, path, 100, 0) == (a != b));
            paths.push_back(path);
        }
        // No link carries more than it can; each flow has a full link on its path where none has more
        // than it.
        std::vector<double> load(n.links().size(), 0), most(n.links().size(), 0);
        for (std::uint32_t m = 0; m != paths.size(); ++m)
            for (const std::uint32_t l : paths[m]) {
                load[l] += flows.rate_of(m);
                most[l] = std::max(most[l], flows.rate_of(m));
            }
        for (std::size_t l = 0; l != load.size(); ++l) REQUIRE(load[l] <= n.links()[l].bytes_per_ns * (1 + 1e-9));
        for (std::uint32_t m = 0; m != paths.size(); ++m) {
            bool held = paths[m].empty();
            for (const std::uint32_t l : paths[m])
                held |= load[l] >= n.links()[l].bytes_per_ns * (1 - 1e-9) && flows.rate_of(m) >= most[l] * (1 - 1e-9);
            REQUIRE(held);
        }
    }
}

TEST_CASE("network: two messages over one link take twice as long, over two links not") {
    // Two switches, two hosts on each, one cable between them.
    network n(4, 2);
    for (std::uint32_t h = 0; h != 4; ++h) n.join(h, 4 + h / 2, 1);
    n.join(4, 5, 1);
    n.route();
    const only_latency model{0};
    const auto run = [&](std::array<std::pair<rank_t, rank_t>, 2> pairs, std::array<block_t, 2> bytes) {
        listed_plan plan{.ranks = std::vector<bough::schedule>(4), .blocks_ = 1000};
        for (std::size_t i = 0; i != 2; ++i) {
            plan.ranks[pairs[i].first].send(pairs[i].second, {bough::output, 0, bytes[i]});
            plan.ranks[pairs[i].second].receive(pairs[i].first, {bough::output, 0, bytes[i]});
        }
        return bough::simulate(plan, model, {.bytes = 1000, .network = &n, .per_rank = true});
    };
    CHECK(run({{{0, 2}, {1, 3}}}, {1000, 1000}).makespan_ns == Approx(2000));
    CHECK(run({{{0, 1}, {2, 3}}}, {1000, 1000}).makespan_ns == Approx(1000));
    CHECK(run({{{0, 2}, {3, 1}}}, {1000, 1000}).makespan_ns == Approx(1000)); // the two directions of a cable
    // The short one ends at 200; the long one has moved 100 by then, and the rest at full speed.
    const auto uneven_run = run({{{0, 2}, {1, 3}}}, {1000, 100});
    CHECK(uneven_run.ranks[3].finish_ns == Approx(200));
    CHECK(uneven_run.ranks[2].finish_ns == Approx(1100));
    n.hop_ns = 5;
    CHECK(run({{{0, 1}, {2, 3}}}, {1000, 1000}).makespan_ns == Approx(1010));
    CHECK(run({{{0, 2}, {3, 1}}}, {1000, 1000}).makespan_ns == Approx(1015));
}

TEST_CASE("network: messages of one channel go one after the other, or side by side") {
    // Two messages of 1000 bytes over one link of 1 byte per ns, with a latency of 10 ns: the first comes
    // after 1010 ns if it has the link to itself, and both come after 2010.
    const network wire = network::crossbar(2, 1);
    const bough::model::lrc model{.message_latency_ns = 10};
    const auto plan = bough::plan_broadcast(bough::tree_broadcast{bough::chain{}}, {.size = 2, .blocks = 2});
    const auto received = [&](bool in_turn, step_order order) {
        return bough::simulate(plan, bough::model::lrc{.message_latency_ns = 10, .receive = {500, 0}},
                               {.bytes = 2000, .order = order, .network = &wire, .in_turn = in_turn})
            .makespan_ns;
    };
    for (const step_order order : {step_order::program, step_order::dependence}) {
        CHECK(received(true, order) == 2510);  // the first was received meanwhile
        CHECK(received(false, order) == 3010); // both are there at once
        CHECK(bough::simulate(plan, model, {.bytes = 0, .order = order, .network = &wire}).makespan_ns == 10);
        // A pipeline of 8 blocks over 5 ranks in a row fills once; side by side every rank waits for all
        // of them.
        const network row = network::mesh({5}, 1, 4);
        const auto chain = bough::plan_broadcast(bough::tree_broadcast{bough::chain{}}, {.size = 5, .blocks = 8});
        const auto took = [&](bool in_turn) {
            return bough::simulate(chain, bough::model::lrc{},
                                   {.bytes = 8000, .order = order, .network = &row, .in_turn = in_turn})
                .makespan_ns;
        };
        CHECK(took(true) == 8000 + 3 * 1000);
        CHECK(took(false) == 4 * 8000);
    }
}

namespace {

// Rank 0 sends five blocks to rank 1, and then one.
struct long_then_short {
    constexpr auto goal() const { return bough::goal::broadcast{}; }
    constexpr bough::rank_t size() const { return 2; }
    constexpr bough::rank_t root() const { return 0; }
    constexpr bough::block_t blocks() const { return 6; }
    constexpr bough::block_t scratch(bough::rank_t) const { return 0; }
    constexpr void emit(bough::rank_t rank, bough::StepSink auto&& sink) const {
        for (const bough::slice& s : {bough::slice{bough::output, 0, 5}, bough::slice{bough::output, 5, 1}})
            rank == 0 ? sink.send(1, {bough::input, s.first, s.count}) : sink.receive(0, s);
    }
};

} // namespace

TEST_CASE("network: a message that waits for its receive takes its turn behind one sent later") {
    // The long one sets out after 20 ns, when the answer to its notice is there; the short one has the link
    // then.
    const network wire = network::crossbar(2, 1);
    for (const step_order order : {step_order::program, step_order::dependence})
        for (const bool in_turn : {true, false}) {
            const bough::sim_result run = bough::simulate(
                long_then_short{}, bough::model::lrc{.message_latency_ns = 10},
                {.bytes = 6000, .order = order, .eager_bytes = 2000, .network = &wire, .in_turn = in_turn});
            CHECK(run.makespan_ns == Approx(6010));
        }
}

TEST_CASE("network: of several shortest ways, each is taken by about as many destinations") {
    const network fat = network::fat_tree(4, 3, 1);
    // From host 0 the 60 hosts of other leaf switches are behind the 4 up-links of its own; from there
    // the 48 of other groups behind the 4 of the switch above, whichever that is.
    std::map<std::uint32_t, int> first, second;
    for (std::uint32_t to = 4; to != 64; ++to) {
        std::vector<std::uint32_t> path;
        REQUIRE(fat.path(0, to, path));
        ++first[path[1]];
        if (to >= 16) ++second[path[2]];
    }
    CHECK(first.size() == 4);
    for (const auto& [link, taken] : first) CHECK(taken >= 60 / 4 / 2);
    CHECK(second.size() == 4 * 4);
}

TEST_CASE("network: a rank sends from the host where it is placed") {
    network n(4, 2); // as above: hosts 0 and 1 on one switch, 2 and 3 on the other
    for (std::uint32_t h = 0; h != 4; ++h) n.join(h, 4 + h / 2, 1);
    n.join(4, 5, 1);
    n.route();
    listed_plan plan{.ranks = std::vector<bough::schedule>(4), .blocks_ = 1000};
    for (const rank_t from : {0u, 1u}) {
        plan.ranks[from].send(from + 2, {bough::output, 0, 1000});
        plan.ranks[from + 2].receive(from, {bough::output, 0, 1000});
    }
    const auto run_ns = [&] {
        return bough::simulate(plan, only_latency{0}, {.bytes = 1000, .network = &n}).makespan_ns;
    };
    CHECK(run_ns() == Approx(2000)); // both cross
    n.placement = {0, 2, 1, 3};
    CHECK(run_ns() == Approx(1000)); // each has its switch
    n.placement = {3, 0, 1, 2};
    CHECK(run_ns() == Approx(1000)); // both cross, in opposite directions
    n.placement = {0, 0, 1, 1};
    CHECK(run_ns() == Approx(2000)); // from one host to one host
    n.placement = {2, 2, 2, 2, 77};
    CHECK(run_ns() == 0); // a host is no network; the entry too many is never used
}

TEST_CASE("network: a placement that leaves a rank without a host is refused") {
    network n = network::crossbar(4, 1);
    const auto run = [&] {
        (void)bough::simulate(bough::plan_broadcast(bough::chain{}, {.size = 4}), only_latency{0}, {.network = &n});
    };
    n.placement = {3, 2, 1, 0};
    CHECK(n.places(4));
    CHECK(end_of(run) == 0);
    n.placement = {3, 2, 1};
    CHECK_FALSE(n.places(4));
    CHECK(end_of(run) == SIGABRT);
    n.placement = {3, 2, 1, 4};
    CHECK_FALSE(n.places(4));
    CHECK(end_of(run) == SIGABRT);
    n.placement = {};
    CHECK(n.places(1000)); // round the hosts
}

TEST_CASE("network: generators refuse more vertices than can be numbered") {
    constexpr std::uint32_t many = 1u << 16;
    CHECK(end_of([&] { (void)network::rails(many, many, 1, 1); }) == SIGABRT);
    CHECK(end_of([&] { (void)network::rails(54161, 79300, 1, 1); }) == SIGABRT);   // 2^32 + 4 hosts
    CHECK(end_of([&] { (void)network::rails(many, many - 1, 1, 1); }) == SIGABRT); // the hosts alone could be
    CHECK(end_of([&] { (void)network::dragonfly(many, 1, many, 1); }) == SIGABRT);
    CHECK(end_of([&] { (void)network::dragonfly(2, 0x8000'0001, 1, 1); }) == SIGABRT); // 3 * 2^32 + 6
    CHECK(end_of([&] { (void)network::fat_tree(2, 33, 1); }) == SIGABRT);
    CHECK(end_of([&] { (void)network::fat_tree(many, 3, 1); }) == SIGABRT);
    CHECK(end_of([&] { (void)network::sockets(many, many, 1, 1, 1, 1); }) == SIGABRT);
    CHECK(end_of([&] { (void)network::sockets(1, 2, 0x8000'0001, 1, 1, 1); }) == SIGABRT); // 2^32 + 2
    CHECK(end_of([&] { (void)network::rails(2, 2, 1, 1); }) == 0);
    CHECK(network::fat_tree(5, 1, 1).hosts() == 5);
}

TEST_CASE("network: cables are as slow or as fast as the bounds say, and runs over them end") {
    constexpr double slow = network::least_speed, fast = network::most_speed;
    const auto run = [](const network& n) {
        const auto made = bough::simulate(bough::plan_broadcast(bough::chain{}, {.size = n.hosts()}), only_latency{0},
                                          {.bytes = 1000, .network = &n});
        CHECK_FALSE(made.deadlock());
        return made.makespan_ns;
    };
    CHECK(run(network::crossbar(3, slow)) == Approx(2000 / slow));
    CHECK(run(network::crossbar(3, fast)) == Approx(2000 / fast));
    network both(3, 1);
    both.join(0, 3, slow);
    both.join(1, 3, fast);
    both.join(2, 3, fast);
    both.route();
    CHECK(run(both) == Approx(1000 / slow));
    // Shared by many flows.
    const auto star = bough::plan_broadcast(bough::flat{}, {.size = 40});
    for (const double speed : {slow, fast}) {
        const network n = network::crossbar(40, speed);
        CHECK(bough::simulate(star, only_latency{0}, {.bytes = 1000, .network = &n}).makespan_ns ==
              Approx(39'000 / speed));
    }
    for (const double bad : {0.0, -1.0, slow / 2, fast * 2, 1e302, 1e-300, 5e-324,
                             std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        CAPTURE(bad);
        CHECK_FALSE(network::is_speed(bad));
        CHECK(end_of([&] { (void)network::crossbar(2, bad); }) == SIGABRT);
    }
    CHECK((network::is_speed(slow) && network::is_speed(fast)));
}

TEST_CASE("network: alone, a message over a crossbar takes its bytes and its latency") {
    const network n = network::crossbar(8, 2);
    const bough::model::lrc model{.message_latency_ns = 100, .receive = {10}, .startup_ns = 3};
    CHECK(bough::simulate(bough::plan_broadcast(bough::chain{}, {.size = 8}), model, {.bytes = 4000, .network = &n})
              .makespan_ns == Approx(3 + 7 * (2000 + 100 + 10)));
}

TEST_CASE("sample: percentiles, deviation, histogram") {
    std::vector<double> values;
    for (int i = 100; i != 0; --i) values.push_back(i);
    const bough::sample s(values);
    CHECK(s.percentile(0) == 1);
    CHECK(s.percentile(50) == 50);
    CHECK(s.percentile(99) == 99);
    CHECK(s.percentile(99.5) == 100);
    CHECK(s.mean() == Approx(50.5));
    CHECK(s.deviation() == Approx(29.0115).epsilon(1e-5));
    const auto bins = s.histogram(4);
    REQUIRE(bins.size() == 4);
    std::size_t all = 0;
    for (const auto& b : bins) all += b.count;
    CHECK(all == 100);
    CHECK(bins[3].count == 25);
    CHECK(bough::sample({1, 2, 4, 8, 9}).share_within(2) == 2 / 5.0);
    CHECK(bough::sample({1, 2, 4, 8, 9}).share_within(3) == 3 / 5.0);
    CHECK(bough::sample({1, 2, 4, 8, 9}).share_within(0) == 1 / 5.0);
    CHECK(s.without_highest(1).most() == 99);
    CHECK(s.without_highest(0).most() == 100);
    CHECK(bough::sample({5, 6, 7}).without_highest(10).size() == 3);
    CHECK(bough::sample({5, 6, 7}).without_highest(100).most() == 5);
    CHECK(bough::sample({7, 7}).histogram(3)[0].count == 0); // no width: the last bin has all
}
