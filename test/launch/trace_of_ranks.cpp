// SPDX-License-Identifier: BSL-1.0
// Processes whose environment has BOUGH_TRACE write traces, without a line of theirs; that of one that
// was killed goes as far as it came.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/interchange/run_trace.hpp>
#include <bough/launch.hpp>
#include <bough/launch/job.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/shared_memory.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <unistd.h>

using namespace bough;

namespace {

// Of three ranks, number 2 kills itself after seven calls; the others go on until they know.
int rank_of_trace(job job) {
    const rank_t me = job.rank();
    communicator comm{shared_memory{job}};
    double x = 1;
    for (int i = 0;; ++i) {
        if (me == 2 && i == 7) ::kill(::getpid(), SIGKILL);
        status s;
        allreduce(comm, std::span(&x, 1), plus{}, s);
        if (s) return 0;
    }
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
    const launch_report report = launch(3, rank_of_trace);
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
