// SPDX-License-Identifier: BSL-1.0
// How ranks of one system find each other without TCP: each also listens at a Unix socket, by a
// name that is told in the wire-up or computed from the key. The name is no secret, since a system
// shows such names to all processes in it. Nor does it prove anything: a process that answers by
// the name counts as that rank only when it has proved that it has the key. If no process does so
// in time, TCP is used. The names are Linux's abstract ones, which have no file and end with their
// process. On other systems there are no near sockets.
#ifndef BOUGH_TRANSPORT_TCP_NEARBY_HPP
#define BOUGH_TRANSPORT_TCP_NEARBY_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#if defined(__linux__)
#include <sys/un.h>
#endif

namespace bough::inline BOUGH_ABI::detail {

using near_name = std::array<std::byte, 16>; // zeros: none

// The name of a rank in a job whose key is known beforehand.
template <Mac M>
near_name near_name_of(const job_key& key, std::uint64_t job, rank_t rank) {
    static constexpr char label[] = "bough tcp: near";
    std::array<std::byte, sizeof label + 12> text{};
    std::memcpy(text.data(), label, sizeof label);
    handshake_layout::put(std::span(text).subspan(sizeof label, 8), job);
    handshake_layout::put(std::span(text).subspan(sizeof label + 8, 4), rank);
    std::array<std::byte, mac_bytes> tag{};
    near_name name{};
    if (M::authenticate(key.bytes(), text, tag)) std::copy_n(tag.begin(), name.size(), name.begin());
    return name;
}

#if defined(__linux__)
inline constexpr bool has_near_sockets = true;

struct near_address {
    explicit near_address(const near_name& name) noexcept {
        static constexpr char prefix[] = "bough-", digits[] = "0123456789abcdef";
        at.sun_family = AF_UNIX;
        std::memcpy(at.sun_path + 1, prefix, sizeof prefix - 1);
        char* to = at.sun_path + sizeof prefix;
        for (const std::byte b : name) {
            *to++ = digits[std::to_integer<unsigned>(b) >> 4];
            *to++ = digits[std::to_integer<unsigned>(b) & 15];
        }
        length = static_cast<socklen_t>(to - reinterpret_cast<const char*>(&at));
    }
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&at); }

    sockaddr_un at{};
    socklen_t length = 0;
};

// Sets how many bytes the kernel keeps for a slow receiver; 0: 1 MiB, as far as the system allows.
// With the system's default, a fifth of that, eight ranks that exchange 1 MiB sleep twice as often.
inline void set_near_buffers(int descriptor, std::uint32_t socket_bytes) noexcept {
    set_socket_buffers(descriptor, socket_bytes != 0 ? socket_bytes : 1u << 20);
}
inline unique_fd open_near_socket(std::uint32_t socket_bytes) noexcept {
    unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket) set_near_buffers(socket.get(), socket_bytes);
    return socket;
}
// Returns an empty descriptor on failure. errno is EADDRINUSE if the name is taken; with any other
// value there are no such sockets here.
inline unique_fd listen_nearby(const near_name& name, std::uint32_t socket_bytes) noexcept {
    unique_fd listener = open_near_socket(socket_bytes);
    const near_address at(name);
    if (listener && (::bind(listener.get(), at.get(), at.length) != 0 || ::listen(listener.get(), SOMAXCONN) != 0)) {
        const int why = errno;
        listener.reset();
        errno = why;
    }
    return listener;
}
// Returns an empty descriptor if nobody listens by that name here.
inline unique_fd connect_nearby(const near_name& name, std::uint32_t socket_bytes) noexcept {
    if (name == near_name{}) return {};
    unique_fd socket = open_near_socket(socket_bytes);
    const near_address at(name);
    if (socket && ::connect(socket.get(), at.get(), at.length) != 0) socket.reset();
    return socket;
}
#else
inline constexpr bool has_near_sockets = false;
inline void set_near_buffers(int, std::uint32_t) noexcept {}
inline unique_fd listen_nearby(const near_name&, std::uint32_t) noexcept { return {}; }
inline unique_fd connect_nearby(const near_name&, std::uint32_t) noexcept { return {}; }
#endif

} // namespace bough::detail

#endif
