// SPDX-License-Identifier: BSL-1.0
// Compiled alone: what it includes depends on a macro of its own.
// How signal_progress begins and ends: without descriptors, without a thread, and in the child of a fork.
#if defined(__linux__)
#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include "support/sanitizers.hpp"
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/signals.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bough;

namespace {

using endpoint = in_process::endpoint;

// f() in a process of its own, which is ended after 20 s. Its value; minus the signal that ended it.
template <class F>
pid_t begin_child(F&& f) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child != 0) return child;
    ::alarm(20);
    int code = 99;
    try {
        code = f();
    } catch (...) {
    }
    ::_exit(code);
}
int end_of(pid_t child) {
    int state = 0;
    ::waitpid(child, &state, 0);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}
template <class F>
int in_child(F&& f) {
    return end_of(begin_child(f));
}

bool hears_signals() {
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return ::sigismember(&blocked, SIGINT) == 0 && ::sigismember(&blocked, SIGTERM) == 0;
}
// What making one comes to: "" if it is made, and ends.
std::string made(communicator<endpoint>& comm) {
    std::string said;
    try {
        const signal_progress bypass{comm};
    } catch (const error& e) {
        said = e.details().code == errc::no_resources ? e.details().argument : "another error";
    }
    return hears_signals() ? said : "signals stay blocked";
}

// A rank of one, whose transport has its descriptor.
struct alone {
    in_process world{1};
    communicator<endpoint> comm{world.connect(0)};
    int descriptor = comm.transport().descriptor();
};
// Two ranks of one thread.
struct two {
    in_process world{2};
    communicator<endpoint> low{world.connect(0)}, high{world.connect(1)};
};

} // namespace

TEST_CASE("signal_progress: where descriptors run out it says so, whichever is the first that is not there") {
    if (bough_test::may_have_undefined_behavior_sanitizer) return; // without this sanitizer it runs
    const int failures = in_child([] {
        alone rank;
        const int next = ::dup(0);
        ::close(next);
        rlimit most{};
        ::getrlimit(RLIMIT_NOFILE, &most);
        for (int left = 0; left != 50; ++left) {
            most.rlim_cur = static_cast<rlim_t>(next + left);
            ::setrlimit(RLIMIT_NOFILE, &most);
            const std::string said = made(rank.comm);
            if (said.empty()) return left;
            if (said != "signal_progress: descriptors") return 98;
        }
        return 97;
    });
    CHECK(failures >= 3);
    CHECK(failures < 50);
}
#if defined(__GLIBC__)
TEST_CASE("signal_progress: where there is no thread it says so, and the caller hears its signals as before") {
    CHECK(in_child([] {
              alone rank;
              pthread_attr_t usual;
              ::pthread_getattr_default_np(&usual);
              std::size_t usual_bytes = 0;
              ::pthread_attr_getstacksize(&usual, &usual_bytes);
              const auto threads_take = [&](std::size_t stack_bytes) {
                  ::pthread_attr_setstacksize(&usual, stack_bytes);
                  return ::pthread_setattr_default_np(&usual) == 0;
              };
              if (!threads_take(~std::size_t{0} / 16 * 15)) return 1; // more than there are addresses
              if (made(rank.comm) != "signal_progress: a thread") return 2;
              // So do others that need threads.
              const auto said = [](const auto& f) -> std::string {
                  try {
                      f();
                  } catch (const error& e) {
                      if (e.details().code == errc::no_resources) return e.details().argument;
                  }
                  return "";
              };
              if (said([] { progress_thread(); }) != "progress_thread: a thread") return 4;
              if (said([] { in_process(2).run([](auto) {}); }) != "in_process: a thread for each rank") return 5;
              if (!threads_take(usual_bytes)) return 3;
              return made(rank.comm).empty() ? 0 : 4;
          }) == 0);
}
#endif
TEST_CASE("signal_progress: its thread takes no signals that are for others") {
    CHECK(in_child([] {
              alone rank;
              const signal_progress bypass{rank.comm};
              int others = 0;
              for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
                  if (task.path().filename() == std::to_string(::getpid())) continue;
                  ++others;
                  const auto status_of = [&](const std::string& what) {
                      std::ifstream of(task.path() / "status");
                      std::string line;
                      while (std::getline(of, line) && !line.starts_with(what)) continue;
                      return line.substr(std::min(line.size(), what.size() + 1));
                  };
                  while (!status_of("State:").starts_with('S')) std::this_thread::yield(); // it is still beginning
                  const unsigned long long blocked = std::stoull(status_of("SigBlk:"), nullptr, 16);
                  for (const int s : {SIGINT, SIGTERM, SIGRTMIN + 2})
                      if ((blocked >> (s - 1) & 1) == 0) return 1;
              }
              return others != 0 ? 0 : 2;
          }) == 0);
}
TEST_CASE("signal_progress: the child of a fork waits for no thread, not for its own either") {
    alone rank;
    std::optional<signal_progress<endpoint>> bypass(std::in_place, rank.comm);
    CHECK(in_child([&] {
              { const auto here = bypass->interruptible(); }
              std::atomic<bool> over{false};
              std::thread own;
              if (bough_test::starts_threads_after_fork)
                  own = std::thread([&] { over.wait(false); }); // may be where the other was
              bypass.reset();
              over = true;
              over.notify_all();
              if (own.joinable()) own.join();
              return hears_signals() ? 0 : 1;
          }) == 0);
    // Of which the parent has seen nothing.
    CHECK(made(rank.comm).empty());
}
TEST_CASE("signal_progress: it ends while a child of a fork lives") {
    CHECK(in_child([] {
              alone rank;
              std::optional<signal_progress<endpoint>> bypass(std::in_place, rank.comm);
              const pid_t child = begin_child([] { return ::pause(); });
              bypass.reset();
              ::kill(child, SIGKILL);
              return end_of(child) == -SIGKILL ? 0 : 1;
          }) == 0);
}
TEST_CASE("event_progress: a child of a fork does not take the parent's notifications") {
    two ranks;
    int x = 1, y = 2;
    operation low, high;
    std::optional<event_progress<endpoint>> events(std::in_place, ranks.low, 60'000);
    low = start_allreduce(ranks.low, std::span(&x, 1), plus{});
    int sleep_ms = 0;
    while (sleep_ms == 0) sleep_ms = events->prepare();
    REQUIRE(sleep_ms == 60'000); // armed
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = begin_child([&] {
        char rung = 0;
        if (::read(ends[0], &rung, 1) != 1) return 1;
        const int sleeps_ms = events->prepare();
        events.reset();
        return sleeps_ms == 0 && low.done() && low.result().code == errc::forked_child ? 0 : 2;
    });
    high = start_allreduce(ranks.high, std::span(&y, 1), plus{});
    REQUIRE(::write(ends[1], "", 1) == 1);
    CHECK(end_of(child) == 0);
    for (const int end : ends) ::close(end);
    pollfd p{events->descriptor(), POLLIN, 0};
    CHECK(::poll(&p, 1, 0) == 1);
    for (int turns = 0; turns != 1000 && !(low.done() && high.done()); ++turns) {
        events->progress();
        ranks.high.progress();
    }
    low.wait();
    high.wait();
    CHECK((x == 3 && y == 3));
}
#endif
