// SPDX-License-Identifier: BSL-1.0
// How a process of a job listens at an address, and connects to one.
#ifndef BOUGH_LAUNCH_DETAIL_REACH_HPP
#define BOUGH_LAUNCH_DETAIL_REACH_HPP

#include <bough/core/deadline.hpp>
#include <bough/os/address.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail::jobs {

// Calls f(address) for the addresses of a name until it says true.
template <class F>
bool any_address(const char* name, std::uint16_t port, int flags, F&& f) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    if (::getaddrinfo(name, std::to_string(port).c_str(), &hints, &found) != 0) return false;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next)
        if (f(*at)) return true;
    return false;
}

// A socket that can bind to a port which an ended process has used a moment ago. Others can do so
// while it lives.
inline unique_fd open_stream(const addrinfo& at) noexcept {
    unique_fd made = above_standard(unique_fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    const int yes = 1;
    if (made) (void)::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    return made;
}
inline void send_at_once(int fd) noexcept {
    const int yes = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

// Where nobody listens, a socket may connect to itself: the system chose that same port for its own end.
inline bool is_its_own_peer(int fd) noexcept {
    sockaddr_storage mine{}, theirs{};
    socklen_t length = sizeof mine, other = sizeof theirs;
    return ::getsockname(fd, reinterpret_cast<sockaddr*>(&mine), &length) == 0 &&
           ::getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &other) == 0 && length == other &&
           std::memcmp(&mine, &theirs, length) == 0;
}

// Tries once, for two seconds at most. False: nobody listens there.
inline bool reach(const std::string& address, std::uint16_t port, unique_fd& mine, std::uint64_t last) {
    return any_address(address.c_str(), port, 0, [&](const addrinfo& at) {
        unique_fd made = open_stream(at);
        if (!made) return false;
        if (::connect(made.get(), at.ai_addr, at.ai_addrlen) != 0) {
            if (errno != EINPROGRESS) return false;
            pollfd wait{made.get(), POLLOUT, 0};
            const std::uint64_t soon = deadline_after(steady_now_ns(), 2'000'000'000);
            int error = 0;
            socklen_t length = sizeof error;
            if (::poll(&wait, 1, milliseconds_until(std::min(last, soon))) <= 0 ||
                ::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0)
                return false;
        }
        if (is_its_own_peer(made.get())) return false;
        mine = std::move(made);
        return true;
    });
}

// Listens at one of the addresses of this name. 0, or an errno: -1 if no address has this name.
inline int listen_at(const char* name, std::uint16_t port, int flags, unique_fd& listener) {
    int why = -1;
    const bool bound = any_address(name, port, flags, [&](const addrinfo& at) {
        unique_fd made = open_stream(at);
        const int no = 0; // the address of all addresses means those of IPv4, too
        if (made && at.ai_family == AF_INET6) ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
        if (!made || ::bind(made.get(), at.ai_addr, at.ai_addrlen) != 0 || ::listen(made.get(), 1024) != 0) {
            if (why != EADDRINUSE) why = errno;
            return false;
        }
        listener = std::move(made);
        return true;
    });
    return bound ? 0 : why;
}
// At all addresses of this machine.
inline int listen_everywhere(std::uint16_t port, unique_fd& listener) {
    return listen_at("::", port, AI_NUMERICHOST, listener) == 0 ? 0
                                                                : listen_at("0.0.0.0", port, AI_NUMERICHOST, listener);
}
// Where others reach this machine by this name. Many systems give their own name an address of loopback,
// which other machines cannot reach: then at all addresses, unless the name says loopback.
inline int listen_as(const std::string& name, std::uint16_t port, unique_fd& listener) {
    const int why = listen_at(name.c_str(), port, 0, listener);
    sockaddr_storage at{};
    socklen_t length = sizeof at;
    if (why != 0 || is_numeric(name) || is_local_name(name) ||
        ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &length) != 0 ||
        !is_loopback(reinterpret_cast<const sockaddr&>(at)))
        return why;
    listener.reset();
    return listen_everywhere(port, listener);
}

} // namespace bough::detail::jobs

#endif
