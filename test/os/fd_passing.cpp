// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/fd_passing.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

using bough::detail::receive_with_fd;
using bough::detail::send_with_fd;
using bough::detail::unique_fd;

namespace {

struct line {
    line() {
        int pair[2] = {-1, -1};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        here = unique_fd(pair[0]);
        there = unique_fd(pair[1]);
    }
    unique_fd here, there;
};
// The two ends of a pipe, which show whether a descriptor is the one that was sent.
struct pipe_ends {
    pipe_ends() {
        int pair[2] = {-1, -1};
        REQUIRE(::pipe2(pair, O_CLOEXEC) == 0);
        out = unique_fd(pair[0]);
        in = unique_fd(pair[1]);
    }
    unique_fd out, in;
};
const std::array<std::byte, 5> message{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};

} // namespace

TEST_CASE("fd_passing: bytes and a descriptor arrive together, and the descriptor is closed on exec") {
    const line l;
    pipe_ends p;
    REQUIRE(send_with_fd(l.here.get(), message, p.in.get()));
    p.in.reset(); // the sender's own one is its own
    std::array<std::byte, 8> into{};
    unique_fd got;
    REQUIRE(receive_with_fd(l.there.get(), into, got) == 5);
    CHECK(std::memcmp(into.data(), message.data(), 5) == 0);
    REQUIRE(got);
    CHECK((::fcntl(got.get(), F_GETFD) & FD_CLOEXEC) != 0);
    REQUIRE(::write(got.get(), "x", 1) == 1);
    char x = 0;
    CHECK(::read(p.out.get(), &x, 1) == 1);
    CHECK(x == 'x');
}

TEST_CASE("fd_passing: bytes without a descriptor, nothing yet, and an end") {
    line l;
    std::array<std::byte, 8> into{};
    unique_fd got;
    errno = 0;
    CHECK(receive_with_fd(l.there.get(), into, got) == -1);
    CHECK((errno == EAGAIN || errno == EWOULDBLOCK));
    REQUIRE(::send(l.here.get(), "abc", 3, 0) == 3);
    CHECK(receive_with_fd(l.there.get(), into, got) == 3);
    CHECK_FALSE(got);
    l.here.reset();
    CHECK(receive_with_fd(l.there.get(), into, got) == 0);
}

TEST_CASE("fd_passing: of several descriptors the first is kept, and the others are closed") {
    const line l;
    const pipe_ends p, q;
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    char byte = 1;
    iovec part{&byte, 1};
    msghdr both{};
    both.msg_iov = &part;
    both.msg_iovlen = 1;
    both.msg_control = control;
    both.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&both);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int sent[2] = {p.in.get(), q.in.get()};
    std::memcpy(CMSG_DATA(header), sent, sizeof sent);
    REQUIRE(::sendmsg(l.here.get(), &both, 0) == 1);

    std::array<std::byte, 8> into{};
    unique_fd got;
    const int next[2] = {::dup(0), ::dup(0)}; // the numbers that two descriptors would get
    for (const int fd : next) ::close(fd);
    REQUIRE(receive_with_fd(l.there.get(), into, got) == 1);
    REQUIRE(got);
    CHECK(::write(got.get(), "x", 1) == 1);
    char x = 0;
    CHECK(::read(p.out.get(), &x, 1) == 1);
    const unique_fd after(::dup(0));
    CHECK(after.get() <= next[1]); // no third one is open
}

TEST_CASE("fd_passing: to a peer that has gone is a failure, without a signal") {
    line l;
    const pipe_ends p;
    l.there.reset();
    CHECK_FALSE(send_with_fd(l.here.get(), message, p.in.get()));
    CHECK(errno == EPIPE);
}

TEST_CASE("fd_passing: a descriptor for which this process has no number is an error that says so") {
    const line l;
    const pipe_ends p;
    REQUIRE(send_with_fd(l.here.get(), message, p.in.get()));
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const unique_fd next(::dup(0));
    rlimit less = before;
    less.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
    std::vector<unique_fd> rest; // numbers below the limit that are free
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) rest.emplace_back(fd);
    std::array<std::byte, 8> into{};
    unique_fd got;
    errno = 0;
    const ssize_t came = receive_with_fd(l.there.get(), into, got);
    const int why = errno;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(came == -1);
    CHECK(why == EMFILE);
    CHECK_FALSE(got);
}
