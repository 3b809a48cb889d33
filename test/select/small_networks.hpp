// SPDX-License-Identifier: BSL-1.0
// Fifty connected networks of 2 to 6 hosts, for what must hold on all of them. Speeds are bytes per ns.
#ifndef BOUGH_TEST_SELECT_SMALL_NETWORKS_HPP
#define BOUGH_TEST_SELECT_SMALL_NETWORKS_HPP

#include <bough/core/random.hpp>
#include <bough/simulate/network.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test {

struct small_network {
    std::string name;
    bough::network over;
};

struct cable {
    std::uint32_t a = 0, b = 0;
    double speed = 10;
};
// Any cables; the vertices from `hosts` on are switches.
inline bough::network of_cables(std::uint32_t hosts, std::uint32_t switches, const std::vector<cable>& cables) {
    bough::network made(hosts, switches);
    for (const cable& c : cables) made.join(c.a, c.b, c.speed);
    made.route();
    return made;
}
// Each host has a switch of its own, with a cable as fast as all that the switch has to others, and the
// cables join the switches: so hosts seem to be joined themselves, and messages pass through them.
inline bough::network joined_hosts(std::uint32_t hosts, std::vector<cable> cables) {
    std::vector<double> sum(hosts, 0);
    for (cable& c : cables) {
        sum[c.a] += c.speed, sum[c.b] += c.speed;
        c.a += hosts, c.b += hosts;
    }
    for (std::uint32_t h = 0; h != hosts; ++h) cables.push_back({h, hosts + h, sum[h]});
    return of_cables(hosts, hosts, cables);
}
inline bough::network star(const std::vector<double>& speeds) {
    const auto hosts = static_cast<std::uint32_t>(speeds.size());
    std::vector<cable> cables;
    for (std::uint32_t h = 0; h != hosts; ++h) cables.push_back({h, hosts, speeds[h]});
    return of_cables(hosts, 1, cables);
}
// All pairs of hosts, without some.
inline bough::network complete(std::uint32_t hosts, const std::vector<cable>& without = {}) {
    std::vector<cable> cables;
    for (std::uint32_t a = 0; a != hosts; ++a)
        for (std::uint32_t b = a + 1; b != hosts; ++b)
            if (std::none_of(without.begin(), without.end(), [&](const cable& c) { return c.a == a && c.b == b; }))
                cables.push_back({a, b});
    return joined_hosts(hosts, cables);
}
// A random tree of cables and some more, of speeds 1 to 20.
inline bough::network random_network(std::uint32_t hosts, std::uint32_t more, std::uint64_t seed) {
    bough::random_sequence random(seed, 0x736d'616c, 0);
    const auto speed = [&] { return static_cast<double>(1 + random.below(20)); };
    std::vector<cable> cables;
    for (std::uint32_t h = 1; h != hosts; ++h)
        cables.push_back({static_cast<std::uint32_t>(random.below(h)), h, speed()});
    for (std::uint32_t i = 0; i != more; ++i) {
        const auto a = static_cast<std::uint32_t>(random.below(hosts));
        const auto b = static_cast<std::uint32_t>(random.below(hosts));
        if (a != b) cables.push_back({a, b, speed()});
    }
    return joined_hosts(hosts, cables);
}

inline std::vector<small_network> small_networks() {
    using bough::network;
    return {
        {"ring of 3", network::torus({3}, 10, 20)},
        {"ring of 4", network::torus({4}, 10, 20)},
        {"ring of 5", network::torus({5}, 10, 20)},
        {"ring of 6", network::torus({6}, 10, 20)},
        {"ring of 6, slow hosts", network::torus({6}, 10, 10)},
        {"ring of 6, a cable of half the speed", joined_hosts(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0, 5}})},
        {"ring of 5, cables of 5 to 25", joined_hosts(5, {{0, 1, 5}, {1, 2, 10}, {2, 3, 15}, {3, 4, 20}, {4, 0, 25}})},
        {"line of 2", network::mesh({2}, 10, 10)},
        {"line of 3", network::mesh({3}, 10, 20)},
        {"line of 4", network::mesh({4}, 10, 20)},
        {"line of 5", network::mesh({5}, 10, 20)},
        {"line of 6", network::mesh({6}, 10, 20)},
        {"switch of 3", network::crossbar(3, 10)},
        {"switch of 4", network::crossbar(4, 10)},
        {"switch of 5", network::crossbar(5, 10)},
        {"switch of 6", network::crossbar(6, 10)},
        {"switch, a slow host", star({10, 10, 10, 10, 10, 5})},
        {"switch, a slow root", star({5, 10, 10, 10, 10, 10})},
        {"switch, a fast root", star({40, 10, 10, 10, 10})},
        {"switch, speeds 40 20 10 5", star({40, 20, 10, 5})},
        {"switch, two speeds", star({25, 50, 25, 50, 25, 50})},
        {"mesh of 2 x 2", network::mesh({2, 2}, 10, 20)},
        {"mesh of 2 x 3", network::mesh({2, 3}, 10, 30)},
        {"mesh of 2 x 3, slow hosts", network::mesh({2, 3}, 10, 10)},
        {"torus of 3 x 2", network::torus({3, 2}, 10, 30)},
        {"torus of 3 x 2, slow hosts", network::torus({3, 2}, 10, 10)},
        {"complete of 4", complete(4)},
        {"complete of 5", complete(5)},
        {"complete of 6", complete(6)},
        {"complete of 5, a cable missing", complete(5, {{0, 1}})},
        {"octahedron", complete(6, {{0, 1}, {2, 3}, {4, 5}})},
        {"complete of 4, six speeds",
         joined_hosts(4, {{0, 1, 1}, {0, 2, 2}, {0, 3, 3}, {1, 2, 4}, {1, 3, 5}, {2, 3, 6}})},
        {"tree of 2 x 3, a third up", network::fat_tree({3, 2}, {1, 1}, 10)},
        {"tree of 2 x 3, two thirds up", network::fat_tree({3, 2}, {1, 2}, 10)},
        {"tree of 3 x 2, half up", network::fat_tree({2, 3}, {1, 1}, 10)},
        {"tree of 2 x 2, all up", network::fat_tree({2, 2}, {1, 2}, 10)},
        {"tree of 4 and 2", of_cables(6, 2, {{0, 6}, {1, 6}, {2, 6}, {3, 6}, {4, 7}, {5, 7}, {6, 7, 15}})},
        {"spider of three legs", joined_hosts(6, {{0, 1}, {1, 2}, {0, 3}, {3, 4}, {0, 5}})},
        {"binary tree of hosts", joined_hosts(6, {{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}})},
        {"dragonfly of 3 x 2", network::dragonfly(2, 1, 1, 10, 5)},
        {"rails of 2 x 2", network::rails(2, 2, 10, 30)},
        {"rails of 2 x 3", network::rails(2, 3, 10, 30)},
        {"rails of 3 x 2", network::rails(3, 2, 10, 40)},
        {"node of 2 sockets", network::sockets(1, 2, 3, 1, 5, 10)},
        {"2 nodes of 3 cores", network::sockets(2, 1, 3, 5, 8, 10)},
        {"3 nodes of 2 sockets", network::sockets(3, 2, 1, 5, 8, 10)},
        {"irregular switches", network::irregular(6, 3, 6, 80, 2, 10)},
        {"random of 4", random_network(4, 3, 1)},
        {"random of 5", random_network(5, 4, 2)},
        {"random of 6", random_network(6, 5, 3)},
    };
}

} // namespace test

#endif
