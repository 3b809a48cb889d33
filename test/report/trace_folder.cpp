// SPDX-License-Identifier: BSL-1.0
// Where traces go without a line of the program's: into a file of each process, in the folder that BOUGH_TRACE names.
#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include <bough/report/trace_file.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

using namespace bough;

namespace {

std::shared_ptr<trace_place> place() { return detail::trace_in_folder<>(); }

// Files of traces in the folder; of them, those of this process.
int files_in(const std::string& folder, bool of_this_process) {
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        found += !of_this_process || entry.path().string().ends_with('.' + std::to_string(::getpid()) + ".trace");
    return found;
}

} // namespace

TEST_CASE("trace_file: each process has one file in the folder of BOUGH_TRACE, and none without it") {
    const std::string folder = "/tmp/bough_test_" + std::to_string(::getpid()) + ".folder";
    ::unsetenv("BOUGH_TRACE");
    CHECK(place() == nullptr);
    ::setenv("BOUGH_TRACE", "", 1);
    CHECK(place() == nullptr);
    CHECK_FALSE(std::filesystem::exists(folder));
    ::setenv("BOUGH_TRACE", folder.c_str(), 1); // which is not there
    const auto mine = place();
    REQUIRE(mine != nullptr);
    CHECK(place() == mine);
    CHECK(files_in(folder, false) == 1);
    CHECK(files_in(folder, true) == 1);
    CHECK(bough_test::holds_in_child("a file of its own", [&] {
        const auto other = place();
        return other != nullptr && other != mine && place() == other && files_in(folder, true) == 1;
    }));
    CHECK(files_in(folder, false) == 2);
    CHECK(place() == mine);
    CHECK(bough_test::holds_in_child("a folder that cannot be made", [&] {
        ::setenv("BOUGH_TRACE", "/dev/null/traces", 1);
        return place() == nullptr && place() == nullptr;
    }));
    ::unsetenv("BOUGH_TRACE");
    CHECK(place() == nullptr);
    std::filesystem::remove_all(folder);
}
