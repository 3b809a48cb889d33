// SPDX-License-Identifier: BSL-1.0
// Finds out which processes of this machine have ended, because providers do not tell. It holds a
// handle for each process (pidfd, Linux 5.3 and newer). On other systems, and about processes on
// other machines, it knows nothing.
#ifndef BOUGH_TRANSPORT_RDMA_ALIVE_HPP
#define BOUGH_TRANSPORT_RDMA_ALIVE_HPP

#include <bough/core/rank.hpp>
#include <bough/transport/rdma/device.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A number that is the same for all processes of one running system and, almost certainly, differs
// between systems. 0: not known.
inline std::uint64_t machine_mark() noexcept {
    std::uint64_t mark = 0xcbf2'9ce4'8422'2325u; // FNV-1a
    std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == nullptr) return 0;
    for (int c; (c = std::fgetc(file)) != EOF;) mark = (mark ^ static_cast<std::uint64_t>(c)) * 0x100'0000'01b3u;
    std::fclose(file);
    return mark;
}
// A number that is the same for processes that see each other's process numbers. 0: not known.
inline std::uint64_t process_space() noexcept {
    struct stat about {};
    return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

// Probes each rank of [0, size) for which asks(rank) is true: this finds the end of processes that
// cannot be watched. Does nothing before `every_ns` have passed since the last time, `last_ns`.
template <RdmaProbe Device, class Asks>
void probe_peers(Device& device, rank_t size, std::uint64_t now, std::uint64_t every_ns, std::uint64_t& last_ns,
                 const Asks& asks) {
    if (now - last_ns < every_ns) return;
    last_ns = now;
    for (rank_t r = 0; r != size; ++r)
        if (asks(r)) device.probe(r);
}

class fabric_watch {
public:
    fabric_watch() = default;
    fabric_watch(const fabric_watch&) = delete;
    fabric_watch& operator=(const fabric_watch&) = delete;
    ~fabric_watch() {
        for (const pollfd& p : handles_) ::close(p.fd);
    }

    // False: the process has ended already.
    bool add(rank_t rank, std::uint64_t process) {
#if defined(SYS_pidfd_open)
        const long handle = ::syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0);
        if (handle < 0) return errno != ESRCH;
        handles_.push_back({static_cast<int>(handle), POLLIN, 0});
        ranks_.push_back(rank);
#else
        (void)rank, (void)process;
#endif
        return true;
    }
    // Calls f(rank) once for each process that has ended. Costs one system call.
    template <class F>
    void look(const F& f) {
        if (handles_.empty() || ::poll(handles_.data(), handles_.size(), 0) <= 0) return;
        for (std::size_t i = handles_.size(); i-- != 0;) {
            if (handles_[i].revents == 0) continue;
            ::close(handles_[i].fd);
            const rank_t gone = ranks_[i];
            handles_.erase(handles_.begin() + static_cast<std::ptrdiff_t>(i));
            ranks_.erase(ranks_.begin() + static_cast<std::ptrdiff_t>(i));
            f(gone);
        }
    }
    // The same, and also probes the ranks for which asks(rank) is true, if the device can. Looks at
    // most once a millisecond. False: it was too early.
    template <RdmaEnds Device, class Options, class Asks, class F>
    bool look(Device& device, const Options& options, rank_t size, std::uint64_t now, const Asks& asks, const F& f) {
        if (now - looked_ns_ < 1'000'000) return false;
        looked_ns_ = now;
        look(f);
        if constexpr (Device::probes) probe_peers(device, size, now, options.probe_ns, probed_ns_, asks);
        return true;
    }

private:
    std::vector<pollfd> handles_;
    std::vector<rank_t> ranks_;
    std::uint64_t looked_ns_ = 0, probed_ns_ = 0;
};

} // namespace bough::detail

#endif
