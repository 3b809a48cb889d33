// SPDX-License-Identifier: BSL-1.0
// A test case that takes longer than BOUGH_TEST_SECONDS (1200) ends the run, which says its name. CTest's
// timeout would say the room's.
#include "support/listener.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <unistd.h>

namespace {

char words[512]; // made before the signal: its handler cannot allocate
std::size_t length = 0;

void give_up(int) {
    (void)!::write(2, words, length);
    std::signal(SIGABRT, SIG_DFL); // Catch's handler allocates
    std::abort();
}

long seconds() {
    const char* const said = std::getenv("BOUGH_TEST_SECONDS");
    return said == nullptr ? 1200 : std::atol(said);
}

// A timer with a signal of its own: tests use alarm(), and children of fork() inherit no timer.
struct deadline_listener : bough_test::listener_base {
    using bough_test::listener_base::listener_base;

    void testCaseStarting(const Catch::TestCaseInfo& test) override {
        std::string said =
            test.name + ": the deadline of the test case, " + std::to_string(seconds()) + " s, has passed\n";
        length = std::min(said.size(), sizeof words);
        std::copy_n(said.data(), length, words);
        if (!made_) {
            std::signal(SIGRTMAX - 1, give_up);
            sigevent event{};
            event.sigev_notify = SIGEV_SIGNAL;
            event.sigev_signo = SIGRTMAX - 1;
            made_ = ::timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
        }
        set(seconds());
    }
    void testCaseEnded(const Catch::TestCaseStats&) override { set(0); }

private:
    void set(long s) {
        const itimerspec when{.it_interval = {}, .it_value = {.tv_sec = s, .tv_nsec = 0}};
        if (made_) ::timer_settime(timer_, 0, &when, nullptr);
    }

    timer_t timer_{};
    bool made_ = false;
};

} // namespace

CATCH_REGISTER_LISTENER(deadline_listener)
