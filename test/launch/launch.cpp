// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/launch.hpp>
#include <bough/testing/wire_up_conformance.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr std::uint64_t ms = 1'000'000;
using clock_type = std::chrono::steady_clock;
double seconds_since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

// The sum of what all ranks say; -1 if they cannot say it.
int sum_of_all(job& mine, int value, std::uint64_t timeout_ns = 5000 * ms) {
    std::vector<int> all(mine.size());
    if (mine.exchange(std::as_bytes(std::span(&value, 1)), std::as_writable_bytes(std::span(all)), timeout_ns))
        return -1;
    int sum = 0;
    for (const int v : all) sum += v;
    return sum;
}

std::size_t open_descriptors() {
    std::size_t n = 0;
    DIR* list = ::opendir("/proc/self/fd");
    while (::readdir(list) != nullptr) ++n;
    ::closedir(list);
    return n;
}

// A pipe whose ends processes may hold.
struct pipe_ends {
    pipe_ends() { REQUIRE(::pipe(fd) == 0); }
    ~pipe_ends() {
        ::close(fd[0]);
        ::close(fd[1]);
    }
    int fd[2] = {-1, -1};
};

// Is the process there, and not a zombie?
bool is_alive(pid_t pid) {
    const std::string name = "/proc/" + std::to_string(pid) + "/stat";
    std::FILE* file = std::fopen(name.c_str(), "r");
    if (file == nullptr) return false;
    char state = 'Z';
    const int got = std::fscanf(file, "%*d (%*[^)]) %c", &state);
    std::fclose(file);
    return got == 1 && state != 'Z' && state != 'X';
}

} // namespace

TEST_CASE("launch: every rank knows who it is and hears the others") {
    for (const rank_t ranks : {1u, 2u, 3u, 8u, 17u}) {
        const launch_report report = launch(ranks, [ranks](job mine) {
            return mine.size() == ranks && sum_of_all(mine, 1 << mine.rank()) == (1 << ranks) - 1 ? 0 : 1;
        });
        CAPTURE(ranks, describe(report));
        CHECK(report.ok());
        REQUIRE(report.ranks.size() == ranks);
        CHECK(report.first_failed == no_rank);
    }
}

TEST_CASE("launch: the wire-up keeps the rules") {
    for (const rank_t ranks : {1u, 2u, 5u, 16u}) {
        const launch_report report = launch(ranks, [](job mine) {
            const auto fault = testing::check_wire_up(mine);
            if (fault) std::fprintf(stderr, "rank %u: %s\n", mine.rank(), fault.sentence);
            return fault ? 1 : 0;
        });
        CAPTURE(ranks, describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("launch: exit codes and signals of each rank are reported") {
    const launch_report report = launch(6, [](job mine) {
        switch (mine.rank()) {
        case 1: return 7;
        case 2: std::raise(SIGKILL); return 0;
        case 3: {
            const rlimit none{0, 0};
            ::setrlimit(RLIMIT_CORE, &none);
            std::signal(SIGSEGV, SIG_DFL);
            std::raise(SIGSEGV);
            return 0;
        }
        case 4: throw std::runtime_error("this sentence belongs to the test");
        case 5: std::exit(9);
        default: return 0;
        }
    });
    using how = rank_end::how;
    REQUIRE(report.ranks.size() == 6);
    CHECK(report.ranks[0] == rank_end{0, how::exited, 0});
    CHECK(report.ranks[1] == rank_end{1, how::exited, 7});
    CHECK(report.ranks[2] == rank_end{2, how::signalled, SIGKILL});
    CHECK(report.ranks[3] == rank_end{3, how::signalled, SIGSEGV});
    CHECK(report.ranks[4] == rank_end{4, how::exited, 1});
    CHECK_FALSE(report.ok());
    CHECK(report.first_failed != no_rank);
    CHECK(describe(report.ranks[1]) == "rank 1 ended with exit status 7");
    CHECK(describe(report.ranks[3]) == "rank 3 was killed by signal 11 (SIGSEGV)");
}

TEST_CASE("launch: a rank that dies ends the exchanges of the others with peer_dead, and is named") {
    for (const bool dies_before : {true, false}) {
        const auto start = clock_type::now();
        const launch_report report = launch(4, [dies_before](job mine) {
            if (mine.rank() == 2) {
                if (!dies_before) sum_of_all(mine, 1);
                std::raise(SIGKILL);
            }
            std::vector<std::byte> one(1), all(4);
            if (!dies_before && sum_of_all(mine, 1) != 4) return 1;
            const status bad = mine.exchange(one, all, 20'000 * ms);
            const status again = mine.exchange(one, all, 20'000 * ms);
            return bad.code == errc::peer_dead && bad.peer == 2 && again.code == errc::peer_dead ? 0 : 2;
        });
        CAPTURE(dies_before, describe(report));
        for (const rank_t r : {0u, 1u, 3u}) CHECK(report.ranks[r].ok());
        CHECK(report.first_failed == 2);
        CHECK(seconds_since(start) < 5);
    }
}

TEST_CASE("launch: a rank that dies within an exchange ends it") {
    const launch_report report = launch(3, [](job mine) {
        if (mine.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the others wait
        if (mine.rank() == 1) ::alarm(0), std::signal(SIGALRM, SIG_DFL), ::ualarm(20'000, 0);
        return sum_of_all(mine, 1) == -1 ? 0 : 1;
    });
    CHECK(report.ranks[0].ok());
    CHECK(report.ranks[1] == rank_end{1, rank_end::how::signalled, SIGALRM});
    CHECK(report.ranks[2].ok());
}

TEST_CASE("launch: ranks that say different lengths hear so") {
    const launch_report report = launch(3, [](job mine) {
        std::vector<std::byte> some(mine.rank() == 1 ? 5 : 4), all(some.size() * 3);
        const status bad = mine.exchange(some, all, 5000 * ms);
        return bad.code == errc::call_mismatch && bad.mine + bad.theirs == 9 ? 0 : 1;
    });
    CAPTURE(describe(report));
    CHECK(report.ok());
}

#if defined(SYS_pidfd_open) && defined(SECCOMP_RET_ERRNO)
TEST_CASE("launch: where the kernel has no handles of processes, ends are noticed, too") {
    // In this thread and its children alone, and for good.
    const auto forbid_handles = [] {
        std::array<sock_filter, 4> rules{{
            {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_pidfd_open},
            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
        }};
        const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
        ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
        return ::syscall(SYS_pidfd_open, ::getpid(), 0) < 0;
    };
    bool forbidden = false;
    launch_report well, badly;
    std::thread([&] {
        forbidden = forbid_handles();
        well = launch(3, [](job mine) { return sum_of_all(mine, 1) == 3 ? 0 : 1; }, {.timeout_ns = 20'000 * ms});
        badly = launch(3,
                       [](job mine) {
                           if (mine.rank() == 1) ::_exit(7);
                           return sum_of_all(mine, 1) == -1 ? 0 : 1;
                       },
                       {.timeout_ns = 20'000 * ms});
    }).join();
    if (!forbidden) WARN("handles of processes could not be forbidden here");
    CHECK(well.ok());
    CHECK_FALSE(well.timed_out);
    CHECK_FALSE(badly.timed_out);
    CHECK(badly.first_failed == 1);
    CHECK(badly.ranks[1] == rank_end{1, rank_end::how::exited, 7});
    CHECK(badly.ranks[0].ok());
    CHECK(badly.ranks[2].ok());
}
#endif

TEST_CASE("launch: the time limit and the time of grace end what is left") {
    const auto start = clock_type::now();
    const auto sleeper = [](job mine) {
        if (mine.rank() == 0) return 3;
        std::this_thread::sleep_for(std::chrono::seconds(60));
        return 0;
    };
    const launch_report late = launch(3, sleeper, {.timeout_ns = 200 * ms});
    CHECK(late.timed_out);
    CHECK_FALSE(late.ok());
    CHECK(late.ranks[0] == rank_end{0, rank_end::how::exited, 3});
    CHECK(late.ranks[1] == rank_end{1, rank_end::how::signalled, SIGKILL});
    const launch_report failed = launch(3, sleeper, {.grace_ns = 100 * ms});
    CHECK_FALSE(failed.timed_out);
    CHECK(failed.first_failed == 0);
    CHECK(failed.ranks[2] == rank_end{2, rank_end::how::signalled, SIGKILL});
    CHECK(seconds_since(start) < 10);
}

TEST_CASE("launch: leaves no descriptors and no children behind") {
    const std::size_t before = open_descriptors();
    for (int i = 0; i != 5; ++i) launch(4, [](job mine) { return sum_of_all(mine, 1) == 4 ? 0 : 1; });
    launch(2, [](job) {}, {.prefix_output = true});
    CHECK(open_descriptors() == before);
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("launch: a child holds nothing that belongs to its brothers") {
    const std::size_t here = open_descriptors();
    const launch_report report =
        launch(6, [here](job mine) { return open_descriptors() == here + 1 || mine.size() != 6 ? 0 : 1; });
    CAPTURE(describe(report));
    CHECK(report.ok());
}

TEST_CASE("launch: works while other threads run, and in several threads at once") {
    std::atomic<bool> stop{false};
    std::thread busy([&stop] {
        while (!stop) std::vector<int>(1000).swap(*std::make_unique<std::vector<int>>());
    });
    std::atomic<int> wrong{0};
    std::vector<std::thread> launchers;
    for (int t = 0; t != 3; ++t)
        launchers.emplace_back([&wrong] {
            for (int i = 0; i != 5; ++i)
                wrong += !launch(3, [](job mine) { return sum_of_all(mine, 2) == 6 ? 0 : 1; }).ok();
        });
    for (std::thread& t : launchers) t.join();
    stop = true;
    busy.join();
    CHECK(wrong == 0);
}

TEST_CASE("launch: does not take other children of its process") {
    const pid_t other = ::fork();
    if (other == 0) ::_exit(42);
    CHECK(launch(2, [](job mine) { return sum_of_all(mine, 1) == 2 ? 0 : 1; }).ok());
    int how = 0;
    REQUIRE(::waitpid(other, &how, 0) == other);
    CHECK(WEXITSTATUS(how) == 42);
}

TEST_CASE("launch: who ignores SIGCHLD loses exit codes, not the launch") {
    const auto old = std::signal(SIGCHLD, SIG_IGN);
    const launch_report report = launch(2, [](job mine) { return sum_of_all(mine, 1) == 2 ? 0 : 1; });
    std::signal(SIGCHLD, old);
    REQUIRE(report.ranks.size() == 2);
    CHECK(report.ranks[0].what == rank_end::how::unknown);
    CHECK(describe(report.ranks[0]) == "rank 0 ended, nobody knows how");
}

TEST_CASE("launch: if the launcher is killed, so are its ranks") {
    pipe_ends said;
    const pid_t launcher = ::fork();
    if (launcher == 0) {
        launch(3, [&said](job mine) {
            const pid_t me = ::getpid();
            (void)!::write(said.fd[1], &me, sizeof me);
            std::this_thread::sleep_for(std::chrono::seconds(60));
            return static_cast<int>(mine.rank());
        });
        ::_exit(0);
    }
    std::array<pid_t, 3> ranks{};
    for (pid_t& r : ranks) REQUIRE(::read(said.fd[0], &r, sizeof r) == sizeof r);
    for (const pid_t r : ranks) CHECK(is_alive(r));
    ::kill(launcher, SIGKILL);
    REQUIRE(::waitpid(launcher, nullptr, 0) == launcher);
    const auto start = clock_type::now();
    for (const pid_t r : ranks)
        while (is_alive(r) && seconds_since(start) < 5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const pid_t r : ranks) CHECK_FALSE(is_alive(r));
}

TEST_CASE("launch: output may carry the rank") {
    pipe_ends out;
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(out.fd[1], 1);
        const launch_report report = launch(2,
                                            [](job mine) {
                                                if (mine.rank() == 1) sum_of_all(mine, 0); // after rank 0's line
                                                std::printf("line of %u\nand no end", mine.rank());
                                                std::fflush(stdout);
                                                if (mine.rank() == 0) sum_of_all(mine, 0);
                                            },
                                            {.prefix_output = true});
        ::_exit(report.ok() ? 0 : 1);
    }
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    CHECK(how == 0);
    std::array<char, 512> text{};
    REQUIRE(::read(out.fd[0], text.data(), text.size() - 1) > 0);
    const std::string all = text.data();
    for (const char* line : {"[0] line of 0\n", "[0] and no end\n", "[1] line of 1\n", "[1] and no end\n"})
        CHECK(all.find(line) != std::string::npos);
}

namespace {

// Runs f in a child of this process whose standard output is a pipe, and returns what is read from it, 4 KiB a millisecond
// or, if not `reading`, nothing. `how`: how the child ended.
template <class F>
std::string printed_by(const F& f, bool reading, int& how) {
    pipe_ends out;
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(out.fd[1], 1);
        ::close(out.fd[0]);
        ::close(out.fd[1]);
        ::_exit(f());
    }
    ::close(std::exchange(out.fd[1], -1));
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t n = 1; reading && n > 0;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        n = ::read(out.fd[0], some.data(), some.size());
        if (n > 0) text.append(some.data(), static_cast<std::size_t>(n));
    }
    REQUIRE(::waitpid(child, &how, 0) == child);
    return text;
}

} // namespace

TEST_CASE("launch: no line is lost where the launcher's output is slow, whether it blocks or not") {
    constexpr int lines = 20'000;
    for (const bool blocks : {true, false}) {
        int how = 0;
        const std::string text = printed_by(
            [blocks] {
                if (!blocks) ::fcntl(1, F_SETFL, ::fcntl(1, F_GETFL) | O_NONBLOCK);
                const auto print = [](job mine) {
                    for (int i = static_cast<int>(mine.rank()); i < lines; i += 2) std::printf("line %d\n", i);
                };
                const launch_report report = launch(2, print, {.timeout_ns = 60'000 * ms, .prefix_output = true});
                return report.ok() && !report.output_cut ? 0 : 1;
            },
            true, how);
        CAPTURE(blocks);
        CHECK(how == 0);
        std::array<int, 2> due{0, 1};
        for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1) {
            const auto rank = static_cast<std::size_t>(text[at + 1] - '0');
            REQUIRE(rank < 2);
            REQUIRE(text.substr(at, end - at) == "[" + std::to_string(rank) + "] line " + std::to_string(due[rank]));
            due[rank] += 2;
        }
        CHECK((due == std::array<int, 2>{lines, lines + 1}));
    }
}

TEST_CASE("launch: output that nobody reads does not keep a launch beyond its time") {
    int how = 0;
    printed_by(
        [] {
            const auto start = clock_type::now();
            const auto print = [](job) {
                for (int i = 0; i != 100'000; ++i) std::puts("nobody will ever read this");
            };
            const launch_report report = launch(2, print, {.timeout_ns = 300 * ms, .prefix_output = true});
            if (!report.timed_out || !report.output_cut || report.ok()) return 1;
            if (describe(report).find("nobody read the output") == std::string::npos) return 2;
            return seconds_since(start) < 5 ? 0 : 3;
        },
        false, how);
    CHECK(how == 0);
}

TEST_CASE("launch: a line without an end is passed on in pieces") {
    int how = 0;
    const std::string text = printed_by(
        [] {
            const auto print = [](job) { std::fputs(std::string(300'000, 'x').c_str(), stdout); };
            return launch(1, print, {.prefix_output = true}).ok() ? 0 : 1;
        },
        true, how);
    CHECK(how == 0);
    CHECK(std::count(text.begin(), text.end(), 'x') == 300'000);
    std::size_t longest = 0, pieces = 0;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != text.npos; at = end + 1, ++pieces)
        longest = std::max(longest, end - at);
    CHECK(longest < 80'000);
    CHECK(pieces >= 4);
}

TEST_CASE("launch: whoever has no standard streams may launch") {
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int stream : {0, 1, 2}) ::close(stream);
        const auto talk = [](job mine) {
            std::printf("hello\n"); // to nobody
            std::fflush(stdout);
            return sum_of_all(mine, 1) == 2 ? 0 : 1;
        };
        for (const bool prefix : {false, true}) {
            if (!launch(2, talk, {.timeout_ns = 5000 * ms, .prefix_output = prefix}).ok()) ::_exit(1);
            if (!launch(2, {"true"}, {.timeout_ns = 5000 * ms, .prefix_output = prefix}).ok()) ::_exit(2);
            std::error_code ec;
            const std::vector<std::string> nothing{"/no/such/program"};
            launch(2, nothing, {.timeout_ns = 5000 * ms, .prefix_output = prefix}, ec);
            if (ec != errc::invalid_argument) ::_exit(3);
        }
        ::_exit(0);
    }
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    CHECK(how == 0);
}

namespace {

// While it is set, a process is made just before the next fork of this one. It holds all descriptors that are open then.
std::atomic<bool> make_brother{false};
pid_t brother = 0;
void before_fork() {
    if (!make_brother.exchange(false)) return;
#ifdef __s390__                                                              // there the stack comes before the flags
    brother = static_cast<pid_t>(::syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0)); // no handlers run
#else
    brother = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); // no handlers run
#endif
    if (brother != 0) return;
    ::alarm(30);
    for (;;) ::pause();
}

} // namespace

// As a rank of another launch does that a thread of this process has just begun.
TEST_CASE("launch: a program's start does not wait for those who hold its descriptors") {
    REQUIRE(::pthread_atfork(&before_fork, nullptr, nullptr) == 0);
    for (const char* program : {"true", "/no/such/program"}) {
        make_brother = true;
        const std::vector<std::string> argv{program};
        const auto start = clock_type::now();
        std::error_code ec;
        const launch_report report = launch(1, argv, {.timeout_ns = 5000 * ms}, ec);
        CAPTURE(program);
        CHECK(seconds_since(start) < 3);
        if (argv[0] == "true")
            CHECK((!ec && report.ok()));
        else
            CHECK(ec == errc::invalid_argument);
        REQUIRE(brother > 0);
        ::kill(brother, SIGKILL);
        CHECK(::waitpid(brother, nullptr, 0) == brother);
    }
}

TEST_CASE("launch: what cannot be is an error in both forms") {
    std::error_code ec;
    launch(
        0, [](job) {}, {}, ec);
    CHECK(ec == errc::invalid_argument);
    CHECK_THROWS_AS(launch(0, [](job) {}), error);
    const std::vector<std::string> nothing{"/no/such/program"};
    launch(3, nothing, {}, ec);
    CHECK(ec == errc::invalid_argument);
    CHECK_THROWS_AS(launch(3, nothing), error);
    launch(1, std::vector<std::string>{}, {}, ec);
    CHECK(ec == errc::invalid_argument);
    const rlimit few{24, 24};
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit lowered{few.rlim_cur, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lowered);
    const launch_report report = launch(
        64, [](job) { std::this_thread::sleep_for(std::chrono::seconds(60)); }, {}, ec);
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(ec == errc::no_resources); // and the ranks that had been started are gone
    CHECK(report.ranks.empty());
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("launch: more ranks than this process can have are refused before one is started") {
    // The function would write into the pipe, if one rank ran it.
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    for (const rank_t ranks : {100'000'000u, 4'000'000'000u}) {
        std::error_code ec;
        const launch_report report = launch(
            ranks, [&](job) { (void)!::write(pipe[1], "x", 1); }, {}, ec);
        CHECK(ec == errc::no_resources);
        CHECK(report.ranks.empty());
        launch(ranks, std::vector<std::string>{"/bin/true"}, {}, ec);
        CHECK(ec == errc::no_resources);
    }
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const rlimit lowered{100, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &lowered);
    std::optional<error> why;
    try {
        launch(51, [](job) {}, {.prefix_output = true}); // two pipes and a socket each
    } catch (const error& e) {
        why = e;
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    REQUIRE(why);
    CHECK(why->code() == errc::no_resources);
    CHECK(why->details().peer == 33);
    ::close(pipe[1]);
    char one = 0;
    CHECK(::read(pipe[0], &one, 1) == 0);
    ::close(pipe[0]);
}
