// SPDX-License-Identifier: BSL-1.0
// How a rank writes to its launcher and reads from it: in as many pieces as the other side takes, until a deadline.
#include "support/catch.hpp"
#include <bough/core/status.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <span>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace bough;
using namespace bough::detail;

namespace {

constexpr std::uint64_t ms = 1'000'000;

struct two_ends {
    unique_fd mine, other;
    two_ends() {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        mine = unique_fd(pair[0]);
        other = unique_fd(pair[1]);
    }
};
// More than a socket holds.
std::vector<std::byte> much() {
    std::vector<std::byte> made(4u << 20);
    for (std::size_t i = 0; i != made.size(); ++i) made[i] = static_cast<std::byte>(i * 2654435761u >> 24);
    return made;
}
std::uint64_t in(std::uint64_t ns) { return steady_now_ns() + ns; }

} // namespace

TEST_CASE("wire: what a socket does not hold at once is written while the other side reads") {
    const std::vector<std::byte> sent = much();
    two_ends ends;
    errc how = errc::deadline;
    std::thread writer([&] { how = jobs::write_all(ends.mine.get(), sent, in(20'000 * ms)); });
    std::vector<std::byte> got(sent.size());
    CHECK(jobs::read_all(ends.other.get(), got, in(20'000 * ms)) == errc::ok);
    writer.join();
    CHECK(how == errc::ok);
    CHECK(got == sent);
}

TEST_CASE("wire: what is written in pieces is read as a whole") {
    const std::vector<std::byte> sent = much();
    two_ends ends;
    errc how = errc::deadline;
    std::vector<std::byte> got(1000);
    std::thread reader([&] { how = jobs::read_all(ends.mine.get(), got, in(20'000 * ms)); });
    for (std::size_t i = 0; i != got.size(); ++i) {
        REQUIRE(::send(ends.other.get(), &sent[i], 1, 0) == 1);
        if (i % 100 == 0) std::this_thread::yield();
    }
    reader.join();
    CHECK(how == errc::ok);
    CHECK(got == std::vector<std::byte>(sent.begin(), sent.begin() + 1000));
}

TEST_CASE("wire: a deadline ends who writes or reads, and so does a peer that goes") {
    const std::vector<std::byte> sent = much();
    std::vector<std::byte> got(16);
    two_ends ends;
    CHECK(jobs::write_all(ends.mine.get(), sent, in(20 * ms)) == errc::deadline);
    CHECK(jobs::read_all(ends.mine.get(), got, in(20 * ms)) == errc::deadline);
    // What has come counts, also after the deadline: who reads on gets the rest.
    CHECK(::send(ends.other.get(), sent.data(), 10, 0) == 10);
    std::span<std::byte> rest = got;
    CHECK(jobs::read_on(ends.mine.get(), rest, in(20 * ms)) == errc::deadline);
    CHECK(rest.size() == 6);
    CHECK(::send(ends.other.get(), sent.data() + 10, 6, 0) == 6);
    CHECK(jobs::read_on(ends.mine.get(), rest, in(20'000 * ms)) == errc::ok);
    CHECK(rest.empty());
    CHECK(got == std::vector<std::byte>(sent.begin(), sent.begin() + 16));
    ends.other.reset();
    CHECK(jobs::write_all(ends.mine.get(), sent, in(20'000 * ms)) == errc::peer_dead);
    CHECK(jobs::read_all(ends.mine.get(), got, in(20'000 * ms)) == errc::peer_dead);

    two_ends others; // the peer goes while a rank waits
    errc how = errc::ok;
    std::thread writer([&] { how = jobs::write_all(others.mine.get(), sent, in(20'000 * ms)); });
    std::byte first{};
    CHECK(::recv(others.other.get(), &first, 1, 0) == 1);
    others.other.reset();
    writer.join();
    CHECK(how == errc::peer_dead);
}
