// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/forks.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using bough::detail::forks;
using bough::detail::leave_to_parent;

namespace {

// The exit status of a child that does this.
template <class F>
int in_child(F&& act) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(act());
    int state = -1;
    REQUIRE(::waitpid(child, &state, 0) == child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

struct counts_ends {
    explicit counts_ends(int& ends) : ends_(&ends) {}
    counts_ends(counts_ends&& from) noexcept : ends_(std::exchange(from.ends_, nullptr)) {}
    ~counts_ends() {
        if (ends_ != nullptr) ++*ends_;
    }
    int* ends_;
};

} // namespace

TEST_CASE("forks: a child has a number of its own, and so has its child; the parent keeps its number") {
    const auto mine = forks();
    CHECK(in_child([&] {
              if (forks() != mine + 1) return 1;
              const pid_t grandchild = ::fork();
              if (grandchild == 0) ::_exit(forks() == mine + 2 ? 0 : 1);
              int state = -1;
              if (::waitpid(grandchild, &state, 0) != grandchild || state != 0) return 2;
              return forks() == mine + 1 ? 0 : 3;
          }) == 0);
    CHECK(forks() == mine);
    CHECK(in_child([&] { return forks() == mine + 1 ? 0 : 1; }) == 0); // not one more for each child
}

TEST_CASE("forks: what is left to the parent is not destroyed, and what stays is empty") {
    int ends = 0;
    {
        counts_ends x(ends);
        leave_to_parent(x);
        CHECK(x.ends_ == nullptr);
    }
    CHECK(ends == 0);
    { const counts_ends y(ends); }
    CHECK(ends == 1);
}
