// SPDX-License-Identifier: BSL-1.0
// meeting_wire_up: how members of a group and processes that join it meet, and who is turned away.
#include "processes/crowd.hpp"
#include "support/catch.hpp"
#include <bough/core/formats.hpp>
#include <bough/error.hpp>
#include <bough/grow.hpp>
#include <bough/testing/wire_up_conformance.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <functional>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::clock_ns;

namespace {

constexpr std::uint64_t ms = 1'000'000;

} // namespace

// A claim of a member counts for one growth, and a proof for one message.
TEST_CASE("meeting: a proof holds for one key, one meeting and one message") {
    namespace jobs = detail::jobs;
    jobs::meeting_bytes key{}, other{}, nonce{}, growth{};
    key.fill(std::byte{1});
    other.fill(std::byte{2});
    nonce.fill(std::byte{3});
    growth.fill(std::byte{4});
    jobs::meeting_claim claim{.as = jobs::meeting_claim::role::member, .member = 2, .epoch = 5};
    REQUIRE(jobs::make_proof<openssl_mac>(key, claim, nonce, growth, claim.proof));
    CHECK(jobs::is_proved<openssl_mac>(key, claim, nonce, growth));
    CHECK_FALSE(jobs::is_proved<openssl_mac>(other, claim, nonce, growth));
    CHECK_FALSE(jobs::is_proved<openssl_mac>(key, claim, other, growth)); // heard at another meeting
    CHECK_FALSE(jobs::is_proved<openssl_mac>(key, claim, nonce, {}));
    for (std::size_t bit = 0; bit != 8 * sizeof claim; ++bit) {
        jobs::meeting_claim changed = claim;
        std::byte text[sizeof claim];
        std::memcpy(text, &changed, sizeof text);
        text[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
        std::memcpy(&changed, text, sizeof text);
        CHECK_FALSE(jobs::is_proved<openssl_mac>(key, changed, nonce, growth));
    }
    jobs::meeting_answer answer{.says = jobs::meeting_answer::verdict::welcome, .epoch = 5, .who = 2};
    REQUIRE(jobs::make_proof<openssl_mac>(key, answer, nonce, growth, answer.proof));
    CHECK(jobs::is_proved<openssl_mac>(key, answer, nonce, growth));
    answer.who = 1;
    CHECK_FALSE(jobs::is_proved<openssl_mac>(key, answer, nonce, growth));
}

// A wire-up is what the transport of the new group is made from.
TEST_CASE("meeting: what members and joiners exchange follows the rules of a wire-up") {
    using wire_up = grown_wire_up;
    const std::uint16_t port = bough_test::fixed_port();
    wire_up::bytes key{};
    key.fill(std::byte{5});
    std::vector<testing::wire_up_rule> found(4, testing::wire_up_rule::none);
    std::vector<rank_t> ranks(4, no_rank);
    std::vector<std::optional<wire_up>> wires(4);
    wire_up::plan plan;
    plan.epoch = 9;
    plan.members = {3, 1};
    plan.vacant = {0, 2};
    plan.known_as = {0, 1};
    plan.last_ns = clock_ns() + 20'000 * ms;
    const auto until_heard = [](int, std::uint64_t last, const auto& heard) {
        while (!heard() && clock_ns() < last) std::this_thread::yield();
        return status{};
    };
    detail::unique_fd listener;
    REQUIRE(wire_up::listen("127.0.0.1", port, listener));
    std::vector<std::thread> threads;
    for (rank_t i = 0; i != 4; ++i)
        threads.emplace_back([&, i] {
            status s;
            wires[i] = i < 2 ? wire_up::meet("127.0.0.1", port, key, plan, i,
                                             i == 0 ? std::move(listener) : detail::unique_fd(), until_heard, s)
                             : wire_up::join("127.0.0.1", port, key, 0, plan.build, plan.last_ns, s);
            if (!wires[i]) return;
            ranks[i] = wires[i]->rank();
            found[i] = testing::check_wire_up(*wires[i], {.timeout_ns = 2'000 * ms, .short_timeout_ns = 40 * ms}).rule;
        });
    for (std::thread& t : threads) t.join();
    for (rank_t i = 0; i != 4; ++i) {
        CAPTURE(i);
        CHECK(found[i] == testing::wire_up_rule::none);
        REQUIRE(wires[i]);
        CHECK((wires[i]->size() == 4 && wires[i]->epoch() == 9));
    }
    CHECK((ranks[0] == 3 && ranks[1] == 1 && ranks[2] + ranks[3] == 2 && ranks[2] != 1));
}

namespace {

// A meeting of one member, which leads it, and perhaps one more process.
struct lone_meeting {
    grown_wire_up::bytes key{};
    grown_wire_up::plan plan{};
    std::uint16_t port = bough_test::fixed_port();
    detail::unique_fd listener{};

    explicit lone_meeting(rank_t ranks, std::uint64_t timeout_ns) {
        key.fill(std::byte{5});
        plan.epoch = 9;
        plan.members = {0};
        for (rank_t r = 1; r != ranks; ++r) plan.vacant.push_back(r);
        plan.known_as = {4};
        plan.build = detail::build_card_of(wire_format::tcp);
        plan.last_ns = clock_ns() + timeout_ns;
        REQUIRE(grown_wire_up::listen("127.0.0.1", port, listener));
    }
    std::optional<grown_wire_up> meet(status& s) {
        return grown_wire_up::meet("127.0.0.1", port, key, plan, 0, std::move(listener), until_heard, s);
    }
    static status until_heard(int, std::uint64_t last, const std::function<bool()>& heard) {
        while (!heard() && clock_ns() < last) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return {};
    }
};

} // namespace

TEST_CASE("meeting: a joiner of another build is told both versions, and takes nobody's place") {
    lone_meeting some(2, 20'000 * ms);
    std::optional<grown_wire_up> leads;
    status said;
    std::thread leader([&] { leads = some.meet(said); });
    const auto join = [&](const detail::build_card& build, status& s) {
        s = {.code = errc::would_block};
        std::optional<grown_wire_up> made;
        while (s.code == errc::would_block)
            made = grown_wire_up::join("127.0.0.1", some.port, some.key, 0, build, some.plan.last_ns, s);
        return made;
    };
    detail::build_card other = some.plan.build;
    ++other[6]; // the session's messages
    status s;
    CHECK_FALSE(join(other, s));
    CHECK((s.code == errc::protocol_error && s.mismatch == mismatch::version));
    const std::string mine = std::to_string(formats::session), theirs = std::to_string(formats::session + 1);
    CHECK(message_of(s).find("another rank speaks version " + mine + " of the session's messages, this rank version " +
                             theirs) == 0);
    other = detail::build_card_of(wire_format::shared_memory);
    CHECK_FALSE(join(other, s));
    CHECK(message_of(s).find("another rank joins by version") == 0);
    std::optional<grown_wire_up> joins = join(some.plan.build, s);
    leader.join();
    REQUIRE((leads && joins));
    CHECK((joins->rank() == 1 && joins->size() == 2));

    lone_meeting alone(2, 300 * ms);
    std::thread joiner([&] {
        status its;
        (void)grown_wire_up::join("127.0.0.1", alone.port, alone.key, 0, other, alone.plan.last_ns, its);
    });
    CHECK_FALSE(alone.meet(said));
    joiner.join();
    CHECK(message_of(said).find("1 of 2 ranks have come, place: a process of another build was turned away") == 0);
}

TEST_CASE("meeting: a meeting of another version says so, and another program does not") {
    namespace jobs = detail::jobs;
    jobs::meeting_challenge asked;
    asked.magic += std::uint64_t{1} << 56;
    const status s = jobs::status_of(asked);
    const std::string mine = std::to_string(formats::meeting), theirs = std::to_string(formats::meeting + 1);
    CHECK(message_of(s).find("another rank speaks version " + theirs + " of growing, this rank version " + mine) == 0);
    asked.magic ^= 1;
    CHECK(jobs::status_of(asked).code == errc::would_block);
}

TEST_CASE("meeting: a leader that this rank does not reach is not called dead, unless it is") {
    grown_wire_up::plan plan;
    plan.members = {0, 1};
    plan.known_as = {3, 4};
    plan.last_ns = clock_ns() + 5'000 * ms;
    const std::uint16_t nobody = bough_test::fixed_port();
    for (const bool dies : {false, true}) {
        status s;
        const auto news = [&](int, std::uint64_t, const auto&) {
            return dies ? status{.code = errc::peer_dead, .peer = 3} : status{};
        };
        CHECK_FALSE(grown_wire_up::meet("127.0.0.1", nobody, {}, plan, 1, {}, news, s));
        CHECK(s.code == (dies ? errc::peer_dead : errc::invalid_argument));
        CHECK(s.peer == 3);
    }
}

TEST_CASE("meeting: another program that answers in place of the leader is not called a dead leader") {
    const std::uint16_t port = bough_test::fixed_port();
    detail::unique_fd listener;
    REQUIRE(grown_wire_up::listen("127.0.0.1", port, listener));
    std::thread stranger([&] {
        for (int i = 0; i != 2000; ++i) {
            const detail::unique_fd guest(::accept(listener.get(), nullptr, nullptr));
            if (guest) {
                const std::vector<char> nonsense(100, 'x');
                (void)::send(guest.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    });
    grown_wire_up::plan plan;
    plan.members = {0, 1};
    plan.known_as = {3, 4};
    plan.last_ns = clock_ns() + 5'000 * ms;
    status s;
    const auto no_news = [](int, std::uint64_t, const auto&) { return status{}; };
    CHECK_FALSE(grown_wire_up::meet("127.0.0.1", port, {}, plan, 1, {}, no_news, s));
    stranger.join();
    CHECK((s.code == errc::invalid_argument && s.peer == 3));
}

TEST_CASE("meeting: a claim that comes byte by byte is heard as one") {
    namespace jobs = detail::jobs;
    lone_meeting some(2, 20'000 * ms);
    std::optional<grown_wire_up> leads;
    status said;
    std::thread leader([&] { leads = some.meet(said); });
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(some.port);
    const detail::unique_fd joiner(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    CHECK(::connect(joiner.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    const timeval patience{20, 0};
    ::setsockopt(joiner.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    jobs::meeting_challenge asked;
    CHECK(::recv(joiner.get(), &asked, sizeof asked, MSG_WAITALL) == sizeof asked);
    CHECK(asked.magic == jobs::meeting_magic);
    jobs::meeting_claim claim{.epoch = 9, .build = some.plan.build};
    claim.nonce.fill(std::byte{7});
    CHECK(jobs::make_proof<openssl_mac>(some.key, claim, asked.nonce, {}, claim.proof));
    const int at_once = 1;
    ::setsockopt(joiner.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    std::byte text[sizeof claim];
    std::memcpy(text, &claim, sizeof text);
    for (const std::byte& one : text) {
        CHECK(::send(joiner.get(), &one, 1, MSG_NOSIGNAL) == 1);
        std::this_thread::sleep_for(std::chrono::microseconds(200)); // so the leader reads most of them one by one
    }
    jobs::meeting_answer answer;
    CHECK(::recv(joiner.get(), &answer, sizeof answer, MSG_WAITALL) == sizeof answer);
    leader.join();
    CHECK(answer.says == jobs::meeting_answer::verdict::welcome);
    CHECK((answer.who == 1 && answer.size == 2 && answer.epoch == 9));
    CHECK(jobs::is_proved<openssl_mac>(some.key, answer, asked.nonce, claim.nonce));
    CHECK(leads);
}

TEST_CASE("meeting: a leader without descriptors waits for some, and does not spin") {
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    lone_meeting some(2, 20'000 * ms);
    status s;
    std::optional<grown_wire_up> leads;
    std::thread leader([&] { leads = some.meet(s); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // it listens
    std::vector<detail::unique_fd> strangers(8);
    for (detail::unique_fd& fd : strangers) {
        fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        REQUIRE(fd);
    }
    std::vector<detail::unique_fd> all; // that there are
    const rlimit least{256, before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &least) == 0);
    for (;;) {
        detail::unique_fd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!one) break;
        all.push_back(std::move(one));
    }
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(some.port);
    for (detail::unique_fd& fd : strangers)
        CHECK(::connect(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    const auto used_ns = [] {
        timespec t{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
    };
    const std::uint64_t begin = used_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    CHECK(used_ns() - begin < 200 * ms);
    all.clear();
    strangers.clear();
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    status its;
    std::optional<grown_wire_up> joins =
        grown_wire_up::join("127.0.0.1", some.port, some.key, 0, some.plan.build, some.plan.last_ns, its);
    leader.join();
    CHECK((leads && joins));
}
