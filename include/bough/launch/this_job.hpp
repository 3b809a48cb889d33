// SPDX-License-Identifier: BSL-1.0
// Finds the job that this process was started in, for this_job().
//
//   $ bough launch -n 4 ./program                    // or bough::launch(4, {"./program"}) from another program
//   int main() { bough::job job = bough::this_job(); ... }          // front door: bough/launch.hpp
//
// It looks in this order. First, for the descriptor that the environment variable BOUGH_JOB names:
// a socket pair to the launcher, which nobody else can reach (the variable holds a number, and no
// secret). Then, for launchers whose header is included anywhere in the program
// (bough/launch/pmix.hpp). Otherwise the job has one rank.
#ifndef BOUGH_LAUNCH_THIS_JOB_HPP
#define BOUGH_LAUNCH_THIS_JOB_HPP

#include <bough/core/status.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/launch/job.hpp>

#include <atomic>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/stat.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail::jobs {

// A way to find the job of this process. The sources form a list, and headers of other launchers
// add to it.
struct job_source {
    // ok: `found` is the job; unsupported: this launcher has not started the process.
    using find = status (*)(job& found);
    find look = nullptr;
    const job_source* next = nullptr;

    static const job_source*& first() noexcept {
        static const job_source* list = nullptr;
        return list;
    }
    explicit job_source(find f) noexcept : look(f), next(std::exchange(first(), this)) {}
    job_source(const job_source&) = delete;
    job_source& operator=(const job_source&) = delete;
};

inline status job_of_descriptor(const char* text, job& found) {
    constexpr std::uint64_t patience_ns = 10'000'000'000;
    int fd = -1;
    const std::string_view digits = text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), fd);
    struct stat about {};
    if (error != std::errc{} || end != digits.data() + digits.size() || fd < 0 || ::fstat(fd, &about) != 0 ||
        !S_ISSOCK(about.st_mode))
        return invalid_argument("BOUGH_JOB: does not name the socket of a launcher");
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    unique_fd owned(fd);
    launch_hello hello;
    if (const status bad = launched_wire_up::greet(fd, hello, patience_ns)) return bad;
    ::unsetenv("BOUGH_JOB"); // programs that this one starts are not ranks of the job
    found = job(launched_wire_up(std::move(owned), hello.rank, hello.size));
    return {};
}

// Was this process started with other ranks by a launcher that the program does not understand?
inline bool has_foreign_launcher() noexcept {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
        const char* value = std::getenv(name);
        if (value != nullptr && std::string_view(value) != "1") return true;
    }
    return false;
}

// A template, so that the compiled form can hold it.
template <std::same_as<job> J>
status find_job(J& found) {
    static std::atomic<bool> taken{false};
    if (taken.exchange(true)) return invalid_argument("this_job: the job was taken before; keep what it returned");
    if (const char* descriptor = std::getenv("BOUGH_JOB"); descriptor != nullptr)
        return job_of_descriptor(descriptor, found);
    for (const job_source* source = job_source::first(); source != nullptr; source = source->next) {
        const status looked = source->look(found);
        if (looked.code != errc::unsupported) return looked;
    }
    if (has_foreign_launcher()) // otherwise each process would be a job of its own, which nobody wants
        return invalid_argument(
            "this_job: the launcher is not known here; Open MPI's mpirun and srun --mpi=pmix speak PMIx: include "
            "<bough/launch/pmix.hpp>; with another mpirun use <bough/transport/mpi.hpp>");
    found = job();
    return {};
}

#if defined(BOUGH_COMPILED_TEMPLATE)
BOUGH_COMPILED_TEMPLATE status find_job<job>(job& found);
#endif

} // namespace bough::detail::jobs

#endif
