// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/fd.hpp>

#include <array>
#include <fcntl.h>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <utility>

using bough::detail::above_standard;
using bough::detail::unique_fd;

static_assert(!std::is_copy_constructible_v<unique_fd> && std::is_nothrow_move_constructible_v<unique_fd> &&
              std::is_nothrow_move_assignable_v<unique_fd>);

namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

} // namespace

TEST_CASE("unique_fd: what it holds is closed at once when it gets another, and at its end") {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    {
        unique_fd first(ends[0]), second(ends[1]);
        first = std::move(second);
        CHECK_FALSE(is_open(ends[0])); // not when `second` goes
        CHECK(is_open(ends[1]));
        CHECK(first.get() == ends[1]);
        CHECK_FALSE(second); // NOLINT: that is what is asked
        unique_fd& same = first;
        first = std::move(same);
        CHECK(is_open(ends[1]));
        const unique_fd third(first.release());
        CHECK(first.get() == -1);
        CHECK(is_open(ends[1]));
    }
    CHECK_FALSE(is_open(ends[1]));
}

TEST_CASE("unique_fd: a descriptor in a standard stream's place gets another number") {
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(0);
        const unique_fd made = above_standard(unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
        const bool moved = made.get() > 2 && !is_open(0) && (::fcntl(made.get(), F_GETFD) & FD_CLOEXEC) != 0;
        const int number = made.get();
        const unique_fd other = above_standard(unique_fd(::dup(number)));
        ::_exit(moved && other ? 0 : 1);
    }
    int state = -1;
    REQUIRE(::waitpid(child, &state, 0) == child);
    CHECK(state == 0);
    CHECK_FALSE(above_standard(unique_fd()));
}
