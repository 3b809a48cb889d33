// SPDX-License-Identifier: BSL-1.0
// Starts the ranks of a job as processes of this machine, by fork, or by fork and exec. Use it
// through bough/launch.hpp.
//
// **Fork rules.** The child is a copy of this process with one thread: the one that called. What
// other threads were doing stands still in the child for ever: a lock that one of them held stays
// locked. So launch before other threads start, or let the function use nothing that they may have
// locked (memory and stdio are safe on glibc). Objects that know other ranks or threads, such as
// communicators and thread pools, stay with the parent. The child ends by _exit: stdout is flushed,
// but destructors of statics and atexit handlers do not run. These rules do not apply to fork and
// exec.
#ifndef BOUGH_LAUNCH_PROCESSES_HPP
#define BOUGH_LAUNCH_PROCESSES_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/launcher.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/launch/job.hpp>
#include <bough/launch/options.hpp>
#include <bough/launch/report.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

extern "C" char** environ;

namespace bough::inline BOUGH_ABI {

// The function that runs as a rank: it takes its job, and returns nothing or an exit status.
template <class F>
concept RankFunction = std::invocable<F&, job> &&
    (std::same_as<std::invoke_result_t<F&, job>, void> || std::convertible_to<std::invoke_result_t<F&, job>, int>);

namespace detail::jobs {

inline status os_status(int error) noexcept {
    switch (error) {
    case ENOENT:
    case EACCES:
    case ENOEXEC:
    case ENOTDIR:
    case EISDIR: return invalid_argument("argv: the program cannot be run");
    case E2BIG: return invalid_argument("argv: is too long");
    default: return {.code = errc::no_resources};
    }
}

// What a rank runs: a view of the caller's function, whatever its type. run() returns the exit code.
class rank_main {
public:
    template <class F>
    requires(!std::same_as<F, rank_main>) explicit rank_main(F& f) noexcept
        : f_(std::addressof(f)), run_([](void* erased, job mine) -> int {
              F& its = *static_cast<F*>(erased);
              if constexpr (std::same_as<std::invoke_result_t<F&, job>, void>) {
                  its(std::move(mine));
                  return 0;
              } else {
                  return its(std::move(mine));
              }
          }) {}
    int run(job mine) const { return run_(f_, std::move(mine)); }

private:
    void* f_;
    int (*run_)(void* f, job mine);
};

[[noreturn]] inline void run_rank(const rank_main& f, rank_t rank, rank_t size, int socket) noexcept {
    int code = 1;
#if BOUGH_HAS_EXCEPTIONS
    try {
#endif
        launch_hello hello;
        unique_fd fd(socket);
        if (!launched_wire_up::greet(fd.get(), hello, 10'000'000'000))
            code = f.run(job(launched_wire_up(std::move(fd), rank, size)));
#if BOUGH_HAS_EXCEPTIONS
    } catch (const std::exception& e) {
        std::fprintf(stderr, "bough: rank %u: %s\n", rank, e.what());
    } catch (...) {
        std::fprintf(stderr, "bough: rank %u: an exception\n", rank);
    }
#endif
    std::fflush(stdout);
    std::fflush(stderr);
    ::_exit(code);
}

// Templates, so that the compiled form can hold them.
template <std::same_as<launch_options> O>
status launch_function(rank_t ranks, const rank_main& f, const O& options, launch_report& report) {
    if (ranks == 0) return invalid_argument("ranks: a job needs at least one rank");
    if (const rank_t most = most_ranks(options, false); ranks > most) return {.code = errc::no_resources, .peer = most};
    std::fflush(stdout); // otherwise each child would write what is in it again
    std::fflush(stderr);
    launcher all(ranks, options);
    for (rank_t r = 0; r != ranks; ++r) {
        rank_side mine;
        const pid_t pid = all.start(r, mine);
        if (pid < 0) return {.code = errc::no_resources, .peer = r};
        if (pid == 0) run_rank(f, r, ranks, mine.socket);
    }
    report = all.run();
    return {};
}

// Nothing is called between fork and exec that could wait for a lock.
template <std::same_as<launch_options> O>
status launch_program(rank_t ranks, std::span<const std::string> argv, const O& options, launch_report& report) {
    if (ranks == 0) return invalid_argument("ranks: a job needs at least one rank");
    if (argv.empty() || argv[0].empty()) return invalid_argument("argv: needs the name of a program");
    if (const rank_t most = most_ranks(options, true); ranks > most) return {.code = errc::no_resources, .peer = most};
    std::array<char, 32> variable{"BOUGH_JOB="};
    std::vector<char*> arguments, environment;
    for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    for (char** v = environ; v != nullptr && *v != nullptr; ++v)
        if (!std::string_view(*v).starts_with(variable.data())) environment.push_back(*v);
    environment.push_back(variable.data());
    environment.push_back(nullptr);

    launcher all(ranks, options, true);
    for (rank_t r = 0; r != ranks; ++r) {
        rank_side mine;
        const pid_t pid = all.start(r, mine);
        if (pid < 0) return {.code = errc::no_resources, .peer = r};
        if (pid == 0) {
            ::fcntl(mine.socket, F_SETFD, 0);
            char* const digits = variable.data() + std::strlen(variable.data());
            *std::to_chars(digits, variable.data() + variable.size() - 1, mine.socket).ptr = '\0';
            ::execvpe(arguments[0], arguments.data(), environment.data());
            const int error = errno;
            (void)!::write(mine.tell, &error, sizeof error);
            ::_exit(127);
        }
    }
    const launch_report ended = all.run();
    if (all.error() != 0) {
        status bad = os_status(all.error());
        bad.peer = all.error_rank();
        return bad;
    }
    report = ended;
    return {};
}

#if defined(BOUGH_COMPILED_TEMPLATE)
BOUGH_COMPILED_TEMPLATE status launch_function<launch_options>(rank_t, const rank_main&, const launch_options&,
                                                               launch_report&);
BOUGH_COMPILED_TEMPLATE status launch_program<launch_options>(rank_t, std::span<const std::string>,
                                                              const launch_options&, launch_report&);
#endif

} // namespace detail::jobs
} // namespace bough

#endif
