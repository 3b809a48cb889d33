// SPDX-License-Identifier: BSL-1.0
// network: hosts and switches, joined by links that messages share; a value for the simulator.
//
// Vertices 0 .. hosts-1 are hosts, the others switches. A cable is two links, one per direction. A
// message takes a shortest path, the same one every time. If there are several, the choice is
// spread over destinations, and does not depend on the machine.
// Messages under way on one link share it fairly (max-min): bough/simulate/detail/flows.hpp. Those from
// one rank to another go one after the other (sim_options::in_turn).
//
//   network::crossbar(64, 1.0)                   one switch: hosts share their own cable only. Speeds
//                                                in bytes per ns
//   network::fat_tree(4, 3, 1.0)                 3 levels of switches with 4 ports down and as many up:
//                                                64 hosts
//   network::fat_tree({8, 8}, {1, 4}, 1.0)       8 hosts on each of 8 switches, which have 4 cables up:
//                                                2 to 1
//   network::torus({4, 4, 4}, 1.0, 6.0)          a switch per host, joined to its neighbours; the
//                                                host's cable: 6.0
//   network::mesh({4, 6}, 1.0, 4.0)              the same without the cables that close the rings
//   network::dragonfly(4, 2, 2, 1.0)             routers per group, hosts per router, global cables per
//                                                router
//   network::rails(4, 8, 1.0, 6.0)               4 nodes of 8 hosts with a card each; card c of all
//                                                nodes on switch c
//   network::sockets(4, 2, 16, 1.0, 8.0, 2.0)    4 nodes of 2 sockets of 16 hosts; a node has one card
//   network::irregular(64, 16, 8, 50, seed, 1.0) Banikazemi et al. 1998: hosts on random 8-port switches,
//   half of the other
//                                                ports joined at random
// A host sends and receives through its own cable. A machine with several ports has a cable that is
// as fast as all of them: a torus of D dimensions serves 2 D links at once with host_speed = 2 D links.
#ifndef BOUGH_SIMULATE_NETWORK_HPP
#define BOUGH_SIMULATE_NETWORK_HPP

#include <bough/core/contract.hpp>
#include <bough/core/random.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

class network {
public:
    static constexpr std::uint32_t nowhere = 0xffff'ffffu;
    struct link {
        std::uint32_t from = 0, to = 0;
        double bytes_per_ns = 1;
        friend constexpr bool operator==(const link&, const link&) = default;
    };

    // Pre: hosts >= 1.
    constexpr network(std::uint32_t hosts, std::uint32_t switches) : hosts_(hosts), vertices_(hosts + switches) {
        BOUGH_EXPECTS(hosts >= 1, "hosts: a network needs at least one");
        BOUGH_EXPECTS(switches <= nowhere - 1 - hosts, "switches: too many for a network");
    }

    // The slowest and the fastest cable, in bytes per ns. Far beyond any there is; and no time that a run
    // computes with them is infinite or rounded to 0.
    static constexpr double least_speed = 1e-30, most_speed = 1e30;
    static constexpr bool is_speed(double bytes_per_ns) noexcept {
        return bytes_per_ns >= least_speed && bytes_per_ns <= most_speed;
    }

    // Lays a cable between two vertices. Pre: is_speed(bytes_per_ns).
    constexpr void join(std::uint32_t a, std::uint32_t b, double bytes_per_ns) {
        BOUGH_EXPECTS(a < vertices_ && b < vertices_ && a != b, "join: needs two vertices of the network");
        BOUGH_EXPECTS(is_speed(bytes_per_ns), "join: a cable has a speed from 1e-30 to 1e30 bytes per ns");
        links_.push_back({a, b, bytes_per_ns});
        links_.push_back({b, a, bytes_per_ns});
        towards_.clear();
    }

    constexpr std::uint32_t hosts() const noexcept { return hosts_; }
    constexpr std::uint32_t switches() const noexcept { return vertices_ - hosts_; }
    constexpr const std::vector<link>& links() const noexcept { return links_; }

    double hop_ns = 0; // what each link of a path adds
    // Of a torus or a mesh: host h is at h modulo the first in the first dimension.
    std::vector<std::uint32_t> extents{};
    std::vector<std::uint32_t> placement{}; // the host of each rank; empty: rank r on host r modulo hosts
    // Pre: places(rank + 1).
    constexpr std::uint32_t host_of(rank_t rank) const noexcept {
        return placement.empty() ? rank % hosts_ : placement[rank];
    }
    // Does every one of `ranks` ranks have a host?
    constexpr bool places(rank_t ranks) const noexcept {
        if (placement.empty()) return true;
        if (placement.size() < ranks) return false;
        for (rank_t r = 0; r != ranks; ++r)
            if (placement[r] >= hosts_) return false;
        return true;
    }

    // What is wrong with the network for so many ranks, if anything. Pre: route() was called.
    constexpr status check(rank_t ranks) const {
        if (!(hop_ns >= 0 && hop_ns < std::numeric_limits<double>::infinity()))
            return invalid_argument("hop_ns: a time that is finite and not negative");
        if (!extents.empty()) {
            std::uint64_t product = 1;
            for (const std::uint32_t e : extents) product = product > hosts_ ? product : product * e;
            if (product != hosts_) return invalid_argument("extents: their product is not the number of hosts");
        }
        if (!places(ranks)) return invalid_argument("placement: must name a host of the network for each rank");
        BOUGH_EXPECTS(!towards_.empty(), "network: call route() when the last cable is laid");
        if (!joins_all(hosts_with(ranks)))
            return invalid_argument("network: not connected: there is no way between two hosts with ranks");
        return {};
    }

    // Finds all paths. Call it when the last cable is laid; the generators below have.
    constexpr void route() {
        std::vector<std::vector<std::uint32_t>> into(vertices_);
        for (std::uint32_t l = 0; l != links_.size(); ++l) into[links_[l].to].push_back(l);
        towards_.clear();
        towards_.resize(std::size_t{hosts_} * vertices_, std::uint32_t{nowhere});
        std::vector<std::uint32_t> open, distance;
        for (std::uint32_t host = 0; host != hosts_; ++host) {
            std::uint32_t* const next = towards_.data() + std::size_t{host} * vertices_;
            distance.clear();
            distance.resize(vertices_, std::uint32_t{nowhere});
            open.clear();
            open.push_back(host);
            distance[host] = 0;
            for (std::size_t i = 0; i != open.size(); ++i) {
                const std::uint32_t v = open[i];
                if (v != host && v < hosts_) continue; // hosts forward nothing
                for (const std::uint32_t l : into[v]) {
                    const std::uint32_t u = links_[l].from;
                    if (distance[u] == nowhere) {
                        distance[u] = distance[v] + 1;
                        open.push_back(u);
                    }
                    // Among several shortest ways, take the one whose number, mixed with the
                    // destination, is least.
                    if (distance[u] == distance[v] + 1 &&
                        (next[u] == nowhere ||
                         mix_bits(std::uint64_t{host} << 32 | l) < mix_bits(std::uint64_t{host} << 32 | next[u])))
                        next[u] = l;
                }
            }
        }
    }

    // Appends the links from host to host. False if there is no way. Pre: route() was called.
    constexpr bool path(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const {
        BOUGH_EXPECTS(!towards_.empty(), "network: call route() when the last cable is laid");
        for (std::uint32_t at = from; at != to; at = links_[links.back()].to) {
            const std::uint32_t l = towards_[std::size_t{to} * vertices_ + at];
            if (l == nowhere) return false;
            links.push_back(l);
        }
        return true;
    }

    // --- generators ---

    static constexpr network crossbar(std::uint32_t hosts, double bytes_per_ns) {
        network n(hosts, 1);
        for (std::uint32_t h = 0; h != hosts; ++h) n.join(h, hosts, bytes_per_ns);
        n.route();
        return n;
    }

    // A k-ary n-tree (Petrini and Vanneschi 1997): k^levels hosts, levels * k^(levels-1) switches, full
    // bisection.
    static constexpr network fat_tree(std::uint32_t k, std::uint32_t levels, double bytes_per_ns) {
        BOUGH_EXPECTS(k >= 2 && levels >= 1, "fat_tree: needs 2 ports down and 1 level at least");
        std::uint32_t per_level = 1;
        for (std::uint32_t l = 1; l != levels; ++l) per_level = product(per_level, k);
        const std::uint32_t hosts = product(per_level, k);
        network n(hosts, product(levels, per_level));
        for (std::uint32_t h = 0; h != hosts; ++h) n.join(h, hosts + h / k, bytes_per_ns);
        // Switch w of level l is joined to those of level l + 1 whose number differs in digit l only.
        std::uint32_t weight = 1;
        for (std::uint32_t l = 0; l + 1 < levels; ++l, weight *= k)
            for (std::uint32_t w = 0; w != per_level; ++w) {
                const std::uint32_t without = w - w / weight % k * weight;
                for (std::uint32_t digit = 0; digit != k; ++digit)
                    n.join(hosts + l * per_level + w, hosts + (l + 1) * per_level + without + digit * weight,
                           bytes_per_ns);
            }
        n.route();
        return n;
    }

    // An extended generalised fat tree (Oehring et al. 1995). A switch of level l joins down[l]
    // vertices of the level below, each of which has up[l] such cables; hosts are level 0. The
    // product of `down` is the number of hosts. All cables have one speed, so fewer cables up than
    // down are oversubscription: {8, 8}, {1, 4} has half the bandwidth above the first switches.
    // Pre: as many `up` as `down`, none 0.
    static constexpr network fat_tree(const std::vector<std::uint32_t>& down, const std::vector<std::uint32_t>& up,
                                      double bytes_per_ns) {
        BOUGH_EXPECTS(!down.empty() && down.size() == up.size(), "fat_tree: as many numbers up as down, one at least");
        // A vertex of level l has one digit for each level: of `up` below l, of `down` from l on.
        const std::size_t levels = down.size();
        std::vector<std::uint32_t> first(levels + 2, 0);
        const auto digits = [&](std::size_t level, std::size_t i) { return i < level ? up[i] : down[i]; };
        for (std::size_t l = 0; l <= levels; ++l) {
            std::uint64_t count = 1;
            for (std::size_t i = 0; i != levels; ++i) count *= digits(l, i);
            BOUGH_EXPECTS(count >= 1 && first[l] + count < nowhere, "fat_tree: numbers from 1 on, and not too large");
            first[l + 1] = first[l] + static_cast<std::uint32_t>(count);
        }
        network n(first[1], first[levels + 1] - first[1]);
        for (std::size_t l = 0; l != levels; ++l)
            for (std::uint32_t v = 0; v != first[l + 1] - first[l]; ++v) {
                // Digit l of v, of `down`, gives place to one of `up`; the others stay.
                std::uint32_t below = 1;
                for (std::size_t i = 0; i != l; ++i) below *= up[i];
                const std::uint32_t low = v % below, high = v / below / down[l];
                for (std::uint32_t digit = 0; digit != up[l]; ++digit)
                    n.join(first[l] + v, first[l + 1] + low + (digit + high * up[l]) * below, bytes_per_ns);
            }
        n.route();
        return n;
    }

    // host_bytes_per_ns: the speed of a host's own cable; 0: as the others.
    static constexpr network torus(const std::vector<std::uint32_t>& extents, double bytes_per_ns,
                                   double host_bytes_per_ns = 0) {
        return grid(extents, bytes_per_ns, host_bytes_per_ns, true);
    }
    static constexpr network mesh(const std::vector<std::uint32_t>& extents, double bytes_per_ns,
                                  double host_bytes_per_ns = 0) {
        return grid(extents, bytes_per_ns, host_bytes_per_ns, false);
    }

    // Each node has a switch inside that joins its hosts and its cards, at the inner speed. Each host
    // has a card of its own, and card c of every node is joined to switch c, at the card's speed. A
    // message to card c of another node leaves through the sender's card c, or enters through the
    // receiver's.
    static constexpr network rails(std::uint32_t nodes, std::uint32_t cards, double card_bytes_per_ns,
                                   double inner_bytes_per_ns) {
        BOUGH_EXPECTS(nodes >= 1 && cards >= 1, "rails: a node and a card at least");
        const std::uint32_t hosts = product(nodes, cards);
        network n(hosts, sum(sum(hosts, nodes), cards));
        const std::uint32_t card = hosts, inside = card + hosts, rail = inside + nodes;
        for (std::uint32_t h = 0; h != hosts; ++h) {
            n.join(h, inside + h / cards, inner_bytes_per_ns);
            n.join(h, card + h, inner_bytes_per_ns);
            n.join(card + h, inside + h / cards, inner_bytes_per_ns);
            n.join(card + h, rail + h % cards, card_bytes_per_ns);
        }
        n.route();
        return n;
    }

    // Each socket joins its hosts (cores); the sockets of a node are joined in pairs; the first
    // socket of a node has its card, which is joined to one switch for all nodes.
    static constexpr network sockets(std::uint32_t nodes, std::uint32_t sockets_per_node, std::uint32_t cores,
                                     double card_bytes_per_ns, double between_bytes_per_ns, double core_bytes_per_ns) {
        BOUGH_EXPECTS(nodes >= 1 && sockets_per_node >= 1 && cores >= 1,
                      "sockets: a node, a socket and a core at least");
        const std::uint32_t all = product(nodes, sockets_per_node), hosts = product(all, cores);
        network n(hosts, all + (nodes > 1 ? 1 : 0));
        for (std::uint32_t h = 0; h != hosts; ++h) n.join(h, hosts + h / cores, core_bytes_per_ns);
        for (std::uint32_t node = 0; node != nodes; ++node) {
            const std::uint32_t socket = hosts + node * sockets_per_node;
            for (std::uint32_t a = 0; a != sockets_per_node; ++a)
                for (std::uint32_t b = a + 1; b != sockets_per_node; ++b)
                    n.join(socket + a, socket + b, between_bytes_per_ns);
            if (nodes > 1) n.join(socket, hosts + all, card_bytes_per_ns);
        }
        n.route();
        return n;
    }

    // The largest dragonfly of these parameters (Kim et al. 2008): routers * global + 1 groups,
    // with one cable between each pair of groups.
    // global_bytes_per_ns: the speed of the cables between groups; 0: as the others.
    static constexpr network dragonfly(std::uint32_t routers, std::uint32_t hosts_per_router, std::uint32_t global,
                                       double bytes_per_ns, double global_bytes_per_ns = 0) {
        const std::uint32_t groups = sum(product(routers, global), 1);
        const std::uint32_t hosts = product(product(groups, routers), hosts_per_router);
        network n(hosts, product(groups, routers));
        const auto router = [&](std::uint32_t group, std::uint32_t r) { return hosts + group * routers + r; };
        for (std::uint32_t h = 0; h != hosts; ++h) n.join(h, hosts + h / hosts_per_router, bytes_per_ns);
        for (std::uint32_t g = 0; g != groups; ++g) {
            for (std::uint32_t a = 0; a != routers; ++a)
                for (std::uint32_t b = a + 1; b != routers; ++b) n.join(router(g, a), router(g, b), bytes_per_ns);
            for (std::uint32_t other = g + 1; other != groups; ++other)
                n.join(router(g, (other - g - 1) / global), router(other, (groups - (other - g) - 1) / global),
                       global_bytes_per_ns == 0 ? bytes_per_ns : global_bytes_per_ns);
        }
        n.route();
        return n;
    }

    // Hosts are dealt to the switches in random order, as evenly as possible. Of the ports left,
    // `percent` of 100 are joined at random: first in a random tree, so that every host reaches
    // every other.
    static constexpr network irregular(std::uint32_t hosts, std::uint32_t switches, std::uint32_t ports,
                                       std::uint32_t percent, std::uint64_t seed, double bytes_per_ns) {
        BOUGH_EXPECTS(switches >= 1 && percent <= 100, "irregular: needs a switch, and at most 100 percent");
        network n(hosts, switches);
        random_sequence random(seed, 0x6e65'7477, 0);
        const auto shuffled = [&](std::uint32_t size) {
            std::vector<std::uint32_t> order;
            for (std::uint32_t i = 0; i != size; ++i) {
                order.push_back(i);
                std::swap(order[i], order[static_cast<std::size_t>(random.below(i + 1))]);
            }
            return order;
        };
        std::vector<std::uint32_t> left;
        for (std::uint32_t s = 0; s != switches; ++s) left.push_back(ports);
        const std::vector<std::uint32_t> seats = shuffled(hosts);
        for (std::uint32_t h = 0; h != hosts; ++h) {
            BOUGH_EXPECTS(left[seats[h] % switches] != 0, "irregular: too few ports for the hosts");
            n.join(h, hosts + seats[h] % switches, bytes_per_ns);
            --left[seats[h] % switches];
        }
        std::uint32_t free = 0;
        for (const std::uint32_t l : left) free += l;
        std::uint32_t wanted = free * percent / 200;
        const std::vector<std::uint32_t> order = shuffled(switches);
        for (std::uint32_t i = 1; i < switches; ++i) {
            std::uint32_t to = static_cast<std::uint32_t>(random.below(i));
            while (left[order[to]] == 0) to = (to + 1) % i;
            BOUGH_EXPECTS(left[order[i]] != 0, "irregular: a switch has no port left for its neighbours");
            n.join(hosts + order[i], hosts + order[to], bytes_per_ns);
            --left[order[i]], --left[order[to]];
            if (wanted != 0) --wanted;
        }
        for (std::uint32_t tries = 0; wanted != 0 && tries != 64 * switches; ++tries) {
            const std::uint32_t a = static_cast<std::uint32_t>(random.below(switches));
            const std::uint32_t b = static_cast<std::uint32_t>(random.below(switches));
            if (a == b || left[a] == 0 || left[b] == 0) continue;
            n.join(hosts + a, hosts + b, bytes_per_ns);
            --left[a], --left[b], --wanted;
        }
        n.route();
        return n;
    }

    friend constexpr bool operator==(const network&, const network&) = default;

private:
    // Of numbers of vertices.
    static constexpr std::uint32_t numbered(std::uint64_t vertices) {
        BOUGH_EXPECTS(vertices < nowhere, "network: more vertices than can be numbered");
        return static_cast<std::uint32_t>(vertices);
    }
    static constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) { return numbered(std::uint64_t{a} * b); }
    static constexpr std::uint32_t sum(std::uint32_t a, std::uint32_t b) { return numbered(std::uint64_t{a} + b); }

    static constexpr network grid(const std::vector<std::uint32_t>& extents, double bytes_per_ns,
                                  double host_bytes_per_ns, bool closed) {
        std::uint64_t hosts = 1;
        for (const std::uint32_t e : extents) {
            hosts *= e;
            BOUGH_EXPECTS(e >= 1 && hosts < nowhere / 2, "extents: numbers from 1 on, and not too large");
        }
        const auto count = static_cast<std::uint32_t>(hosts);
        network n(count, count);
        for (std::uint32_t h = 0; h != count; ++h)
            n.join(h, count + h, host_bytes_per_ns == 0 ? bytes_per_ns : host_bytes_per_ns);
        std::uint32_t weight = 1;
        for (const std::uint32_t e : extents) {
            for (std::uint32_t h = 0; h != count; ++h) {
                const std::uint32_t digit = h / weight % e;
                if (digit + 1 < e || (closed && e > 2))
                    n.join(count + h, count + h - digit * weight + (digit + 1) % e * weight, bytes_per_ns);
            }
            weight *= e;
        }
        n.extents = extents;
        n.route();
        return n;
    }

    // Pre: places(ranks).
    constexpr std::vector<std::uint32_t> hosts_with(rank_t ranks) const {
        std::vector<std::uint32_t> found;
        std::vector<bool> seen(hosts_, false);
        for (rank_t r = 0; r != ranks && (!placement.empty() || r < hosts_); ++r)
            if (!seen[host_of(r)]) seen[host_of(r)] = true, found.push_back(host_of(r));
        return found;
    }
    // Is there a way between each two of these hosts? All that the first one reaches over its only cable
    // meet at the switch there. If it has several cables, they may not: hosts forward nothing, so each
    // pair is tried.
    constexpr bool joins_all(const std::vector<std::uint32_t>& hosts) const {
        std::size_t cables = 0;
        for (const link& l : links_)
            if (!hosts.empty() && l.from == hosts[0]) ++cables;
        for (std::size_t i = 0; i < hosts.size() && (i == 0 || cables != 1); ++i)
            for (std::size_t k = i + 1; k < hosts.size(); ++k) // cables go both ways
                if (towards_[std::size_t{hosts[i]} * vertices_ + hosts[k]] == nowhere) return false;
        return true;
    }

    std::uint32_t hosts_;
    std::uint32_t vertices_;
    std::vector<link> links_;
    std::vector<std::uint32_t> towards_; // [destination host][vertex]: the link to take
};

} // namespace bough

#endif
