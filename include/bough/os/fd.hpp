// SPDX-License-Identifier: BSL-1.0
// unique_fd: a file descriptor that is closed with its owner.
//
//   unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
//   if (!listener) ...
#ifndef BOUGH_OS_FD_HPP
#define BOUGH_OS_FD_HPP

#include <bough/core/config.hpp>

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class unique_fd {
public:
    unique_fd() = default;
    explicit unique_fd(int fd) noexcept : fd_(fd) {}
    unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
    // What this one held is closed at once.
    unique_fd& operator=(unique_fd&& other) noexcept {
        reset(other.release());
        return *this;
    }
    ~unique_fd() { reset(); }

    int get() const noexcept { return fd_; }
    explicit operator bool() const noexcept { return fd_ >= 0; }
    int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int next = -1) noexcept {
        const int old = std::exchange(fd_, next);
        if (old >= 0) ::close(old);
    }

private:
    int fd_ = -1;
};

// Moves an open file to a number above those of the standard streams. If a standard stream is
// closed, a new descriptor may get its number, and a program that puts the stream back with dup2
// would close that descriptor. Empty, with errno: no number is left.
inline unique_fd above_standard(unique_fd fd) noexcept {
    if (!fd || fd.get() > 2) return fd;
    return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

// Does an errno say that this process or the system is out of descriptors or of memory?
inline bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

// Whether this process can open one more file. Asks by opening one and closing it.
inline bool can_open_file() noexcept {
    const unique_fd one(::open("/", O_RDONLY | O_CLOEXEC));
    return one || (errno != EMFILE && errno != ENFILE);
}

} // namespace bough::detail

#endif
