// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/forked_group.hpp"
#include "support/sample.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/explain_transport.hpp>
#include <bough/launch/job.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/join_room.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;
using namespace test_tcp;

static_assert(explain_transport<tcp>() && explain_waitable_transport<tcp>());
static_assert(!std::is_copy_constructible_v<tcp> && std::is_nothrow_move_constructible_v<tcp>);

TEST_CASE("tcp: keeps the rules of a transport") {
    for (const bool near : {true, false})
        for (const rank_t ranks : {2u, 3u, 5u}) {
            tcp_options options;
            options.near_sockets = near;
            const auto fault =
                testing::check_transport([&](rank_t n) { return ends_of(n, options); },
                                         {.ranks = ranks, .messages = bough_test::all() ? 50'000u : 5'000u});
            CAPTURE(near, ranks, fault.sentence, fault.rank);
            CHECK(fault.rule == testing::transport_rule::none);
        }
}

TEST_CASE("tcp: keeps them where long messages fill the sockets, and where memory is scarce") {
    tcp_options scarce;
    scarce.unexpected_bytes_per_peer = scarce.unexpected_bytes = 256 << 10; // with three ranks: less than all may want
    scarce.socket_bytes = 16 << 10;
    tcp_options far = scarce;
    far.near_sockets = false;
    for (const tcp_options& options : {tcp_options{}, scarce, far}) {
        const auto fault =
            testing::check_transport([&](rank_t n) { return ends_of(n, options); },
                                     {.messages = bough_test::all() ? 10'000u : 400u, .longest = std::size_t{2} << 20});
        CAPTURE(options.socket_bytes, options.near_sockets, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

namespace {
struct wire_up_with_address {
    testing::thread_wire_up::end its;
    std::string where;
    rank_t rank() const { return its.rank(); }
    rank_t size() const { return its.size(); }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        return its.exchange(mine, all, timeout_ns);
    }
    std::string address() const { return where; }
};
} // namespace
TEST_CASE("tcp: listens where the wire-up says, unless the options say otherwise") {
    // 127.0.0.0/8 are all addresses of this machine; the others are not.
    const auto joined = [](std::string where, const tcp_options& options) {
        testing::thread_wire_up world{1};
        job wire(wire_up_with_address{world.of(0), std::move(where)}); // a job passes it on, as a join_room does
        join_room room(wire, forever);
        status s;
        (void)room.run([&] { return (void)tcp::join(room, options, s), s; });
        return s;
    };
    tcp_options options;
    CHECK_FALSE(joined("127.0.0.2", options));
    CHECK_FALSE(joined("", options));
    CHECK(joined("192.0.2.1", options).code == errc::invalid_argument);
    CHECK(joined("no address", options).code == errc::invalid_argument);
    options.bind = "127.0.0.3";
    CHECK_FALSE(joined("no address", options));
}

TEST_CASE("tcp: keeps them over IPv6") {
    tcp_options options;
    options.bind = "::1";
    options.near_sockets = false;
    try {
        (void)ends_of(1, options);
    } catch (const bough::error&) {
        WARN("no IPv6 here");
        return;
    }
    const auto fault =
        testing::check_transport([&](rank_t n) { return ends_of(n, options); }, {.ranks = 2, .messages = 500});
    CAPTURE(fault.sentence, fault.rank);
    CHECK(fault.rule == testing::transport_rule::none);
}

TEST_CASE("tcp: an end knows its group") {
    tcp_options options;
    options.cores = 2;
    const auto ends = ends_of(3, options);
    CHECK(ends[2].rank() == 2);
    CHECK(ends[2].size() == 3);
    CHECK(ends[0].cores() == 2);
    CHECK(ends[0].oversubscribed());
    CHECK_FALSE(ends[0].forked());
    CHECK(ends_of(1)[0].size() == 1);
    const auto here = ends_of(2);
    CHECK(here[0].cores() == here[1].cores());
    CHECK(here[0].cores() == std::max(1u, std::thread::hardware_concurrency())); // one machine, counted once
}

TEST_CASE("tcp: collectives give the right result, for any number of ranks, all pairs connected or lazily") {
    for (const rank_t ranks : {1u, 2u, 3u, 5u, 8u, 13u})
        for (const rank_t eager : {128u, 1u}) {
            if (eager == 1 && ranks == 1) continue;
            tcp_options options;
            options.eager_mesh = eager;
            options.near_sockets = ranks != 5; // and once over TCP itself
            std::atomic<int> wrong{0};
            run_threads(ranks, options, [&](tcp link) {
                communicator comm{std::move(link)};
                const rank_t me = comm.rank();
                for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{5000},
                                                std::size_t{bough_test::all() ? 1'000'000u : 70'001u}}) {
                    std::vector<std::uint64_t> x(count), all(count * ranks);
                    for (std::size_t i = 0; i != count; ++i) x[i] = me * 1000 + i;
                    const auto sum_at = [&](std::size_t i) {
                        return std::uint64_t{1000} * (ranks * (ranks - 1) / 2) + ranks * i;
                    };
                    const auto mine = x;
                    allgather(comm, std::span<const std::uint64_t>(mine), std::span(all));
                    for (std::size_t i = 0; i != all.size(); ++i) wrong += all[i] != i / count * 1000 + i % count;
                    allreduce(comm, std::span(x), plus{});
                    for (std::size_t i = 0; i != count; ++i) wrong += x[i] != sum_at(i);
                    x = mine;
                    reduce(comm, std::span(x), plus{}, root{ranks / 2});
                    if (me == ranks / 2)
                        for (std::size_t i = 0; i != count; ++i) wrong += x[i] != sum_at(i);
                    broadcast(comm, std::span(x), root{ranks / 2});
                    for (std::size_t i = 0; i != count; ++i) wrong += x[i] != sum_at(i);
                }
            });
            CAPTURE(ranks, eager);
            CHECK(wrong == 0);
        }
}

namespace {

// Polls both until nothing has come for a while; counts arrivals at `at`.
std::size_t arrivals(std::vector<tcp>& ends, rank_t at, std::vector<event>& kept) {
    std::size_t found = 0;
    for (int idle = 0; idle != 200; ++idle)
        for (rank_t r = 0; r != ends.size(); ++r) {
            std::array<event, 8> events;
            const std::size_t n = ends[r].poll(events);
            if (n != 0) idle = 0;
            for (std::size_t i = 0; i != n; ++i)
                if (r == at && events[i].what == event::kind::arrived) {
                    kept.push_back(events[i]);
                    ++found;
                }
        }
    return found;
}

} // namespace

TEST_CASE("tcp: children that flood a busy root stay under the caps, and go on when it has time") {
    tcp_options options;
    options.unexpected_bytes_per_peer = 256 << 10;
    options.unexpected_bytes = 512 << 10;
    auto ends = ends_of(4, options);
    std::vector<std::byte> bytes(1000, std::byte{7});
    std::array<std::size_t, 4> sent{};
    std::vector<event> kept;
    for (int turn = 0; turn != 20; ++turn) {
        for (rank_t r = 1; r != 4; ++r)
            for (int i = 0; i != 1000; ++i) sent[r] += ends[r].post_send(0, {}, bytes, 1) == posted::complete;
        arrivals(ends, 0, kept); // and releases none
    }
    for (rank_t r = 1; r != 4; ++r) {
        CHECK(sent[r] <= options.unexpected_bytes_per_peer / bytes.size()); // whatever the kernel's buffers hold
        CHECK(sent[r] >= options.unexpected_bytes_per_peer / bytes.size() / 2);
    }
    // Two of three have their chunks. What the third sends comes all the same, one message at a time.
    CHECK(ends[0].unexpected_bytes() >= options.unexpected_bytes);
    CHECK(ends[0].unexpected_bytes() <= options.unexpected_bytes + options.unexpected_bytes_per_peer);
    std::size_t came = 0;
    for (int turn = 0; turn != 50; ++turn) {
        arrivals(ends, 0, kept);
        came += kept.size();
        for (const event& e : kept) ends[0].release(e.id);
        kept.clear();
    }
    CHECK(came == sent[1] + sent[2] + sent[3]);
    for (rank_t r = 1; r != 4; ++r) CHECK(ends[r].post_send(0, {}, bytes, 1) == posted::complete);
}

// The window of a pair's direction is its receiver's, and each says its own when they meet.
TEST_CASE("tcp: ranks with different caps for unexpected bytes hear all of each other") {
    testing::thread_wire_up world{2};
    std::array<std::optional<tcp>, 2> ends;
    std::array<status, 2> results;
    constexpr std::array<std::uint64_t, 2> cap{std::uint64_t{16} << 20, 256 << 10};
    {
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != 2; ++r)
            threads.emplace_back([&, r] {
                auto wire = world.of(r);
                tcp_options options;
                options.unexpected_bytes_per_peer = cap[r];
                ends[r] = tcp::join(wire, options, results[r]);
            });
        for (std::thread& t : threads) t.join();
    }
    REQUIRE((ends[0] && ends[1]));
    const std::vector<std::byte> bytes(8000);
    std::array<event, 16> events;
    std::array<std::size_t, 2> sent{}, came{};
    std::array<std::vector<event>, 2> held; // each direction takes what its receiver's cap has room for
    for (int turn = 0; turn != 3000; ++turn)
        for (rank_t r = 0; r != 2; ++r) {
            sent[r] += ends[r]->post_send(1 - r, {}, bytes, 1) == posted::complete;
            for (std::size_t n = ends[r]->poll(events), i = 0; i != n; ++i) held[r].push_back(events[i]);
        }
    for (rank_t r = 0; r != 2; ++r) {
        CAPTURE(r);
        CHECK(sent[r] <= cap[1 - r] / bytes.size());
        CHECK(sent[r] >= cap[1 - r] / bytes.size() * 9 / 10);
    }
    for (rank_t r = 0; r != 2; ++r) {
        came[r] = held[r].size();
        for (const event& e : held[r]) ends[r]->release(e.id);
    }
    const auto begin = clock_type::now();
    while ((came[0] < 6000 || came[1] < 6000) && ms_since(begin) < 20'000)
        for (rank_t r = 0; r != 2; ++r) {
            if (sent[r] != 6000) sent[r] += ends[r]->post_send(1 - r, {}, bytes, 1) == posted::complete;
            for (std::size_t n = ends[r]->poll(events), i = 0; i != n; ++i) {
                REQUIRE(events[i].what == event::kind::arrived);
                ends[r]->release(events[i].id);
                ++came[r];
            }
        }
    CHECK(came[0] == 6000);
    CHECK(came[1] == 6000);
}

TEST_CASE("tcp: a group may be waited for without end") {
    tcp_options options;
    options.timeout_ns = options.linger_ns = options.stranger_timeout_ns = forever;
    for (const rank_t eager : {128u, 1u}) {
        options.eager_mesh = eager;
        auto ends = ends_of(2, options);
        std::vector<event> kept;
        for (int i = 0; i != 1000 && ends[0].post_send(1, {}, {}, 1) != posted::complete; ++i) arrivals(ends, 1, kept);
        arrivals(ends, 1, kept);
        CHECK(kept.size() == 1);
    }
}

TEST_CASE("tcp: a long message that nobody takes stops its own link only, and only above the cap") {
    auto ends = ends_of(3);
    const auto sends = [&](std::size_t length) {
        std::vector<std::byte> payload(length, std::byte{9});
        posted first = ends[0].post_send(2, {}, payload, 1);
        CHECK((first == posted::pending || first == posted::complete));
        CHECK(ends[0].post_send(2, {}, {}, 2) == posted::complete); // behind it
        CHECK(ends[1].post_send(2, {}, {}, 3) == posted::complete);
        std::vector<event> kept;
        const std::size_t before = arrivals(ends, 2, kept);
        std::vector<std::byte> taken(length);
        for (const event& e : kept)
            if (e.bytes != 0)
                CHECK(ends[2].take(e.id, taken, 4) != posted::failed);
            else
                ends[2].release(e.id);
        kept.clear();
        const std::size_t after = arrivals(ends, 2, kept);
        for (const event& e : kept) ends[2].release(e.id);
        CHECK(taken == payload);
        CHECK(before + after == 3);
        return before;
    };
    CHECK(sends(500'000) == 3);
    CHECK(sends(5'000'000) == 2);
}

TEST_CASE("tcp: a long message stops nothing behind it while its sender has not had its share, whatever others have") {
    const std::vector<std::byte> flood(30'000), last(50'000);
    tcp_options options;
    options.unexpected_bytes_per_peer = 256 << 10;
    options.unexpected_bytes = 512 << 10;
    auto ends = ends_of(4, options);
    std::vector<event> kept;
    for (int turn = 0; turn != 20; ++turn) {
        for (rank_t r = 1; r != 3; ++r) (void)ends[r].post_send(0, {}, flood, 1);
        arrivals(ends, 0, kept); // and takes none
    }
    REQUIRE(ends[0].unexpected_bytes() + last.size() > options.unexpected_bytes);
    kept.clear();
    (void)ends[3].post_send(0, {}, last, 1);
    CHECK(ends[3].post_send(0, {}, {}, 2) == posted::complete);
    arrivals(ends, 0, kept);
    CHECK(std::count_if(kept.begin(), kept.end(), [](const event& e) { return e.peer == 3; }) == 2);
    CHECK(ends[0].unexpected_bytes() <= 2 * options.unexpected_bytes);
}

TEST_CASE("tcp: a long send that is taken back half-way is whole or cannot be had") {
    tcp_options options;
    options.socket_bytes = 16 << 10;
    for (const bool taken_first : {false, true}) {
        auto ends = ends_of(2, options);
        std::vector<std::byte> payload(4 << 20, std::byte{1}), into(payload.size());
        REQUIRE(ends[0].post_send(1, {}, payload, 5) == posted::pending);
        std::vector<event> kept;
        std::array<event, 8> events;
        while (kept.empty())
            if (ends[1].poll(events) == 1) kept.push_back(events[0]);
        REQUIRE(kept[0].data == nullptr);
        if (taken_first) REQUIRE(ends[1].take(kept[0].id, into, 6) == posted::pending);
        REQUIRE(ends[0].cancel(5) == errc::ok);
        REQUIRE(ends[0].cancel(5) == errc::ok);                  // its one event is still to come
        std::fill(payload.begin(), payload.end(), std::byte{2}); // it is its owner's again
        REQUIRE(ends[0].post_send(1, {.operation = 77}, {}, 7) == posted::complete);
        if (!taken_first) ends[1].release(kept[0].id);
        bool cancelled = false, void_take = !taken_first, behind = false;
        int ended = 0;
        for (int i = 0; i != 100'000 && !(cancelled && void_take && behind); ++i)
            for (tcp& end : ends)
                for (std::size_t n = end.poll(events), k = 0; k != n; ++k) {
                    const event& e = events[k];
                    if (e.what == event::kind::complete && e.id == 5) cancelled = e.code == errc::cancelled, ++ended;
                    if (e.what == event::kind::complete && e.id == 6) void_take = e.code == errc::peer_aborted;
                    if (e.what == event::kind::arrived) behind = e.envelope.operation == 77;
                }
        CHECK(cancelled);
        CHECK(ended == 1);
        CHECK(ends[0].cancel(5) == errc::invalid_argument);
        CHECK(void_take);
        CHECK(behind);
        CHECK(std::count(into.begin(), into.end(), std::byte{2}) == 0);
    }
}

TEST_CASE("tcp: short messages of one turn leave together") {
    auto ends = ends_of(2);
    const std::uint64_t before = ends[0].system_calls();
    for (int i = 0; i != 100; ++i) CHECK(ends[0].post_send(1, {}, {}, 1) == posted::complete);
    CHECK(ends[0].system_calls() - before == 1);
    ends[0].poll({});
    CHECK(ends[0].system_calls() - before == 2);
    std::vector<event> kept;
    CHECK(arrivals(ends, 1, kept) == 100);
}

TEST_CASE("tcp: a payload lies where any element is aligned") {
    auto ends = ends_of(2);
    std::vector<std::byte> bytes(40'000);
    std::vector<event> kept;
    for (std::size_t length : {1u, 17u, 8u, 20'001u, 3u, 40'000u, 48u, 16'384u, 5u}) {
        ends[0].post_send(1, {}, {bytes.data(), length}, 1);
        arrivals(ends, 1, kept);
    }
    CHECK(kept.size() == 9);
    for (const event& e : kept)
        if (e.data != nullptr) CHECK(reinterpret_cast<std::uintptr_t>(e.data) % 16 == 0);
}

TEST_CASE("tcp: the child of a fork has no group, and leaves its parent's alone") {
    tcp_options options;
    options.unexpected_bytes_per_peer = 256 << 10; // longer messages stay with their sender
    auto ends = ends_of(2, options);
    bough_test::check_forked_group(ends, 4 << 20);
    std::vector<event> kept;
    REQUIRE(ends[0].post_send(1, {}, {}, 1) == posted::complete);
    for (int i = 0; i != 3; ++i) ends[1].wait(1'000'000, ends[1].now_ns() + 1'000'000); // through the event loop
    CHECK(arrivals(ends, 1, kept) == 1);
}

TEST_CASE("tcp: descriptors are close-on-exec") {
    tcp_options options;
    options.near_sockets = false; // those are told from others'
    const auto ends = ends_of(3, options);
    int sockets = 0;
    for (int d = 3; d != 1024; ++d) {
        const int flags = ::fcntl(d, F_GETFD);
        sockaddr_storage at{};
        socklen_t length = sizeof at;
        if (flags < 0 || ::getpeername(d, reinterpret_cast<sockaddr*>(&at), &length) != 0) continue;
        if (at.ss_family != AF_INET) continue;
        ++sockets;
        CHECK((flags & FD_CLOEXEC) != 0);
    }
    CHECK(sockets == 6);
}

TEST_CASE("tcp: waiting ends with an arrival, and by its deadline without one") {
    auto ends = ends_of(2);
    auto begin = clock_type::now();
    ends[0].wait(1'000'000, ends[0].now_ns() + 20'000'000);
    CHECK(ms_since(begin) >= 15);
    CHECK(ms_since(begin) < 2000);
    std::thread late([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ends[1].post_send(0, {}, {}, 1);
    });
    begin = clock_type::now();
    std::array<event, 2> events;
    std::size_t turns = 0;
    for (; ends[0].poll(events) == 0; ++turns) ends[0].wait(1'000'000, ends[0].now_ns() + 10'000'000'000);
    CHECK(ms_since(begin) < 5000);
    CHECK(turns < 100); // it slept
    late.join();
}

TEST_CASE("tcp: options that make no sense are named") {
    const auto refused = [](const tcp_options& options) {
        testing::thread_wire_up world{1};
        auto wire = world.of(0);
        status s;
        CHECK_FALSE(tcp::join(wire, options, s));
        CHECK(s.code == errc::invalid_argument);
        return std::string(s.argument != nullptr ? s.argument : "");
    };
    tcp_options o;
    o.bind = "localhost";
    CHECK(refused(o) == "bind: must be a numeric IPv4 or IPv6 address");
    o.bind = "0.0.0.0";
    CHECK(refused(o).substr(0, 10) == "advertise:");
    o.bind = "192.0.2.1"; // nobody's
    CHECK(refused(o) == "bind: cannot listen at this address");
    o = {};
    o.strangers = 0;
    CHECK(refused(o).substr(0, 10) == "strangers:");
    o = {};
    o.unexpected_bytes_per_peer = 1000;
    CHECK(refused(o).substr(0, 26) == "unexpected_bytes_per_peer:");
    o = {};
    o.socket_bytes = 4095;
    CHECK(refused(o).substr(0, 13) == "socket_bytes:");
}

TEST_CASE("tcp: a rank that cannot join ends the joining of all") {
    testing::thread_wire_up world{3};
    std::array<status, 3> results;
    std::array<bool, 3> joined{};
    std::vector<std::thread> threads;
    const auto begin = clock_type::now();
    for (rank_t r = 0; r != 3; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            tcp_options options;
            if (r == 1) options.bind = "nowhere";
            joined[r] = tcp::join(wire, options, results[r]).has_value();
        });
    for (auto& t : threads) t.join();
    CHECK((joined == std::array{false, false, false}));
    CHECK(ms_since(begin) < 5000);
    CHECK(results[1].code == errc::invalid_argument);
    for (const rank_t r : {0u, 2u}) {
        CHECK(results[r].code == errc::peer_aborted);
        CHECK(results[r].peer == 1);
    }
}
