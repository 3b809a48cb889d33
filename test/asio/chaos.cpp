// SPDX-License-Identifier: BSL-1.0
// Asynchronous collectives are started, cancelled and left behind at random, and io_contexts end under them: each handler is
// called once, or destroyed once where its io_context ended, and nobody touches memory that has been given back.
//   BOUGH_TEST_ALL=1   10,000 interleavings instead of 1,000
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include "support/endings.hpp"
#include <bough/asio/async.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>

#include <boost/asio/post.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace test;
using bough::rank_t;
using bits = bough::detail::split_mix;

// The simulated worlds are always polled: their clock stands still meanwhile.
template <class World>
struct in_simulation : World {
    using World::World;
    static constexpr bough::executor_options executor{.polls = ~0u};
    static constexpr std::uint64_t timeout_ns = 50'000'000, never_ns = 1'000'000'000, fury = 1;
};

// Threads' transport, in one thread: each rank sleeps after every turn that finds nothing, until its descriptor wakes it.
// Messages are short enough to be copied: nobody waits for what a peer in the same thread still has to take.
class in_reality {
public:
    using endpoint = bough::in_process::endpoint;
    struct options {
        word seed = 0;
        std::uint32_t refuse = 0; // a part of 1000: for some then there are few slots
    };
    static constexpr bough::executor_options executor{.polls = 0};
    static constexpr std::uint64_t timeout_ns = 100'000'000'000, never_ns = 50'000'000'000;
    static constexpr std::uint64_t fury = 8; // operations end sooner

    in_reality(rank_t ranks, const options& o)
        : group_(ranks, {.slots = o.refuse == 0 ? 8u : 2u, .eager_bytes = 1u << 14}) {}
    endpoint connect(rank_t r) { return group_.connect(r); }
    bool advance() const { return true; }
    void advance_to(std::uint64_t) const {}
    std::uint64_t now_ns() const {
        return static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin_).count());
    }
    const char* first_violation() const { return nullptr; }

private:
    bough::in_process group_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// One call: with a handler, or started and then waited for with one.
struct call_of {
    call_of(int kind, word seed, rank_t r, rank_t p) : direct(kind, seed, r, p), started(kind, seed, r, p) {}
    flight<asynchronous_some> direct;
    flight<starting_some> started;
    std::shared_ptr<heard> h;
    bool is_started = false, gave_up = false, seen = false;
    bool right() const { return is_started ? started.right() : direct.right(); }
};

struct tally : bough_test::endings {
    int left = 0;
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
    if (h.destroyed != 0)
        ++t.left;
    else
        t.count(static_cast<bough::errc>(h.error.value()), h.error || c.right(), anybody_gave_up);
}

template <class World>
tally interleave(word seed) {
    bits random(seed);
    const auto p = static_cast<rank_t>(1 + random.below(5));
    const std::size_t most = 1 + random.below(6);
    const std::uint64_t violence = random.below(4) == 0 ? 0 : World::fury * (1 + random.below(12));
    World world(p, {.seed = seed, .refuse = static_cast<std::uint32_t>(random.below(3) * 100)});
    std::vector<member<World>> members(p);
    for (rank_t r = 0; r != p; ++r) {
        member<World>& m = members[r];
        m.io = std::make_unique<boost::asio::io_context>();
        m.comm.emplace(bough::on_executor{world.connect(r), *m.io, World::executor},
                       bough::communicator_options{.timeout_ns = World::timeout_ns});
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
                    // Nothing polls for this rank any more. What it could not send goes with its last handle.
                    if (!m.io) c.started.op() = {};
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
        if (world.now_ns() > World::never_ns) t.problem = "an operation never ends";
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
void campaign(word one_in = 10) {
    int good = 0, bad = 0, left = 0;
    for (word i = 0; i != 5'000; ++i) {
        if (!bough_test::sampled(i, one_in)) continue;
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

TEST_CASE("async: random starts, cancellations and ends; arrivals are read in place") {
    campaign<in_simulation<bough::simulated>>();
}
TEST_CASE("async: random starts, cancellations and ends; arrivals are taken") {
    campaign<in_simulation<bough::simulated_taking>>();
}
TEST_CASE("async: random starts, cancellations and ends; ranks sleep until their descriptors wake them") {
    campaign<in_reality>();
}
