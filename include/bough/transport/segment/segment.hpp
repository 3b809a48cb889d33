// SPDX-License-Identifier: BSL-1.0
// A segment of memory that other processes can map: an anonymous file (memfd), sealed so that
// nobody can make it shorter. It has no name, and it vanishes with the last process that maps it.
// Its first part, or all of it, has memory from the start; the rest gets memory when it is reserved
// or touched.
//
// If memory is short, that is reported as an error in two cases: more is wanted than the machine
// has, or the system accounts for memory strictly (vm.overcommit_memory = 2). Otherwise the system
// promises memory that it does not have, and later kills a process. It also does so at the memory
// limit of a container (cgroup).
#ifndef BOUGH_TRANSPORT_SEGMENT_SEGMENT_HPP
#define BOUGH_TRANSPORT_SEGMENT_SEGMENT_HPP

#include <bough/core/memory_size.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class shared_segment {
public:
    shared_segment() = default;
    shared_segment(shared_segment&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
    shared_segment& operator=(shared_segment&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~shared_segment() {
        if (data_ != nullptr) ::munmap(data_, bytes_);
    }
    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return bytes_; }

    // Makes a new segment, zeroed, and the descriptor to be passed on. Its first `backed` bytes
    // have memory; the rest must be reserved (before Linux 5.14 all of it has memory at once).
    // unsupported: there is no memfd. no_resources: there is no descriptor, or the system refuses
    // the memory; in the latter case `argument` is `too_much`.
    static status make(std::uint64_t bytes, std::uint64_t backed, const char* too_much, shared_segment& made,
                       unique_fd& fd) noexcept {
        unique_fd file(::memfd_create("bough", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!file) return {.code = errno == ENOSYS ? errc::unsupported : errc::no_resources};
        const status refused{.code = errc::no_resources, .argument = too_much};
        // A file above the limit would cause a signal. A file larger than all memory would make the
        // kernel kill a process instead of reporting an error.
        rlimit limit{};
        const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
        if (!fits_memory(bytes) || (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) ||
            (pages > 0 && page > 0 && bytes / static_cast<std::uint64_t>(page) >= static_cast<std::uint64_t>(pages)))
            return refused;
        if (again([&] { return ::ftruncate(file.get(), static_cast<off_t>(bytes)); }) != 0 ||
            !fill(file.get(), backed) ||
            ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
            map(file.get(), bytes, backed == bytes ? MAP_POPULATE : 0, made))
            return refused;
        if (backed != bytes && made.populate(0, static_cast<std::size_t>(backed == 0 ? 1 : backed)) == EINVAL &&
            !fill(file.get(), bytes))
            return refused;
        fd = std::move(file);
        return {};
    }

    // Reserves memory for the parts of [offset, offset + length) that have none yet. False: there
    // is no such place, or the system refuses the memory; then it kills a process that touches the
    // place.
    bool reserve(std::uint64_t offset, std::uint64_t length) noexcept {
        if (offset > bytes_ || length > bytes_ - offset) return false;
        const int failed =
            length == 0 ? 0 : populate(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
        return failed == 0 || failed == EINVAL; // EINVAL: an old system, on which all has memory already
    }

    // Maps another rank's segment. protocol_error: the file is no such segment, is not sealed, or
    // has another length.
    static status open(int fd, std::uint64_t bytes, shared_segment& made) noexcept {
        constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
        const int has = ::fcntl(fd, F_GET_SEALS);
        struct stat file {};
        if (has < 0 || (has & seals) != seals || ::fstat(fd, &file) != 0 ||
            static_cast<std::uint64_t>(file.st_size) != bytes)
            return {.code = errc::protocol_error};
        return map(fd, bytes, 0, made);
    }

    // Takes whole pages, from `offset` on, out of the segment. From now on they are this process's
    // own, with the same contents. Other processes that map the segment keep what is there now.
    // False: nothing was changed, because memory is short or the system has pages of another size.
    bool detach(std::size_t offset, std::size_t length) noexcept {
        if (!is_paged(offset, length)) return false;
        void* fresh = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) return false;
        std::memcpy(fresh, data_ + offset, length);
        if (::mremap(fresh, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, data_ + offset) != MAP_FAILED) return true;
        ::munmap(fresh, length);
        return false;
    }
    // Puts such pages back: they show again what the other processes see. `fd`: the segment's.
    // False: memory is short.
    bool attach(int fd, std::size_t offset, std::size_t length) noexcept {
        return is_paged(offset, length) && ::mmap(data_ + offset, length, PROT_READ | PROT_WRITE,
                                                  MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) != MAP_FAILED;
    }

private:
    template <class F>
    static int again(F&& call) noexcept {
        int result = 0;
        do result = call();
        while (result != 0 && errno == EINTR);
        return result;
    }
    static bool fill(int fd, std::uint64_t bytes) noexcept {
        return bytes == 0 || again([&] { return ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)); }) == 0;
    }
    // Returns 0 or an errno; EINVAL: the system cannot populate memory.
    int populate(std::size_t offset, std::size_t length) noexcept {
#if defined(MADV_POPULATE_WRITE)
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        const std::size_t from = offset / page * page;
        return again([&] { return ::madvise(data_ + from, offset + length - from, MADV_POPULATE_WRITE); }) == 0 ? 0
                                                                                                                : errno;
#else
        (void)offset, (void)length;
        return EINVAL;
#endif
    }
    bool is_paged(std::size_t offset, std::size_t length) const noexcept {
        const long page = ::sysconf(_SC_PAGESIZE);
        return page > 0 && offset % static_cast<std::size_t>(page) == 0 &&
               length % static_cast<std::size_t>(page) == 0 && offset <= bytes_ && length <= bytes_ - offset;
    }
    static status map(int fd, std::uint64_t bytes, int flags, shared_segment& made) noexcept {
        if (!fits_memory(bytes)) return {.code = errc::no_resources};
        void* at = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
        if (at == MAP_FAILED) return {.code = errc::no_resources};
        made.data_ = static_cast<std::byte*>(at);
        made.bytes_ = static_cast<std::size_t>(bytes);
        return {};
    }

    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace bough::detail

#endif
