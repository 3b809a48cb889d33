// SPDX-License-Identifier: BSL-1.0
// A transport that breaks its rule and never gives the bytes of a cancelled send back: nothing waits for ever, and no memory
// is destroyed that it may still read.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/start_allreduce.hpp>
#include <bough/start_barrier.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace bough;

// Rank 0 of 2, alone. Each look at its clock takes 10 ms.
class keeper {
public:
    explicit keeper(int& alive) : alive_(&alive) { ++*alive_; }
    keeper(keeper&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)), now_(other.now_) {}
    keeper& operator=(keeper&&) = delete;
    ~keeper() {
        if (alive_ != nullptr) --*alive_;
    }
    rank_t rank() const noexcept { return 0; }
    rank_t size() const noexcept { return 2; }
    posted post_send(rank_t, const envelope&, std::span<const std::byte>, std::uint64_t) { return posted::pending; }
    posted take(std::uint64_t, std::span<std::byte>, std::uint64_t) { return posted::failed; }
    void release(std::uint64_t) {}
    std::size_t poll(std::span<event>) { return 0; }
    errc cancel(std::uint64_t) { return errc::ok; }
    std::uint64_t now_ns() const noexcept { return now_ += 10'000'000; }

private:
    int* alive_;
    mutable std::uint64_t now_ = 0;
};

// How a child process ends that calls f, and what it says.
template <class F>
int end_of(std::string& words, F&& f) {
    int ends[2], how = 0;
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); // Catch2 has a handler of its own
        dup2(ends[1], 2);
        f();
        _exit(0);
    }
    close(ends[1]);
    char some[256];
    for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) words.append(some, static_cast<std::size_t>(got));
    close(ends[0]);
    waitpid(child, &how, 0);
    return how;
}

} // namespace

TEST_CASE("a handle whose bytes are never given back: they are the caller's, so the program ends with a sentence") {
    std::string words;
    const int how = end_of(words, [] {
        int alive = 0;
        communicator comm{keeper{alive}};
        std::vector<int> x(10);
        const operation op = start_allreduce(comm, x, plus{});
    });
    CHECK((WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT));
    CHECK(words.find("does not give the bytes of a cancelled operation back") != std::string::npos);
}

TEST_CASE("a handle whose bytes are never given back: they are the library's own, so they stay") {
    static int alive = 0; // of the transport, which is there for good
    {
        communicator comm{keeper{alive}};
        { const operation op = start_barrier(comm); }
        CHECK(comm.poison().code == errc::cancelled);
        CHECK(comm.shared_session()->outstanding() == 1);
    }
    CHECK(alive == 1);
}
