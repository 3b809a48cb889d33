// SPDX-License-Identifier: BSL-1.0
// Operations are started, polled, cancelled and destroyed at random, on ranks that know nothing of each other's fate: each
// ends exactly once, with its result or an error that says why, and nobody touches memory that has been given back.
//   BOUGH_TEST_ALL=1   10,000 interleavings instead of 1,000
#include "frontdoor/start_flights.hpp"
#include "support/catch.hpp"
#include "support/endings.hpp"
#include <bough/transport/simulated.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace {

using namespace test;
using bough::rank_t;
using bits = bough::detail::split_mix;

template <class World>
struct member {
    std::optional<bough::communicator<typename World::endpoint>> comm;
    std::vector<std::unique_ptr<flight<starting_some>>> all; // null: destroyed
    std::vector<bool> ended;
    bool gave_up = false; // cancelled or destroyed something in flight
};

using tally = bough_test::endings;

// An operation has ended: looked at once.
void look(flight<starting_some>& f, bool anybody_gave_up, tally& t) {
    bough::status s;
    f.op().wait(s);
    if (!(f.op().result() == s) || !f.op().done() || !f.op().poll()) t.problem = "an operation ended twice";
    t.count(s.code, s || f.right(), anybody_gave_up);
    if (s.code == bough::errc::peer_dead) t.problem = "an operation ended with a death, but nobody has gone";
}

template <class World>
tally interleave(word seed) {
    bits random(seed);
    const auto p = static_cast<rank_t>(1 + random.below(5));
    const std::size_t most = 1 + static_cast<std::size_t>(random.below(6));
    const std::uint64_t violence = random.below(4) == 0 ? 0 : 5 + random.below(40);
    World world(p, {.seed = seed, .refuse = static_cast<std::uint32_t>(random.below(3) * 100)});
    std::vector<member<World>> members(p);
    for (rank_t r = 0; r != p; ++r)
        members[r].comm.emplace(world.connect(r), bough::communicator_options{.timeout_ns = 50'000'000});
    tally t;
    bool gave_up = false;
    for (;;) {
        bool over = true, moved = false;
        for (rank_t r = 0; r != p && t.problem == nullptr; ++r) {
            member<World>& m = members[r];
            const std::size_t k = m.all.empty() ? 0 : static_cast<std::size_t>(random.below(m.all.size()));
            if (m.all.size() != most && random.below(3) == 0) {
                const word what = seed * 64 + m.all.size();
                m.all.push_back(
                    std::make_unique<flight<starting_some>>(some_kinds[bough_test::mixed(what) % 5], what, r, p));
                m.ended.push_back(false);
                m.all.back()->fill(0);
                m.all.back()->start(*m.comm);
            } else if (!m.all.empty() && m.all[k] && random.below(1000) < violence) {
                gave_up |= !m.all[k]->op().done();
                if (random.below(2) == 0) {
                    m.all[k]->op().cancel();
                } else {
                    if (!m.ended[k] && m.all[k]->op().done()) look(*m.all[k], gave_up, t);
                    m.all[k].reset(); // and its data
                    m.ended[k] = true;
                }
            } else if (!m.all.empty() && m.all[k]) {
                m.all[k]->op().poll();
            }
            moved |= m.comm->progress();
            for (std::size_t i = 0; i != m.all.size(); ++i)
                if (!m.ended[i] && m.all[i]->op().done()) {
                    m.ended[i] = true;
                    look(*m.all[i], gave_up, t);
                }
            over &= m.all.size() == most;
            for (const bool ended : m.ended) over &= ended;
        }
        if (over || t.problem != nullptr) break;
        if (!moved && !world.advance() && random.below(50) == 0) world.advance_to(world.now_ns() + 100'000);
        if (world.now_ns() > 1'000'000'000) t.problem = "an operation never ends";
    }
    // Handles may outlive their communicators.
    for (auto& m : members) m.comm.reset();
    for (auto& m : members) m.all.clear();
    if (t.problem == nullptr) t.problem = world.first_violation();
    return t;
}

template <class World>
void campaign() {
    int good = 0, bad = 0;
    for (word i = 0; i != 5'000; ++i) {
        if (!bough_test::sampled(i, 10)) continue;
        const tally t = interleave<World>(i + 1);
        CAPTURE(i + 1);
        REQUIRE(std::string(t.problem == nullptr ? "" : t.problem) == "");
        good += t.good;
        bad += t.bad;
    }
    CHECK(good > 500); // both happen, often
    CHECK(bad > 500);
}

} // namespace

TEST_CASE("start: random starts, polls, cancellations and destructions; arrivals are read in place") {
    campaign<bough::simulated>();
}
TEST_CASE("start: random starts, polls, cancellations and destructions; arrivals are taken") {
    campaign<bough::simulated_taking>();
}
