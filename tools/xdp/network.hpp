// SPDX-License-Identifier: BSL-1.0
// A network that vanishes with this process: a switch and up to sixteen ranks, each in a network namespace of its own.
//
//   xdp::network net{16};
//   net.in_rank(3, [&] { bpf_xdp_attach(net.rank_interface(3), ...); });
//   net.send(3, bytes);                                  as the host of rank 3, out of its interface
//
// The namespaces have no name. Only descriptors of this process hold them, so whatever ends it, also a kill, takes them with
// it, and the interfaces and programs in them. Errors: std::system_error. Needs the right to make namespaces, and `ip`.
#ifndef BOUGH_TOOLS_XDP_NETWORK_HPP
#define BOUGH_TOOLS_XDP_NETWORK_HPP

#include "layout.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace xdp {

// A file descriptor that closes itself.
class descriptor {
public:
    descriptor() = default;
    explicit descriptor(int fd) : fd_(fd) {}
    descriptor(descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    descriptor& operator=(descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor();
    int get() const noexcept { return fd_; }

private:
    int fd_ = -1;
};

class network {
public:
    explicit network(unsigned ranks); // this thread is in the switch's namespace from now on
    unsigned ranks() const noexcept { return static_cast<unsigned>(hosts_.size()); }
    static int rank_interface(unsigned rank) noexcept { return static_cast<int>(first_interface + rank); }
    static int switch_interface(unsigned rank) noexcept { return rank_interface(rank + most_ranks); }
    // Calls f in the namespace of a rank.
    void in_rank(unsigned rank, const std::function<void()>& f) const;
    void send(unsigned rank, std::span<const std::byte> bytes) const;

private:
    struct host {
        descriptor space, socket;
    };
    descriptor switch_;
    std::vector<host> hosts_;
};

} // namespace xdp

#endif
