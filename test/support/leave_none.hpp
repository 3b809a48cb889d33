// SPDX-License-Identifier: BSL-1.0
// Takes from this process what it has not got yet: descriptors, memory, room on disks.
#ifndef BOUGH_TEST_SUPPORT_LEAVE_NONE_HPP
#define BOUGH_TEST_SUPPORT_LEAVE_NONE_HPP

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace bough_test {

// No descriptor that is free: the limit is just above the open ones, and the gaps between these are
// filled. (A parent may have left open files with high numbers.)
inline void leave_no_descriptors() {
    int highest = 2;
    if (DIR* folder = ::opendir("/proc/self/fd")) {
        while (const dirent* entry = ::readdir(folder))
            if (const int fd = std::atoi(entry->d_name); fd != ::dirfd(folder)) highest = std::max(highest, fd);
        ::closedir(folder);
    }
    const rlimit none{static_cast<rlim_t>(highest) + 1, static_cast<rlim_t>(highest) + 1};
    ::setrlimit(RLIMIT_NOFILE, &none);
    while (::dup(2) >= 0) {
    }
}
// No memory but what there is; malloc may have some left.
inline void leave_no_memory() {
    std::ifstream about("/proc/self/statm");
    rlim_t pages = 0;
    about >> pages;
    const rlim_t bytes = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    const rlimit none{bytes, bytes};
    ::setrlimit(RLIMIT_AS, &none);
}
// No file may grow: what lies in memory only (memfd_create, /dev/shm) as little as what lies on a disk.
inline void leave_no_disk() {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
}

} // namespace bough_test

#endif
