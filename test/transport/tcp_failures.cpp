// SPDX-License-Identifier: BSL-1.0
// Ranks that are killed, stopped, or talk nonsense: the others learn of it in time.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <sys/mman.h>
#include <sys/resource.h>
#include <vector>

using namespace bough;
using namespace bough::detail;
using namespace test_tcp;

namespace {

// Shared by the processes of a trial.
struct board {
    std::atomic<std::uint32_t> ready{0};
    std::array<std::atomic<std::uint64_t>, 16> told_ns{}; // when a rank had its error
    std::array<std::atomic<std::uint32_t>, 16> code{}, cause{}, peer{};
};
struct shared_board {
    board* at = new (::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) board;
    ~shared_board() { ::munmap(at, sizeof(board)); }
};

} // namespace

// Every survivor's operation ends with an error that names the victim, soon after its death.
TEST_CASE("tcp: the death of a process is told to all others at once") {
    const int trials = bough_test::all() ? 1000 : 12;
    std::vector<double> latest;
    for (int trial = 0; trial != trials; ++trial) {
        const rank_t ranks = static_cast<rank_t>(2 + trial % 7);
        const rank_t victim =
            static_cast<rank_t>(bough_test::mixed(bough_test::seed() + static_cast<unsigned>(trial)) % ranks);
        const std::size_t count = trial % 3 == 0 ? 1 : trial % 3 == 1 ? 1000 : 200'000;
        const shared_board shared;
        board& b = *shared.at;
        processes group(ranks, [&](pair_wire_up& wire) {
            tcp link{wire};
            communicator comm{std::move(link)};
            comm.set_timeout_ns(20'000'000'000);
            std::vector<double> x(count, 1.0);
            status s;
            barrier(comm, s);
            if (!s) ++b.ready;
            while (!s) {
                if (trial % 2 == 0)
                    allreduce(comm, std::span(x), plus{}, s);
                else
                    barrier(comm, s);
            }
            b.told_ns[wire.rank()] = steady_now_ns();
            b.code[wire.rank()] = static_cast<std::uint32_t>(s.code);
            b.cause[wire.rank()] = static_cast<std::uint32_t>(s.cause);
            b.peer[wire.rank()] = s.peer;
            return 0;
        });
        const auto begin = clock_type::now();
        while (b.ready != ranks && ms_since(begin) < 20'000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        REQUIRE(b.ready == ranks);
        std::this_thread::sleep_for(std::chrono::microseconds(500 * (trial % 10)));
        const std::uint64_t killed_ns = steady_now_ns();
        group.signal(victim, SIGKILL);
        CHECK(group.result(victim) == -SIGKILL);
        double worst = 0;
        for (rank_t r = 0; r != ranks; ++r) {
            if (r == victim) continue;
            CAPTURE(trial, ranks, r, victim, b.code[r].load(), b.cause[r].load());
            CHECK(group.result(r) == 0);
            const auto code = static_cast<errc>(b.code[r].load()), cause = static_cast<errc>(b.cause[r].load());
            CHECK((code == errc::peer_dead || cause == errc::peer_dead));
            if (code == errc::peer_dead) CHECK(b.peer[r] == victim);
            worst = std::max(worst, static_cast<double>(b.told_ns[r] - killed_ns) * 1e-6);
        }
        latest.push_back(worst);
    }
    std::sort(latest.begin(), latest.end());
    const double p99 = latest[(latest.size() * 99 - 1) / 100];
    std::printf("tcp: death told after %.1f ms (median), %.1f ms (p99), %.1f ms (longest) in %d trials\n",
                latest[latest.size() / 2], p99, latest.back(), trials);
    CHECK(latest.back() < 2000); // a loaded machine under a sanitizer; what is aimed at is in doc/transports/tcp.md
}

TEST_CASE("tcp: a rank that waits for nobody learns of a death too") {
    processes group(3, [](pair_wire_up& wire) {
        tcp link{wire};
        if (wire.rank() == 2) ::kill(::getpid(), SIGKILL);
        std::array<event, 4> events;
        const std::uint64_t last = link.now_ns() + 10'000'000'000;
        for (std::uint32_t idle = 1; link.now_ns() < last; ++idle) {
            for (std::size_t n = link.poll(events), i = 0; i != n; ++i)
                if (events[i].what == event::kind::lost && events[i].peer == 2)
                    return link.post_send(2, {}, {}, 1) == posted::failed ? 0 : 2;
            link.wait(idle, last);
        }
        return 1;
    });
    CHECK(group.result(0) == 0);
    CHECK(group.result(1) == 0);
}

TEST_CASE("tcp: a stopped process is found by the deadline") {
    const int trials = bough_test::all() ? 150 : 2;
    for (int trial = 0; trial != trials; ++trial) {
        const rank_t ranks = static_cast<rank_t>(2 + trial % 4);
        const rank_t victim = static_cast<rank_t>(trial) % ranks;
        processes group(ranks, [victim](pair_wire_up& wire) {
            tcp link{wire};
            communicator comm{std::move(link)};
            status s;
            barrier(comm, s);
            if (s) return 1;
            comm.set_timeout_ns(200'000'000);
            if (wire.rank() == victim) ::kill(::getpid(), SIGSTOP);
            const std::uint64_t begin = steady_now_ns();
            barrier(comm, s);
            const std::uint64_t took = steady_now_ns() - begin;
            if (wire.rank() == victim) return 0;
            if (s.code != errc::deadline && s.cause != errc::deadline) return 2;
            return took < 100'000'000 || took > 5'000'000'000 ? 3 : 0;
        });
        CAPTURE(trial, ranks, victim);
        for (rank_t r = 0; r != ranks; ++r)
            if (r != victim) CHECK(group.result(r) == 0);
        group.signal(victim, SIGCONT);
    }
}

TEST_CASE("tcp: the survivors of a death go on without the dead") {
    processes group(4, [](pair_wire_up& wire) {
        tcp link{wire};
        communicator comm{std::move(link)};
        if (wire.rank() == 1) ::kill(::getpid(), SIGKILL);
        status s;
        while (!s) barrier(comm, s);
        auto rest = shrink(comm);
        int x = 1;
        allreduce(rest, std::span(&x, 1), plus{}, s);
        return !s && x == 3 ? 0 : 1;
    });
    for (const rank_t r : {0u, 2u, 3u}) CHECK(group.result(r) == 0);
}

// At any moment: while addresses are exchanged, while connections are proved, or shortly afterwards.
TEST_CASE("tcp: a death while the group forms ends the joining, or the first operations, of all others") {
    const int trials = bough_test::all() ? 300 : 10;
    for (int trial = 0; trial != trials; ++trial) {
        const rank_t ranks = static_cast<rank_t>(2 + trial % 5);
        const auto random = bough_test::mixed(bough_test::seed() * 1000 + static_cast<unsigned>(trial));
        const auto victim = static_cast<rank_t>(random % ranks);
        processes group(ranks, [](pair_wire_up& wire) {
            tcp_options options;
            options.timeout_ns = 500'000'000;
            status s;
            auto link = tcp::join(wire, options, s);
            if (!link) return s.code == errc::peer_dead || s.code == errc::deadline ? 0 : 10 + static_cast<int>(s.code);
            communicator comm{std::move(*link)};
            while (!s) barrier(comm, s);
            return s.code == errc::peer_dead || s.cause == errc::peer_dead ? 0 : 40 + static_cast<int>(s.code);
        });
        std::this_thread::sleep_for(std::chrono::microseconds(random / 64 % 8000));
        group.signal(victim, SIGKILL);
        const auto begin = clock_type::now();
        CAPTURE(trial, ranks, victim);
        for (rank_t r = 0; r != ranks; ++r)
            if (r != victim) CHECK(group.result(r) == 0);
        CHECK(ms_since(begin) < 5000);
    }
}

TEST_CASE("tcp: what a rank has said before it leaves is heard, however much it is") {
    for (const std::size_t count : {1u, 100u, 900u, 901u}) {
        tcp_options options;
        if (count == 901)
            options.socket_bytes = 16 << 10, options.linger_ns = forever; // most of it waits in this process
        auto ends = ends_of(2, options);
        std::vector<std::byte> bytes(1000, std::byte{3});
        std::size_t sent = 0, came = 0, lost = 0;
        ends[0].post_send(1, {}, std::vector<std::byte>(100), 9); // unread at its receiver, which leaves
        while (sent != count && ends[1].post_send(0, {}, bytes, 1) == posted::complete) ++sent;
        std::thread leaving([end = std::optional(std::move(ends[1]))]() mutable { end.reset(); });
        std::array<event, 8> events;
        const auto begin = clock_type::now();
        while (lost == 0 && ms_since(begin) < 5000)
            for (std::size_t n = ends[0].poll(events), i = 0; i != n; ++i) {
                if (events[i].what == event::kind::lost) ++lost;
                if (events[i].what != event::kind::arrived) continue;
                CHECK(lost == 0);
                ++came;
                ends[0].release(events[i].id);
            }
        leaving.join();
        CHECK(came == sent);
        CHECK(lost == 1);
    }
}

namespace {

// What rank 0 is told when rank 1, which knows the key, writes bytes of its own making: all of it until rank 1 is lost,
// and nothing of it is released.
std::vector<event> heard_from(const std::vector<std::byte>& nonsense, const tcp_options& options = {}) {
    tcp_hosts hosts = hosts_of(2);
    hosts.key.bytes()[0] = std::byte{1};
    std::thread liar([&] {
        unique_fd s;
        const tcp_address at = address_of(hosts.hosts[0]);
        for (int i = 0; i != 2000; ++i) {
            s = unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            if (::connect(s.get(), at.data(), static_cast<socklen_t>(at.size())) == 0) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        greeting_message greeting{};
        nonce accepting{};
        proof_message proof{};
        answer_message answer{};
        (void)::recv(s.get(), greeting.data(), greeting.size(), MSG_WAITALL);
        (void)read_greeting(greeting, accepting);
        std::string text = "bough tcp hosts";
        for (const tcp_host& h : hosts.hosts) text += '\n' + h.address + ' ' + std::to_string(h.port);
        std::array<std::byte, 32> job{};
        (void)openssl_mac::authenticate(hosts.key.bytes(), std::as_bytes(std::span(text)), job);
        const introduction who{handshake_layout::get(std::span(job).first<8>()), 2, 1, 0};
        (void)make_proof<openssl_mac>(hosts.key, who, accepting, {}, proof);
        (void)::send(s.get(), proof.data(), proof.size(), MSG_NOSIGNAL);
        (void)::recv(s.get(), answer.data(), answer.size(), MSG_WAITALL);
        (void)send_now(s.get(), make_seal());
        for (std::size_t sent = 0; sent != nonsense.size();) {
            const ssize_t n = ::send(s.get(), nonsense.data() + sent, nonsense.size() - sent, MSG_NOSIGNAL);
            if (n <= 0) break; // it has been cut off
            sent += static_cast<std::size_t>(n);
        }
        std::byte end{};
        while (::recv(s.get(), &end, 1, 0) > 0) {
        }
    });
    status s;
    auto link = tcp::join(hosts, options, s);
    REQUIRE(link.has_value());
    std::vector<event> seen;
    std::array<event, 16> events;
    const auto begin = clock_type::now();
    while ((seen.empty() || seen.back().what != event::kind::lost) && ms_since(begin) < 10'000)
        for (std::size_t n = link->poll(events), i = 0; i != n; ++i) seen.push_back(events[i]);
    link.reset();
    liar.join();
    return seen;
}
void write_frame(std::vector<std::byte>& bytes, const frame& f) {
    const frame_header header = encode_frame(f);
    bytes.insert(bytes.end(), header.begin(), header.end());
}

} // namespace

TEST_CASE("tcp: a peer that breaks the protocol is lost, and nothing of the nonsense is used") {
    for (int kind = 0; kind != 6; ++kind) {
        frame next{{}, 8, 1, frame_kind::message};
        if (kind == 0) next.kind = static_cast<frame_kind>(9);
        if (kind == 1) next.bytes = ~std::uint64_t{0};
        if (kind == 2) next.sequence = 7;
        if (kind == 3) next = {{}, 1'000'000, 1, frame_kind::credit}; // more than was ever sent
        if (kind == 4) next.bytes = most_short_bytes + 1;
        if (kind == 5) next.kind = frame_kind::long_message; // though it is short
        std::vector<std::byte> said;
        write_frame(said, {{}, 0, 0, frame_kind::message}); // a right one first
        write_frame(said, next);
        const auto seen = heard_from(said);
        CAPTURE(kind);
        REQUIRE(seen.size() == 2);
        CHECK(seen[0].what == event::kind::arrived);
        CHECK(seen[1].what == event::kind::lost);
        CHECK(seen[1].code == errc::protocol_error);
        CHECK(seen[1].peer == 1);
    }
}

TEST_CASE("tcp: leaving sends nothing for a long message that short ones have overtaken") {
    auto ends = ends_of(2, {.linger_ns = 20'000'000'000});
    const std::vector<std::byte> sent(std::size_t{16} << 20), small(8);
    std::vector<std::byte> into(sent.size());
    std::array<event, 8> events;
    REQUIRE(ends[0].post_send(1, {}, sent, 1) == posted::pending);
    REQUIRE(ends[0].post_send(1, {.operation = 2}, small, 2) == posted::complete);
    for (bool has_come = false; !has_come;) {
        (void)ends[0].poll(events);
        const std::size_t found = ends[1].poll(events);
        for (const event& e : std::span(events).first(found)) {
            has_come |= e.bytes == small.size();
            if (e.bytes == sent.size()) REQUIRE(ends[1].take(e.id, into, 9) == posted::pending);
        }
    }
    for (int i = 0; i != 50; ++i) (void)ends[0].poll(events); // the socket is full; nobody reads any more
    REQUIRE(ends[0].unsent());
    const auto begin = clock_type::now();
    ends.erase(ends.begin());
    CHECK(ms_since(begin) < 5'000);
}

// Messages of no bytes take no memory for payloads, but each has an entry in the table of arrivals.
TEST_CASE("tcp: a peer that sends more than this rank's window is lost") {
    tcp_options options;
    options.unexpected_bytes_per_peer = 256 << 10;
    for (const std::size_t bytes : {0u, 1000u}) {
        const std::uint64_t most = options.unexpected_bytes_per_peer / short_frame_bytes(bytes);
        std::vector<std::byte> said;
        for (std::uint32_t n = 0; n != most + 100; ++n) {
            write_frame(said, {{}, bytes, n, frame_kind::message});
            said.resize(said.size() + bytes + static_cast<std::size_t>(frame_tail_bytes(frame_kind::message, bytes)));
        }
        const auto seen = heard_from(said, options);
        CAPTURE(bytes, seen.size());
        CHECK(seen.size() == most + 1);
        REQUIRE_FALSE(seen.empty());
        CHECK(seen.back().what == event::kind::lost);
        CHECK(seen.back().code == errc::protocol_error);
    }
}

namespace {

// Lets this process have no descriptor from the lowest free one + `more` on, while it lives.
class few_descriptors {
public:
    explicit few_descriptors(int more) {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const unique_fd lowest(::dup(0));
        const rlimit few{static_cast<rlim_t>(lowest.get() + more), before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
    }
    few_descriptors(const few_descriptors&) = delete;
    few_descriptors& operator=(const few_descriptors&) = delete;
    ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

} // namespace

TEST_CASE("tcp: a rank that is out of descriptors says so at once") {
    int short_ones = 0, joined = 0;
    for (const rank_t poor : {0u, 1u})
        for (int more = 1; more != 12; ++more) {
            processes group(2, [poor, more](pair_wire_up& wire) {
                tcp_options options;
                options.timeout_ns = wire.rank() == poor ? 20'000'000'000 : 300'000'000;
                std::optional<few_descriptors> limit;
                if (wire.rank() == poor) limit.emplace(more);
                const auto begin = clock_type::now();
                status s;
                const auto link = tcp::join(wire, options, s);
                if (wire.rank() != poor) return 0;
                if (ms_since(begin) > 5000) return 3;
                return link ? 1 : s.code == errc::no_resources ? 2 : 4;
            });
            CAPTURE(poor, more);
            const int result = group.result(poor);
            CHECK((result == 1 || result == 2));
            joined += result == 1;
            short_ones += result == 2;
            (void)group.result(1 - poor);
        }
    CHECK(short_ones >= 6); // the listener, the event loop's three, and the connection itself
    CHECK(joined >= 2);
}

TEST_CASE("tcp: a lazy group whose rank is out of descriptors counts that, and goes on when there are some") {
    tcp_options options;
    options.eager_mesh = 1;
    auto ends = ends_of(2, options);
    std::array<event, 4> events;
    CHECK(ends[0].shortages() == 0);
    (void)ends[1].post_send(0, {}, {}, 1);
    for (int i = 0; i != 4; ++i) CHECK(ends[1].poll(events) == 0); // it calls
    {
        const few_descriptors none(0);
        for (int i = 0; i != 200; ++i) CHECK(ends[0].poll(events) == 0);
        CHECK(ends[0].shortages() != 0);
    }
    std::size_t came = 0;
    bool sent = false;
    const auto begin = clock_type::now();
    while (came == 0 && ms_since(begin) < 5000) {
        if (!sent) sent = ends[1].post_send(0, {}, {}, 2) == posted::complete;
        (void)ends[1].poll(events);
        came += ends[0].poll(events);
    }
    CHECK(came == 1);
    CHECK(events[0].what == event::kind::arrived);
}

TEST_CASE("tcp: a lazy rank that cannot call on another for want of descriptors is told why") {
    tcp_options options;
    options.eager_mesh = 1;
    auto ends = ends_of(2, options);
    std::array<event, 4> events;
    const few_descriptors none(0);
    (void)ends[1].post_send(0, {}, {}, 1);
    std::size_t found = 0;
    for (int i = 0; i != 200 && found == 0; ++i) found = ends[1].poll(events);
    REQUIRE(found == 1);
    CHECK(events[0].what == event::kind::lost);
    CHECK(events[0].code == errc::no_resources);
}
