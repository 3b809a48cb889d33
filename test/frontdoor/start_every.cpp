// SPDX-License-Identifier: BSL-1.0
// Every collective in split phase: several in flight, started in one order and ended in another on each rank, give what a
// fold of the inputs gives.
#include "frontdoor/start_flights.hpp"
#include "support/catch.hpp"
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

namespace {

using namespace test;
using bough::rank_t;
using link = bough::simulated::endpoint;
using bits = bough::detail::split_mix;

template <class How>
using flights = std::vector<std::unique_ptr<flight<How>>>;

constexpr rank_t sizes[] = {1, 2, 3, 5, 8};

// One rank over a simulated world: it starts its flights one after the other, when it likes.
struct member {
    std::optional<bough::communicator<link>> comm;
    flights<starting> all;
    std::size_t started = 0;
    bool done() {
        if (started != all.size()) return false;
        for (auto& f : all)
            if (!f->op().done()) return false;
        return true;
    }
};

// Drives all ranks until all operations are done, in an order of the seed's. False: stuck.
bool drive(bough::simulated& world, std::vector<member>& members, bits& random) {
    for (;;) {
        bool all_done = true, moved = false;
        for (member& m : members) {
            if (m.started != m.all.size() && random.below(3) == 0) {
                m.all[m.started]->fill(0);
                m.all[m.started]->start(*m.comm);
                ++m.started;
                moved = true;
            }
            if (random.below(2) == 0 || m.started == 0)
                moved |= m.comm->progress();
            else
                m.all[random.below(m.started)]->op().poll();
            all_done &= m.done();
            moved |= m.started != m.all.size();
        }
        if (all_done) return true;
        if (!moved && !world.advance()) {
            for (int again = 0; again != 100; ++again) // a poll may have moved something without saying so
                for (member& m : members) moved |= m.comm->progress();
            if (!moved && !world.advance()) return false;
        }
    }
}

void simulated_round(rank_t p, word seed, std::size_t in_flight) {
    bits random(seed);
    bough::simulated world(p, {.seed = seed, .refuse = seed % 3 == 0 ? 200u : 0u});
    std::vector<member> members(p);
    for (rank_t r = 0; r != p; ++r) {
        members[r].comm.emplace(world.connect(r));
        for (std::size_t k = 0; k != in_flight; ++k)
            members[r].all.push_back(std::make_unique<flight<starting>>(
                static_cast<int>(bough_test::mixed(seed * 64 + k) % flight_kinds), seed * 64 + k, r, p));
    }
    CAPTURE(p, seed);
    REQUIRE(drive(world, members, random));
    for (rank_t r = 0; r != p; ++r)
        for (std::size_t k = 0; k != in_flight; ++k) {
            CAPTURE(r, k, bough_test::mixed(seed * 64 + k) % flight_kinds);
            bough::status s;
            members[r].all[k]->op().wait(s);
            REQUIRE(bough::message_of(s) == "success");
            REQUIRE(members[r].all[k]->right());
        }
    REQUIRE(world.violations() == 0);
}

} // namespace

TEST_CASE("start: each collective alone, any number of ranks") {
    for (const rank_t p : sizes)
        for (int kind = 0; kind != flight_kinds; ++kind)
            for (word seed = 1; seed != 5; ++seed) {
                bough::simulated world(p, {.seed = seed});
                bits random(seed);
                std::vector<member> members(p);
                for (rank_t r = 0; r != p; ++r) {
                    members[r].comm.emplace(world.connect(r));
                    members[r].all.push_back(std::make_unique<flight<starting>>(kind, seed * 131, r, p));
                }
                CAPTURE(p, kind, seed);
                REQUIRE(drive(world, members, random));
                for (member& m : members) {
                    bough::status s;
                    m.all[0]->op().wait(s);
                    REQUIRE(bough::message_of(s) == "success");
                    REQUIRE(m.all[0]->right());
                }
            }
}

TEST_CASE("start: many collectives in flight, in virtual time") {
    for (const rank_t p : sizes)
        for (word i = 0; i != 400; ++i)
            if (bough_test::sampled(i * 8 + p, 10)) simulated_round(p, i * 8 + p, 2 + i % 12);
}

TEST_CASE("start: many collectives in flight among threads, waited for in any order") {
    for (const rank_t p : sizes)
        for (word seed = 0; seed != 12; ++seed) {
            std::atomic<int> wrong{0};
            bough::in_process{p}.run([&](auto transport) {
                bough::communicator comm{std::move(transport)};
                bits random(seed * 100 + comm.rank());
                flights<starting> all;
                for (std::size_t k = 0; k != 12; ++k) {
                    all.push_back(std::make_unique<flight<starting>>(
                        static_cast<int>(bough_test::mixed(seed * 64 + k) % flight_kinds), seed * 64 + k, comm.rank(),
                        p));
                    all.back()->fill(0);
                    all.back()->start(comm);
                    if (random.below(3) == 0) all[random.below(all.size())]->op().poll();
                }
                while (!all.empty()) {
                    const std::size_t k = random.below(all.size());
                    bough::status s;
                    if (random.below(4) == 0 && !all[k]->op().wait_for_ns(1'000)) continue;
                    all[k]->op().wait(s);
                    wrong += s || !all[k]->right();
                    all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
                }
            });
            CAPTURE(p, seed);
            REQUIRE(wrong == 0);
        }
}

TEST_CASE("bind: each collective, started again and again on new data") {
    for (const rank_t p : sizes)
        for (int kind = 0; kind != flight_kinds; ++kind) {
            std::atomic<int> wrong{0};
            bough::in_process{p}.run([&](auto transport) {
                bough::communicator comm{std::move(transport)};
                flight<binding> one(kind, 11, comm.rank(), p), two(kind, 13, comm.rank(), p);
                one.start(comm);
                two.start(comm);
                for (word round = 1; round != 6; ++round) {
                    one.fill(round);
                    one.op().start();
                    two.fill(round);
                    two.op().start();
                    bough::status s;
                    two.op().wait(s);
                    wrong += s || !two.right();
                    one.op().wait(s);
                    wrong += s || !one.right();
                }
            });
            CAPTURE(p, kind);
            REQUIRE(wrong == 0);
        }
}
