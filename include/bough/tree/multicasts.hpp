// SPDX-License-Identifier: BSL-1.0
// Many multicasts at once, each with its own root and members, among ranks that do one thing at a time.
//
//   const std::vector<multicast_request> wanted{{.root = 0, .members = {1, 2, 5}}, {.root = 3, .members = {1, 4, 5}}};
//   const auto made = balanced_multicasts(costs, wanted);
//   made.trees[0]      a table over the participants: place 0 is the root, then the members as listed
//                      (tree_multicast)
//   made.order         all messages in an order in which every rank does its sends and receives
//   made.makespan      when the last rank has its last message
//
// independent_multicasts  makes an fnf_tree for each by itself, as the paper does; all trees use
// the
//                         same fast ranks
// balanced_multicasts     makes one list for all. The next message is the one that ends first, with
//                         what its sender does for the other multicasts counted in. It goes to the
//                         member that can pass it on first, counted in the same way. If the
//                         independent trees end earlier, it takes those.
// The model is that of tree_costs with one processor per rank, which does the sends and receives of
// all multicasts in turn.
// Ties: if messages end at the same time, balanced_multicasts takes that of the multicast with more
// members left, then of the lower multicast, then of the sender listed first, the root before all;
// among equal members, the one listed first. schedule_multicasts takes the sender that was put on
// the list first.
// Time: messages * members (balanced), messages * log (independent, multicasts_time).
// Source: bough; multiple multicast with a tree each: Banikazemi, Moorthy, Panda, ICPP 1998, section 6.2.
#ifndef BOUGH_TREE_MULTICASTS_HPP
#define BOUGH_TREE_MULTICASTS_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/multicast_request.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One message: `multicast` is its number among the requests, parent and child are ranks.
struct multicast_message {
    std::uint32_t multicast = 0;
    rank_t parent = no_rank;
    rank_t child = no_rank;
    friend constexpr bool operator==(const multicast_message&, const multicast_message&) = default;
};

// A tree for each request, the order of all messages, and when the last one is done.
template <class Time>
struct many_multicasts {
    std::vector<table> trees;
    std::vector<multicast_message> order;
    Time makespan{};
};

namespace detail {

// Root first, then the members as listed, the root left out.
constexpr std::vector<rank_t> places_of(const multicast_request& of) {
    std::vector<rank_t> ranks{of.root};
    for (const rank_t m : of.members)
        if (m != of.root) ranks.push_back(m);
    return ranks;
}

template <CostNumber C>
class multicast_clock {
public:
    using time = time_of<C>;
    constexpr explicit multicast_clock(const tree_costs<C>& costs) : costs_(costs), times_(costs) {
        free_.resize(costs.send.size(), time{});
    }
    constexpr time sent(rank_t parent, const time& ready) const {
        return std::max(free_[parent], ready) + times_.send[parent];
    }
    // When the child has it, if it is sent next. Its receive waits for what the child does.
    constexpr time got(rank_t child, const time& sent) const {
        return std::max(free_[child], sent + static_cast<time>(costs_.latency)) + receive(child);
    }
    constexpr time run(rank_t parent, rank_t child, const time& ready) {
        free_[parent] = sent(parent, ready);
        const time there = free_[parent] + static_cast<time>(costs_.latency);
        if (!(receive(child) > time{})) return there; // the receive takes no time of the child
        return free_[child] = got(child, free_[parent]);
    }
    // When a member could have sent the message on.
    constexpr time useful(rank_t child, const time& sent) const { return got(child, sent) + times_.send[child]; }
    constexpr rank_t ranks() const noexcept { return times_.size(); }

private:
    constexpr time receive(rank_t r) const {
        return costs_.receive.empty() ? time{} : static_cast<time>(costs_.receive[r]);
    }
    tree_costs<C> costs_;
    node_times<time> times_;
    std::vector<time> free_; // when the rank is done with what is in the list so far
};

constexpr void check_requests(rank_t ranks, std::span<const multicast_request> wanted) {
    for (const multicast_request& w : wanted) {
        BOUGH_EXPECTS(w.root < ranks, "root: of a multicast, must be one of the ranks");
        for (const rank_t m : w.members) BOUGH_EXPECTS(m < ranks, "members: of a multicast, must be ranks");
    }
}

} // namespace detail

// When all is done, if every rank does its part of `order` in that order. Pre: a rank passes on
// only what it has.
template <CostNumber C>
constexpr time_of<C> multicasts_time(const tree_costs<C>& costs, std::span<const multicast_request> wanted,
                                     std::span<const multicast_message> order) {
    using time = time_of<C>;
    detail::multicast_clock<C> clock(costs);
    detail::check_requests(clock.ranks(), wanted);
    std::vector<std::vector<time>> ready(wanted.size(), std::vector<time>(clock.ranks(), time{}));
    time last{};
    for (const multicast_message& m : order) {
        time& at = ready[m.multicast][m.child];
        at = clock.run(m.parent, m.child, ready[m.multicast][m.parent]);
        last = std::max(last, at);
    }
    return last;
}

// Schedules the messages of the given trees. Each rank serves first what it got first.
template <CostNumber C>
constexpr many_multicasts<time_of<C>>
schedule_multicasts(const tree_costs<C>& costs, std::span<const multicast_request> wanted, std::vector<table> trees) {
    using time = time_of<C>;
    BOUGH_EXPECTS(trees.size() == wanted.size(), "trees: one for each multicast");
    detail::multicast_clock<C> clock(costs);
    detail::check_requests(clock.ranks(), wanted);
    many_multicasts<time> made{std::move(trees), {}, {}};
    struct holder {
        time next; // when its next send is done, as known when it was put here
        std::uint64_t turn;
        std::uint32_t multicast;
        rank_t place;
        rank_t child; // the next one
        time ready;
    };
    const auto later = [](const holder& a, const holder& b) {
        return b.next != a.next ? b.next < a.next : b.turn < a.turn;
    };
    std::vector<std::vector<rank_t>> places;
    std::vector<holder> heap;
    std::uint64_t turn = 0;
    const auto push = [&](std::uint32_t k, rank_t place, rank_t child, const time& ready, std::uint64_t when) {
        if (child == made.trees[k].child_count(place)) return;
        heap.push_back({clock.sent(places[k][place], ready), when, k, place, child, ready});
        std::push_heap(heap.begin(), heap.end(), later);
    };
    for (std::uint32_t k = 0; k != wanted.size(); ++k) {
        places.push_back(detail::places_of(wanted[k]));
        BOUGH_EXPECTS(made.trees[k].size() == places[k].size() && made.trees[k].root() == 0,
                      "trees: as many ranks as participants, and root 0");
        push(k, 0, 0, time{}, turn++);
    }
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), later);
        const holder h = heap.back();
        heap.pop_back();
        const rank_t parent = places[h.multicast][h.place];
        if (h.next < clock.sent(parent, h.ready)) { // it had other things to do since
            push(h.multicast, h.place, h.child, h.ready, h.turn);
            continue;
        }
        const rank_t place = made.trees[h.multicast].child(h.place, h.child);
        const rank_t child = places[h.multicast][place];
        const time there = clock.run(parent, child, h.ready);
        made.makespan = std::max(made.makespan, there);
        made.order.push_back({h.multicast, parent, child});
        push(h.multicast, h.place, h.child + 1, h.ready, h.turn);
        push(h.multicast, place, 0, there, turn++);
    }
    return made;
}

template <CostNumber C>
constexpr many_multicasts<time_of<C>> independent_multicasts(const tree_costs<C>& costs,
                                                             std::span<const multicast_request> wanted) {
    std::vector<table> trees;
    for (const multicast_request& w : wanted) {
        std::vector<C> send, receive;
        for (const rank_t r : detail::places_of(w)) {
            BOUGH_EXPECTS(r < costs.send.size(), "members: of a multicast, must be ranks");
            send.push_back(costs.send[r]);
            if (!costs.receive.empty()) receive.push_back(costs.receive[r]);
        }
        trees.push_back(fnf_tree(tree_costs<C>{.send = send, .receive = receive, .latency = costs.latency}));
    }
    return schedule_multicasts(costs, wanted, std::move(trees));
}

template <CostNumber C>
constexpr many_multicasts<time_of<C>> balanced_multicasts(const tree_costs<C>& costs,
                                                          std::span<const multicast_request> wanted) {
    using time = time_of<C>;
    detail::multicast_clock<C> clock(costs);
    detail::check_requests(clock.ranks(), wanted);
    struct sender {
        time next;
        std::size_t left; // how many members had no message when it was put here
        std::uint32_t multicast;
        rank_t place;
        time ready;
    };
    const auto later = [](const sender& a, const sender& b) {
        if (a.next != b.next) return b.next < a.next;
        if (a.left != b.left) return a.left < b.left;
        return a.multicast != b.multicast ? b.multicast < a.multicast : b.place < a.place;
    };
    std::vector<std::vector<rank_t>> places, open; // open: places without the message
    std::vector<std::vector<tree_edge>> edges(wanted.size());
    std::vector<sender> heap;
    const auto push = [&](std::uint32_t k, rank_t place, const time& ready) {
        if (open[k].empty()) return;
        heap.push_back({clock.sent(places[k][place], ready), open[k].size(), k, place, ready});
        std::push_heap(heap.begin(), heap.end(), later);
    };
    for (std::uint32_t k = 0; k != wanted.size(); ++k) {
        places.push_back(detail::places_of(wanted[k]));
        open.emplace_back();
        for (rank_t p = 1; p < places[k].size(); ++p) open[k].push_back(p);
        push(k, 0, time{});
    }
    many_multicasts<time> made;
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), later);
        const sender s = heap.back();
        heap.pop_back();
        const std::uint32_t k = s.multicast;
        const rank_t parent = places[k][s.place];
        const time sent = clock.sent(parent, s.ready);
        if (s.next < sent || s.left != open[k].size()) {
            push(k, s.place, s.ready);
            continue;
        }
        std::size_t best = 0;
        for (std::size_t i = 1; i < open[k].size(); ++i)
            if (clock.useful(places[k][open[k][i]], sent) < clock.useful(places[k][open[k][best]], sent)) best = i;
        const rank_t place = open[k][best];
        open[k].erase(open[k].begin() + static_cast<std::ptrdiff_t>(best));
        const time there = clock.run(parent, places[k][place], s.ready);
        made.makespan = std::max(made.makespan, there);
        made.order.push_back({k, parent, places[k][place]});
        edges[k].push_back({s.place, place});
        push(k, s.place, s.ready);
        push(k, place, there);
    }
    for (std::uint32_t k = 0; k != wanted.size(); ++k)
        made.trees.emplace_back(static_cast<rank_t>(places[k].size()), rank_t{0}, edges[k]);
    many_multicasts<time> apart = independent_multicasts(costs, wanted);
    return apart.makespan < made.makespan ? apart : made;
}

} // namespace bough

#endif
