// SPDX-License-Identifier: BSL-1.0
// Sends and receives messages over a Unix socket that carry a file descriptor.
#ifndef BOUGH_OS_FD_PASSING_HPP
#define BOUGH_OS_FD_PASSING_HPP

#include <bough/os/fd.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <sys/socket.h>
#include <sys/types.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Sends all bytes and a descriptor, without waiting and without a signal. False: it could not;
// errno says why.
inline bool send_with_fd(int socket, std::span<const std::byte> bytes, int fd) noexcept {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
    iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
    ssize_t sent = 0;
    do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

// Receives what has come, and the descriptor that came with it, if one did (further ones are
// closed). Returns how many bytes have come; 0: the peer has closed; -1: nothing yet (errno
// EAGAIN), or an error. errno is EMFILE also if a descriptor came and was lost because this process
// may have no more.
inline ssize_t receive_with_fd(int socket, std::span<std::byte> into, unique_fd& fd) noexcept {
    alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    iovec part{into.data(), into.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t came = 0;
    do came = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (came < 0 && errno == EINTR);
    if (came < 0) return came;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i != count; ++i) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(header) + i * sizeof number, sizeof number);
            unique_fd one(number);
            if (!fd) fd = std::move(one);
        }
    }
    if (came > 0 && !fd && (message.msg_flags & MSG_CTRUNC) != 0) {
        errno = EMFILE;
        return -1;
    }
    return came;
}

} // namespace bough::detail

#endif
