// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/contract.hpp>

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int half(int even) {
    BOUGH_EXPECTS(even % 2 == 0, "even: an odd number has no half");
    return even / 2;
}
static_assert(half(4) == 2); // and half(3) does not compile: test/reject/core_contract.cpp

// What a child process says on its standard error, and how it ends, when it calls half(of).
std::string last_words(int of, int& how) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); // Catch2 has a handler of its own
        dup2(ends[1], 2);
        half(of);
        _exit(0);
    }
    close(ends[1]);
    std::string words;
    char some[256];
    for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;) words.append(some, static_cast<std::size_t>(got));
    close(ends[0]);
    waitpid(child, &how, 0);
    return words;
}

} // namespace

TEST_CASE("a broken contract prints its sentence and its place, and aborts") {
    int how = 0;
    const std::string words = last_words(3, how);
    CHECK(words.find("bough: even: an odd number has no half (") == 0);
    CHECK(words.find("contract.cpp:") != std::string::npos);
    CHECK(WIFSIGNALED(how));
    CHECK(WTERMSIG(how) == SIGABRT);
}

TEST_CASE("a kept contract costs no word") {
    int how = 1;
    CHECK(last_words(4, how).empty());
    CHECK(WIFEXITED(how));
}
