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
#include <bough/op/mix_hash.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
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
    static constexpr std::uint64_t name = 0x76'6e'65'67'75'6f'62; // "bougenv", then a digit for the version
    static constexpr std::uint64_t expected = name | format_digit(formats::environment) << 56;
    std::uint64_t magic = expected;
    rank_t rank = 0, size = 0; // no_rank: only asks who listens
    std::uint64_t job = 0;     // of job_of_launcher()
};
struct environment_answer {
    enum class verdict : std::uint32_t { welcome, other_size, rank_is_taken, rank_too_high, other_job };
    std::uint64_t magic = environment_hello::expected;
    verdict says = verdict::welcome;
    rank_t size = 0; // of the job
};

// By what launchers call the job, a number of it; 0: they call it nothing.
inline std::uint64_t job_of_launcher() {
    std::uint64_t number = 0;
    for (const char* name : {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID"})
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0')
            for (number = mix_hash(number, static_cast<unsigned char>(*name)); *value != '\0'; ++value)
                number = mix_hash(number, static_cast<unsigned char>(*value));
    return number;
}

// Why an exchange has failed, for launched_wire_up::reason().
enum class environment_fault : std::uint8_t {
    none,
    other_size,
    other_size_above, // of a process whose rank this job has not
    rank_too_high,
    rank_twice,
    not_come,
    not_here,
};
// What the ranks are told then.
constexpr const char* argument_of(environment_fault what) noexcept {
    switch (what) {
    case environment_fault::none: break;
    case environment_fault::other_size: return "WORLD_SIZE: it is {mine} here, and {theirs} on rank {peer}";
    case environment_fault::other_size_above:
        return "WORLD_SIZE: it is {mine} here, and {theirs} in a process whose RANK is {mine} or more";
    case environment_fault::rank_too_high:
        return "RANK: it is {theirs} in a process of the job, and must be below WORLD_SIZE, which is {mine}";
    case environment_fault::rank_twice: return "RANK: it is {mine} in two processes, and {peer} in none";
    case environment_fault::not_come:
        return "MASTER_PORT: rank 0 listens at port {mine}, and nobody has come as rank {peer}";
    case environment_fault::not_here:
        return "MASTER_ADDR: it is no address of the machine on which rank 0 listens, at port {mine}, and nobody has "
               "come as rank {peer}";
    }
    return nullptr;
}

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
        environment_fault absent = environment_fault::not_come;
        if (size > 1)
            if (const status bad = listen(address, port, size, listener, absent)) return bad;
        made.reset(new environment_server(size, std::move(listener), std::move(heard), std::move(rung)));
        made->server_.add(0, std::move(own));
        made->server_.explain_absence(static_cast<std::uint8_t>(absent), port);
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
            if (reach(address, port, mine, last)) return enter(mine, port, {.rank = rank, .size = size}, last);
            std::this_thread::sleep_for(std::chrono::milliseconds(20)); // rank 0 does not listen yet
        } while (steady_now_ns() < last);
        const bool has_address = any_address(address.c_str(), port, 0, [](const addrinfo&) { return true; });
        return {.code = errc::deadline,
                .peer = 0,
                .mine = port,
                .argument = has_address
                                ? "MASTER_PORT: nobody listens at port {mine} of MASTER_ADDR, as rank {peer} would"
                                : "MASTER_ADDR: no address has this name"};
    }
    // A process whose rank the job has not: tells the others, if rank 0 is there already.
    static void tell_misfit(const std::string& address, std::uint16_t port, rank_t rank, rank_t size) {
        const std::uint64_t last = deadline_after(steady_now_ns(), 1'000'000'000);
        unique_fd fd;
        if (reach(address, port, fd, last)) (void)enter(fd, port, {.rank = rank, .size = size}, last);
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

    static status listen(const std::string& address, std::uint16_t port, rank_t size, unique_fd& listener,
                         environment_fault& absent) {
        int why = listen_as(address, port, listener);
        if (why == 0) return {};
        if (why == -1) return invalid_argument("MASTER_ADDR: no address has this name");
        if (why != EADDRINUSE) { // not an address of this machine, though packets for it may come here
            absent = environment_fault::not_here;
            if ((why = listen_everywhere(port, listener)) == 0) return {};
        }
        if (why == EADDRINUSE) return who_listens(address, port, size);
        return why == EACCES ? invalid_argument("MASTER_PORT: this user may not listen there")
                             : status{.code = errc::no_resources};
    }
    // Why rank 0 cannot listen where somebody does.
    static status who_listens(const std::string& address, std::uint16_t port, rank_t size) {
        const std::uint64_t last = deadline_after(steady_now_ns(), 1'000'000'000);
        unique_fd fd;
        if (reach(address, port, fd, last))
            if (const status bad = enter(fd, port, {.rank = no_rank, .size = size}, last);
                bad.code == errc::invalid_argument)
                return bad;
        status s = invalid_argument("MASTER_PORT: another program listens at port {mine}, perhaps the launcher "
                                    "itself: give the program a port of its own");
        s.mine = port;
        return s;
    }
    static status enter(unique_fd& mine, std::uint16_t port, environment_hello hello, std::uint64_t last) {
        using verdict = environment_answer::verdict;
        send_at_once(mine.get());
        hello.job = job_of_launcher();
        environment_answer answer;
        errc code = write_all(mine.get(), std::as_bytes(std::span(&hello, 1)), last);
        if (code == errc::ok) code = read_all(mine.get(), std::as_writable_bytes(std::span(&answer, 1)), last);
        if (code == errc::ok && answer.magic != environment_hello::expected) code = errc::protocol_error;
        if (code != errc::ok)
            return {.code = code,
                    .peer = 0,
                    .mine = port,
                    .argument = "MASTER_PORT: who listens at port {mine} of MASTER_ADDR does not answer as rank {peer} "
                                "would"};
        const auto refused = [](std::uint64_t here, std::uint64_t there, const char* why) {
            status s = invalid_argument(why);
            s.mine = here;
            s.theirs = there;
            return s;
        };
        switch (answer.says) {
        case verdict::welcome: break;
        case verdict::other_size:
            return refused(hello.size, answer.size,
                           "WORLD_SIZE: it is {mine} here, and {theirs} on rank 0, unless MASTER_PORT is that of "
                           "another job");
        case verdict::rank_is_taken:
            return refused(hello.rank == no_rank ? 0 : hello.rank, 0,
                           "RANK: it is {mine} here, and in a process that came before, unless MASTER_PORT is that of "
                           "another job");
        case verdict::rank_too_high:
            return refused(hello.rank, answer.size,
                           "RANK: it is {mine}, and must be below WORLD_SIZE, which is {theirs}");
        case verdict::other_job:
            return refused(port, 0,
                           "MASTER_PORT: at port {mine} rank 0 of another job listens: TORCHELASTIC_RUN_ID, "
                           "TORCHELASTIC_RESTART_COUNT or SLURM_JOB_ID differs");
        }
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
        environment_hello hello;
        const bool has_magic = g.bytes >= sizeof hello.magic, is_whole = g.bytes == sizeof hello;
        std::memcpy(&hello, g.said, g.bytes);
        const bool is_ours = !has_magic || hello.magic == environment_hello::expected;
        if (n > 0 && is_ours && !is_whole) return;
        unique_fd fd = std::move(g.fd);
        guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(index));
        if (is_whole && is_ours) return let_in(std::move(fd), hello);
        constexpr std::uint64_t version = std::uint64_t{255} << 56;
        if (has_magic && !is_ours && (hello.magic & ~version) == environment_hello::name)
            (void)answer(fd.get(), environment_answer::verdict::welcome); // of another version, as it sees
    }
    bool answer(int fd, environment_answer::verdict says) const noexcept {
        send_at_once(fd);
        const environment_answer text{.says = says, .size = server_.size()};
        return ::send(fd, &text, sizeof text, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof text);
    }
    void let_in(unique_fd fd, const environment_hello& hello) {
        using verdict = environment_answer::verdict;
        const rank_t size = server_.size();
        const bool is_rank = hello.rank < size, asks = hello.rank == no_rank;
        verdict says = verdict::welcome;
        if (const std::uint64_t mine = job_of_launcher(); mine != 0 && hello.job != 0 && mine != hello.job)
            says = verdict::other_job;
        else if (hello.size != size)
            says = verdict::other_size;
        else if (asks || hello.rank == 0 || (is_rank && came_[hello.rank]))
            says = verdict::rank_is_taken;
        else if (!is_rank)
            says = verdict::rank_too_high;
        if (!answer(fd.get(), says) || asks) return;
        if (says == verdict::welcome) {
            came_[hello.rank] = true;
            server_.add(hello.rank, std::move(fd));
            server_.serve(hello.rank); // sends the greeting
        } else if (says == verdict::rank_is_taken) {
            server_.explain_absence(static_cast<std::uint8_t>(environment_fault::rank_twice), hello.rank);
        } else if (says != verdict::other_job && is_awaited(hello.rank)) {
            // The others wait for a rank that will not come: they are told.
            const bool is_high = says == verdict::rank_too_high;
            const environment_fault why = is_high   ? environment_fault::rank_too_high
                                          : is_rank ? environment_fault::other_size
                                                    : environment_fault::other_size_above;
            if (is_rank) came_[hello.rank] = true;
            server_.end_all({.code = errc::invalid_argument,
                             .peer = is_rank ? hello.rank : no_rank,
                             .mine = size,
                             .theirs = is_high ? hello.rank : hello.size},
                            static_cast<std::uint8_t>(why));
        }
    }
    // Is it one that has not come? A rank that the job has not stands for any of these.
    bool is_awaited(rank_t rank) const {
        if (rank < server_.size()) return rank != 0 && !came_[rank];
        return std::find(came_.begin() + 1, came_.end(), false) != came_.end();
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
