// SPDX-License-Identifier: BSL-1.0
// The walk under models with ports: times worked by hand, a naive event simulation, and messages in parts.
#include "support/catch.hpp"
#include "support/listed_plan.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace {

using namespace bough::model;
using bough::block_t;
using bough::rank_t;
using bough::slice;
using bough::verb;
using test::listed_plan;
using test::uneven;

struct uneven_ports : uneven {
    bool early = false;
    constexpr double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool duplex) const {
        return (5 + from * 0.5 + to + 3 * static_cast<double>(bytes)) * (duplex ? 1.5 : 1);
    }
    constexpr bool lands_early() const { return early; }
};

// The second derivation: one step of any rank that can run, in the order of ranks, until nobody can.
// A message has its duplex bits from looking forwards and backwards in the list of steps.
template <class Model>
std::vector<double> simulate(const listed_plan& plan, const Model& model, std::uint64_t bytes, bool& deadlock) {
    constexpr bool ported = bough::PortedCostModel<Model>;
    struct message {
        double there = 0;
        bool then_receives = false;
        std::size_t id = 0, answers = 0;
    };
    std::size_t messages = 0;
    const rank_t p = plan.size();
    std::vector<std::size_t> next(p, 0);
    std::vector<double> clock(p, model.start_ns()), out_free(p, 0.0), in_free(p, 0.0);
    std::vector<std::size_t> got(p, 0), sent(p, 0); // the last messages
    std::map<std::pair<rank_t, rank_t>, std::deque<message>> channel;
    const auto size_of = [&](const slice& s) {
        std::uint64_t sum = 0;
        for (block_t b = s.first; b != s.last(); ++b)
            sum += bytes / plan.blocks() + (b < bytes % plan.blocks() ? 1 : 0);
        return sum;
    };
    // Runs the whole of the next message or local step of r, if it can.
    const auto advance = [&](rank_t r) {
        const auto& steps = plan.ranks[r].steps;
        std::size_t i = next[r];
        if (i == steps.size()) return false;
        std::uint64_t size = 0;
        const auto length = [&](const bough::step& s) { return size_of(s.verb == verb::send ? s.a : s.out); };
        while (steps[i].more) size += length(steps[i++]);
        size += length(steps[i]);
        const bough::step& s = steps[i];
        if (s.verb == verb::send) {
            clock[r] += model.send_ns(r, s.peer, size);
            message m{clock[r] + model.latency_ns(r, s.peer, size), false, ++messages, got[r]};
            sent[r] = m.id;
            if constexpr (ported) {
                const auto after = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1, steps.end(),
                                                [](const bough::step& t) { return t.communicates(); });
                m.then_receives = after != steps.end() && after->verb == verb::receive;
                const double start = std::max(clock[r], out_free[r]);
                out_free[r] = start + model.port_ns(r, s.peer, size, m.then_receives);
                m.there = start + model.latency_ns(r, s.peer, size);
            }
            channel[{r, s.peer}].push_back(m);
        } else if (s.verb == verb::receive) {
            auto& waiting = channel[{s.peer, r}];
            if (waiting.empty()) return false;
            const message m = waiting.front();
            waiting.pop_front();
            got[r] = m.id;
            if constexpr (ported) {
                bool after_send = false;
                for (std::size_t j = next[r]; j-- != 0;)
                    if (steps[j].communicates()) {
                        after_send = steps[j].verb == verb::send;
                        break;
                    }
                double start = std::max(m.there, in_free[r]);
                if (!model.lands_early()) start = std::max(start, clock[r]);
                in_free[r] =
                    start + model.port_ns(s.peer, r, size, after_send && m.then_receives && m.answers != sent[r]);
                clock[r] = std::max(clock[r], in_free[r]);
            } else {
                clock[r] = std::max(clock[r], m.there);
            }
            clock[r] += model.receive_ns(s.peer, r, size);
        } else if (s.verb == verb::combine) {
            clock[r] += model.combine_ns(r, size);
        } else {
            clock[r] += model.copy_ns(r, size);
        }
        next[r] = i + 1;
        return true;
    };
    for (bool moved = true; moved;) {
        moved = false;
        for (rank_t r = 0; r != p; ++r) moved = advance(r) || moved;
    }
    deadlock = false;
    for (rank_t r = 0; r != p; ++r) deadlock = deadlock || next[r] != plan.ranks[r].size();
    return clock;
}

template <class Model>
void check_against_simulation(const listed_plan& plan, const Model& model, std::uint64_t bytes) {
    bool deadlock = false;
    const std::vector<double> expected = simulate(plan, model, bytes, deadlock);
    const walk_result walked = walk(plan, model, bytes);
    REQUIRE(walked.deadlock() == deadlock);
    REQUIRE(finish_times(plan, model, bytes) == expected);
    REQUIRE(walked.makespan_ns == *std::max_element(expected.begin(), expected.end()));
    if (deadlock) return;
    std::uint64_t steps = 0, sends = 0;
    for (const bough::schedule& s : plan.ranks)
        for (const bough::step& one : s) ++steps, sends += one.verb == verb::send && !one.more;
    REQUIRE(walked.steps == steps);
    REQUIRE(walked.messages == sends);
}

void check_all(const listed_plan& plan, std::uint64_t bytes) {
    // With little room for kept steps.
    CHECK(detail::walker(plan, uneven_ports{}, bytes, 1, 16 * plan.size()).run() == walk(plan, uneven_ports{}, bytes));
    check_against_simulation(plan, uneven{}, bytes);
    check_against_simulation(plan, uneven_ports{}, bytes);
    check_against_simulation(plan, uneven_ports{{}, true}, bytes);
}

template <class Plan>
listed_plan written_down(const Plan& plan) {
    listed_plan listed{.ranks = {}, .blocks_ = plan.blocks(), .root_ = plan.root()};
    for (rank_t r = 0; r != plan.size(); ++r) listed.ranks.push_back(plan.schedule_of(r));
    return listed;
}

constexpr slice whole{bough::output, 0, 1};
constexpr alpha_beta_gamma net{.alpha_ns = 100, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.5};
constexpr alpha_beta_gamma simplex{
    .alpha_ns = 100, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.5, .f_alpha = 0.5, .f_beta = 0.75};

// At compile time: two ranks exchange; one sends to another.
static_assert(walk(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 2}), simplex, 8).makespan_ns == 112);
static_assert(walk(bough::plan_broadcast(bough::flat{}, {.size = 2}), simplex, 8).makespan_ns == 56);

} // namespace

TEST_CASE("an out port carries one message at a time, and the sender goes on") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(4)};
    for (const rank_t to : {1u, 2u, 3u}) {
        plan.ranks[0].send(to, whole);
        plan.ranks[to].receive(0, whole);
    }
    plan.ranks[0].combine(whole, whole, whole);
    CHECK(finish_times(plan, net, 10) == std::vector<double>{5, 110, 220, 330});
    CHECK(finish_times(plan, lrc{.message_latency_ns = 110}, 10) == std::vector<double>{0, 110, 110, 110});
}

TEST_CASE("an in port carries one message at a time, beside the out port") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(4)};
    plan.ranks[0].send(3, whole);
    plan.ranks[3].receive(0, whole);
    for (const rank_t from : {1u, 2u}) {
        plan.ranks[from].send(0, whole);
        plan.ranks[0].receive(from, whole);
    }
    CHECK(finish_times(plan, net, 10) == std::vector<double>{220, 0, 0, 110});
}

TEST_CASE("whether a message lands while its receiver combines is the model's choice") {
    listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
    for (const rank_t from : {1u, 2u}) {
        plan.ranks[from].send(0, whole);
        plan.ranks[0].receive(from, whole);
        plan.ranks[0].combine(whole, whole, whole);
    }
    alpha_beta_gamma model = net;
    CHECK(walk(plan, model, 10).makespan_ns == 2 * (110 + 5));
    model.early = true;
    CHECK(walk(plan, model, 10).makespan_ns == 2 * 110 + 5);
}

TEST_CASE("a message is duplex if it is half of an exchange, at both ends") {
    const double duplex = simplex.exchange_ns(10), one_way = simplex.one_way_ns(10);
    REQUIRE(duplex == 110);
    REQUIRE(one_way == 57.5);
    SECTION("a ring of three: everybody sends and receives") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(3)};
        for (const rank_t r : {0u, 1u, 2u}) {
            plan.ranks[r].send((r + 1) % 3, whole);
            plan.ranks[r].copy(whole, whole); // does not count
            plan.ranks[r].receive((r + 2) % 3, whole);
        }
        CHECK(finish_times(plan, simplex, 10) == std::vector<double>(3, duplex));
    }
    SECTION("there and back") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
        plan.ranks[0].send(1, whole);
        plan.ranks[1].receive(0, whole);
        plan.ranks[1].send(0, whole);
        plan.ranks[0].receive(1, whole);
        CHECK(walk(plan, simplex, 10).makespan_ns == 2 * one_way);
    }
    SECTION("there and back again and again: answers, though a send stands before each receive") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
        for (int i = 0; i != 5; ++i) {
            plan.ranks[0].send(1, whole);
            plan.ranks[1].receive(0, whole);
            plan.ranks[1].send(0, whole);
            plan.ranks[0].receive(1, whole);
        }
        CHECK(walk(plan, simplex, 10).makespan_ns == 10 * one_way);
    }
    SECTION("five exchanges between the same two") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
        for (int i = 0; i != 5; ++i)
            for (const rank_t r : {0u, 1u}) {
                plan.ranks[r].send(1 - r, whole);
                plan.ranks[r].receive(1 - r, whole);
            }
        CHECK(walk(plan, simplex, 10).makespan_ns == 5 * duplex);
    }
    SECTION("in parts") {
        listed_plan plan{.ranks = std::vector<bough::schedule>(2)};
        for (const rank_t r : {0u, 1u}) {
            plan.ranks[r].send_part(1 - r, {bough::output, 0, 0});
            plan.ranks[r].send(1 - r, whole);
            plan.ranks[r].receive_part(1 - r, {bough::output, 0, 0});
            plan.ranks[r].receive(1 - r, whole);
        }
        CHECK(walk(plan, simplex, 10).makespan_ns == duplex);
        CHECK(walk(plan, simplex, 10).messages == 2);
        CHECK(walk(plan, simplex, 10).steps == 8);
    }
}

TEST_CASE("ports: plans of every pattern take the time that the simulation finds") {
    for (rank_t p = 1; p <= 20; ++p) {
        CAPTURE(p);
        check_all(written_down(bough::plan_reduce(bough::binomial{}, {.size = p, .root = p / 3})), 37);
        check_all(written_down(bough::plan_broadcast(bough::binomial{}, {.size = p, .root = p / 2})), 37);
        check_all(written_down(bough::plan_broadcast(bough::chain{}, {.size = p, .blocks = 5})), 37);
        check_all(written_down(bough::plan_allreduce(bough::chain{}, {.size = p, .blocks = 3})), 37);
        check_all(written_down(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p})), 37);
        check_all(written_down(bough::plan_allreduce(bough::ring{}, {.size = p})), 37);
        check_all(written_down(bough::plan_allreduce(bough::circulant{}, {.size = p})), 37);
    }
}

TEST_CASE("random plans with messages in parts, with and without ports, take the time that the simulation finds") {
    std::mt19937 random(20241121);
    const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
    std::size_t deadlocks = 0;
    for (int round = 0; round != 2000; ++round) {
        const rank_t p = 1 + below(6);
        listed_plan plan{.ranks = std::vector<bough::schedule>(p), .blocks_ = 1 + below(4), .root_ = below(p)};
        struct sent {
            rank_t from, to;
            std::vector<slice> parts;
        };
        std::vector<sent> under_way;
        const auto piece = [&] {
            const block_t first = below(plan.blocks_);
            return slice{bough::output, first, below(plan.blocks_ - first + 1)};
        };
        // One in fifty is so long that steps are kept.
        for (std::uint32_t i = below(round % 50 == 1 ? 1000 : 60); i != 0; --i) {
            const rank_t r = below(p);
            switch (below(5)) {
            case 0: plan.ranks[r].copy(piece(), piece()); break;
            case 1: plan.ranks[r].combine(piece(), piece(), piece()); break;
            case 2:
                if (!under_way.empty()) {
                    const std::size_t chosen = below(under_way.size());
                    // The oldest of its channel, whose parts are the right ones.
                    const auto at = std::find_if(under_way.begin(), under_way.end(), [&](const sent& m) {
                        return m.from == under_way[chosen].from && m.to == under_way[chosen].to;
                    });
                    for (std::size_t k = 0; k != at->parts.size(); ++k)
                        if (k + 1 != at->parts.size())
                            plan.ranks[at->to].receive_part(at->from, at->parts[k]);
                        else
                            plan.ranks[at->to].receive(at->from, at->parts[k]);
                    under_way.erase(at);
                }
                break;
            default: {
                sent m{r, below(p), std::vector<slice>(1 + below(3))};
                for (slice& s : m.parts) s = piece();
                for (std::size_t k = 0; k != m.parts.size(); ++k)
                    if (k + 1 != m.parts.size())
                        plan.ranks[r].send_part(m.to, m.parts[k]);
                    else
                        plan.ranks[r].send(m.to, m.parts[k]);
                under_way.push_back(m);
            }
            }
        }
        // A quarter of them lose a whole message at its sender.
        const rank_t loser = below(p);
        if (round % 4 == 0) {
            auto& steps = plan.ranks[loser].steps;
            const auto first =
                std::find_if(steps.begin(), steps.end(), [](const bough::step& s) { return s.verb == verb::send; });
            auto last = first;
            while (last != steps.end() && last->more) ++last;
            if (last != steps.end()) steps.erase(first, last + 1);
        }
        CAPTURE(round);
        check_all(plan, 23);
        deadlocks += walk(plan, uneven_ports{}, 23).deadlock();
    }
    CHECK(deadlocks > 50);
    CHECK(deadlocks < 500);
}

// Rank 0 needs a word from everybody, one by one in an order that makes it wait each time; many times over, so that its
// steps are kept, and more of them than there is room for.
TEST_CASE("a rank that is left in the middle of a message in parts comes back to its beginning") {
    for (const rank_t p : {2u, 3u, 7u}) {
        listed_plan plan{.ranks = std::vector<bough::schedule>(p), .blocks_ = 4};
        for (int turn = 0; turn != 300; ++turn)
            for (rank_t r = 1; r != p; ++r) {
                const block_t parts = 1 + (static_cast<block_t>(turn) + r) % 4;
                // r waits for rank 0's message before it answers, so rank 0 is left before every answer.
                plan.ranks[0].send(r, {bough::output, 0, 1});
                plan.ranks[r].receive(0, {bough::output, 0, 1});
                for (block_t b = 0; b + 1 < parts; ++b) {
                    plan.ranks[r].send_part(0, {bough::output, b, 1});
                    plan.ranks[0].receive_part(r, {bough::output, b, 1});
                }
                plan.ranks[r].send(0, {bough::output, parts - 1, 1});
                plan.ranks[0].receive(r, {bough::output, parts - 1, 1});
            }
        CAPTURE(p);
        check_all(plan, 22);
    }
}

TEST_CASE("a ring takes the time of the formula, however many of its steps are kept") {
    for (const rank_t p : {64u, 300u}) {
        const auto plan = bough::plan_allreduce(bough::ring{}, {.size = p});
        const std::uint64_t bytes = std::uint64_t{p} * 8;
        for (const std::size_t room : {0u, 16u, 17u, 100u, 100'000u}) {
            detail::walker walker(plan, net, bytes, 1, room * p);
            CAPTURE(p, room);
            const walk_result walked = walker.run();
            CHECK(walked.makespan_ns == Approx((p - 1) * (2 * 108.0 + 4)));
            CHECK(walked == walk(plan, net, bytes));
        }
    }
}
