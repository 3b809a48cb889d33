// SPDX-License-Identifier: BSL-1.0
// How a process listens at an address, and connects to one.
#include "support/catch.hpp"
#include <bough/launch/detail/reach.hpp>

#include <arpa/inet.h>
#include <cstdint>
#include <netinet/in.h>
#include <sys/socket.h>

using namespace bough;
namespace jobs = detail::jobs;

namespace {

sockaddr_in address_of(int fd) {
    sockaddr_in at{};
    socklen_t length = sizeof at;
    REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) == 0);
    return at;
}

} // namespace

TEST_CASE("reach: connects to who listens, and to nobody else") {
    detail::unique_fd listener, mine;
    REQUIRE(jobs::listen_at("127.0.0.1", 0, 0, listener) == 0);
    const std::uint16_t port = ntohs(address_of(listener.get()).sin_port);
    const std::uint64_t last = detail::steady_now_ns() + 5'000'000'000;
    CHECK(jobs::reach("127.0.0.1", port, mine, last));
    CHECK(mine);
    CHECK_FALSE(jobs::is_its_own_peer(mine.get()));
    detail::unique_fd second;
    CHECK(jobs::listen_at("127.0.0.1", port, 0, second) == EADDRINUSE);
    CHECK(jobs::listen_at("no such name.invalid", port, 0, second) == -1);
    mine.reset();
    listener.reset();
    CHECK_FALSE(jobs::reach("127.0.0.1", port, mine, last));
    CHECK_FALSE(mine);
}

// Where nobody listens, the system may choose that very port for the end that connects.
TEST_CASE("reach: a socket that has connected to itself is known") {
    detail::unique_fd both(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(both.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    at = address_of(both.get());
    REQUIRE(::connect(both.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    CHECK(jobs::is_its_own_peer(both.get()));
}
