// SPDX-License-Identifier: BSL-1.0
// Processes whose environment has BOUGH_TRACE write traces, without a line of theirs; that of one that
// was killed goes as far as it came.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/interchange/run_trace.hpp>
#include <bough/launch.hpp>
#include <bough/launch/job.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/transport/shared_memory.hpp>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace bough;

namespace {

// Of three ranks, number 2 kills itself after seven calls, when the others have begun the eighth: a rank that knows of a
// death begins no call any more. `begun` lies in memory of all of them.
int rank_of_trace(job job, std::atomic<int>& begun) {
    const rank_t me = job.rank();
    communicator comm{shared_memory{job}};
    double x = 1;
    for (int i = 0; i != 7; ++i) allreduce(comm, std::span(&x, 1), plus{});
    if (me == 2) {
        while (begun != 2) ::usleep(1000);
        ::kill(::getpid(), SIGKILL);
    }
    operation eighth = start_allreduce(comm, x, plus{});
    ++begun;
    status s;
    eighth.wait(s);
    return s.code == errc::ok ? 1 : 0;
}

std::size_t merge(const std::string& folder, merged_traces& all) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        std::string fault;
        INFO(fault);
        CHECK(all.add(std::as_bytes(std::span(bytes.data(), bytes.size())), entry.path().string(), fault));
        ++files;
    }
    return files;
}

} // namespace

TEST_CASE("launch: ranks write traces where BOUGH_TRACE says, and a killed one as far as it came") {
    const std::string folder = "/tmp/bough_test_" + std::to_string(::getpid()) + ".traces";
    ::setenv("BOUGH_TRACE", folder.c_str(), 1);
    void* const memory =
        ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    std::atomic<int>& begun = *new (memory) std::atomic<int>(0);
    const launch_report report = launch(3, [&](job j) { return rank_of_trace(std::move(j), begun); });
    ::munmap(memory, sizeof(std::atomic<int>));
    ::unsetenv("BOUGH_TRACE");
    CHECK(report.first_failed == 2);
    merged_traces all;
    CHECK(merge(folder, all) == 3);
    const trace_figures f = all.figures();
    CHECK(f.ranks == 3);
    CHECK(f.in_flight == 0);
    CHECK(f.failed == 2); // the eighth call of the others
    CHECK(f.calls == 7 * 3 + 2);
    CHECK(f.predicted == 7 * 3);
    std::ostringstream out;
    all.write(out);
    CHECK(out.str().find("the trace of rank 2 ends here") != std::string::npos);
    CHECK(out.str().find("the trace of rank 1 ends here") == std::string::npos);
    std::filesystem::remove_all(folder);

    CHECK(launch(1, [](job j) {
              communicator comm{shared_memory{j}};
              double x = 1;
              allreduce(comm, std::span(&x, 1), plus{});
              return 0;
          }).ok());
    CHECK_FALSE(std::filesystem::exists(folder));
}
