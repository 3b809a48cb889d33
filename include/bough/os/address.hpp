// SPDX-License-Identifier: BSL-1.0
// At which address the processes of other machines reach this one. POSIX.
#ifndef BOUGH_OS_ADDRESS_HPP
#define BOUGH_OS_ADDRESS_HPP

#include <bough/core/config.hpp>
#include <bough/os/fd.hpp>

#include <cstdint>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>

namespace bough::inline BOUGH_ABI::detail {

inline bool is_loopback(const sockaddr& at) noexcept {
    if (at.sa_family == AF_INET) return ntohl(reinterpret_cast<const sockaddr_in&>(at).sin_addr.s_addr) >> 24 == 127;
    if (at.sa_family != AF_INET6) return false;
    const in6_addr& bytes = reinterpret_cast<const sockaddr_in6&>(at).sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(&bytes);
}
// An IPv4 address, or an IPv6 one that means the same on all machines.
inline bool is_for_all(const sockaddr& at) noexcept {
    if (at.sa_family == AF_INET) return true;
    if (at.sa_family != AF_INET6) return false;
    const in6_addr& bytes = reinterpret_cast<const sockaddr_in6&>(at).sin6_addr;
    return !IN6_IS_ADDR_LINKLOCAL(&bytes);
}
inline std::string numeric_text(const sockaddr& at) {
    char text[NI_MAXHOST] = "";
    const auto length = static_cast<socklen_t>(at.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    return ::getnameinfo(&at, length, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

enum class interface_state : unsigned char { usable, unknown, down, without_address };

// The numeric address of a network interface: its first of IPv4, or else of IPv6. Empty: `state` says why.
// The empty name means any one that is up and is not loopback.
inline std::string address_of_interface(const std::string& name, interface_state& state) {
    state = interface_state::unknown;
    ifaddrs* found = nullptr;
    if (::getifaddrs(&found) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(found, &::freeifaddrs);
    for (const int family : {AF_INET, AF_INET6})
        for (const ifaddrs* at = found; at != nullptr; at = at->ifa_next) {
            if (!name.empty() && name != at->ifa_name) continue;
            // Without a carrier it is up, and nothing goes through it.
            const bool is_down = (at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_RUNNING) == 0;
            state = is_down ? interface_state::down : interface_state::without_address;
            if (is_down || at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
            if (!is_for_all(*at->ifa_addr) || (name.empty() && is_loopback(*at->ifa_addr))) continue;
            state = interface_state::usable;
            return numeric_text(*at->ifa_addr);
        }
    return {};
}
inline std::string address_of_interface(const std::string& name) {
    interface_state ignored{};
    return address_of_interface(name, ignored);
}

// The address from which this machine sends to `there`; nothing is sent. False: there is no way.
inline bool find_source(const addrinfo& there, sockaddr_storage& source) noexcept {
    const unique_fd asked(::socket(there.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    socklen_t length = sizeof source;
    return asked && ::connect(asked.get(), there.ai_addr, there.ai_addrlen) == 0 &&
           ::getsockname(asked.get(), reinterpret_cast<sockaddr*>(&source), &length) == 0;
}

// The numeric address of this end of a connection; empty: it has none.
inline std::string local_address_of(int fd) {
    sockaddr_storage at{};
    socklen_t length = sizeof at;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0) return {};
    return numeric_text(reinterpret_cast<const sockaddr&>(at));
}
// The numeric address from which this machine sends to the world, or else that of an interface. (The
// addresses asked for are of nobody: RFC 5737, RFC 3849.)
inline std::string address_of_default_route() {
    for (const char* const far : {"192.0.2.1", "2001:db8::1"}) {
        addrinfo hints{}, *found = nullptr;
        hints.ai_socktype = SOCK_DGRAM;
        hints.ai_flags = AI_NUMERICHOST;
        if (::getaddrinfo(far, "9", &hints, &found) != 0) continue;
        const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
        sockaddr_storage source{};
        const auto& mine = reinterpret_cast<const sockaddr&>(source);
        if (find_source(*found, source) && !is_loopback(mine) && is_for_all(mine)) return numeric_text(mine);
    }
    return address_of_interface({});
}
// Names of loopback on every system.
inline bool is_local_name(std::string name) {
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name == "localhost" || name == "localhost.localdomain" || name == "ip6-localhost" || name == "ip6-loopback";
}

// Is this an address, and no name?
inline bool is_numeric(const std::string& host) noexcept {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
    ::freeaddrinfo(found);
    return true;
}

// The numeric address of this machine on the way to `host`, a name or an address: loopback for
// "localhost" and for the addresses of loopback. Many systems give their own name an address of
// loopback, which other machines cannot reach: then it is that of the default route, or of an
// interface. Empty: no way leads there.
inline std::string address_towards(const std::string& host) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICHOST;
    const char* const port = "9"; // nothing is sent
    bool is_name = false;
    if (::getaddrinfo(host.c_str(), port, &hints, &found) != 0) {
        hints.ai_flags = 0;
        if (::getaddrinfo(host.c_str(), port, &hints, &found) != 0) return {};
        is_name = !is_local_name(host);
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
    std::string local;
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
        sockaddr_storage source{};
        if (!find_source(*at, source)) continue;
        const auto& mine = reinterpret_cast<const sockaddr&>(source);
        if (!is_loopback(mine)) return numeric_text(mine);
        if (local.empty()) local = numeric_text(mine);
    }
    if (!local.empty() && is_name)
        if (std::string other = address_of_default_route(); !other.empty()) return other;
    return local;
}

} // namespace bough::detail

#endif
