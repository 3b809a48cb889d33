// SPDX-License-Identifier: BSL-1.0
// Rounds and traffic of the optimal algorithms for 2 to 1024 ranks and several ports, by a count of their messages alone.
#include "blocks.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

using namespace bough;

namespace {

// Runs the messages of a plan in rounds. In each, a rank sends up to `ports` messages that wait for nothing that comes in
// this round, and receives up to `ports`.
class round_counter {
public:
    template <Plan P>
    round_counter(const P& plan, rank_t ports) : ranks_(plan.size()) {
        for (rank_t r = 0; r != plan.size(); ++r) {
            std::uint64_t blocks = 0;
            plan.emit(r, step_sink{[&](const step& s) {
                          if (s.verb == verb::send) blocks += s.a.count;
                          if (s.communicates() && !s.more) ranks_[r].todo.push_back({s.peer, s.verb == verb::send});
                      }});
            volume_max = std::max(volume_max, blocks);
        }
        for (bool moved = true; moved;) {
            moved = false;
            for (rank_t r = 0; r != plan.size(); ++r) {
                state& me = ranks_[r];
                for (rank_t port = 0; port != ports && me.next() && me.next()->sends; ++port, ++me.done, moved = true)
                    ++ranks_[me.next()->peer].arrived[r];
            }
            for (state& me : ranks_)
                for (rank_t port = 0; port != ports && me.next() && !me.next()->sends; ++port, ++me.done, moved = true)
                    if (auto& waiting = me.arrived[me.next()->peer]; waiting == 0)
                        break;
                    else
                        --waiting;
            if (moved) ++rounds;
        }
        for (state& me : ranks_)
            if (me.next()) rounds = 0; // stuck
    }

    rank_t rounds = 0;
    std::uint64_t volume_max = 0;

private:
    struct message {
        rank_t peer;
        bool sends;
    };
    struct state {
        std::vector<message> todo{};
        std::map<rank_t, rank_t> arrived{};
        std::size_t done = 0;
        const message* next() const { return done == todo.size() ? nullptr : &todo[done]; }
    };
    std::vector<state> ranks_;
};

template <Plan P>
void optimal(const char* name, const P& plan, rank_t ports) {
    const round_counter counted(plan, ports);
    const rank_t p = plan.size();
    if (counted.rounds == test::ceil_log(ports + 1, p) && counted.volume_max == p - 1) return; // quick
    CAPTURE(name, p, ports);
    CHECK(counted.rounds == test::ceil_log(ports + 1, p));
    CHECK(counted.volume_max == p - 1);
}

} // namespace

TEST_CASE("the counter counts as verify does") {
    for (const rank_t p : {2u, 3u, 7u, 12u, 13u}) {
        const auto check = [&](const char* name, const auto& plan) {
            CAPTURE(name, p);
            CHECK(round_counter(plan, 1).rounds == verify(plan).traits.rounds);
        };
        test::for_each_allgather(p, [&](const char* name, const auto& a, rank_t rounds) {
            if (rounds != test::any_rounds) check(name, plan_allgather(a, {.size = p}));
        });
        test::for_each_reduce_scatter(p, [&](const char* name, const auto& a, rank_t rounds) {
            if (rounds != test::any_rounds) check(name, plan_reduce_scatter(a, {.size = p}));
        });
    }
}

TEST_CASE("ceil(log2 p) rounds and p - 1 blocks, for every number of ranks") {
    for (rank_t p = 2; p <= 1024; ++p) {
        if (!bough_test::sampled(p, p <= 100 ? 2 : 50) && p != 1023) continue;
        const dimensions at{.size = p};
        optimal("circulant allgather", plan_allgather(circulant{}, at), 1);
        optimal("circulant reduce_scatter", plan_reduce_scatter(circulant{}, at), 1);
        optimal("bruck", plan_allgather(bruck_allgather{}, at), 1);
        if (p > 200 && !bough_test::sampled(p + 1, 4)) continue; // these have a part for every block
        optimal("lowest bit first allgather", plan_allgather(lowest_bit_first{}, at), 1);
        optimal("lowest bit first reduce_scatter", plan_reduce_scatter(lowest_bit_first{}, at), 1);
    }
}

TEST_CASE("ceil(log_{k+1} p) rounds with k ports") {
    for (rank_t p = 2; p <= 1024; ++p) {
        if (!bough_test::sampled(p, p <= 100 ? 4 : 100) && p != 1024) continue;
        for (const rank_t ports : {2u, 3u, 4u, 7u, 100u}) {
            if (ports == 100 && p > 150) continue;
            const dimensions at{.size = p};
            optimal("circulant allgather", plan_allgather(circulant{.ports = ports}, at), ports);
            optimal("circulant reduce_scatter", plan_reduce_scatter(circulant{.ports = ports}, at), ports);
            optimal("bruck", plan_allgather(bruck_allgather{.ports = ports}, at), ports);
        }
    }
}

TEST_CASE("a limit of 2^a blocks: a + 2^(q-a) - 1 rounds, and no longer message") {
    for (rank_t p = 2; p <= 300; ++p) {
        if (!bough_test::sampled(p, p <= 40 ? 4 : 40)) continue;
        for (const block_t limit : {1u, 2u, 4u, 8u, 64u, 512u}) {
            CAPTURE(p, limit);
            const auto check = [&](const auto& plan) {
                CHECK(round_counter(plan, 1).rounds == test::limited_rounds(limit, p));
                block_t longest = 0;
                block_t now = 0;
                plan.emit(p / 2, step_sink{[&](const step& s) {
                              if (s.verb != verb::send) return;
                              now += s.a.count;
                              if (!s.more) longest = std::max(longest, std::exchange(now, 0));
                          }});
                CHECK(longest <= limit);
            };
            check(plan_allgather(lowest_bit_first{.aggregation_limit = limit}, {.size = p}));
            check(plan_reduce_scatter(lowest_bit_first{.aggregation_limit = limit}, {.size = p}));
        }
    }
}

TEST_CASE("verify itself, on large groups") {
    for (rank_t p = 201; p <= 1024; ++p) {
        const bool picked = p == 257 || (bough_test::all() && (p == 511 || p == 777 || p == 1023));
        if (!picked) continue;
        CAPTURE(p);
        const auto check = [&](const auto& plan) {
            const verdict proof = verify(plan);
            CAPTURE(to_string(proof));
            REQUIRE(proof);
            CHECK(proof.traits.rounds == test::ceil_log(2, p));
            CHECK(proof.traits.volume_max == p - 1);
        };
        check(plan_allgather(circulant{}, {.size = p}));
        check(plan_reduce_scatter(circulant{}, {.size = p}));
        check(plan_allgather(lowest_bit_first{}, {.size = p}));
        check(plan_reduce_scatter(lowest_bit_first{}, {.size = p}));
    }
}
