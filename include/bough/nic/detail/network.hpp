// SPDX-License-Identifier: BSL-1.0
// Puts the steps of all ranks into one graph, and finds where each message goes and which messages
// need a credit.
//
// A message may be sent again, one turn of its bank later, when everything that reads its slot has
// run. Some messages keep this rule without a credit. Let Q be a rank that must begin the next turn
// before the send of that turn can run. If Q cannot end this turn before the readers have run, the
// slot is free in time: a rank begins a turn only when it has ended the one before. So with
//   ran(x)  = the ranks with a step that must run before x, and x's own rank
//   runs(x) = the ranks with a step that must run after x, and x's own rank
// a message needs no credit if ran(its send) and runs(r) share a rank for each reader r of its
// slot. In an allreduce along a tree, for instance, no message needs one.
#ifndef BOUGH_NIC_DETAIL_NETWORK_HPP
#define BOUGH_NIC_DETAIL_NETWORK_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/nic/detail/rename.hpp>
#include <bough/schedule/dependence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::nic::detail {

// A table of bits: each row is a set of numbers below `width`.
class bit_rows {
public:
    constexpr bit_rows() = default;
    constexpr bit_rows(std::size_t rows, std::size_t width) : words_((width + 63) / 64) {
        bits_.resize(rows * words_, std::uint64_t{0});
    }
    constexpr void set(std::size_t row, std::size_t bit) noexcept {
        bits_[row * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
    constexpr bool test(std::size_t row, std::size_t bit) const noexcept {
        return (bits_[row * words_ + bit / 64] >> (bit % 64) & 1u) != 0;
    }
    constexpr void merge(std::size_t into, std::size_t from) noexcept {
        for (std::size_t w = 0; w != words_; ++w) bits_[into * words_ + w] |= bits_[from * words_ + w];
    }
    constexpr bool meet(std::size_t row, const bit_rows& other, std::size_t other_row) const noexcept {
        for (std::size_t w = 0; w != words_; ++w)
            if ((bits_[row * words_ + w] & other.bits_[other_row * words_ + w]) != 0) return true;
        return false;
    }

private:
    std::size_t words_ = 0;
    std::vector<std::uint64_t> bits_{};
};

// For each node of a graph: which ranks must do something before it (ran) and after it (runs), and
// whose hosts must have rung before it (rung). The node itself counts for its own rank.
struct reach {
    bit_rows ran{}, runs{}, rung{};
    // How many nodes each still waits for; not 0: it is in a cycle, or behind one.
    std::vector<std::uint32_t> left{};
    bool ends = false; // there is no cycle
};
// Computes reach. `after[g]` has the nodes that wait for node g. `does[g]` is the rank that acts in
// node g, or no_rank if none does. `bells[r]` is the node that is rank r's bell.
template <int = 0>
constexpr reach reach_of(const std::vector<std::vector<std::uint32_t>>& after, const std::vector<rank_t>& does,
                         const std::vector<std::uint32_t>& bells) {
    const std::size_t all = after.size(), ranks = bells.size();
    reach r{bit_rows(all, ranks), bit_rows(all, ranks), bit_rows(all, ranks), {}, false};
    for (std::size_t rank = 0; rank != ranks; ++rank) r.rung.set(bells[rank], rank);
    r.left.resize(all, 0);
    for (const auto& nodes : after)
        for (const std::uint32_t a : nodes) ++r.left[a];
    std::vector<std::uint32_t> sorted;
    sorted.reserve(all);
    for (std::uint32_t g = 0; g != all; ++g)
        if (r.left[g] == 0) sorted.push_back(g);
    for (std::size_t i = 0; i != sorted.size(); ++i) {
        const std::uint32_t g = sorted[i];
        if (does[g] != no_rank) r.ran.set(g, does[g]), r.runs.set(g, does[g]);
        for (const std::uint32_t a : after[g]) {
            r.ran.merge(a, g);
            r.rung.merge(a, g);
            if (--r.left[a] == 0) sorted.push_back(a);
        }
    }
    r.ends = sorted.size() == all;
    for (std::size_t i = sorted.size(); i-- != 0;)
        for (const std::uint32_t a : after[sorted[i]]) r.runs.merge(sorted[i], a);
    return r;
}

// One thing that happens on a rank: a message comes (the bell is one), or a step runs.
struct node {
    bough::step s{};
    bool arrival = false;
    bool credit = false; // a message without payload
    bool notice = false;
    bool multicast = false;
    // For an arrival: the node whose slot it shares, or itself if it shares none.
    std::uint32_t lands_with = no_step;
    std::uint32_t partner = no_step;     // for a message: the node at the other end; a multicast has none
    std::vector<std::uint32_t> before{}; // nodes of the same rank
};
struct rank_nodes {
    std::vector<node> nodes{}; // 0: the bell
    slice bell{};              // what the host brings
    bool direct = false;       // is the host given a message where it landed?
};

template <int>
class basic_program_network {
public:
    std::vector<rank_nodes> ranks{};

    // Finds both ends of every message. False if sends and receives do not match.
    constexpr bool match() {
        struct post {
            rank_t from;
            std::uint32_t node;
        };
        std::vector<std::vector<post>> inbox; // by rank: its receives, by sender, in program order
        for (const rank_nodes& r : ranks) {
            inbox.emplace_back();
            for (std::uint32_t i = 1; i != r.nodes.size(); ++i)
                if (r.nodes[i].arrival) inbox.back().push_back({r.nodes[i].s.peer, i});
            std::sort(inbox.back().begin(), inbox.back().end(), [](const post& a, const post& b) {
                return a.from != b.from ? a.from < b.from : a.node < b.node;
            });
        }
        std::size_t matched = 0, receives = 0;
        for (const auto& box : inbox) receives += box.size();
        for (rank_t r = 0; r != ranks.size(); ++r) {
            std::vector<std::uint32_t> sent; // how many messages to each rank
            sent.resize(ranks.size(), 0);
            const auto deliver_to = [&](rank_t to, std::uint32_t i) {
                const auto& box = inbox[to];
                auto at = std::lower_bound(box.begin(), box.end(), r,
                                           [](const post& p, rank_t from) { return p.from < from; });
                for (std::uint32_t skip = sent[to]++; skip != 0 && at != box.end(); --skip) ++at;
                if (at == box.end() || at->from != r) return false;
                node& there = ranks[to].nodes[at->node];
                node& here = ranks[r].nodes[i];
                if (there.s.out.count != here.s.a.count) return false;
                there.partner = i;
                here.partner = at->node;
                ++matched;
                return true;
            };
            for (std::uint32_t i = 0; i != ranks[r].nodes.size(); ++i) {
                const node& n = ranks[r].nodes[i];
                if (n.s.verb != verb::send || n.notice) continue;
                if (n.s.peer != no_rank) {
                    if (n.s.peer >= ranks.size() || !deliver_to(n.s.peer, i)) return false;
                    continue;
                }
                for (rank_t to = 0; to != ranks.size(); ++to)
                    if (to != r && !deliver_to(to, i)) return false;
            }
        }
        return matched == receives;
    }

private: // These stand before order(): clang 14 evaluates it while compiling only if it has seen them.
    constexpr const node& at(std::uint32_t g) const { return ranks[rank_of_[g]].nodes[g - first_[rank_of_[g]]]; }
    // The bell counts as a step: the host rings in its own turn.
    constexpr bool is_step(std::uint32_t g) const { return !at(g).arrival || g == first_[rank_of_[g]]; }
    template <class F>
    constexpr void for_each_before(std::uint32_t g, F&& f) const {
        const rank_t r = rank_of_[g];
        const node& n = at(g);
        for (const std::uint32_t b : n.before) f(first_[r] + b);
        if (n.arrival && n.partner != no_step) f(first_[n.s.peer] + n.partner);
    }

public:
    // Finds which ranks must act before and after each node. False if ranks wait for each other in
    // a circle.
    constexpr bool order() {
        first_.clear();
        std::uint32_t all = 0;
        for (const rank_nodes& r : ranks) {
            first_.push_back(all);
            all += static_cast<std::uint32_t>(r.nodes.size());
        }
        rank_of_.clear();
        rank_of_.reserve(all);
        for (rank_t r = 0; r != ranks.size(); ++r)
            for (std::size_t i = 0; i != ranks[r].nodes.size(); ++i) rank_of_.push_back(r);
        std::vector<std::vector<std::uint32_t>> after;
        after.resize(all);
        std::vector<rank_t> does;
        does.reserve(all);
        for (std::uint32_t g = 0; g != all; ++g) {
            does.push_back(is_step(g) ? rank_of_[g] : no_rank);
            for_each_before(g, [&](std::uint32_t b) { after[b].push_back(g); });
        }
        reach_ = reach_of(after, does, first_);
        return reach_.ends;
    }

    // May the host of rank r be given a message where it landed? Only if the next such message
    // cannot be sent before this host has rung again, and so has finished with the last. Pre:
    // order().
    constexpr bool may_keep(rank_t r) const {
        const std::vector<node>& nodes = ranks[r].nodes;
        for (const node& told : nodes) {
            if (!told.notice) continue;
            for (const node& n : nodes)
                if (n.arrival && n.partner != no_step && n.s.out == told.s.a &&
                    !reach_.rung.test(first_[n.s.peer] + n.partner, r))
                    return false;
        }
        return true;
    }

    // Adds a credit for each pair of ranks with a message that needs one. If the notice comes after
    // all readers, the credit is sent with the notice: that condition is there already. Pre:
    // match() and order().
    constexpr void add_credits() {
        struct wanted {
            rank_t receiver, sender;
            std::vector<std::uint32_t> readers; // nodes of the receiver
            std::vector<std::uint32_t> sends;   // nodes of the sender
        };
        std::vector<wanted> all;
        for (rank_t r = 0; r != ranks.size(); ++r) {
            const std::size_t own = all.size();
            std::vector<std::vector<std::uint32_t>> readers;
            readers.resize(ranks[r].nodes.size());
            for (std::uint32_t i = 0; i != ranks[r].nodes.size(); ++i)
                for (const std::uint32_t b : ranks[r].nodes[i].before) readers[b].push_back(i);
            for (std::uint32_t i = 1; i != ranks[r].nodes.size(); ++i) {
                const node& n = ranks[r].nodes[i];
                if (!n.arrival) continue;
                bool needed = false;
                for (const std::uint32_t reader : readers[i])
                    needed |= !reach_.ran.meet(first_[n.s.peer] + n.partner, reach_.runs, first_[r] + reader);
                if (!needed) continue;
                std::size_t at = own;
                while (at != all.size() && all[at].sender != n.s.peer) ++at;
                if (at == all.size()) all.push_back({r, n.s.peer, {}, {}});
                for (const std::uint32_t reader : readers[i]) all[at].readers.push_back(reader);
                all[at].sends.push_back(n.partner);
            }
        }
        for (const wanted& w : all) {
            const auto out = static_cast<std::uint32_t>(ranks[w.receiver].nodes.size());
            const auto in = static_cast<std::uint32_t>(ranks[w.sender].nodes.size());
            node grant;
            grant.s = send_step(w.sender, {});
            grant.credit = true;
            grant.partner = in;
            grant.before = grant_with_notice(w.receiver, w.readers);
            ranks[w.receiver].nodes.push_back(grant);
            node granted;
            granted.s = receive_step(w.receiver, {});
            granted.arrival = granted.credit = true;
            granted.lands_with = in;
            granted.partner = out;
            ranks[w.sender].nodes.push_back(granted);
            for (const std::uint32_t s : w.sends) ranks[w.sender].nodes[s].before.push_back(in);
        }
    }

private:
    constexpr std::vector<std::uint32_t> grant_with_notice(rank_t rank,
                                                           const std::vector<std::uint32_t>& readers) const {
        const std::vector<node>& nodes = ranks[rank].nodes;
        std::uint32_t notice = 0;
        while (!nodes[notice].notice) ++notice;
        std::vector<std::uint8_t> sooner;
        sooner.resize(nodes.size(), 0);
        sooner[notice] = 1;
        for (std::uint32_t i = notice; i != 0; --i)
            if (sooner[i] != 0)
                for (const std::uint32_t b : nodes[i].before)
                    if (b < notice) sooner[b] = 1;
        bool all = true;
        for (const std::uint32_t r : readers) all = all && sooner[r] != 0;
        return all ? nodes[notice].before : readers;
    }

    std::vector<std::uint32_t> first_{};
    std::vector<rank_t> rank_of_{};
    reach reach_{};
};
using program_network = basic_program_network<0>;

} // namespace bough::nic::detail

#endif
