// SPDX-License-Identifier: BSL-1.0
// Removes what libfabric's shm leaves in /dev/shm when tests kill its processes: some megabytes each, of which a machine
// may have few. So it is removed after each test.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "support/catch.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <unistd.h>

namespace {

namespace files = std::filesystem;

#if defined(CATCH_VERSION_MAJOR) && CATCH_VERSION_MAJOR >= 3
using listener_base = Catch::EventListenerBase;
#else
using listener_base = Catch::TestEventListenerBase;
#endif

// Called as shm calls a file of this user, PROCESS:USER:NUMBER, and that process is gone.
bool is_left(const files::path& file) {
    int process = 0, end = 0;
    unsigned user = 0, number = 0;
    const std::string name = file.filename().string();
    return std::sscanf(name.c_str(), "%d:%u:%u%n", &process, &user, &number, &end) == 3 &&
           static_cast<std::size_t>(end) == name.size() && user == ::geteuid() && ::kill(process, 0) != 0 &&
           errno == ESRCH;
}

struct leftovers : listener_base {
    using listener_base::listener_base;

    void testCaseEnded(const Catch::TestCaseStats&) override { remove_all(); }
    void testRunEnded(const Catch::TestRunStats&) override { remove_all(); }

private:
    void remove_all() const {
        std::error_code ignored;
        for (const auto& entry : files::directory_iterator("/dev/shm", ignored))
            if (is_left(entry.path()) && entry.last_write_time(ignored) > begin_) files::remove(entry.path(), ignored);
    }

    files::file_time_type begin_ = files::file_time_type::clock::now();
};

} // namespace

CATCH_REGISTER_LISTENER(leftovers)
