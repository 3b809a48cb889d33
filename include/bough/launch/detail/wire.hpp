// SPDX-License-Identifier: BSL-1.0
// The protocol between a launcher and its ranks over a socket pair, and the ranks' side of it.
//
//   launcher -> rank   hello                       once, at the start
//   rank -> launcher   ask, then its bytes         one exchange
//   rank -> launcher   ask, of `late` bytes        the rank can wait no longer for that exchange
//   launcher -> rank   answer, then all bytes      the end of the exchange; if it has failed, no bytes
#ifndef BOUGH_LAUNCH_DETAIL_WIRE_HPP
#define BOUGH_LAUNCH_DETAIL_WIRE_HPP

#include <bough/concepts/wire_up.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <utility>

namespace bough::inline BOUGH_ABI::detail::jobs {

struct launch_hello {
    static constexpr std::uint64_t expected = 0x62'6f'6a'68'67'75'6f | format_digit(formats::launcher)
                                                                           << 56; // "oughjob1"
    std::uint64_t magic = expected;
    rank_t rank = 0;
    rank_t size = 1;
};
struct launch_ask {
    static constexpr std::uint32_t late = ~std::uint32_t{0};
    std::uint32_t number = 0; // of the exchange, from 1
    std::uint32_t bytes = 0;
};
struct launch_answer {
    std::uint32_t number = 0;
    std::uint32_t code = 0;             // an errc; 256 times: what launched_wire_up::reason() says
    rank_t peer = no_rank;              // the rank whose fault it was
    std::uint32_t mine = 0, theirs = 0; // for call_mismatch: lengths
};

// The rank's side. These block until the deadline; `bytes` becomes what is left.
inline errc write_all(int fd, std::span<const std::byte> bytes, std::uint64_t deadline_ns) noexcept {
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            pollfd wait{fd, POLLOUT, 0};
            if (::poll(&wait, 1, milliseconds_until(deadline_ns)) == 0) return errc::deadline;
        } else if (errno != EINTR) {
            return errc::peer_dead;
        }
    }
    return errc::ok;
}
inline errc read_on(int fd, std::span<std::byte>& bytes, std::uint64_t deadline_ns) noexcept {
    while (!bytes.empty()) {
        const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        } else if (n == 0) {
            return errc::peer_dead;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            pollfd wait{fd, POLLIN, 0};
            if (::poll(&wait, 1, milliseconds_until(deadline_ns)) == 0) return errc::deadline;
        } else if (errno != EINTR) {
            return errc::peer_dead;
        }
    }
    return errc::ok;
}
inline errc read_all(int fd, std::span<std::byte> bytes, std::uint64_t deadline_ns) noexcept {
    return read_on(fd, bytes, deadline_ns);
}

// The WireUp of a rank that a launcher of this machine has started.
class launched_wire_up {
public:
    launched_wire_up(unique_fd fd, rank_t rank, rank_t size) noexcept : fd_(std::move(fd)), rank_(rank), size_(size) {}

    // Reads the launcher's greeting.
    static status greet(int fd, launch_hello& hello, std::uint64_t timeout_ns) noexcept {
        const errc code =
            read_all(fd, std::as_writable_bytes(std::span(&hello, 1)), deadline_after(steady_now_ns(), timeout_ns));
        if (code != errc::ok) return {.code = code};
        if (hello.magic != launch_hello::expected || hello.rank >= hello.size) return {.code = errc::protocol_error};
        return {};
    }

    rank_t rank() const noexcept { return rank_; }
    rank_t size() const noexcept { return size_; }
    // What the launcher says of the error of an exchange besides its status; 0: nothing.
    std::uint8_t reason() const noexcept { return reason_; }

    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) noexcept {
        if (const status bad = check_exchange(mine, all, size_)) return bad;
        if (!fd_) return broken_ ? broken_ : status{.code = errc::peer_dead};
        const status result = exchange_open(mine, all, deadline_after(steady_now_ns(), timeout_ns));
        if (result) { // the end of the connection tells the others
            broken_ = result;
            fd_.reset();
        }
        return result;
    }

private:
    status exchange_open(std::span<const std::byte> mine, std::span<std::byte> all,
                         std::uint64_t deadline_ns) noexcept {
        const launch_ask ask{++number_, static_cast<std::uint32_t>(mine.size())};
        errc code = write_all(fd_.get(), std::as_bytes(std::span(&ask, 1)), deadline_ns);
        if (code == errc::ok) code = write_all(fd_.get(), mine, deadline_ns);
        launch_answer answer;
        std::span<std::byte> to_come = std::as_writable_bytes(std::span(&answer, 1));
        if (code != errc::deadline) // even if writing has failed, an answer may have come before
            code = read_on(fd_.get(), to_come, deadline_ns);
        if (code == errc::deadline) { // the launcher knows which rank is missing
            const launch_ask late{number_, launch_ask::late};
            deadline_ns = deadline_after(steady_now_ns(), 1'000'000'000);
            if (write_all(fd_.get(), std::as_bytes(std::span(&late, 1)), deadline_ns) == errc::ok)
                code = read_on(fd_.get(), to_come, deadline_ns);
        }
        if (code != errc::ok) return {.code = code};
        if (answer.number != number_) return {.code = errc::protocol_error};
        reason_ = static_cast<std::uint8_t>(answer.code >> 8);
        if (const auto its = static_cast<errc>(answer.code & 255); its != errc::ok)
            return {.code = its,
                    .mismatch = its == errc::call_mismatch ? mismatch::count : mismatch::none,
                    .peer = answer.peer,
                    .mine = answer.mine,
                    .theirs = answer.theirs};
        return {.code = read_all(fd_.get(), all, deadline_ns)};
    }

    unique_fd fd_;
    rank_t rank_, size_;
    std::uint32_t number_ = 0;
    std::uint8_t reason_ = 0;
    status broken_{};
};

static_assert(WireUp<launched_wire_up>);

} // namespace bough::detail::jobs

#endif
