// SPDX-License-Identifier: BSL-1.0
// A group belongs to the process that made it: what a child of it does with a rank's end changes nothing for the peers.
#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include "support/joined_ends.hpp"
#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/forks.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace bough;

namespace {

constexpr std::array<std::byte, 8> word{std::byte{1}, std::byte{2}, std::byte{3}};
constexpr std::array<std::byte, 8> zeros{};

template <class X>
bool has_landed(const X& at) {
    return std::equal(word.begin(), word.end(), at.region().begin());
}

// The first event that is found in so many polls.
template <class X>
std::optional<event> found_by(X& end, int polls) {
    event seen[1];
    for (int i = 0; i != polls; ++i)
        if (end.poll(seen) == 1) return seen[0];
    return std::nullopt;
}

} // namespace

TEST_CASE("remote writes: over in_process_regions the child of a fork writes nothing and hears of no loss") {
    in_process_regions world(3);
    auto a = world.connect(0), b = world.connect(1);
    std::optional gone(world.connect(2));
    std::vector<std::byte> memory(8);
    const exposure at = b.expose(memory);
    gone.reset(); // nobody has polled since
    const auto is_left_alone = [&] {
        return a.forked() && a.put(1, 0, word, {}, 1) == posted::failed &&
               a.put_exposed(1, at, word, 2) == posted::failed && !b.expose(memory) && !found_by(a, 10) &&
               std::equal(zeros.begin(), zeros.end(), b.region().begin()) && memory == std::vector<std::byte>(8);
    };
    CHECK(bough_test::holds_in_child("regions of threads", is_left_alone));
    ++detail::fork_count; // as if this were a child, which conceals and leaves
    CHECK(is_left_alone());
    b.conceal(at);
    --detail::fork_count;
    CHECK_FALSE(a.forked());
    CHECK(a.put_exposed(1, at, word, 3) == posted::complete);
    CHECK(a.put(1, 0, word, {}, 4) == posted::complete);
    CHECK(has_landed(b));
    const auto lost = found_by(a, 1);
    REQUIRE(lost);
    CHECK((lost->what == event::kind::lost && lost->peer == 2));
}

TEST_CASE("remote writes: the child of a fork leaves a group of shared_memory_regions, and no peer is told") {
    auto ends = bough_test::joined_ends<shared_memory_regions>(2, [](rank_t, auto& wire, status& why) {
        return shared_memory_regions::join(wire, {.region_bytes = 4096, .sparse = false}, why);
    });
    CHECK(bough_test::holds_in_child("regions of processes", [&] {
        const bool refused = ends[0].forked() && ends[0].put(1, 0, word, {}, 1) == posted::failed;
        const bool deaf = !found_by(ends[0], 3000);
        ends.clear();
        return refused && deaf;
    }));
    for (auto& end : ends) CHECK_FALSE(found_by(end, 3000)); // it looks once in 1,024 polls
    CHECK(std::equal(zeros.begin(), zeros.end(), ends[1].region().begin()));
    CHECK(ends[0].put(1, 0, word, {}, 2) == posted::complete);
    CHECK(has_landed(ends[1]));
    ends.pop_back(); // the parent leaves
    const auto lost = found_by(ends[0], 3000);
    REQUIRE(lost);
    CHECK((lost->what == event::kind::lost && lost->peer == 1));
    CHECK_FALSE(found_by(ends[0], 3000));
}

TEST_CASE("remote writes: peers are told of a rank that leaves shared_memory_regions, though a child of it lives on") {
    auto ends = bough_test::joined_ends<shared_memory_regions>(2, [](rank_t, auto& wire, status& why) {
        return shared_memory_regions::join(wire, {.region_bytes = 4096}, why);
    });
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) { // it holds what the ranks have open
        ::signal(SIGALRM, SIG_DFL);
        ::alarm(60);
        for (;;) ::pause();
    }
    REQUIRE(child > 0);
    ends.pop_back();
    const auto lost = found_by(ends[0], 3000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    REQUIRE(lost);
    CHECK((lost->what == event::kind::lost && lost->peer == 1));
}
