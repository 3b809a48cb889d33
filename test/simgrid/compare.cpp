// SPDX-License-Identifier: BSL-1.0
// bough's simulator beside SimGrid: the same schedules, costs and networks must end at the same time.
//
// A rank is an actor that does the steps of its schedule; a message travels on a mailbox of its channel that belongs to the
// receiver, so that it sets out at once; links are those of bough::network, one for each direction. Prints a table, and
// fails if two times differ by more than rounding. One time unit of SimGrid is one microsecond.
//
// One case is printed and not judged: a ring of 126 rounds on an irregular network. An infinitesimal shift of one time grows
// there by a factor of 1.4 a round, so that in the end the rounding of a double decides in which order flows end, and SimGrid
// differs from itself with another way to update flows. Its first 32 rounds are judged as the rest.
//
// What SimGrid must be told, to use the same model (its default, LV08, is calibrated for TCP):
//   network/model CM02, latency-factor and bandwidth-factor 1, weight-S 0   latency + bytes / bandwidth, nothing more
//   TCP-gamma large      no window that limits a flow to gamma / (2 latency)
//   crosstraffic 0       no acknowledgements on the way back
//   precisions 1e-9      not 1e-5
// Flows of one link share it in inverse proportion to their latencies; so the latency is on the cable out of each host
// only, and equal for all.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/lrc.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <list>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace s4u = simgrid::s4u;
using bough::rank_t;

constexpr double exact = 1e-6; // of the time: rounding
constexpr double not_judged = std::numeric_limits<double>::infinity();
constexpr double us = 1e-3; // a nanosecond in SimGrid's units here

// 2.5 us of latency, 0.3 us to take a message in, 1 us and 0.5 ns a byte to combine.
constexpr bough::model::lrc costs{
    .message_latency_ns = 2500, .receive = {300}, .combine = {1000, 0.5}, .startup_ns = 0, .copy = {}};

// Hosts on two switches, with one cable between.
bough::network dumbbell(std::uint32_t hosts, double bytes_per_ns) {
    bough::network made(hosts, 2);
    for (std::uint32_t h = 0; h != hosts; ++h) made.join(h, hosts + (h < hosts / 2 ? 0u : 1u), bytes_per_ns);
    made.join(hosts, hosts + 1, bytes_per_ns);
    made.route();
    return made;
}

// What a plan does until each rank has sent `rounds` messages and done what comes before the next.
template <class Plan>
struct first_rounds {
    const Plan& plan;
    std::size_t rounds = 0;

    static constexpr int goal() noexcept { return 0; }
    rank_t size() const { return plan.size(); }
    rank_t root() const { return plan.root(); }
    bough::block_t blocks() const { return plan.blocks(); }
    bough::block_t scratch(rank_t rank) const { return plan.scratch(rank); }
    void emit(rank_t rank, auto&& sink) const {
        bough::schedule all;
        plan.emit(rank, all);
        std::size_t sent = 0;
        for (const bough::step& s : all.steps) {
            if (s.verb == bough::verb::send && sent++ == rounds) return;
            bough::push_step(sink, s);
        }
    }
};

struct comparison {
    std::string what;
    rank_t ranks = 0;
    double bough_ns = 0;
    double simgrid_ns = 0; // when SimGrid's last rank has ended
    double tolerance = exact;
};

// One plan, for both. SimGrid runs all of them side by side, each in a zone of its own, since it runs once in a process.
class platform {
public:
    explicit platform(s4u::NetZone& root) : root_(root) {}

    template <class Plan>
    void add(const std::string& what, const Plan& plan, const bough::network& network, std::uint64_t bytes,
             double tolerance = exact) {
        const double bough_ns =
            bough::simulate(plan, costs, {.bytes = bytes, .element_bytes = 8, .network = &network, .in_turn = false})
                .makespan_ns;
        comparison& found = cases_.emplace_back(comparison{what, plan.size(), bough_ns, 0, tolerance});
        const std::string name = std::to_string(cases_.size());
        s4u::NetZone* const zone = s4u::create_full_zone("zone" + name)->set_parent(&root_);

        std::vector<s4u::Link*> links;
        for (const bough::network::link& l : network.links()) {
            const std::string link = name + ".link" + std::to_string(links.size());
            links.push_back(zone->create_link(link, l.bytes_per_ns / us)
                                ->set_latency(l.from < network.hosts() ? costs.message_latency_ns * us : 0)
                                ->seal());
        }
        std::vector<s4u::Host*> hosts;
        for (rank_t r = 0; r != plan.size(); ++r)
            hosts.push_back(zone->create_host(name + ".rank" + std::to_string(r), 1)->seal());

        const bough::model::block_sizes sizes(bytes, plan.blocks(), 8);
        std::map<std::pair<rank_t, rank_t>, bool> routed;
        for (rank_t r = 0; r != plan.size(); ++r) {
            bough::schedule steps;
            plan.emit(r, steps);
            for (const bough::step& s : steps.steps)
                if (s.verb == bough::verb::send && !std::exchange(routed[{r, s.peer}], true))
                    add_route(*zone, network, links, r, s.peer, hosts);
            const s4u::ActorPtr actor = s4u::Actor::create(name, hosts[r], [name, r, sizes, steps, &found] {
                run(name, r, sizes, steps);
                found.simgrid_ns = std::max(found.simgrid_ns, s4u::Engine::get_clock() / us);
            });
            // A mailbox that has a receiver takes messages that it has not asked for yet.
            for (const bough::step& s : steps.steps)
                if (s.verb == bough::verb::receive) channel(name, s.peer, r)->set_receiver(actor);
        }
        zone->seal();
    }

    const std::list<comparison>& cases() const { return cases_; }

private:
    static void add_route(s4u::NetZone& zone, const bough::network& network, const std::vector<s4u::Link*>& links,
                          rank_t from, rank_t to, const std::vector<s4u::Host*>& hosts) {
        std::vector<std::uint32_t> path;
        network.path(network.host_of(from), network.host_of(to), path);
        std::vector<s4u::LinkInRoute> route;
        for (const std::uint32_t l : path) route.emplace_back(links[l]);
        zone.add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, route, false);
    }

    static s4u::Mailbox* channel(const std::string& name, rank_t from, rank_t to) {
        return s4u::Mailbox::by_name(name + "." + std::to_string(from) + "." + std::to_string(to));
    }

    static void run(const std::string& name, rank_t me, const bough::model::block_sizes& sizes,
                    const bough::schedule& steps) {
        static int payload = 0;
        std::uint64_t bytes = 0;
        for (const bough::step& s : steps.steps) {
            if (s.communicates()) bytes += sizes.bytes_of(s.verb == bough::verb::send ? s.a : s.out);
            if (s.more) continue; // a message in parts
            switch (s.verb) {
            case bough::verb::send:
                channel(name, me, s.peer)->put_init(&payload, std::exchange(bytes, 0))->detach();
                break;
            case bough::verb::receive:
                channel(name, s.peer, me)->get<int>();
                s4u::this_actor::sleep_for(costs.receive_ns(s.peer, me, std::exchange(bytes, 0)) * us);
                break;
            case bough::verb::combine:
                s4u::this_actor::sleep_for(costs.combine_ns(me, sizes.bytes_of(s.out)) * us);
                break;
            case bough::verb::copy: break; // free in this model
            }
        }
    }

    s4u::NetZone& root_;
    std::list<comparison> cases_;
};

} // namespace

int main(int argc, char** argv) {
    s4u::Engine engine(&argc, argv);
    for (const char* setting :
         {"network/model:CM02", "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0",
          "network/TCP-gamma:1e30", "network/crosstraffic:0", "surf/precision:1e-9", "maxmin/precision:1e-9"})
        s4u::Engine::set_config(setting);
    s4u::NetZone* const root = s4u::create_full_zone("root");
    platform world(*root);

    for (const rank_t p : {4u, 13u, 64u}) {
        const bough::network crossbar = bough::network::crossbar(p, 1.0);
        const bough::dimensions at{.size = p};
        for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{64} << 10}) {
            const std::string where = ", " + std::string(bytes == 8 ? "8 B" : "64 KiB") + ", crossbar";
            world.add("binomial broadcast" + where, bough::plan_broadcast(bough::binomial{}, at), crossbar, bytes);
            world.add("4-nomial reduce" + where, bough::plan_reduce(bough::fnomial{.degree = 4}, at), crossbar, bytes);
            world.add("recursive doubling" + where, bough::plan_allreduce(bough::recursive_doubling{}, at), crossbar,
                      bytes);
            if (bytes != 8)
                world.add("ring allreduce" + where, bough::plan_allreduce(bough::ring{}, at), crossbar, bytes);
        }
    }
    // Links that many messages share.
    const std::uint64_t bytes = std::uint64_t{64} << 10;
    const auto shared = [&](const std::string& name, const bough::network& network, bool chaotic = false) {
        const bough::dimensions at{.size = network.hosts()};
        world.add("binomial broadcast, 64 KiB, " + name, bough::plan_broadcast(bough::binomial{}, at), network, bytes);
        world.add("4-nomial reduce, 64 KiB, " + name, bough::plan_reduce(bough::fnomial{.degree = 4}, at), network,
                  bytes);
        world.add("recursive doubling, 64 KiB, " + name, bough::plan_allreduce(bough::recursive_doubling{}, at),
                  network, bytes);
        const auto ring = bough::plan_allreduce(bough::ring{}, at);
        world.add("ring allreduce, 64 KiB, " + name, ring, network, bytes, chaotic ? not_judged : exact);
        if (chaotic) world.add("  its first 32 rounds", first_rounds<decltype(ring)>{ring, 32}, network, bytes);
    };
    shared("one cable between halves", dumbbell(16, 1.0));
    shared("4 x 4 torus", bough::network::torus({4, 4}, 1.0));
    shared("fat tree", bough::network::fat_tree(4, 3, 1.0));
    shared("irregular", bough::network::irregular(64, 16, 8, 50, 1, 1.0), true);

    root->seal();
    engine.run();

    std::printf("%-58s %6s %14s %14s %10s\n", "", "ranks", "bough, us", "SimGrid, us", "differ by");
    int wrong = 0;
    for (const comparison& c : world.cases()) {
        const double differ = std::abs(c.simgrid_ns - c.bough_ns) / c.bough_ns;
        std::printf("%-58s %6u %14.3f %14.3f %10.1e%s\n", c.what.c_str(), c.ranks, c.bough_ns / 1000,
                    c.simgrid_ns / 1000, differ,
                    c.tolerance == not_judged ? "  not judged"
                    : differ <= c.tolerance   ? ""
                                              : "  WRONG");
        wrong += !(differ <= c.tolerance);
    }
    return wrong == 0 ? 0 : 1;
}
