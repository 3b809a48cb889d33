// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/launch.hpp>
#include <bough/launch/this_job.hpp>
#include <bough/testing/wire_up_archetype.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// Does the kernel run this program again? It does not if an emulator runs it, and binfmt_misc does not know that one.
bool runs_again() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(STDOUT_FILENO);
        ::execl("/proc/self/exe", "test", "--list-tags", nullptr);
        ::_exit(errno == ENOEXEC ? 77 : 0);
    }
    int how = 0;
    ::waitpid(child, &how, 0);
    return !(WIFEXITED(how) && WEXITSTATUS(how) == 77);
}
const char* const no_emulator = "skipped: the kernel starts no emulated program (no binfmt_misc)";

// This program again, as ranks: only the hidden test of that name.
launch_report ranks_of_this_program(rank_t ranks, const std::string& name, const launch_options& options = {}) {
    return launch(ranks, {"/proc/self/exe", name, "-o", "/dev/null"}, options);
}

// f in a process of its own, since a job can be taken once.
template <class F>
bool holds_elsewhere(F f) {
    return launch(1, [&f](job) { return f() ? 0 : 1; }).ok();
}

bool finds(const char* descriptor, errc expected) {
    return holds_elsewhere([&] {
        ::setenv("BOUGH_JOB", descriptor, 1);
        std::error_code ec;
        const job found = this_job(ec);
        return ec == expected && found.size() == 1;
    });
}

} // namespace

TEST_CASE("a rank of this_job", "[.]") {
    job mine = this_job();
    CHECK(std::getenv("BOUGH_JOB") == nullptr);
    std::vector<rank_t> all(mine.size());
    const rank_t me = mine.rank();
    REQUIRE_FALSE(
        mine.exchange(std::as_bytes(std::span(&me, 1)), std::as_writable_bytes(std::span(all)), 5'000'000'000));
    for (rank_t r = 0; r != mine.size(); ++r) CHECK(all[r] == r);
    CHECK(mine.size() == 5);
    CHECK_THROWS_AS(this_job(), error); // it is taken
}
TEST_CASE("a program that starts another", "[.]") {
    job mine = this_job();
    // Its own program finds no job, and does not disturb this one.
    CHECK(launch(1, {"/bin/sh", "-c", "test -z \"${BOUGH_JOB-}\" || test \"$BOUGH_JOB\" != \"\""}).ok());
    CHECK(std::system("test -z \"${BOUGH_JOB-}\"") == 0);
    CHECK(ranks_of_this_program(5, "a rank of this_job").ok());
    std::vector<std::byte> one(1), all(2);
    CHECK_FALSE(mine.exchange(one, all, 5'000'000'000));
}

TEST_CASE("this_job: a program that was launched finds its ranks") {
    if (!runs_again()) {
        WARN(no_emulator);
        return;
    }
    const launch_report report = ranks_of_this_program(5, "a rank of this_job");
    CAPTURE(describe(report));
    CHECK(report.ok());
}
TEST_CASE("this_job: a rank may launch a job of its own") {
    if (!runs_again()) {
        WARN(no_emulator);
        return;
    }
    CHECK(ranks_of_this_program(2, "a program that starts another").ok());
}
TEST_CASE("this_job: the test of a rank can fail") { // it expects five
    CHECK_FALSE(ranks_of_this_program(4, "a rank of this_job").ok());
}

TEST_CASE("this_job: exit codes and signals of programs are reported") {
    const launch_report report = launch(2, {"/bin/sh", "-c", "exit 5"});
    CHECK(report.ranks[1] == rank_end{1, rank_end::how::exited, 5});
    const launch_report killed = launch(2, {"/bin/sh", "-c", "kill -TERM $$"});
    CHECK(killed.ranks[0] == rank_end{0, rank_end::how::signalled, SIGTERM});
    CHECK(launch(3, {"true"}).ok()); // found by PATH
}

TEST_CASE("this_job: the environment holds the number of a descriptor, and no other of the launcher's is inherited") {
    const int secret = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const launch_report report =
        launch(3, {"/bin/sh", "-c",
                   "case $BOUGH_JOB in *[!0-9]*|'') exit 1;; esac; test -S /proc/$$/fd/$BOUGH_JOB || exit 2;"
                   "n=0; for fd in /proc/$$/fd/*; do test ! -S $fd || n=$((n + 1)); done; test $n = 1 || exit 3"});
    ::close(secret);
    CAPTURE(describe(report));
    CHECK(report.ok());
}

TEST_CASE("this_job: without a launcher it is of one rank") {
    CHECK(holds_elsewhere([] {
        job alone = this_job();
        std::byte mine{7}, all{};
        return alone.rank() == 0 && alone.size() == 1 && !alone.exchange({&mine, 1}, {&all, 1}, 0) && all == mine &&
               alone.exchange({&mine, 1}, {}, 0).code == errc::invalid_argument;
    }));
}

TEST_CASE("this_job: a launcher that is not understood is an error, not many jobs of one rank") {
    for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
        CHECK(holds_elsewhere([name] {
            ::setenv(name, "4", 1);
            std::error_code ec;
            this_job(ec);
            return ec == errc::invalid_argument;
        }));
    CHECK(holds_elsewhere([] {
        ::setenv("PMI_SIZE", "1", 1);
        return this_job().size() == 1;
    }));
}

TEST_CASE("this_job: what is no launcher's socket is refused") {
    for (const char* text : {"", "x", "-1", "99999", "1x", "123456789012345678901", "0"})
        CHECK(finds(text, errc::invalid_argument));
    for (const bool whole : {true, false}) {
        int pair[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        const std::string greeting(whole ? sizeof(detail::jobs::launch_hello) : 3, 'x');
        REQUIRE(::write(pair[1], greeting.data(), greeting.size()) == static_cast<ssize_t>(greeting.size()));
        ::close(pair[1]);
        CHECK(finds(std::to_string(pair[0]).c_str(), whole ? errc::protocol_error : errc::peer_dead));
        ::close(pair[0]);
    }
}

TEST_CASE("job: holds any wire-up that can be moved") {
    struct three {
        rank_t rank() const { return 2; }
        rank_t size() const { return 3; }
        status exchange(std::span<const std::byte>, std::span<std::byte>, std::uint64_t) { return {errc::deadline}; }
    };
    job held{three{}};
    CHECK(held.rank() == 2);
    CHECK(held.size() == 3);
    CHECK(held.exchange({}, {}, 0).code == errc::deadline);
    job moved = std::move(held);
    CHECK(moved.size() == 3);
    CHECK(job{}.size() == 1);
}
