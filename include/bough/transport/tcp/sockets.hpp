// SPDX-License-Identifier: BSL-1.0
// Functions that open, accept and query sockets. Each socket is close-on-exec and non-blocking, and
// is closed with its owner, a unique_fd.
#ifndef BOUGH_TRANSPORT_TCP_SOCKETS_HPP
#define BOUGH_TRANSPORT_TCP_SOCKETS_HPP

#include <bough/os/asio_config.hpp>
#include <bough/os/fd.hpp>

#include <boost/asio/ip/tcp.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/sockios.h>
#endif

namespace bough::inline BOUGH_ABI::detail {

using tcp_address = boost::asio::ip::tcp::endpoint;

inline unique_fd prepared_socket(int descriptor) noexcept {
#if !defined(SOCK_CLOEXEC)
    if (descriptor >= 0) {
        ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
        ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    }
#endif
    return unique_fd(descriptor);
}
inline unique_fd open_usual_socket(int family) noexcept {
#if defined(SOCK_CLOEXEC)
    return prepared_socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
#else
    return prepared_socket(::socket(family, SOCK_STREAM, IPPROTO_TCP));
#endif
}

// A connection that stays on its system loses nothing. Congestion control that paces what is sent, as
// bbr does, only sets a timer for every few segments there, and may take half of the speed. It cannot be
// ended once a connection is up. So each socket begins with one that every Linux has and that does not
// pace; a connection to another system gets what its own system has chosen (choose_congestion).
inline unique_fd open_socket(int family) noexcept {
    unique_fd made = open_usual_socket(family);
#if defined(TCP_CONGESTION)
    if (made) (void)::setsockopt(made.get(), IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
#endif
    return made;
}
inline unique_fd accept_socket(int listener) noexcept {
#if defined(SOCK_CLOEXEC) && defined(__linux__)
    return prepared_socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
#else
    return prepared_socket(::accept(listener, nullptr, nullptr));
#endif
}

inline void set_socket_option(int descriptor, int level, int name, int value) noexcept {
    (void)::setsockopt(descriptor, level, name, &value, sizeof value);
}

// Sets the kernel's buffers of a socket, and of those that it accepts; 0: the kernel's choice.
inline void set_socket_buffers(int descriptor, std::uint32_t bytes) noexcept {
    if (bytes == 0) return;
    set_socket_option(descriptor, SOL_SOCKET, SO_RCVBUF, static_cast<int>(bytes));
    set_socket_option(descriptor, SOL_SOCKET, SO_SNDBUF, static_cast<int>(bytes));
}

// AF_INET, AF_INET6 or AF_UNIX.
inline int family_of(int descriptor) noexcept {
    sockaddr_storage at{};
    auto length = static_cast<socklen_t>(sizeof at);
    return ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&at), &length) == 0 ? at.ss_family : AF_UNSPEC;
}
inline tcp_address local_address(int descriptor) noexcept {
    tcp_address at;
    auto length = static_cast<socklen_t>(at.capacity());
    if (::getsockname(descriptor, at.data(), &length) != 0) return {};
    at.resize(length);
    return at;
}

// Do both ends of a TCP connection have one address, or is it a loopback address?
inline bool stays_on_system(int descriptor) noexcept {
    tcp_address there;
    auto length = static_cast<socklen_t>(there.capacity());
    if (::getpeername(descriptor, there.data(), &length) != 0) return false;
    there.resize(length);
    const boost::asio::ip::address at = there.address();
    const bool is_mapped = at.is_v6() && at.to_v6().is_v4_mapped(); // one of IPv4, at a socket of IPv6
    return at.is_loopback() || (is_mapped && at.to_v6().to_bytes()[12] == 127) ||
           at == local_address(descriptor).address();
}

// Gives a connection that has come up the congestion control that its system has chosen, if it leads to
// another system. What a route has chosen it has by now, in place of reno, and keeps.
inline void choose_congestion(int descriptor) noexcept {
#if defined(TCP_CONGESTION)
    char name[16] = "";
    const auto is_read = [&name](int of) {
        auto length = static_cast<socklen_t>(sizeof name);
        return ::getsockopt(of, IPPROTO_TCP, TCP_CONGESTION, name, &length) == 0;
    };
    if (stays_on_system(descriptor) || !is_read(descriptor) || std::strncmp(name, "reno", sizeof name) != 0) return;
    const unique_fd usual = open_usual_socket(family_of(descriptor));
    if (usual && is_read(usual.get()))
        (void)::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name,
                           static_cast<socklen_t>(::strnlen(name, sizeof name)));
#else
    (void)descriptor;
#endif
}

// Has the other side closed, or is the connection broken? Unread bytes do not hide it.
inline bool has_hung_up(int descriptor) noexcept {
    pollfd asked{};
    asked.fd = descriptor;
#if defined(POLLRDHUP)
    asked.events = POLLRDHUP;
#endif
    return ::poll(&asked, 1, 0) == 1;
}

// Bytes that were written but have not reached the other machine.
inline std::size_t unsent_bytes(int descriptor) noexcept {
    if (family_of(descriptor) == AF_UNIX) return 0; // there is no other machine
#if defined(SIOCOUTQ)
    int bytes = 0;
    if (::ioctl(descriptor, SIOCOUTQ, &bytes) == 0) return static_cast<std::size_t>(bytes);
#endif
    (void)descriptor;
    return 0;
}

// Sends all of `bytes`. False: the socket is of no use any more. A fresh socket has room for a
// whole handshake message.
inline bool send_now(int descriptor, std::span<const std::byte> bytes) noexcept {
#if defined(MSG_NOSIGNAL)
    return ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
#else
    return ::send(descriptor, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
#endif
}
// Receives what has come, as far as `into` has room, and returns how many bytes. -1: nothing will
// come any more.
inline int receive_now(int descriptor, std::span<std::byte> into) noexcept {
    const ssize_t got = ::recv(descriptor, into.data(), into.size(), 0);
    if (got > 0) return static_cast<int>(got);
    if (got == 0) return -1;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN ? 0 : -1;
}

} // namespace bough::detail

#endif
