// SPDX-License-Identifier: BSL-1.0
// What a child process that calls f() says on its standard error, and whether it is aborted: for broken contracts.
#ifndef BOUGH_TEST_SUPPORT_LAST_WORDS_HPP
#define BOUGH_TEST_SUPPORT_LAST_WORDS_HPP

#include "support/catch.hpp"

#include <csignal>
#include <cstddef>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace bough_test {

struct last_words {
    std::string text;
    bool aborted = false;
    bool has(const char* part) const { return text.find(part) != std::string::npos; }
};

template <class F>
last_words last_words_of(F&& f) {
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
    last_words said;
    char some[256];
    for (ssize_t got; (got = read(ends[0], some, sizeof some)) > 0;)
        said.text.append(some, static_cast<std::size_t>(got));
    close(ends[0]);
    waitpid(child, &how, 0);
    said.aborted = WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT;
    return said;
}

} // namespace bough_test

#endif
