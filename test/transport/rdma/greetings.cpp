// SPDX-License-Identifier: BSL-1.0
// How long ranks wait for greetings, and what they say of a process that can open no more files.
#include "support/catch.hpp"
#include "support/struck.hpp"
#include <bough/transport/rdma/greetings.hpp>

#include <sys/wait.h>
#include <unistd.h>

using namespace bough;

namespace {

struct scripted_connections {
    bool with_files = true;
    bool opens_files() const { return with_files; }
};
static_assert(detail::RdmaConnections<scripted_connections>);

// What rank 0 of two is told when rank 1 does not greet it, or when its own greeting is not sent.
struct meeting {
    bool comes = false, sent = true;
    scripted_connections device{};
    status run() const {
        const detail::fabric_group group{.rank = 0, .size = 2};
        return detail::await_greetings(
            group, device, detail::steady_now_ns() + 20'000'000, [] {}, [this] { return comes ? 2u : 1u; },
            [this] { return sent; }, [](rank_t) { return no_rank; });
    }
};

// The same in a process without a free descriptor: the code, and the peer in the upper half.
int told_without_files(const meeting& w) {
    const pid_t child = ::fork();
    if (child == 0) {
        bough_test::leave_no_descriptors();
        const status s = w.run();
        ::_exit(static_cast<int>(s.code) + (s.peer == 1 ? 64 : 0));
    }
    int ended = -1;
    REQUIRE(::waitpid(child, &ended, 0) == child);
    REQUIRE(WIFEXITED(ended));
    return WEXITSTATUS(ended);
}
constexpr int would_block = static_cast<int>(errc::would_block), no_resources = static_cast<int>(errc::no_resources);

} // namespace

TEST_CASE("greetings: the rank that is missing is named when the time is over") {
    const status late = meeting{}.run();
    CHECK(late.code == errc::would_block);
    CHECK(late.peer == 1);
    const status own = meeting{.comes = true, .sent = false}.run();
    CHECK(own.code == errc::would_block);
    CHECK(own.peer == no_rank);
    CHECK_FALSE(meeting{.comes = true}.run());
}
TEST_CASE("greetings: a process that can open no more files says so, if connections need some") {
    CHECK(told_without_files({}) == no_resources);
    CHECK(told_without_files({.device = {.with_files = false}}) == would_block + 64);
    CHECK(told_without_files({.comes = true, .sent = false}) == would_block);
    CHECK(told_without_files({.comes = true}) == 0);
}
