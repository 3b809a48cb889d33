// SPDX-License-Identifier: BSL-1.0
// environment_wire_up: ranks that find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE // unshare
#endif
#include "support/catch.hpp"
#include <bough/launch.hpp>
#include <bough/launch/environment.hpp>
#include <bough/testing/wire_up_conformance.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <netinet/in.h>
#include <optional>
#include <sched.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

// A socket that listens at a port that was free; its port.
std::pair<detail::unique_fd, std::uint16_t> listening() {
    detail::unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    REQUIRE(::bind(made.get(), reinterpret_cast<sockaddr*>(&at), length) == 0);
    REQUIRE(::listen(made.get(), 1) == 0);
    REQUIRE(::getsockname(made.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
    return {std::move(made), ntohs(at.sin_port)};
}
std::uint16_t free_port() { return listening().second; }

// f(rank, wire, status) for each place, in a thread each. What f leaves of the wires stays until all have
// ended.
template <class F>
void join_all(const std::vector<environment_place>& places, std::uint64_t timeout_ns, F f) {
    std::vector<std::optional<environment_wire_up>> wires(places.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != places.size(); ++i)
        threads.emplace_back([&, i] {
            status s;
            wires[i] = environment_wire_up::join(places[i], s, timeout_ns);
            f(i, wires[i], s);
        });
    for (std::thread& t : threads) t.join();
}
std::vector<environment_place> places_of(rank_t ranks, std::uint16_t port) {
    std::vector<environment_place> made;
    for (rank_t r = 0; r != ranks; ++r) made.push_back({r, ranks, "127.0.0.1", port});
    return made;
}

// What read() says of these variables; null: not set.
status read_with(const char* rank, const char* size, const char* address, const char* port, environment_place& place) {
    const std::pair<const char*, const char*> all[] = {
        {"RANK", rank}, {"WORLD_SIZE", size}, {"MASTER_ADDR", address}, {"MASTER_PORT", port}};
    for (const auto& [name, value] : all) value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
    const status s = environment_wire_up::read(place);
    for (const auto& [name, value] : all) ::unsetenv(name);
    return s;
}
struct alone_at {
    std::string where;
    rank_t rank() const { return 0; }
    rank_t size() const { return 1; }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t) {
        std::copy(mine.begin(), mine.end(), all.begin());
        return {};
    }
    std::string address() const { return where; }
};
// What the variables are in a process.
struct variables {
    rank_t rank = 0, size = 0;
    std::uint16_t port = 0;
    const char* launcher_job = nullptr; // TORCHELASTIC_RUN_ID
    int after_ms = 0;
};
// A process for each: it joins and exchanges once. What it says; empty: all went well.
std::vector<std::string> said_by(const std::vector<variables>& all, std::uint64_t timeout_ns) {
    constexpr std::size_t room = 512;
    void* const shared = ::mmap(nullptr, room * all.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(shared != MAP_FAILED);
    char* const text = static_cast<char*>(shared);
    const launch_report report = launch(static_cast<rank_t>(all.size()), [&](job given) {
        const variables& mine = all[given.rank()];
        std::this_thread::sleep_for(std::chrono::milliseconds(mine.after_ms));
        ::setenv("RANK", std::to_string(mine.rank).c_str(), 1);
        ::setenv("WORLD_SIZE", std::to_string(mine.size).c_str(), 1);
        ::setenv("MASTER_ADDR", "127.0.0.1", 1);
        ::setenv("MASTER_PORT", std::to_string(mine.port).c_str(), 1);
        if (mine.launcher_job != nullptr) ::setenv("TORCHELASTIC_RUN_ID", mine.launcher_job, 1);
        status s;
        if (auto wire = environment_wire_up::join(s, timeout_ns); wire) {
            std::vector<std::byte> heard(wire->size());
            const std::byte me{};
            s = wire->exchange(std::span(&me, 1), heard, timeout_ns);
            if (s) // it stays so
                CHECK(message_of(wire->exchange(std::span(&me, 1), heard, timeout_ns)) == message_of(s));
            else // rank 0 does not go before all have come
                std::this_thread::sleep_for(std::chrono::milliseconds(400));
        }
        if (s) std::snprintf(text + room * given.rank(), room, "%s", message_of(s).c_str());
        return 0;
    });
    CAPTURE(describe(report));
    CHECK(report.ok());
    std::vector<std::string> said;
    for (std::size_t i = 0; i != all.size(); ++i) said.emplace_back(text + room * i);
    ::munmap(shared, room * all.size());
    return said;
}

bool names(const status& s, const std::string& variable) {
    return s.code == errc::invalid_argument && s.argument != nullptr &&
           std::string(s.argument).rfind(variable + ":", 0) == 0;
}

} // namespace

TEST_CASE("environment: the variables are read, and wrong ones are named") {
    environment_place p;
    CHECK_FALSE(read_with("2", "3", "host", "29500", p));
    CHECK((p.rank == 2 && p.size == 3 && p.address == "host" && p.port == 29500));
    CHECK_FALSE(read_with("0", "1", nullptr, nullptr, p)); // one rank needs no address
    CHECK(read_with(nullptr, nullptr, "host", "1", p).code == errc::unsupported);
    for (const char* bad : {"", "0", "-1", "x", "3x", "99999999999999999999"})
        CHECK(names(read_with("0", bad, "host", "29500", p), "WORLD_SIZE"));
    CHECK(names(read_with("0", nullptr, "host", "29500", p), "WORLD_SIZE"));
    for (const char* bad : {"", "3", "-1", "1.5", " 1"}) CHECK(names(read_with(bad, "3", "h", "29500", p), "RANK"));
    CHECK(names(read_with(nullptr, "3", "h", "29500", p), "RANK"));
    CHECK(names(read_with("1", "3", nullptr, "29500", p), "MASTER_ADDR"));
    CHECK(names(read_with("1", "3", "", "29500", p), "MASTER_ADDR"));
    for (const char* bad : {"", "0", "65536", "http"}) CHECK(names(read_with("1", "3", "h", bad, p), "MASTER_PORT"));
    CHECK(names(read_with("1", "3", "h", nullptr, p), "MASTER_PORT"));
}

TEST_CASE("environment: it is a WireUp") {
    for (const rank_t ranks : {1u, 2u, 5u}) {
        std::vector<std::string> faults(ranks);
        join_all(places_of(ranks, free_port()), 10 * second_ns, [&](std::size_t r, auto& wire, const status& s) {
            if (s) {
                faults[r] = "did not join";
                return;
            }
            if (const auto fault = testing::check_wire_up(*wire)) faults[r] = fault.sentence;
        });
        CHECK(faults == std::vector<std::string>(ranks));
    }
}

TEST_CASE("environment: it says where tcp is to listen") {
    const auto addresses = [](rank_t ranks, const char* master) {
        std::vector<environment_place> places = places_of(ranks, free_port());
        for (environment_place& p : places) p.address = master;
        std::vector<std::string> said(ranks);
        join_all(places, 10 * second_ns,
                 [&](std::size_t r, auto& wire, const status& s) { said[r] = s ? message_of(s) : wire->address(); });
        return said;
    };
    CHECK(addresses(3, "127.0.0.1") == std::vector<std::string>(3, "127.0.0.1"));
    CHECK(addresses(1, "127.0.0.1") == std::vector<std::string>(1));
    const std::string other = detail::address_of_interface({});
    if (!other.empty()) CHECK(addresses(2, other.c_str()) == std::vector<std::string>(2, other));

    ::setenv("BOUGH_SOCKET_IFNAME", "lo", 1);
    if (!other.empty()) CHECK(addresses(2, other.c_str()) == std::vector<std::string>(2, "127.0.0.1"));
    ::setenv("BOUGH_SOCKET_IFNAME", "no such one", 1);
    status s;
    CHECK_FALSE(environment_wire_up::join(places_of(2, free_port())[1], s, second_ns));
    CHECK(message_of(s) == "BOUGH_SOCKET_IFNAME: this machine has no interface of this name: invalid argument");
    ::unsetenv("BOUGH_SOCKET_IFNAME");
    CHECK(job(alone_at{"10.1.2.3"}).address() == "10.1.2.3");
    CHECK(job().address().empty());
}

TEST_CASE("environment: rank 0 may come last, and by a name") {
    std::vector<environment_place> places = places_of(3, free_port());
    for (environment_place& p : places) p.address = "localhost";
    std::vector<char> good(3, 0);
    std::vector<std::thread> threads;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}, std::size_t{0}}) {
        if (i == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));
        threads.emplace_back([&, i] {
            status s;
            auto wire = environment_wire_up::join(places[i], s, 10 * second_ns);
            std::uint32_t mine = 7 + static_cast<std::uint32_t>(i), all[3] = {};
            if (!s)
                s = wire->exchange(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                                   10 * second_ns);
            good[i] = !s && all[0] == 7 && all[1] == 8 && all[2] == 9 ? 1 : 0;
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(good == std::vector<char>(3, 1));
}

TEST_CASE("environment: rank 0 waits for nobody at the end of a good job") {
    std::uint64_t took_ns = 0;
    join_all(places_of(3, free_port()), 10 * second_ns, [&](std::size_t i, auto& wire, const status& s) {
        std::byte mine{}, all[3]{};
        CHECK_FALSE((s ? s : wire->exchange(std::span(&mine, 1), all, 10 * second_ns)));
        if (i == 1) wire.reset(); // rank 2 keeps its own
        if (i != 0) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const std::uint64_t begin = detail::steady_now_ns();
        wire.reset();
        took_ns = detail::steady_now_ns() - begin;
    });
    CHECK(took_ns < 9 * second_ns / 10);
}

TEST_CASE("environment: ranks that do not fit are told why, and nobody waits") {
    SECTION("another WORLD_SIZE") {
        std::vector<environment_place> places = places_of(3, free_port());
        places[2].size = 4;
        std::vector<status> said(3);
        const std::uint64_t begin = detail::steady_now_ns();
        join_all(places, 10 * second_ns, [&](std::size_t i, auto& wire, const status& s) {
            std::byte mine{}, all[3]{};
            said[i] = s ? s : wire->exchange(std::span(&mine, 1), all, 10 * second_ns);
        });
        for (const status& s : said) CHECK(names(s, "WORLD_SIZE"));
        for (const status& s : {said[0], said[1]}) CHECK((s.peer == 2 && s.mine == 3 && s.theirs == 4));
        CHECK(detail::steady_now_ns() - begin < 5 * second_ns);
    }
    SECTION("who comes when rank 0 has given up already") {
        std::vector<environment_place> places = places_of(3, free_port());
        places[2].size = 4;
        std::vector<status> said(3);
        const std::uint64_t begin = detail::steady_now_ns();
        join_all({places[0], places[2]}, 10 * second_ns, [&](std::size_t i, auto& wire, const status& s) {
            std::byte mine{}, all[3]{};
            said[2 * i] = s ? s : wire->exchange(std::span(&mine, 1), all, 10 * second_ns);
            if (i != 0) return;
            std::thread late([&] {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                auto last = environment_wire_up::join(places[1], said[1], 10 * second_ns);
                if (last) said[1] = last->exchange(std::span(&mine, 1), all, 10 * second_ns);
            });
            wire.reset();
            late.join();
        });
        for (const status& s : said) CHECK(names(s, "WORLD_SIZE"));
        for (const status& s : {said[0], said[1]}) CHECK((s.peer == 2 && s.mine == 3 && s.theirs == 4));
        CHECK(detail::steady_now_ns() - begin < 5 * second_ns);
    }
    SECTION("a rank twice") {
        std::vector<environment_place> places = places_of(2, free_port());
        places.push_back(places[1]);
        std::vector<status> said(3);
        join_all(places, 3 * second_ns, [&](std::size_t i, auto& wire, const status& s) {
            std::byte mine{}, all[2]{};
            said[i] = s ? s : wire->exchange(std::span(&mine, 1), all, 3 * second_ns);
        });
        CHECK_FALSE(said[0]);
        CHECK((names(said[1], "RANK") != names(said[2], "RANK")));
        CHECK((!said[1] || !said[2]));
    }
    SECTION("a rank that ends") {
        std::vector<status> said(3);
        join_all(places_of(3, free_port()), 10 * second_ns, [&](std::size_t i, auto& wire, const status& s) {
            std::byte mine{}, all[3]{};
            said[i] = s;
            if (i == 1)
                wire.reset();
            else if (!s)
                said[i] = wire->exchange(std::span(&mine, 1), all, 10 * second_ns);
        });
        CHECK((said[0].code == errc::peer_dead && said[0].peer == 1));
        CHECK((said[2].code == errc::peer_dead && said[2].peer == 1));
    }
    SECTION("a port in use") {
        const auto taken = listening();
        status s;
        CHECK_FALSE(environment_wire_up::join({0, 2, "127.0.0.1", taken.second}, s, second_ns));
        CHECK(names(s, "MASTER_PORT"));
    }
    SECTION("nobody listens") {
        status s;
        CHECK_FALSE(environment_wire_up::join({1, 2, "127.0.0.1", free_port()}, s, second_ns / 5));
        CHECK((s.code == errc::deadline && s.peer == 0));
    }
    SECTION("who listens is no rank 0") { // it never answers
        const auto mute = listening();
        status s;
        CHECK_FALSE(environment_wire_up::join({1, 2, "127.0.0.1", mute.second}, s, second_ns / 5));
        CHECK(s.code == errc::deadline);
    }
    SECTION("strangers at the port") {
        const std::uint16_t port = free_port();
        std::vector<status> said(2);
        join_all(places_of(2, port), 10 * second_ns, [&](std::size_t i, auto& wire, status s) {
            if (i == 1 && !s) { // sends what is no greeting, and stays
                detail::unique_fd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
                sockaddr_in at{};
                at.sin_family = AF_INET;
                at.sin_port = htons(port);
                at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                (void)::connect(stranger.get(), reinterpret_cast<sockaddr*>(&at), sizeof at);
                (void)!::write(stranger.get(), "GET / HTTP/1.1\r\n\r\n", 18);
            }
            std::byte mine{}, all[2]{};
            said[i] = s ? s : wire->exchange(std::span(&mine, 1), all, 10 * second_ns);
        });
        CHECK_FALSE(said[0]);
        CHECK_FALSE(said[1]);
    }
}

TEST_CASE("environment: processes with variables that do not fit say which, with the values") {
    const std::uint16_t port = free_port();
    const std::string here = std::to_string(port), bad = ": invalid argument",
                      late = ": " + message_of({errc::deadline});
    const std::uint64_t begin = detail::steady_now_ns();
    SECTION("WORLD_SIZE differs") {
        const std::string theirs =
            "WORLD_SIZE: it is 3 here, and 2 on rank 0, unless MASTER_PORT is that of another job";
        CHECK(said_by({{0, 3, port}, {1, 3, port}, {2, 4, port}}, 10 * second_ns) ==
              std::vector<std::string>{
                  "WORLD_SIZE: it is 3 here, and 4 on rank 2" + bad, "WORLD_SIZE: it is 3 here, and 4 on rank 2" + bad,
                  "WORLD_SIZE: it is 4 here, and 3 on rank 0, unless MASTER_PORT is that of another job" + bad});
        CHECK(said_by({{0, 2, port}, {2, 3, port}}, 10 * second_ns) ==
              std::vector<std::string>{"WORLD_SIZE: it is 2 here, and 3 in a process whose RANK is 2 or more" + bad,
                                       theirs + bad});
        CHECK(detail::steady_now_ns() - begin < 8 * second_ns);
    }
    SECTION("RANK is too high") {
        const std::string others = "RANK: it is 3 in a process of the job, and must be below WORLD_SIZE, which is 3";
        CHECK(said_by({{0, 3, port}, {1, 3, port}, {3, 3, port, nullptr, 300}}, 10 * second_ns) ==
              std::vector<std::string>{others + bad, others + bad,
                                       "RANK: it is 3, and must be below WORLD_SIZE, which is 3" + bad});
        // Nobody hears of it if rank 0 is not there, and nobody waits for that.
        CHECK(said_by({{3, 3, port}}, 10 * second_ns) ==
              std::vector<std::string>{"RANK: it is 3, and must be below WORLD_SIZE, which is 3" + bad});
        CHECK(detail::steady_now_ns() - begin < 8 * second_ns);
    }
    SECTION("a RANK twice") {
        const std::string second =
            "RANK: it is 1 here, and in a process that came before, unless MASTER_PORT is that of another job";
        std::vector<std::string> said =
            said_by({{0, 2, port, nullptr, 300}, {1, 2, port}, {1, 2, port}}, 10 * second_ns);
        std::sort(said.begin(), said.end());
        CHECK(said == std::vector<std::string>{"", "", second + bad});
        const std::string none = "RANK: it is 1 in two processes, and 2 in none";
        CHECK(said_by({{0, 3, port}, {1, 3, port}, {1, 3, port, nullptr, 300}}, second_ns) ==
              std::vector<std::string>{none + late, none + late, second + bad});
    }
    SECTION("RANK 0 twice") {
        const std::vector<std::string> said =
            said_by({{0, 2, port}, {1, 2, port, nullptr, 600}, {0, 2, port, nullptr, 300}, {0, 5, port, nullptr, 300}},
                    10 * second_ns);
        CHECK(said[0].empty());
        CHECK(said[1].empty());
        CHECK(said[2] ==
              "RANK: it is 0 here, and in a process that came before, unless MASTER_PORT is that of another job" + bad);
        CHECK(said[3] == "WORLD_SIZE: it is 5 here, and 2 on rank 0, unless MASTER_PORT is that of another job" + bad);
    }
    SECTION("MASTER_PORT differs") {
        std::uint16_t other = free_port();
        while (other == port) other = free_port();
        const std::string there = std::to_string(other);
        CHECK(said_by({{0, 2, port}, {1, 2, other}}, second_ns) ==
              std::vector<std::string>{
                  "MASTER_PORT: rank 0 listens at port " + here + ", and nobody has come as rank 1" + late,
                  "MASTER_PORT: nobody listens at port " + there + " of MASTER_ADDR, as rank 0 would" + late});
    }
    SECTION("MASTER_PORT is that of another job") {
        const std::vector<std::string> said = said_by({{0, 2, port, "one"},
                                                       {1, 2, port, "one", 600},
                                                       {1, 2, port, "two", 300},
                                                       {1, 5, port, "two", 300},
                                                       {0, 2, port, "two", 300}},
                                                      10 * second_ns);
        CHECK(said[0].empty());
        CHECK(said[1].empty());
        for (const std::size_t stranger : {2u, 3u, 4u})
            CHECK(said[stranger] == "MASTER_PORT: at port " + here +
                                        " rank 0 of another job listens: TORCHELASTIC_RUN_ID, "
                                        "TORCHELASTIC_RESTART_COUNT or SLURM_JOB_ID differs" +
                                        bad);
    }
}

TEST_CASE("environment: rank 0 is reached by its own name, also where that means loopback") {
    const std::string outside = detail::address_of_interface({});
    if (outside.empty()) return; // a machine without a network
    constexpr int cannot = 77;
    const std::uint16_t port = free_port();
    const launch_report report = launch(1, [&](job) {
        // A file of hosts as Debian writes it, for this process alone.
        char file[] = "/tmp/bough-hosts-XXXXXX";
        const detail::unique_fd made(::mkstemp(file));
        const std::string text = "127.0.0.1 localhost\n127.0.1.1 its-own-name\n";
        const bool is_set = made && ::write(made.get(), text.data(), text.size()) == std::ssize(text) &&
                            ::fchmod(made.get(), 0644) == 0 && ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            ::mount(file, "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
        ::unlink(file);
        if (!is_set || detail::address_towards("its-own-name") != detail::address_of_default_route()) return cannot;
        std::vector<status> said(3);
        std::vector<environment_place> places = places_of(3, port);
        places[0].address = places[1].address = "its-own-name";
        places[2].address = outside; // as the name is resolved on another machine
        join_all(places, 3 * second_ns, [&](std::size_t i, auto& wire, const status& s) {
            std::byte mine{}, all[3]{};
            said[i] = s ? s : wire->exchange(std::span(&mine, 1), all, 3 * second_ns);
        });
        for (const status& s : said)
            if (s) std::fprintf(stderr, "%s\n", message_of(s).c_str());
        return said[0] || said[1] || said[2] ? 1 : 0;
    });
    CAPTURE(describe(report));
    CHECK((report.ok() || report.ranks[0].code == cannot)); // needs root
}

TEST_CASE("environment: this_job finds it") {
    const std::string port = std::to_string(free_port());
    const launch_report report = launch(3, [&](job given) {
        ::setenv("RANK", std::to_string(given.rank()).c_str(), 1);
        ::setenv("WORLD_SIZE", "3", 1);
        ::setenv("MASTER_ADDR", "127.0.0.1", 1);
        ::setenv("MASTER_PORT", port.c_str(), 1);
        job mine = this_job();
        std::uint32_t me = mine.rank(), all[3] = {};
        if (mine.exchange(std::as_bytes(std::span(&me, 1)), std::as_writable_bytes(std::span(all)), 10 * second_ns))
            return 2;
        return mine.size() == 3 && mine.rank() == given.rank() && all[0] == 0 && all[1] == 1 && all[2] == 2 ? 0 : 1;
    });
    CAPTURE(describe(report));
    CHECK(report.ok());
}
