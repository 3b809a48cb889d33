// SPDX-License-Identifier: BSL-1.0
#include "simulated/party.hpp"
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/sample.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/broadcast.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnf.hpp>
#include <bough/tree/tree.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include "transport/shared_memory_world.hpp"
#endif

using namespace bough;

namespace {

static_assert(InPlaceTransport<emulated<in_process::endpoint>> && WaitableTransport<emulated<in_process::endpoint>>);
static_assert(InPlaceTransport<emulated<simulated::endpoint>>);
static_assert(Transport<emulated<simulated_taking::endpoint>> &&
              !InPlaceTransport<emulated<simulated_taking::endpoint>>);

// An end of a simulated world that moves time on when there is nothing to see.
template <class World>
class ticking {
public:
    ticking(std::shared_ptr<World> world, rank_t r) : world_(std::move(world)), end_(world_->connect(r)) {}
    rank_t rank() const noexcept { return end_.rank(); }
    rank_t size() const noexcept { return end_.size(); }
    std::uint64_t now_ns() const noexcept { return end_.now_ns(); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return end_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = end_.poll(events);
        if (found == 0 && !world_->advance()) world_->advance_to(world_->now_ns() + 200);
        return found;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return end_.take(handle, into, id);
    }
    bool claim(std::uint64_t handle) requires InPlaceTransport<typename World::endpoint> { return end_.claim(handle); }
    void release(std::uint64_t handle) { end_.release(handle); }
    errc cancel(std::uint64_t id) { return end_.cancel(id); }

private:
    std::shared_ptr<World> world_;
    typename World::endpoint end_;
};

emulation cluster_of(rank_t ranks, double unit_ns, emulated_work work, bool rank_costs, bool link_costs) {
    emulation all{.work = work, .seed = 5};
    for (rank_t r = 0; rank_costs && r != ranks; ++r) {
        all.send.push_back({unit_ns * (1 + r % 3), unit_ns / 1000});
        all.receive.push_back({unit_ns * (r % 2), 0});
    }
    if (!link_costs) return all;
    all.latency_ns = 3 * unit_ns;
    all.ns_per_byte = unit_ns / 1000;
    all.jitter_ns = 10 * unit_ns;
    if (ranks > 1) all.links = {{.from = 0, .to = 1, .latency_ns = unit_ns, .jitter_ns = 40 * unit_ns}};
    all.slow = {.period_ns = 50 * unit_ns, .duration_ns = 20 * unit_ns, .factor = 4};
    return all;
}

template <class World>
void check_simulated() {
    for (const bool rank_costs : {false, true})
        for (const bool link_costs : {false, true})
            for (const std::uint64_t seed : {1u, 2u, 3u}) {
                std::vector<std::shared_ptr<World>> worlds;
                const auto fault = testing::check_transport(
                    [&](rank_t ranks) {
                        worlds.push_back(
                            std::make_shared<World>(ranks, simulated_options{.seed = seed, .spurious = 50}));
                        const emulation all = cluster_of(ranks, 200, emulated_work::polled, rank_costs, link_costs);
                        std::vector<emulated<ticking<World>>> ends;
                        for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(ticking<World>(worlds.back(), r), all);
                        return ends;
                    },
                    {.messages = bough_test::all() ? 10'000u : 1'000u});
                CAPTURE(rank_costs, link_costs, seed, fault.sentence, fault.rank);
                CHECK(fault.rule == testing::transport_rule::none);
                for (const auto& world : worlds) {
                    INFO((world->first_violation() == nullptr ? "" : world->first_violation()));
                    CHECK(world->violations() == 0);
                }
            }
}

// One world of emulated ends, whose time jumps to whatever comes next.
class virtual_cluster {
public:
    virtual_cluster(rank_t ranks, const emulation& all, std::uint64_t wire_ns = 1)
        : world_(ranks, {.latency_min_ns = wire_ns, .latency_max_ns = wire_ns, .slots = 64}) {
        for (rank_t r = 0; r != ranks; ++r) ends_.emplace_back(world_.connect(r), all);
    }
    emulated<simulated::endpoint>& operator[](rank_t r) { return ends_[r]; }
    std::uint64_t now_ns() const { return world_.now_ns(); }
    bool advance() {
        for (auto& end : ends_) {
            (void)end.poll({}); // looks what has come
            if (end.next_ns() > now_ns() && end.next_ns() != ~std::uint64_t{0}) world_.wake_at(end.next_ns());
        }
        return world_.advance();
    }
    // The next event of a rank, while the others only look.
    event next(rank_t r) {
        std::array<event, 1> found;
        while (ends_[r].poll(found) == 0)
            if (!advance()) return {};
        return found[0];
    }

private:
    simulated world_;
    std::vector<emulated<simulated::endpoint>> ends_;
};

constexpr std::array<std::byte, 100> bytes{};

} // namespace

// What the transport below knows is not lost on the way up.
static_assert(requires(const emulated<in_process::endpoint>& t) { t.forked(), t.cores(); });

TEST_CASE("emulated: without a deadline a rank that waits sleeps, and not for long") {
    in_process world{2};
    emulated link{world.connect(0), {}};
    const std::uint64_t begin = link.now_ns();
    for (std::uint32_t idle = 1; idle != 101; ++idle) link.wait(idle, 0);
    const std::uint64_t took = link.now_ns() - begin;
    CHECK(took > 1'000'000); // a hundred naps
    CHECK(took < 5'000'000'000);
}

TEST_CASE("emulated: keeps the rules of a transport over simulated ranks, which see no violation") {
    SECTION("read in place") { check_simulated<simulated>(); }
    SECTION("taken") { check_simulated<simulated_taking>(); }
}

TEST_CASE("emulated: keeps the rules of a transport over in_process") {
    for (const emulated_work work : {emulated_work::asleep, emulated_work::busy, emulated_work::polled})
        for (const bool rank_costs : {false, true})
            for (const bool link_costs : {false, true}) {
                const auto fault = testing::check_transport(
                    [&](rank_t ranks) {
                        in_process world(ranks);
                        std::vector<emulated<in_process::endpoint>> ends;
                        for (rank_t r = 0; r != ranks; ++r)
                            ends.emplace_back(world.connect(r), cluster_of(ranks, 50, work, rank_costs, link_costs));
                        return ends;
                    },
                    {.messages = 1'000});
                CAPTURE(static_cast<int>(work), rank_costs, link_costs, fault.sentence, fault.rank);
                CHECK(fault.rule == testing::transport_rule::none);
            }
}

#if defined(__linux__)
TEST_CASE("emulated: keeps the rules of a transport over shared_memory") {
    for (const emulated_work work : {emulated_work::asleep, emulated_work::polled}) {
        const auto fault = testing::check_transport(
            [&](rank_t ranks) {
                std::vector<emulated<shared_memory>> ends;
                for (shared_memory& end : bough_test::shared_ends(ranks))
                    ends.emplace_back(std::move(end), cluster_of(ranks, 50, work, true, true));
                return ends;
            },
            {.messages = 500});
        CAPTURE(static_cast<int>(work), fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

TEST_CASE("emulated: a flat broadcast over processes takes its root no less than all its sends") {
    bough_test::processes group(4, [](auto& wire, bough_test::report& told) {
        emulation all{.send = {4, {2'000'000, 0}}};
        communicator comm{emulated{shared_memory{wire}, all}};
        int word = comm.rank() == 0 ? 42 : 0;
        const std::uint64_t begin = bough_test::clock_ns();
        broadcast(comm, std::span(&word, 1), root{0}, flat{});
        told.numbers[0] = static_cast<double>(bough_test::clock_ns() - begin);
        told.check(word == 42);
    });
    group.wait();
    for (rank_t r = 0; r != 4; ++r) {
        CAPTURE(r);
        CHECK(group.exit_code(r) == 0);
        CHECK(group.of(r).wrong == 0);
    }
    CHECK(group.of(0).numbers[0] >= 3 * 2'000'000.0);
}
#endif

TEST_CASE("emulated: latency, bandwidth and windows, to the nanosecond of a virtual clock") {
    emulation all{.latency_ns = 5'000, .ns_per_byte = 10, .work = emulated_work::polled};
    SECTION("messages of a link follow each other") {
        virtual_cluster group(3, all);
        for (std::uint64_t id = 0; id != 4; ++id) CHECK(group[0].post_send(1, {}, bytes, id) == posted::complete);
        CHECK(group[2].post_send(1, {}, std::span(bytes).first(8), 0) == posted::complete); // another link
        CHECK(group.next(1).peer == 2);
        CHECK(group.now_ns() == 1 + 80 + 5'000);
        for (std::uint64_t k = 1; k != 5; ++k) {
            const event e = group.next(1);
            CHECK(e.peer == 0);
            CHECK(group.now_ns() == 1 + 1'000 * k + 5'000);
        }
    }
    SECTION("one link may differ, in one direction") {
        all.links = {{.from = 0, .to = 1, .latency_ns = 70'000}};
        virtual_cluster group(2, all);
        CHECK(group[0].post_send(1, {}, bytes, 0) == posted::complete);
        CHECK(group[1].post_send(0, {}, bytes, 0) == posted::complete);
        group.next(0);
        CHECK(group.now_ns() == 1 + 1'000 + 5'000);
        group.next(1);
        CHECK(group.now_ns() == 1 + 70'000);
    }
    SECTION("in a window a link is slower") {
        all.slow = {.period_ns = 10'000, .duration_ns = 601, .factor = 3};
        virtual_cluster group(2, all);
        CHECK(group[0].post_send(1, {}, bytes, 0) == posted::complete); // 600 of the window move 200
        group.next(1);
        CHECK(group.now_ns() == 601 + 800 + 5'000);
    }
}

TEST_CASE("emulated: a peer is lost after its last words, and refuses until then") {
    const emulation all{.latency_ns = 50'000, .work = emulated_work::polled};
    simulated world(2, {.latency_min_ns = 1, .latency_max_ns = 1, .detection_ns = 1});
    emulated end{world.connect(0), all};
    {
        emulated other{world.connect(1), all};
        CHECK(other.post_send(0, {.segment = 7}, bytes, 0) == posted::complete);
    }
    std::array<event, 4> found;
    CHECK(end.poll(found) == 0);
    while (end.next_ns() == ~std::uint64_t{0} && world.advance()) CHECK(end.poll(found) == 0); // it is held back
    (void)world.advance();
    CHECK(end.poll(found) == 0);
    CHECK(end.post_send(1, {}, bytes, 1) == posted::would_block);
    world.advance_to(end.next_ns());
    CHECK(end.poll(found) == 2);
    CHECK((found[0].what == event::kind::arrived && found[0].envelope.segment == 7));
    CHECK((found[1].what == event::kind::lost && found[1].peer == 1));
    CHECK(end.post_send(1, {}, bytes, 1) == posted::failed);
}

TEST_CASE("emulated: a rank that is polled is occupied by its sends and receives, one after the other") {
    const emulation all{.send = {{1'000, 2}, {3'000, 0}},
                        .receive = {{0, 0}, {500, 1}},
                        .latency_ns = 10,
                        .work = emulated_work::polled};
    virtual_cluster group(2, all);
    CHECK(group[0].post_send(1, {}, bytes, 0) == posted::would_block);
    CHECK(group[0].next_ns() == 1'200);
    while (group[0].post_send(1, {}, bytes, 0) == posted::would_block) REQUIRE(group.advance());
    CHECK(group.now_ns() == 1'200);
    CHECK(group[0].post_send(1, {}, bytes, 1) == posted::would_block); // each pays for itself
    while (group[0].post_send(1, {}, bytes, 1) == posted::would_block) REQUIRE(group.advance());
    CHECK(group.now_ns() == 2'400);
    CHECK(group[1].post_send(0, {}, bytes, 0) == posted::would_block); // until 5400; no receive before
    group.next(1);
    CHECK(group.now_ns() == 5'400 + 600);
    CHECK(group[1].post_send(0, {}, bytes, 0) == posted::complete); // paid long ago
    group.next(1);
    CHECK(group.now_ns() == 5'400 + 1'200);
}

TEST_CASE("emulated: jitter depends on the seed, the ranks and the number of the message; order is kept") {
    const auto times_of = [](std::uint64_t seed) {
        virtual_cluster group(3,
                              {.latency_ns = 100, .jitter_ns = 1'000'000, .work = emulated_work::polled, .seed = seed});
        std::vector<std::uint64_t> times;
        for (std::uint32_t k = 0; k != 32; ++k) {
            (void)group[0].post_send(2, {.segment = k}, bytes, k);
            (void)group[1].post_send(2, {.segment = k}, bytes, k);
        }
        std::array<std::uint32_t, 2> seen{};
        bool crossed = false;
        while (seen[0] + seen[1] != 64) {
            const event e = group.next(2);
            CHECK(e.envelope.segment == seen[e.peer]++);
            crossed = crossed || (seen[0] > seen[1] + 1);
            times.push_back(group.now_ns() * 2 + e.peer);
            group[2].release(e.id);
        }
        CHECK(times.back() / 2 > 100'000);
        CHECK(times.back() / 2 <= 1'000'000 + 100 + 1);
        return times;
    };
    CHECK(times_of(1) == times_of(1));
    CHECK(times_of(1) != times_of(2));
    // The draws are even.
    double sum = 0;
    for (std::uint64_t n = 0; n != 10'000; ++n) sum += detail::drawn(3, 1, 2, n);
    CHECK(sum == Approx(5'000).margin(150)); // five standard errors
}

TEST_CASE("emulated: work through windows is what small steps add up to") {
    const emulated_windows slow{.period_ns = 1'000, .duration_ns = 300, .factor = 5};
    for (const double begin : {0.0, 1.0, 299.0, 300.0, 999.0, 12'345.0})
        for (const double work : {0.0, 1.0, 59.0, 61.0, 699.0, 5'000.0, 76'543.0}) {
            CAPTURE(begin, work);
            double at = begin;
            for (double left = work; left > 0;) { // a quarter of a nanosecond at a time
                const double rate = std::fmod(at, 1'000) < 300 ? 5 : 1;
                const double done = std::min(left, 0.25 / rate);
                left -= done;
                at += done * rate;
            }
            CHECK(detail::through_windows(slow, begin, work) == Approx(at).margin(2));
        }
    CHECK(detail::through_windows({}, 7, 8) == 15);
}

TEST_CASE("emulated: broadcasts over any tree take what the model says, engine and all") {
    const std::vector<double> send{1e6, 2e6, 2.15e6, 1e6, 4e6, 1.5e6, 2e6, 2e6, 1e6, 3e6, 2e6, 1e6};
    const std::vector<double> receive{1e5, 2e5, 2e5, 1e5, 4e5, 1e5, 2e5, 2e5, 1e5, 3e5, 2e5, 1e5};
    const auto ranks = static_cast<rank_t>(send.size());
    for (const double latency_ns : {0.0, 3e5})
        for (const bool with_receives : {false, true}) {
            emulation all{.latency_ns = latency_ns, .work = emulated_work::polled};
            for (rank_t r = 0; r != ranks; ++r) {
                all.send.push_back({send[r], 0});
                if (with_receives) all.receive.push_back({receive[r], 0});
            }
            const tree_costs<double> costs{.send = send,
                                           .receive = with_receives ? std::span<const double>(receive)
                                                                    : std::span<const double>{},
                                           .latency = latency_ns};
            for (const table& over : {table(tree(binomial{}, ranks)), table(tree(flat{}, ranks)), fnf_tree(costs)}) {
                CAPTURE(latency_ns, with_receives);
                simulated world(ranks, {.latency_min_ns = 1, .latency_max_ns = 1});
                std::vector<std::unique_ptr<session<emulated<simulated::endpoint>>>> sessions;
                std::vector<session_operation> operations(ranks);
                std::vector<test::one_call> calls;
                const auto plan = plan_broadcast(over, {.size = ranks});
                for (rank_t r = 0; r != ranks; ++r) {
                    sessions.push_back(std::make_unique<session<emulated<simulated::endpoint>>>(
                        emulated<simulated::endpoint>(world.connect(r), all)));
                    calls.push_back(test::make_call(plan, r, std::vector<std::uint64_t>{r == 0 ? 42u : 0u}, plus{}));
                }
                for (rank_t r = 0; r != ranks; ++r) {
                    calls[r].c.input = calls[r].c.output = calls[r].data.data();
                    sessions[r]->start(operations[r], *calls[r].work, calls[r].c, calls[r].tag, calls[r].signature,
                                       1'000'000'000'000);
                }
                std::uint64_t last = 0;
                std::vector<char> done(ranks, 0);
                for (int turns = 0; turns != 100'000 && std::count(done.begin(), done.end(), 0) != 0; ++turns) {
                    bool moved = false;
                    for (rank_t r = 0; r != ranks; ++r) {
                        moved = sessions[r]->progress() || moved;
                        if (operations[r].done() && done[r] == 0) done[r] = 1, last = world.now_ns();
                    }
                    for (rank_t r = 0; !moved && r != ranks; ++r) {
                        const std::uint64_t next = sessions[r]->transport().next_ns();
                        if (next != ~std::uint64_t{0} && next > world.now_ns()) world.wake_at(next);
                    }
                    if (!moved && !world.advance()) break;
                }
                for (rank_t r = 0; r != ranks; ++r) {
                    REQUIRE(operations[r].done());
                    CHECK(operations[r].result().code == errc::ok);
                    std::uint64_t word = 0;
                    std::memcpy(&word, calls[r].data.data(), sizeof word);
                    CHECK(word == 42);
                }
                // What the wire and the polls of the world take besides is less than 2 us a hop.
                const double expected = broadcast_time(over, costs);
                CHECK(static_cast<double>(last) >= expected);
                CHECK(static_cast<double>(last) <= expected + 24e3);
                CHECK(world.violations() == 0);
            }
        }
}

TEST_CASE("emulated: a flat broadcast takes its root no less than all its sends, asleep or busy") {
    for (const emulated_work work : {emulated_work::asleep, emulated_work::busy}) {
        emulation all{.send = {4, {500'000, 10}}, .receive = {4, {100'000, 0}}, .work = work};
        std::atomic<std::uint64_t> root_ns{0};
        in_process{4}.run([&](auto transport) {
            communicator comm{emulated{std::move(transport), all}};
            int word = comm.rank() == 0 ? 42 : 0;
            const std::uint64_t begin = comm.transport().now_ns();
            broadcast(comm, std::span(&word, 1), root{0}, flat{});
            if (comm.rank() == 0) root_ns = comm.transport().now_ns() - begin;
            if (word != 42) root_ns = 0;
        });
        CHECK(root_ns >= 3 * 500'000);
    }
}

TEST_CASE("emulated: a send that was refused is paid once; one that never can be is not paid") {
    struct full { // refuses the first post
        int calls = 0;
        rank_t rank() const { return 0; }
        rank_t size() const { return 2; }
        std::uint64_t now_ns() const { return 0; }
        posted post_send(rank_t to, const envelope&, std::span<const std::byte>, std::uint64_t) {
            if (to != 1) return posted::failed;
            return calls++ == 0 ? posted::would_block : posted::complete;
        }
        std::size_t poll(std::span<event>) { return 0; }
        posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
        void release(std::uint64_t) {}
        errc cancel(std::uint64_t) { return errc::invalid_argument; }
    };
    emulated link{full{}, emulation{.send = {2, {20'000'000, 0}}, .work = emulated_work::busy}};
    using clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    const auto ms = [&](rank_t to, posted expected) {
        const auto begin = clock::now();
        CHECK(link.post_send(to, {}, {}, 0) == expected);
        return clock::now() - begin;
    };
    CHECK(ms(0, posted::failed) < milliseconds(15));
    CHECK(ms(1, posted::would_block) >= milliseconds(20));
    CHECK(ms(1, posted::complete) < milliseconds(15));
    CHECK(ms(1, posted::complete) >= milliseconds(20));
}

TEST_CASE("emulated: what does not fit the group is named") {
    const auto says = [](const emulation& all) {
        const status bad = all.check(2);
        return std::string(bad ? bad.argument : "");
    };
    CHECK(says({}) == "");
    CHECK(says({.send = {{1, 0}, {2, 0}}, .links = {{.from = 0, .to = 1}}}) == "");
    CHECK(says({.send = {{1, 0}}}) == "emulation: costs of each rank of the group, or none");
    CHECK(says({.receive = {3, {1, 0}}}) == "emulation: costs of each rank of the group, or none");
    CHECK(says({.latency_ns = -1}) == "emulation: costs are numbers from 0 to 1e18 ns");
    CHECK(says({.jitter_ns = std::nan("")}) == "emulation: costs are numbers from 0 to 1e18 ns");
    CHECK(says({.links = {{.from = 0, .to = 2}}}) == "emulation: a link joins two ranks of the group");
    CHECK(says({.links = {{.from = 1, .to = 1}}}) == "emulation: a link joins two ranks of the group");
    CHECK(says({.slow = {.period_ns = 5, .duration_ns = 6}}) ==
          "emulation: windows are as long as their period at most, factors from 1 to 1e6");
    CHECK(emulated<self>(self{}, {}).size() == 1);
    in_process two(2, {.cores = 7});
    CHECK(emulated(two.connect(0), emulation{}).cores() == 7);
}

TEST_CASE("emulated: a poll without memory loses nothing that has come") {
    in_process world{2};
    emulated<in_process::endpoint> from{world.connect(0), {.latency_ns = 1}}, to{world.connect(1), {.latency_ns = 1}};
    const std::uint32_t messages = 8; // the slots of a pair
    for (std::uint32_t i = 0; i != messages; ++i)
        REQUIRE(from.post_send(1, {.segment = i}, std::as_bytes(std::span(&i, 1)), i) == posted::complete);
    std::array<event, 4> events;
    std::vector<std::uint32_t> seen;
    int thrown = 0;
    const auto poll = [&] {
        bough_test::fail_for_good = thrown < 5;
        bough_test::until_failure = thrown < 5 ? 0 : -1;
        std::size_t found = 0;
        try {
            found = to.poll(events);
        } catch (const std::bad_alloc&) {
            ++thrown;
        }
        bough_test::until_failure = -1;
        bough_test::fail_for_good = false;
        for (std::size_t k = 0; k != found; ++k) {
            seen.push_back(events[k].envelope.segment);
            to.release(events[k].id);
        }
    };
    for (int i = 0; i != 100; ++i) poll();
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i != messages; ++i) all.push_back(i);
    CHECK(thrown == 5);
    CHECK(seen == all);
}
