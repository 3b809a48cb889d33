// SPDX-License-Identifier: BSL-1.0
// recording_file: a file in which the communicators of a rank record their calls, so that they can be
// read while the rank runs, hangs, or is gone.
//
//   bough::communicator comm{link, {.report = {.file = bough::recording_file("/run/job/3.bough")}}};
//   $ bough doctor /run/job/*.bough
// One file for each rank. The file is mapped: to record costs what it costs in other memory, and
// nothing has to be written when the process is killed. If the machine itself stops, what the system
// had not written to its disk is lost; in /run or /dev/shm it never writes.
#ifndef BOUGH_REPORT_RECORDING_FILE_HPP
#define BOUGH_REPORT_RECORDING_FILE_HPP

#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/os/fd.hpp>
#include <bough/report/options.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

class mapped_recordings final : public recording_place {
public:
    explicit mapped_recordings(unique_fd file) noexcept : file_(std::move(file)) {}
    mapped_recordings(const mapped_recordings&) = delete;
    mapped_recordings& operator=(const mapped_recordings&) = delete;
    ~mapped_recordings() override {
        for (const part& p : parts_) ::munmap(p.pages, p.length);
    }

    // A mapping begins at a page, and recordings lie one behind the other. So each has pages of its own.
    std::byte* take(std::size_t bytes) override {
        const std::lock_guard held(lock_);
        for (part& p : parts_)
            if (p.is_free && p.bytes == bytes) {
                p.is_free = false;
                return p.memory;
            }
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t from = length_ / page * page, length = length_ + bytes - from;
        parts_.reserve(parts_.size() + 1);
        if (::posix_fallocate(file_.get(), static_cast<off_t>(length_), static_cast<off_t>(bytes)) != 0) return nullptr;
        void* const pages =
            ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), static_cast<off_t>(from));
        if (pages == MAP_FAILED) {
            (void)!::ftruncate(file_.get(), static_cast<off_t>(length_));
            return nullptr;
        }
        parts_.push_back(
            {static_cast<std::byte*>(pages), length, static_cast<std::byte*>(pages) + (length_ - from), bytes, false});
        length_ += bytes;
        return parts_.back().memory;
    }
    void give_back(std::byte* memory, std::size_t) noexcept override {
        const std::lock_guard held(lock_);
        for (part& p : parts_)
            if (p.memory == memory) p.is_free = true;
    }

private:
    struct part {
        std::byte* pages;
        std::size_t length;
        std::byte* memory;
        std::size_t bytes;
        bool is_free;
    };
    std::mutex lock_;
    unique_fd file_;
    std::size_t length_ = 0;
    plain_list<part> parts_;
};

} // namespace detail

// Makes the file, in place of what is there: another process may still record in that one. On error `s` names the argument, and the result is null.
// Communicators that need more room than the disk has record in memory of their process.
inline std::shared_ptr<recording_place> recording_file(const std::string& name, status& s) {
    s = {};
    const auto open = [&name](int how) { return ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | how, 0644); };
    int fd = -1;
    for (int tries = 0; fd < 0 && tries != 3; ++tries) {
        struct stat old {};
        if (::lstat(name.c_str(), &old) == 0 && S_ISREG(old.st_mode)) (void)::unlink(name.c_str());
        fd = open(O_EXCL);
    }
    if (fd < 0) fd = open(O_TRUNC);
    if (fd < 0) {
        s = invalid_argument("recording_file: the file cannot be written");
        return nullptr;
    }
    return std::make_shared<detail::mapped_recordings>(detail::unique_fd(fd));
}
// The same; throws bough::error.
inline std::shared_ptr<recording_place> recording_file(const std::string& name) {
    status s;
    auto made = recording_file(name, s);
    if (!s) return made;
#if BOUGH_HAS_EXCEPTIONS
    throw error(s, "'" + name + "': " + std::strerror(errno));
#else
    detail::throw_if(s);
    return made;
#endif
}

} // namespace bough

#endif
