// SPDX-License-Identifier: BSL-1.0
// Asynchronous collectives are started, cancelled and left behind at random, and io_contexts end under them: each handler is
// called once, or destroyed once where its io_context ended, and nobody touches memory that has been given back.
//   BOUGH_TEST_ALL=1   10,000 interleavings instead of 1,000
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include <bough/asio/async_wait.hpp>
#include <bough/transport/simulated.hpp>

#include <boost/asio/post.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace test;
using bough::errc;
using bough::rank_t;
using bits = bough::detail::split_mix;

// One call: with a handler, or started and then waited for with one.
struct call_of {
    call_of(int kind, word seed, rank_t r, rank_t p) : direct(kind, seed, r, p), started(kind, seed, r, p) {}
    flight<asynchronous_some> direct;
    flight<starting_some> started;
    std::shared_ptr<heard> h;
    bool is_started = false, gave_up = false, seen = false;
    bool right() const { return is_started ? started.right() : direct.right(); }
};

struct tally {
    const char* problem = nullptr;
    int good = 0, bad = 0, left = 0;
};

template <class World>
struct member {
    using communicator =
        bough::communicator<bough::on_executor<typename World::endpoint, boost::asio::io_context::executor_type>>;
    std::vector<std::unique_ptr<call_of>> all; // data outlive the io_context
    std::unique_ptr<boost::asio::io_context> io;
    std::optional<communicator> comm;
};

void look(call_of& c, bool anybody_gave_up, tally& t) {
    if (c.seen) return;
    const heard& h = *c.h;
    if (h.calls + h.destroyed != 1) {
        if (h.calls + h.destroyed > 1) t.problem = "a handler was called or destroyed twice";
        return;
    }
    c.seen = true;
    if (h.inside) t.problem = "a handler was called inside of the initiating function";
    if (h.destroyed != 0) {
        ++t.left;
    } else if (!h.error) {
        ++t.good;
        if (!c.right()) t.problem = "an operation ended well with wrong data";
    } else {
        ++t.bad;
        if (!anybody_gave_up) t.problem = "an operation failed though nobody gave up";
        if (h.error != errc::cancelled && h.error != errc::peer_aborted && h.error != errc::group_poisoned &&
            h.error != errc::peer_dead)
            t.problem = bough::describe(static_cast<errc>(h.error.value()));
    }
}

template <class World>
tally interleave(word seed) {
    bits random(seed);
    const auto p = static_cast<rank_t>(1 + random.below(5));
    const std::size_t most = 1 + random.below(6);
    const std::uint64_t violence = random.below(4) == 0 ? 0 : 1 + random.below(12);
    World world(p, {.seed = seed, .refuse = static_cast<std::uint32_t>(random.below(3) * 100)});
    std::vector<member<World>> members(p);
    for (rank_t r = 0; r != p; ++r) {
        member<World>& m = members[r];
        m.io = std::make_unique<boost::asio::io_context>();
        m.comm.emplace(bough::on_executor{world.connect(r), *m.io, {.polls = ~0u}},
                       bough::communicator_options{.timeout_ns = 50'000'000});
    }
    tally t;
    bool gave_up = false;
    for (;;) {
        bool over = true, moved = false;
        for (rank_t r = 0; r != p && t.problem == nullptr; ++r) {
            member<World>& m = members[r];
            const std::size_t k = m.all.empty() ? 0 : random.below(m.all.size());
            if (m.comm && m.all.size() != most && random.below(3) == 0) {
                const word what = seed * 64 + m.all.size();
                m.all.push_back(std::make_unique<call_of>(some_kinds[bough_test::mixed(what) % 5], what, r, p));
                call_of& c = *m.all.back();
                c.is_started = random.below(4) == 0;
                if (c.is_started) {
                    c.started.fill(0);
                    c.started.start(*m.comm);
                    c.h = initiated([&](auto handler) { async_wait(*m.comm, c.started.op(), std::move(handler)); });
                } else {
                    c.direct.fill(0);
                    c.direct.start(*m.comm);
                    c.h = c.direct.op();
                }
            } else if (!m.all.empty() && random.below(1000) < violence) {
                call_of& c = *m.all[k];
                if (c.is_started) {
                    gave_up |= c.h->calls == 0;
                    c.started.op().cancel();
                }
#if BOOST_VERSION >= 107700
                else {
                    gave_up |= c.h->calls == 0;
                    c.h->cancel.emit(boost::asio::cancellation_type::terminal);
                }
#endif
            } else if (m.comm && random.below(1000) < violence / 4) {
                // The communicator goes, as an object of the io_context that goes next; operations are given up.
                gave_up = true;
                m.comm.reset();
                if (random.below(2) == 0) m.io.reset();
            }
            if (m.io) {
                for (int turns = 0; turns != 3; ++turns) moved |= m.io->poll_one() != 0;
                if (m.io->stopped()) m.io->restart();
            }
            for (auto& c : m.all) look(*c, gave_up, t);
            over &= m.all.size() == most || !m.comm;
            for (auto& c : m.all) over &= c->seen;
        }
        if (over || t.problem != nullptr) break;
        if (!world.advance() && random.below(50) == 0) world.advance_to(world.now_ns() + 100'000);
        if (world.now_ns() > 1'000'000'000) t.problem = "an operation never ends";
    }
    for (auto& m : members) m.comm.reset();
    for (auto& m : members) m.io.reset();
    for (auto& m : members)
        for (auto& c : m.all)
            if (c->h->calls + c->h->destroyed != 1 && t.problem == nullptr) t.problem = "a handler was lost";
    members.clear();
    if (t.problem == nullptr) t.problem = world.first_violation();
    return t;
}

template <class World>
void campaign() {
    int good = 0, bad = 0, left = 0;
    for (word i = 0; i != 5'000; ++i) {
        if (!bough_test::sampled(i, 10)) continue;
        const tally t = interleave<World>(i + 1);
        CAPTURE(i + 1);
        REQUIRE(std::string(t.problem == nullptr ? "" : t.problem) == "");
        good += t.good;
        bad += t.bad;
        left += t.left;
    }
    CHECK(good > 500); // all of it happens, often
    CHECK(bad > 100);
    CHECK(left > 20);
}

} // namespace

TEST_CASE("async: random starts, cancellations and ends; arrivals are read in place") { campaign<bough::simulated>(); }
TEST_CASE("async: random starts, cancellations and ends; arrivals are taken") { campaign<bough::simulated_taking>(); }
