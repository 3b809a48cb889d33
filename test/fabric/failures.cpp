// SPDX-License-Identifier: BSL-1.0
#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/death.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace bough;
using namespace test_fabric;

namespace {

// Memory that a test shares with the ranks that it launches.
struct board {
    std::array<std::atomic<int>, 8> process{};
};
class shared_board {
public:
    shared_board()
        : board_(new (::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                     board) {}
    shared_board(const shared_board&) = delete;
    shared_board& operator=(const shared_board&) = delete;
    ~shared_board() { ::munmap(board_, sizeof(board)); }
    board* operator->() const { return board_; }

private:
    board* board_;
};

// Polls until f(event) says true, or a limit has passed.
template <class F>
bool poll_until(fabric& end, const F& f, std::uint64_t limit_ns = 10'000'000'000) {
    const std::uint64_t last = end.now_ns() + limit_ns;
    for (std::uint32_t idle = 0; end.now_ns() < last;) {
        std::array<event, 4> events;
        const std::size_t found = end.poll(events);
        bool done = false;
        for (std::size_t i = 0; i != found; ++i) done |= f(events[i]);
        if (done) return true;
        idle = found == 0 ? idle + 1 : 0;
        end.wait(idle, 0);
    }
    return false;
}

} // namespace

TEST_CASE("fabric: the death of a process is reported to all others, with its rank, and they go on") {
    for (fabric_options options : offered_here()) {
        options.linger_ns = 300'000'000;
        const launch_report report = launch(4, [&](job world) {
            fabric link{world, options};
            const rank_t me = link.rank();
            std::vector<std::byte> large(300'000, std::byte{3}), into(large.size());
            std::uint64_t id = 0;
            if (me == 3) { // dies with long messages of all kinds under way
                for (const rank_t to : {0u, 1u, 2u}) (void)link.post_send(to, {}, large, ++id);
                int seen = 0;
                poll_until(link, [&](const event& e) {
                    if (e.what != event::kind::arrived) return false;
                    if (e.data == nullptr) (void)link.take(e.id, into, ++id);
                    return ++seen == 2;
                });
                ::raise(SIGKILL);
            }
            const std::uint64_t mine = ++id;
            bool open = link.post_send(3, {}, large, mine) == posted::pending;
            bool sent = false, came = false, other = false;
            std::uint64_t lost_ns = 0, least = 0;
            const auto handle = [&](const event& e) { // what rank 3 has announced is left where it is
                if (e.what == event::kind::complete && e.id == mine) open = false;
                if (e.what == event::kind::lost && e.peer == 3) lost_ns = link.now_ns();
                if (e.what == event::kind::lost && e.peer != 3)
                    other |= bough_test::all() &&
                             (lost_ns == 0 || link.now_ns() + 500'000'000 < least); // later they leave as they should
                if (e.what == event::kind::arrived && e.envelope.operation == 9) came = true, link.release(e.id);
                return lost_ns != 0;
            };
            poll_until(link, handle);
            if (lost_ns == 0) return 2;
            if (link.post_send(3, {}, {}, ++id) != posted::failed) return 3;
            // Survivors still hear each other, also when whatever was under way to the dead rank has been given up.
            const rank_t to = (me + 1) % 3;
            const std::uint64_t last = lost_ns + 8'000'000'000;
            least = lost_ns + (bough_test::all() ? 3'000'000'000 : 20'000'000);
            while ((!(sent && came && !open) || link.now_ns() < least) && link.now_ns() < last) {
                if (!sent) sent = link.post_send(to, {.operation = 9}, {}, ++id) == posted::complete;
                poll_until(link, handle, 1'000'000);
            }
            if (other) return 5;
            if (open) return 6; // its post to the dead rank has had no event
            return sent && came ? 0 : 4;
        });
        CAPTURE(options.provider, describe(report));
        REQUIRE(report.ranks.size() == 4);
        for (rank_t r = 0; r != 3; ++r) {
            CAPTURE(r);
            CHECK(report.ranks[r].code == 0);
        }
    }
}

TEST_CASE("fabric: an operation that needs a dead rank ends with peer_dead") {
    for (fabric_options options : offered_here()) {
        options.linger_ns = 300'000'000;
        const launch_report report = launch(3, [&](job world) {
            communicator comm{fabric{world, options}};
            comm.set_timeout_ns(20'000'000'000);
            std::vector<double> x(20'000, 1.0);
            for (int i = 0; i != 1000; ++i) {
                if (comm.rank() == 1 && i == 20) ::raise(SIGKILL);
                status s;
                allreduce(comm, std::span(x), plus{}, s);
                if (!s) continue;
                return bough_test::is_death_of(s, 1) ? 0 : 2;
            }
            return 3;
        });
        CAPTURE(options.provider, describe(report));
        CHECK(report.ranks[0].code == 0);
        CHECK(report.ranks[2].code == 0);
    }
}

TEST_CASE("fabric: memory of a transfer that its stopped peer never ends comes back within answer_ns") {
    for (fabric_options options : offered_here()) {
        options.linger_ns = 10'000'000;
        options.answer_ns = 100'000'000;
        shared_board shared;
        const launch_report report = launch(2, [&](job world) {
            fabric link{world, options};
            shared->process[link.rank()] = ::getpid();
            std::vector<std::byte> bytes(200'000, std::byte{1}), into(bytes.size());
            if (link.rank() == 1) {
                if (link.post_send(0, {}, bytes, 1) != posted::pending) return 2;
                poll_until(
                    link, [](const event&) { return false; }, 1'000'000); // its announcement goes out
                ::raise(SIGSTOP);
                return 0;
            }
            std::uint64_t handle = 0;
            poll_until(link, [&](const event& e) { return handle = e.id, e.what == event::kind::arrived; });
            // It is no child of this process: the system says whether it has stopped.
            bool stopped = false;
            for (const std::uint64_t last = link.now_ns() + 10'000'000'000; !stopped && link.now_ns() < last;) {
                char name[64], line[256] = {};
                std::snprintf(name, sizeof name, "/proc/%d/stat", shared->process[1].load());
                if (std::FILE* f = std::fopen(name, "r")) {
                    if (std::fgets(line, sizeof line, f) != nullptr) {
                        const char* after = std::strrchr(line, ')');
                        stopped = after != nullptr && after[2] == 'T';
                    }
                    std::fclose(f);
                }
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            if (!stopped) return 7;
            if (link.take(handle, into, 7) != posted::pending) return 3;
            if (link.cancel(7) != errc::ok) return 4;
            errc code = errc::ok;
            const bool ended = poll_until(
                link,
                [&](const event& e) {
                    if (e.what != event::kind::complete || e.id != 7) return false;
                    code = e.code;
                    return true;
                },
                5'000'000'000);
            ::kill(shared->process[1], SIGKILL);
            if (!ended) return 5;
            return code == errc::cancelled ? 0 : 6;
        });
        CAPTURE(options.provider, describe(report));
        CHECK(report.ranks[0].code == 0);
    }
}

TEST_CASE("fabric: a take can be given up at any moment; its sender's post ends, and what follows arrives") {
    for (const fabric_options& provider : offered_here()) {
        for (const bool writes : {true, false}) {
            fabric_options options = provider;
            options.remote_writes = writes;
            options.linger_ns = 1'000'000'000;
            const launch_report report = launch(2, [&](job world) {
                fabric link{world, options};
                constexpr std::uint32_t messages = 60;
                std::vector<std::byte> bytes(50'000, std::byte{1}), into(bytes.size());
                std::uint32_t ended = 0, wrong = 0;
                if (link.rank() == 1) {
                    std::uint32_t sent = 0;
                    const bool all =
                        poll_until(
                            link,
                            [&](const event& e) {
                                ended += e.what == event::kind::complete && e.code == errc::ok;
                                return ended == messages;
                            },
                            1) ||
                        [&] {
                            for (const std::uint64_t last = link.now_ns() + 20'000'000'000; link.now_ns() < last;) {
                                if (sent != messages)
                                    sent += link.post_send(0, {.segment = sent}, bytes, sent) == posted::pending;
                                std::array<event, 4> events;
                                const std::size_t n = link.poll(events);
                                for (std::size_t i = 0; i != n; ++i)
                                    ended += events[i].what == event::kind::complete && events[i].code == errc::ok;
                                if (ended == messages) return true;
                            }
                            return false;
                        }();
                    return all ? 0 : 2;
                }
                std::uint32_t seen = 0, turn = 0;
                const bool all = poll_until(
                    link,
                    [&](const event& e) {
                        if (e.what == event::kind::arrived) {
                            wrong += e.envelope.segment != seen++;
                            // One take at a time would share `into` rightly; these all bring the same bytes.
                            wrong += link.take(e.id, into, e.envelope.segment) != posted::pending;
                            if (turn++ % 2 == 0) wrong += link.cancel(e.envelope.segment) != errc::ok;
                        }
                        if (e.what == event::kind::complete) {
                            wrong += e.code != errc::ok && e.code != errc::cancelled;
                            ++ended;
                        }
                        return ended == messages;
                    },
                    20'000'000'000);
                return all && wrong == 0 && into == bytes ? 0 : 3;
            });
            CAPTURE(options.provider, writes, describe(report));
            CHECK(report.ok());
        }
    }
}

TEST_CASE("fabric: a busy receiver is flooded with no more than its window") {
    for (fabric_options options : offered_here()) {
        if (options.provider == "shm") continue; // one process
        options.window = 5;
        options.timeout_ns = forever; // for joining
        auto ends = ends_of(3, options);
        std::array<std::uint32_t, 3> sent{};
        std::vector<std::byte> bytes(1000);
        std::size_t came = 0;
        for (int turn = 0; turn != 21; ++turn) {
            for (const rank_t r : {1u, 2u}) sent[r] += ends[r].post_send(0, {}, bytes, 1) == posted::complete;
            for (const event& e : await_all(ends, 0, sent[1] + sent[2] - came)) { // and none is released
                CHECK(e.what == event::kind::arrived);
                ++came;
            }
        }
        CHECK(came == 10);
        CHECK(sent[1] == 5);
        CHECK(sent[2] == 5);
    }
}

TEST_CASE("fabric: a peer that does not poll leaves buffers to messages for one that does") {
    for (fabric_options options : offered_here()) {
        if (options.provider == "shm") continue; // one process
        options.window = 4096;
        auto ends = ends_of(3, options);
        REQUIRE(ends.size() == 3);
        const std::vector<std::byte> bytes(5'000, std::byte{3});
        const auto others_poll = [&] {
            std::array<event, 8> events;
            (void)ends[0].poll(events);
            return ends[2].poll(events);
        };
        // Until rank 1, sockets and buffers are full.
        std::size_t sent = 0;
        for (int refused = 0; refused != 500 && sent != options.window;) {
            const bool is_taken = ends[0].post_send(1, {}, bytes, 1) == posted::complete;
            refused = is_taken ? 0 : refused + 1;
            sent += is_taken;
            if (!is_taken) others_poll();
        }
        CAPTURE(options.provider, sent);
        for (int message = 0; message != 3; ++message) {
            const std::uint64_t last = ends[0].now_ns() + 20'000'000'000;
            posted result = posted::would_block;
            while ((result = ends[0].post_send(2, {}, bytes, 1)) == posted::would_block && ends[0].now_ns() < last)
                others_poll();
            REQUIRE(result == posted::complete);
            while (others_poll() == 0 && ends[0].now_ns() < last) {
            }
            CHECK(ends[0].now_ns() < last);
        }
    }
}

TEST_CASE("fabric: frames of another group are dropped and counted") {
    for (const fabric_options& options : offered_here()) {
        if (options.provider == "shm") continue; // one process
        auto ends = ends_of(2, options);
        // A stranger: an endpoint of its own that learned where rank 0 is.
        std::array<std::byte, 512> address{};
        std::size_t length = 0;
        testing::thread_wire_up alone{1};
        auto wire = alone.of(0);
        detail::fabric_card card;
        detail::fabric_device device;
        REQUIRE_FALSE(device.open(options));
        REQUIRE_FALSE(device.address(address, length));
        fabric_options tapped = options;
        status outcome;
        auto victim = detail::join_fabric<detail::fabric_device>(wire, tapped, outcome); // a group of one
        REQUIRE(victim);
        (void)victim->device().address(card.address, length);
        fi_addr_t to = FI_ADDR_UNSPEC;
        REQUIRE_FALSE(device.insert(card.address.data(), to));
        for (const std::size_t bytes : {0u, 1u, 47u, 48u, 49u, 64u}) {
            std::array<std::byte, 64> garbage{};
            garbage.fill(static_cast<std::byte>(bytes));
            const auto before = victim->strangers();
            ssize_t code = -FI_EAGAIN;
            std::array<event, 4> events;
            for (int i = 0; i != 2'000'000 && victim->strangers() == before; ++i) {
                if (code != 0) code = fi_inject(device.endpoint(), garbage.data(), bytes, to);
                fi_cq_data_entry entry;
                (void)fi_cq_read(device.completions(), &entry, 1);
                CHECK(victim->poll(events) == 0);
            }
            CAPTURE(options.provider, bytes);
            CHECK(victim->strangers() == before + 1);
        }
    }
}

TEST_CASE("fabric: what cannot be joined says why, on every rank") {
    const auto all = offered_here();
    if (all.empty()) return;
    fabric_options nowhere;
    nowhere.provider = "no such provider";
    std::vector<status> why;
    CHECK(ends_of({all[0], nowhere, all[0]}, &why).empty());
    CHECK(why[1].code == errc::unsupported);
    for (const rank_t r : {0u, 2u}) {
        CHECK(why[r].code == errc::peer_aborted);
        CHECK(why[r].cause == errc::unsupported);
        CHECK(why[r].peer == 1);
    }
    if (all.size() >= 2) {
        CHECK(ends_of({all[0], all[1]}, &why).empty());
        for (const status& s : why) CHECK(s.code == errc::invalid_argument);
    }
    fabric_options bad = all[0];
    bad.window = 0;
    CHECK(ends_of({bad, bad}, &why).empty());
    CHECK(why[0].code == errc::invalid_argument);
    CHECK(std::string(why[0].argument) == "window: must be 1 to 4096");
    bad = all[0];
    bad.eager_bytes = (1u << 20) + 1;
    CHECK(ends_of({bad}, &why).empty());
    CHECK(why[0].code == errc::invalid_argument);
    CHECK(std::string(why[0].argument) == "eager_bytes: at most 1 MiB");
    // The least of all counts.
    fabric_options small = all[0];
    small.window = 2;
    auto ends = ends_of({all[0], small});
    std::uint32_t sent = 0;
    for (int i = 0; i != 20; ++i) sent += ends[0].post_send(1, {}, {}, 1) == posted::complete;
    CHECK(sent <= 2);
}

TEST_CASE("fabric: files that killed processes left do not keep one that has their number from joining") {
    for (const fabric_options& options : offered_here()) {
        if (options.provider != "shm") continue;
        // What an endpoint is called: fi_shm://PROCESS:USER:NUMBER, of which the last counts on.
        detail::fabric_device device;
        std::array<std::byte, 512> address{};
        std::size_t length = 0;
        REQUIRE_FALSE(device.open(options));
        REQUIRE_FALSE(device.address(address, length));
        const std::filesystem::path file =
            "/dev/shm" / std::filesystem::path(reinterpret_cast<const char*>(address.data())).filename();
        const std::string name = file.string();
        const std::size_t colon = name.rfind(':');
        if (colon == name.npos || !std::filesystem::exists(file)) {
            WARN("skipped: this libfabric calls its files otherwise: " << name);
            return;
        }
        std::vector<std::filesystem::path> left;
        for (unsigned long k = 1; k != 4; ++k)
            left.emplace_back(name.substr(0, colon + 1) + std::to_string(std::stoul(name.substr(colon + 1)) + k));
        for (const auto& path : left) std::filesystem::copy_file(file, path); // its process is there: this one
        CHECK(detail::fabric_device{}.open(options).code == errc::ok);
        std::size_t met = 0;
        for (const auto& path : left)
            met += !std::filesystem::remove(path); // libfabric has removed those that it came upon
        CHECK(met == left.size());
    }
}

TEST_CASE("fabric: what goes wrong on one rank that joins is told to all, and nobody waits for it") {
    check_faults_are_told<detail::fabric_endpoint<faulty_device>>(
        "eager_bytes, window: so much memory may not be registered",
        [](const fabric_options& options, auto& wire, status& why) {
            return detail::join_fabric<faulty_device>(wire, options, why);
        });
}

TEST_CASE("fabric: a rank that dies while the others join is named, long before the time for joining is over") {
    check_death_while_joining([](const fabric_options& options, auto& wire, status& why) {
        return fabric::join(wire, options, why).has_value();
    });
}

TEST_CASE("fabric: a group of one needs nobody") {
    for (const fabric_options& options : offered_here()) {
        auto ends = ends_of(1, options);
        CHECK(ends[0].size() == 1);
        CHECK(ends[0].cores() >= 1);
        CHECK(ends[0].provider().find(options.provider.substr(0, 3)) != std::string::npos);
        std::array<event, 2> events;
        CHECK(ends[0].poll(events) == 0);
        CHECK(ends[0].post_send(0, {}, {}, 1) == posted::failed);
    }
}
