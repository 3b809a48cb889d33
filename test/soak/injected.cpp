// SPDX-License-Identifier: BSL-1.0
// Functions of the C library in front of its own: those that move bytes may move fewer, and the time of
// day may be another. A sanitizer has its own in front of them; there they are left alone, and nothing
// happens.
#include "soak/draw.hpp"
#include "soak/strike.hpp"
#include "support/sanitizers.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

namespace soak {

namespace {

std::atomic<std::atomic<bool>*> cuts{nullptr}, jumps{nullptr};
std::atomic<std::uint64_t> dice_of_cuts{0};
std::int64_t days = 0;

} // namespace

void begin_short_calls(std::uint64_t seed, std::atomic<bool>& happened) {
    dice_of_cuts = seed;
    cuts = &happened;
}
void begin_clock_jumps(std::uint64_t seed, std::atomic<bool>& happened) {
    days = static_cast<std::int64_t>(bough_test::mixed(seed) % 2'000) - 1'000;
    jumps = &happened;
}

} // namespace soak

#if !BOUGH_TEST_HAS_ADDRESS_SANITIZER && !BOUGH_TEST_HAS_THREAD_SANITIZER
namespace {

// How many of so many bytes a call moves: all of them in half of the calls.
std::size_t fewer(std::size_t bytes) {
    std::atomic<bool>* const happened = soak::cuts;
    if (happened == nullptr || bytes < 2) return bytes;
    const std::uint64_t dice = bough_test::mixed(soak::dice_of_cuts.fetch_add(1));
    if (dice % 2 == 0) return bytes;
    happened->store(true);
    return 1 + (dice >> 8) % (dice % 8 == 1 ? std::min<std::size_t>(bytes - 1, 40) : bytes - 1);
}
// The first bytes of a list.
std::vector<iovec> beginning(const iovec* list, std::size_t count) {
    std::vector<iovec> some(list, list + count);
    std::size_t all = 0;
    for (const iovec& one : some) all += one.iov_len;
    std::size_t left = fewer(all);
    for (iovec& one : some) {
        one.iov_len = std::min(one.iov_len, left);
        left -= one.iov_len;
    }
    while (!some.empty() && some.back().iov_len == 0) some.pop_back();
    return some;
}
template <class F>
F* next(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

ssize_t send(int fd, const void* from, size_t bytes, int flags) {
    static const auto real = next<decltype(send)>("send");
    return real(fd, from, fewer(bytes), flags);
}
ssize_t recv(int fd, void* to, size_t bytes, int flags) {
    static const auto real = next<decltype(recv)>("recv");
    return real(fd, to, fewer(bytes), flags);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    static const auto real = next<decltype(sendmsg)>("sendmsg");
    if (soak::cuts == nullptr || message->msg_controllen != 0) return real(fd, message, flags);
    const std::vector<iovec> some = beginning(message->msg_iov, message->msg_iovlen);
    msghdr less = *message;
    less.msg_iov = const_cast<iovec*>(some.data());
    less.msg_iovlen = some.size();
    return real(fd, &less, flags);
}
ssize_t recvmsg(int fd, msghdr* message, int flags) {
    static const auto real = next<decltype(recvmsg)>("recvmsg");
    if (soak::cuts == nullptr || message->msg_controllen != 0) return real(fd, message, flags);
    const std::vector<iovec> some = beginning(message->msg_iov, message->msg_iovlen);
    msghdr less = *message;
    less.msg_iov = const_cast<iovec*>(some.data());
    less.msg_iovlen = some.size();
    const ssize_t got = real(fd, &less, flags);
    message->msg_flags = less.msg_flags;
    return got;
}
ssize_t process_vm_readv(pid_t pid, const iovec* here, unsigned long count, const iovec* there, unsigned long theirs,
                         unsigned long flags) {
    static const auto real = next<decltype(process_vm_readv)>("process_vm_readv");
    if (soak::cuts == nullptr) return real(pid, here, count, there, theirs, flags);
    const std::vector<iovec> some = beginning(here, count);
    return real(pid, some.data(), some.size(), there, theirs, flags);
}
int clock_gettime(clockid_t clock, timespec* at) noexcept {
    static const auto real = next<decltype(clock_gettime)>("clock_gettime");
    const int status = real(clock, at);
    if (std::atomic<bool>* const happened = soak::jumps; happened != nullptr && clock == CLOCK_REALTIME) {
        happened->store(true);
        at->tv_sec += soak::days * 86'400;
    }
    return status;
}

} // extern "C"
#endif
