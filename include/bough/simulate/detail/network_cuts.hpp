// SPDX-License-Identifier: BSL-1.0
// network_cuts: what must pass through the links of a network, for bough/simulate/network_bound.hpp.
#ifndef BOUGH_SIMULATE_DETAIL_NETWORK_CUTS_HPP
#define BOUGH_SIMULATE_DETAIL_NETWORK_CUTS_HPP

#include <bough/core/rank.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/simulate/detail/max_flow.hpp>
#include <bough/simulate/network.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What can be said of a network and its ranks without a model.
template <int>
class basic_network_cuts {
public:
    static constexpr std::uint32_t most_hosts_cut = 512;

    basic_network_cuts(const network& over, rank_t ranks) : network_(over), ranks_on_(over.hosts(), 0), ranks_(ranks) {
        for (rank_t r = 0; r != ranks; ++r) ++ranks_on_[over.host_of(r)];
        for (std::uint32_t h = 0; h != over.hosts(); ++h)
            if (ranks_on_[h] != 0) used_.push_back(h);
        for (std::uint32_t v = 0; v != vertices(); ++v) out_.emplace_back();
        for (std::uint32_t l = 0; l != over.links().size(); ++l)
            if (there(over.links()[l].from) && there(over.links()[l].to)) out_[over.links()[l].from].push_back(l);
        find_parts();
    }
    bool all_cuts() const noexcept { return used_.size() <= most_hosts_cut; }

    // In ns for one byte of the whole vector.
    double bandwidth_ns_per_byte(std::uint8_t kind, rank_t root) const {
        if (used_.size() < 2) return 0;
        switch (kind) {
        case goal::allgather::kind:
        case goal::reduce_scatter::kind: return each_to_all();
        case goal::broadcast::kind:
        case goal::reduce::kind: return all_of(network_.host_of(root));
        case goal::scatter::kind:
        case goal::gather::kind: return shares_of(network_.host_of(root));
        case goal::scan::kind:
        case goal::exscan::kind: return in_order(kind == goal::exscan::kind);
        case goal::allreduce::kind: return std::max(all_of(used_.front()), exchanged_by_parts());
        case goal::alltoall::kind: return pairs();
        default: return 0;
        }
    }
    // One block that one rank has and others need.
    struct delivery {
        rank_t from = 0;
        std::vector<rank_t> to;
    };
    // In ns for one byte of a block, if all blocks are alike.
    double bandwidth_ns_per_byte(const std::vector<delivery>& wanted) const {
        double worst = 0;
        for (const parts& all : parts_) {
            const std::vector<part_sum> sums = sums_of(all);
            std::vector<std::uint32_t> leave(sums.size(), 0), enter(sums.size(), 0), seen(sums.size(), 0);
            std::uint32_t turn = 0;
            for (const delivery& d : wanted) {
                const std::uint32_t home = all[network_.host_of(d.from)];
                bool leaves = false;
                ++turn;
                for (const rank_t to : d.to) {
                    const std::uint32_t part = all[network_.host_of(to)];
                    if (part == home) continue;
                    leaves = true;
                    if (part != none && seen[part] != turn) seen[part] = turn, ++enter[part];
                }
                if (leaves && home != none) ++leave[home];
            }
            for (std::size_t p = 0; p != sums.size(); ++p) // cables go both ways
                if (const std::uint32_t most = std::max(leave[p], enter[p]); most != 0)
                    worst = std::max(worst, most / sums[p].out);
        }
        // All links; those between switches.
        for (const bool inner : {false, true}) {
            const auto counts = [&](const network::link& l) { return !inner || joins_switches(l) ? 1u : 0u; };
            double ways = 0;
            for_each_distance(wanted, counts, [&](std::uint32_t farthest, std::uint32_t hosts) {
                ways += inner ? farthest : std::max(farthest, hosts); // a link into each host
            });
            if (const double speed = speed_of(counts); speed != 0) worst = std::max(worst, ways / speed);
        }
        return worst;
    }
    std::uint32_t farthest(const std::vector<delivery>& wanted) const {
        std::uint32_t most = 0;
        for_each_distance(
            wanted, [](const network::link&) { return 1u; },
            [&](std::uint32_t far, std::uint32_t) { most = std::max(most, far); });
        return most;
    }
    // The most links, and the fewest, between two ranks that must hear of each other; on one host: 0.
    std::uint32_t farthest(std::uint8_t kind, rank_t root) const {
        const bool rooted = kind == goal::broadcast::kind || kind == goal::reduce::kind ||
                            kind == goal::scatter::kind || kind == goal::gather::kind;
        std::uint32_t most = 0;
        for (const std::uint32_t h : used_) {
            if (rooted && h != network_.host_of(root)) continue;
            const std::vector<std::uint32_t> far = distances(h, [](const network::link&) { return 1u; });
            for (const std::uint32_t other : used_) most = std::max(most, far[other]);
        }
        return most;
    }
    std::uint32_t nearest() const {
        std::uint32_t least = 0xffff'ffffu;
        for (const std::uint32_t h : used_) {
            const std::vector<std::uint32_t> far = distances(h, [](const network::link&) { return 1u; });
            for (const std::uint32_t other : used_)
                if (other != h) least = std::min(least, far[other]);
        }
        return least == 0xffff'ffffu ? 0 : least;
    }

private:
    // Of each vertex: which part it belongs to; none: to no part.
    using parts = std::vector<std::uint32_t>;
    static constexpr std::uint32_t none = 0xffff'ffffu;

    std::uint32_t vertices() const noexcept { return network_.hosts() + network_.switches(); }
    // A host without ranks passes nothing on.
    bool there(std::uint32_t v) const { return v >= network_.hosts() || ranks_on_[v] != 0; }
    double share(std::uint32_t ranks) const { return static_cast<double>(ranks) / ranks_; }

    // How many links a message passes at least, or what they weigh.
    template <class Weight>
    std::vector<std::uint32_t> distances(std::uint32_t from, Weight weight) const { // 0 or 1
        std::vector<std::uint32_t> far(vertices(), std::uint32_t{none});
        std::vector<std::uint32_t> now(1, from), later;
        far[from] = 0;
        for (std::uint32_t d = 0; !now.empty(); ++d) {
            for (std::size_t i = 0; i != now.size(); ++i) {
                if (far[now[i]] != d) continue; // it was nearer
                for (const std::uint32_t l : out_[now[i]]) {
                    const network::link& way = network_.links()[l];
                    const std::uint32_t more = weight(way);
                    if (far[way.to] <= d + more) continue;
                    far[way.to] = d + more;
                    (more == 0 ? now : later).push_back(way.to);
                }
            }
            now.clear();
            now.swap(later);
        }
        return far;
    }

    bool joins_switches(const network::link& l) const { return l.from >= network_.hosts() && l.to >= network_.hosts(); }
    // Of the links that count.
    template <class Counts>
    double speed_of(Counts counts) const {
        double sum = 0;
        for (std::uint32_t v = 0; v != vertices(); ++v)
            for (const std::uint32_t l : out_[v])
                if (counts(network_.links()[l]) != 0) sum += network_.links()[l].bytes_per_ns;
        return sum;
    }
    // Calls f(links to the farthest, hosts other than its own) for each delivery.
    template <class Counts, class F>
    void for_each_distance(const std::vector<delivery>& wanted, Counts counts, F&& f) const {
        std::vector<std::vector<std::uint32_t>> from_host(network_.hosts());
        std::vector<std::uint32_t> seen(network_.hosts(), 0);
        std::uint32_t turn = 0;
        for (const delivery& d : wanted) {
            const std::uint32_t home = network_.host_of(d.from);
            if (from_host[home].empty()) from_host[home] = distances(home, counts);
            std::uint32_t farthest = 0, hosts = 0;
            seen[home] = ++turn;
            for (const rank_t to : d.to) {
                const std::uint32_t host = network_.host_of(to);
                if (seen[host] == turn) continue;
                seen[host] = turn, ++hosts;
                farthest = std::max(farthest, from_host[home][host]);
            }
            f(farthest, hosts);
        }
    }

    max_flow flows(std::uint32_t more_vertices) const {
        max_flow made(vertices() + more_vertices);
        for (std::uint32_t v = 0; v != vertices(); ++v)
            for (const std::uint32_t l : out_[v]) {
                const network::link& way = network_.links()[l];
                made.add(way.from, way.to, way.bytes_per_ns);
            }
        return made;
    }
    // The speed of all links out of a set, such as a part.
    template <class In>
    double out_of(In&& in) const {
        double sum = 0;
        for (std::uint32_t v = 0; v != vertices(); ++v)
            if (in(v))
                for (const std::uint32_t l : out_[v])
                    if (!in(network_.links()[l].to)) sum += network_.links()[l].bytes_per_ns;
        return sum;
    }
    template <class In>
    std::uint32_t ranks_in(In&& in) const {
        std::uint32_t sum = 0;
        for (const std::uint32_t h : used_)
            if (in(h)) sum += ranks_on_[h];
        return sum;
    }

    // Of all parts and their complements, with f(ranks in it, speed out of it). Cables go both ways, so
    // what goes in is as fast.
    template <class F>
    void for_each_part(F&& f) const {
        for (const parts& all : parts_)
            for (const part_sum& p : sums_of(all)) f(p.ranks, p.out);
    }
    struct part_sum {
        std::uint32_t ranks = 0;
        double out = 0;
    };
    std::vector<part_sum> sums_of(const parts& all) const {
        std::uint32_t count = 0;
        for (const std::uint32_t p : all)
            if (p != none) count = std::max(count, p + 1);
        std::vector<part_sum> sums(count);
        for (const std::uint32_t h : used_)
            if (all[h] != none) sums[all[h]].ranks += ranks_on_[h];
        for (std::uint32_t v = 0; v != vertices(); ++v)
            if (all[v] != none)
                for (const std::uint32_t l : out_[v])
                    if (all[network_.links()[l].to] != all[v]) sums[all[v]].out += network_.links()[l].bytes_per_ns;
        return sums;
    }

    // --- bandwidth ---

    // m passes each cut between this host and another.
    double all_of(std::uint32_t root) const {
        double least = std::numeric_limits<double>::infinity();
        if (!all_cuts()) {
            for_each_part([&](std::uint32_t ranks, double out) {
                if (ranks != 0 && ranks != ranks_) least = std::min(least, out);
            });
            return 1 / least;
        }
        max_flow flow = flows(0);
        for (const std::uint32_t h : used_)
            if (h != root) least = std::min(least, flow.run(root, h));
        return 1 / least;
    }
    double in_order(bool exclusive) const {
        const rank_t first = 0, last = ranks_ - 1;
        double least = std::numeric_limits<double>::infinity();
        if (!all_cuts()) return 0; // parts need not lie in order
        max_flow flow = flows(0);
        for (rank_t r = 0; r != ranks_; ++r) {
            const std::uint32_t a = network_.host_of(first), b = network_.host_of(r), c = network_.host_of(last);
            if (a != b) least = std::min(least, flow.run(a, b));
            if (b != c && !(exclusive && r == last)) least = std::min(least, flow.run(b, c));
        }
        return least == std::numeric_limits<double>::infinity() ? 0 : 1 / least;
    }
    // The least ratio of what a cut lets out to the ranks behind it, over all cuts that leave out
    // a host: each host gives x for each of its ranks, and all of it must reach every other host.
    double each_to_all() const {
        double x = std::numeric_limits<double>::infinity(); // bytes per ns of a rank
        for_each_part([&](std::uint32_t ranks, double out) {
            if (ranks != 0 && ranks != ranks_) x = std::min(x, out / std::max(ranks, ranks_ - ranks));
        });
        for (const std::uint32_t h : used_) // all but this one
            x = std::min(x, out_of([&](std::uint32_t v) { return v == h; }) / (ranks_ - ranks_on_[h]));
        if (all_cuts()) {
            max_flow flow = flows(1);
            std::vector<std::uint32_t> arcs;
            for (const std::uint32_t h : used_) arcs.push_back(flow.add(vertices(), h, 0));
            for (const std::uint32_t sink : used_)
                x = lowered(flow, arcs, vertices(), sink, x, [&](auto&& in) { return ranks_in(in); });
        }
        return 1 / (x * ranks_);
    }
    // Each host takes x for each of its ranks, all of it from the root.
    double shares_of(std::uint32_t root) const {
        double x = out_of([&](std::uint32_t v) { return v == root; }) / (ranks_ - ranks_on_[root]);
        for (const parts& all : parts_) {
            const std::vector<part_sum> sums = sums_of(all);
            for (std::uint32_t p = 0; p != sums.size(); ++p) {
                const bool has_root = all[root] == p;
                const std::uint32_t behind = has_root ? ranks_ - sums[p].ranks : sums[p].ranks;
                if (behind != 0) x = std::min(x, sums[p].out / behind);
            }
        }
        if (all_cuts()) {
            max_flow flow = flows(1);
            std::vector<std::uint32_t> arcs;
            for (const std::uint32_t h : used_) arcs.push_back(flow.add(h, vertices(), 0));
            x = lowered(flow, arcs, root, vertices(), x, [&](auto&& in) { return ranks_ - ranks_in(in); });
        }
        return 1 / (x * ranks_);
    }
    // Lowers x until all that hosts give, or take, passes. `arcs` are those of the hosts, and `behind`
    // counts the ranks whose share passes a cut.
    template <class Behind>
    double lowered(max_flow& flow, const std::vector<std::uint32_t>& arcs, std::uint32_t source, std::uint32_t sink,
                   double x, Behind&& behind) const {
        for (;;) {
            for (std::size_t i = 0; i != used_.size(); ++i) flow.set(arcs[i], x * ranks_on_[used_[i]]);
            if (flow.run(source, sink) >= x * ranks_ * (1 - 1e-9)) return x;
            const auto in = [&](std::uint32_t v) { return flow.before_cut(v); };
            const std::uint32_t ranks = behind(in);
            const double now = ranks == 0 ? x : out_of(in) / ranks;
            if (!(now < x * (1 - 1e-12))) return x;
            x = now;
        }
    }
    double exchanged_by_parts() const {
        double worst = 0;
        for (const parts& all : parts_) {
            double out = 0;
            std::uint32_t count = 0, ranks = 0;
            for (const part_sum& p : sums_of(all))
                if (p.ranks != 0) out += p.out, ++count, ranks += p.ranks;
            if (count > 1 && ranks == ranks_) worst = std::max(worst, 2.0 * (count - 1) / out);
        }
        return worst;
    }
    double pairs() const {
        double worst = 0;
        for_each_part([&](std::uint32_t ranks, double out) {
            if (ranks != 0 && ranks != ranks_) worst = std::max(worst, share(ranks) * share(ranks_ - ranks) / out);
        });
        for (const bool inner : {false, true}) { // all links; those between switches
            const auto counts = [&](const network::link& l) { return !inner || joins_switches(l) ? 1u : 0u; };
            const double speed = speed_of(counts);
            double ways = 0;
            if (speed == 0) continue;
            for (const std::uint32_t h : used_) {
                const std::vector<std::uint32_t> far = distances(h, counts);
                for (const std::uint32_t other : used_)
                    ways += share(ranks_on_[h]) * share(ranks_on_[other]) * far[other];
            }
            worst = std::max(worst, ways / speed);
        }
        return worst;
    }

    // --- parts ---

    // Numbers what hangs together of the vertices that `in` has, over the links that `over` has.
    template <class In, class Over>
    void add_parts(In&& in, Over&& over) {
        parts made(vertices(), std::uint32_t{none});
        std::uint32_t count = 0;
        for (std::uint32_t v = 0; v != vertices(); ++v) {
            if (made[v] != none || !there(v) || !in(v)) continue;
            std::vector<std::uint32_t> open(1, v);
            made[v] = count;
            for (std::size_t i = 0; i != open.size(); ++i)
                for (const std::uint32_t l : out_[open[i]]) {
                    const network::link& way = network_.links()[l];
                    if (made[way.to] != none || !in(way.to) || !over(way)) continue;
                    made[way.to] = count;
                    open.push_back(way.to);
                }
            ++count;
        }
        parts_.push_back(std::move(made));
    }
    void find_parts() {
        add_parts([&](std::uint32_t v) { return v < network_.hosts(); }, [](const network::link&) { return false; });
        // How far a vertex is from the nearest host.
        std::vector<std::uint32_t> level(vertices(), std::uint32_t{none}), open = used_;
        for (const std::uint32_t h : used_) level[h] = 0;
        for (std::size_t i = 0; i != open.size(); ++i)
            for (const std::uint32_t l : out_[open[i]])
                if (std::uint32_t& to = level[network_.links()[l].to]; to == none)
                    to = level[open[i]] + 1, open.push_back(network_.links()[l].to);
        std::uint32_t highest = 0;
        for (const std::uint32_t l : level)
            if (l != none) highest = std::max(highest, l);
        // A switch and what hangs on it; what hangs together below each level.
        const auto joins_levels = [&](const network::link& l) { return level[l.from] != level[l.to]; };
        for (std::uint32_t top = 1; top <= highest; ++top)
            add_parts([&](std::uint32_t v) { return level[v] <= top; }, joins_levels);
        // What hangs together over cables faster than others.
        std::vector<double> speeds;
        for (const network::link& l : network_.links()) speeds.push_back(l.bytes_per_ns);
        std::sort(speeds.begin(), speeds.end());
        speeds.erase(std::unique(speeds.begin(), speeds.end()), speeds.end());
        if (speeds.size() > 8) return; // random ones, with no levels
        for (const double limit : speeds)
            add_parts([](std::uint32_t) { return true; },
                      [&](const network::link& l) { return l.bytes_per_ns > limit; });
    }

    const network& network_;
    std::vector<std::uint32_t> ranks_on_, used_; // by host; hosts with ranks
    std::vector<std::vector<std::uint32_t>> out_;
    std::vector<parts> parts_;
    rank_t ranks_;
};
using network_cuts = basic_network_cuts<0>;

} // namespace bough::detail

#endif
