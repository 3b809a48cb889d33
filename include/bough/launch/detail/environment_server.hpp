// SPDX-License-Identifier: BSL-1.0
// environment_server: rank 0's side of an environment_wire_up: it lets ranks in, and serves their
// exchanges in a thread; and how the others connect.
//
//   rank -> rank 0   who I am, of how many     once
//   rank 0 -> rank   yes or why not            then the protocol of bough/launch/detail/wire.hpp
#ifndef BOUGH_LAUNCH_DETAIL_ENVIRONMENT_SERVER_HPP
#define BOUGH_LAUNCH_DETAIL_ENVIRONMENT_SERVER_HPP

#include <bough/core/config.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/launch/detail/exchange_server.hpp>
#include <bough/launch/detail/reach.hpp>
#include <bough/launch/detail/wire.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail::jobs {

struct environment_hello {
    static constexpr std::uint64_t expected = 0x76'6e'65'67'75'6f'62 | format_digit(formats::environment)
                                                                           << 56; // "bougenv1"
    std::uint64_t magic = expected;
    rank_t rank = 0, size = 0;
};
struct environment_answer {
    enum class verdict : std::uint32_t { welcome, other_size, rank_is_taken };
    std::uint64_t magic = environment_hello::expected;
    verdict says = verdict::welcome;
    std::uint32_t unused = 0;
};

class environment_server {
public:
    // Rank 0: listens, and gets its own end of the wire.
    static status open(const std::string& address, std::uint16_t port, rank_t size, unique_fd& mine,
                       std::unique_ptr<environment_server>& made) {
        int ends[2] = {-1, -1}, bell[2] = {-1, -1};
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {.code = errc::no_resources};
        mine.reset(ends[0]);
        unique_fd own(ends[1]);
        if (::pipe2(bell, O_CLOEXEC) != 0) return {.code = errc::no_resources};
        unique_fd heard(bell[0]), rung(bell[1]);
        unique_fd listener;
        if (size > 1)
            if (const status bad = listen(address, port, listener)) return bad;
        made.reset(new environment_server(size, std::move(listener), std::move(heard), std::move(rung)));
        made->server_.add(0, std::move(own));
#if BOUGH_HAS_EXCEPTIONS
        try {
            made->thread_ = std::thread([s = made.get()] { s->run(); });
        } catch (const std::system_error&) {
            made.reset();
            return {.code = errc::no_resources};
        }
#else
        made->thread_ = std::thread([s = made.get()] { s->run(); });
#endif
        return {};
    }
    environment_server(const environment_server&) = delete;
    environment_server& operator=(const environment_server&) = delete;
    // Stays until the others have read their answers, and until those that come later have heard that
    // the job is broken; but no longer than a second.
    ~environment_server() {
        if (!thread_.joinable()) return;
        rung_.reset();
        thread_.join();
    }

    // The other ranks: connects, and is let in.
    static status connect(const std::string& address, std::uint16_t port, rank_t rank, rank_t size, unique_fd& mine,
                          std::uint64_t last) {
        do {
            if (reach(address, port, mine, last)) return enter(mine, rank, size, last);
            std::this_thread::sleep_for(std::chrono::milliseconds(20)); // rank 0 does not listen yet
        } while (steady_now_ns() < last);
        return {.code = errc::deadline, .peer = 0};
    }

private:
    struct guest { // has connected, but not said who it is
        unique_fd fd{};
        std::byte said[sizeof(environment_hello)]{};
        std::size_t bytes = 0;
    };

    environment_server(rank_t size, unique_fd listener, unique_fd heard, unique_fd rung)
        : server_(size), listener_(std::move(listener)), heard_(std::move(heard)), rung_(std::move(rung)),
          came_(size, false) {}

    static status listen(const std::string& address, std::uint16_t port, unique_fd& listener) {
        const int why = listen_at(address.c_str(), port, 0, listener);
        if (why == 0) return {};
        if (why == -1) return invalid_argument("MASTER_ADDR: no address has this name");
        if (why != EADDRINUSE && listen_at(nullptr, port, AI_PASSIVE, listener) == 0) return {};
        if (why == EADDRINUSE)
            return invalid_argument("MASTER_PORT: another program listens there, perhaps the launcher itself: "
                                    "give the program a port of its own");
        return why == EACCES ? invalid_argument("MASTER_PORT: this user may not listen there")
                             : status{.code = errc::no_resources};
    }
    static status enter(unique_fd& mine, rank_t rank, rank_t size, std::uint64_t last) {
        send_at_once(mine.get());
        const environment_hello hello{.rank = rank, .size = size};
        environment_answer answer;
        errc code = write_all(mine.get(), std::as_bytes(std::span(&hello, 1)), last);
        if (code == errc::ok) code = read_all(mine.get(), std::as_writable_bytes(std::span(&answer, 1)), last);
        if (code != errc::ok) return {.code = code, .peer = 0};
        if (answer.magic != environment_hello::expected) return {.code = errc::protocol_error, .peer = 0};
        if (answer.says == environment_answer::verdict::other_size)
            return invalid_argument("WORLD_SIZE: differs from that of rank 0");
        if (answer.says == environment_answer::verdict::rank_is_taken)
            return invalid_argument("RANK: another process has this rank already");
        return {};
    }

    // --- the thread ---

    void run() {
        std::uint64_t last = 0;  // 0: not asked to stop
        bool was_broken = false; // when it was asked, as rank 0 had heard
        std::vector<pollfd> watched;
        for (;;) {
            bool owes = false;
            for (rank_t r = 0; r != server_.size(); ++r)
                owes |= server_.descriptor(r) >= 0 ? server_.wants_to_write(r) || (was_broken && r != 0)
                                                   : r != 0 && !came_[r];
            if (last != 0 && (!owes || steady_now_ns() >= last)) return;
            watched.clear();
            watched.push_back({last == 0 ? heard_.get() : -1, POLLIN, 0});
            watched.push_back({listener_.get(), POLLIN, 0});
            for (rank_t r = 0; r != server_.size(); ++r)
                watched.push_back({server_.descriptor(r),
                                   static_cast<short>(server_.wants_to_write(r) ? POLLIN | POLLOUT : POLLIN), 0});
            for (const guest& g : guests_) watched.push_back({g.fd.get(), POLLIN, 0});
            (void)::poll(watched.data(), static_cast<nfds_t>(watched.size()), last == 0 ? -1 : 20);
            if (watched[0].revents != 0) {
                last = deadline_after(steady_now_ns(), 1'000'000'000);
                was_broken = server_.has_told_failure(0);
            }
            // From the last, since a guest may leave the list.
            for (std::size_t g = guests_.size(); g-- > 0;)
                if (watched[2 + server_.size() + g].revents != 0) hear(g);
            for (rank_t r = 0; r != server_.size(); ++r)
                if (watched[2 + r].revents != 0 && server_.descriptor(r) >= 0) server_.serve(r);
            if (watched[1].revents != 0) accept_all();
        }
    }
    void accept_all() {
        for (;;) {
            unique_fd fd =
                above_standard(unique_fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)));
            if (!fd) return;
            if (guests_.size() < most_guests) guests_.push_back({.fd = std::move(fd)});
        }
    }
    void hear(std::size_t index) {
        guest& g = guests_[index];
        const ssize_t n = ::recv(g.fd.get(), g.said + g.bytes, sizeof g.said - g.bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
        if (n > 0) g.bytes += static_cast<std::size_t>(n);
        if (n > 0 && g.bytes < sizeof g.said) return;
        unique_fd fd = std::move(g.fd);
        environment_hello hello;
        const bool is_whole = g.bytes == sizeof hello;
        if (is_whole) std::memcpy(&hello, g.said, sizeof hello);
        guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(index));
        if (is_whole && hello.magic == environment_hello::expected) let_in(std::move(fd), hello);
    }
    void let_in(unique_fd fd, const environment_hello& hello) {
        using verdict = environment_answer::verdict;
        environment_answer answer;
        if (hello.size != server_.size() || hello.rank >= server_.size())
            answer.says = verdict::other_size;
        else if (hello.rank == 0 || came_[hello.rank])
            answer.says = verdict::rank_is_taken;
        send_at_once(fd.get());
        if (::send(fd.get(), &answer, sizeof answer, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof answer)) return;
        if (answer.says == verdict::rank_is_taken) return;
        const rank_t rank = hello.rank < server_.size() ? hello.rank : server_.size() - 1;
        if (came_[rank]) return;
        came_[rank] = true;
        server_.add(rank, std::move(fd));
        if (answer.says == verdict::welcome)
            server_.serve(rank); // sends the greeting
        else
            server_.gone(rank); // the others wait for a rank that will not come: they are told
    }

    static constexpr std::size_t most_guests = 4096;
    exchange_server server_;
    unique_fd listener_, heard_, rung_;
    std::vector<guest> guests_;
    std::vector<bool> came_; // ranks that have been let in
    std::thread thread_;
};

} // namespace bough::detail::jobs

#endif
