// SPDX-License-Identifier: BSL-1.0
// The door of a rank: it accepts connections, lets those in that prove to be ranks of the job, and calls on others.
//
// Until a proof has been checked a connection is a stranger: 128 bytes of state, a deadline, and a place among a bounded
// number of them. When all places are taken the oldest stranger has to go, though none before it has had 20 ms; meanwhile
// further ones wait outside, with the kernel. So whoever answers at once gets in, however many others knock.
#ifndef BOUGH_TRANSPORT_TCP_DOOR_HPP
#define BOUGH_TRANSPORT_TCP_DOOR_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::detail {

struct door_limits {
    std::uint32_t strangers = 64;
    std::uint64_t stranger_timeout_ns = 2'000'000'000;
    std::uint64_t grace_ns = 20'000'000;
    std::uint32_t socket_bytes = 0;
};

// A connection that has proved nothing.
struct tcp_stranger {
    proof_message said{};
    std::uint64_t number = 0; // its nonce is made of it
    std::uint64_t since_ns = 0;
    std::uint32_t got = 0; // bytes of `said`
    int descriptor = -1;
};
static_assert(sizeof(tcp_stranger) <= 128);

// `Host`, whoever has the door:
//   host.judge(rank) -> verdict: shall this connection of the rank be the pair's?
//   host.attach(rank, descriptor, window): it is; the descriptor is the host's now; `window`: the rank's, in KiB
//   host.unreachable(rank) -> bool: calling on it failed; true: it need not be tried again
template <Mac M>
class tcp_door {
public:
    // `who`: job, size, this rank as `to`, and its window.
    tcp_door(const introduction& who, const job_key& key, const door_limits& limits)
        : who_(who), key_(key), limits_(limits) {
        strangers_.reserve(limits.strangers);
    }
    tcp_door(const tcp_door&) = delete;
    tcp_door& operator=(const tcp_door&) = delete;
    ~tcp_door() {
        for (const tcp_stranger& s : strangers_) ::close(s.descriptor);
        M::wipe(secret_);
    }

    status open(unique_fd listener) {
        listener_ = std::move(listener);
        return M::random(secret_) ? status{} : status{.code = errc::no_resources};
    }
    void close() noexcept {
        listener_.reset();
        for (const tcp_stranger& s : strangers_) ::close(s.descriptor);
        strangers_.clear();
    }
    int listener() const noexcept { return listener_.get(); }
    bool busy() const noexcept { return !strangers_.empty() || !callers_.empty(); }
    std::size_t strangers() const noexcept { return strangers_.size(); }
    std::uint64_t turned_away() const noexcept { return turned_away_; }
    // How often no socket was to be had, to call or to accept with, and no stranger's could be taken: the process, or the
    // system, is out of descriptors or of memory.
    std::uint64_t shortages() const noexcept { return shortages_; }

    void call_on(rank_t to, const tcp_address& at) {
        if (!is_calling(to)) callers_.push_back({to, at});
    }
    void stop_calling(rank_t to) {
        std::erase_if(callers_, [to](const caller& c) { return c.to == to; });
    }
    // Has this rank a connection to `to` under way?
    bool is_calling(rank_t to) const noexcept {
        for (const caller& c : callers_)
            if (c.to == to) return true;
        return false;
    }
    bool is_connected(rank_t to) const noexcept {
        for (const caller& c : callers_)
            if (c.to == to) return static_cast<bool>(c.socket);
        return false;
    }
    // Why calling on it has failed so far.
    errc fault_of(rank_t to) const noexcept {
        for (const caller& c : callers_)
            if (c.to == to) return c.fault;
        return errc::ok;
    }

    // Moves on what can move; does not block.
    template <class Host>
    void step(std::uint64_t now_ns, Host& host) {
        if (listener_) accept(now_ns);
        for (std::size_t i = 0; i != strangers_.size();)
            if (hear(strangers_[i], now_ns, host)) {
                strangers_[i] = strangers_.back();
                strangers_.pop_back();
            } else {
                ++i;
            }
        for (std::size_t i = 0; i != callers_.size();)
            if (move_on(callers_[i], now_ns, host)) {
                if (i + 1 != callers_.size()) callers_[i] = std::move(callers_.back());
                callers_.pop_back();
            } else {
                ++i;
            }
    }

private:
    struct caller {
        rank_t to = no_rank;
        tcp_address at;
        unique_fd socket{};
        bool proved = false; // the proof is sent
        std::uint32_t got = 0;
        std::array<std::byte, answer_bytes> heard{};
        nonce accepting{}, connecting{};
        std::uint64_t retry_ns = 0, pause_ns = 1'000'000;
        errc fault = errc::ok;
    };

    static bool is_shortage(int error) noexcept {
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    }
    // The nonce of stranger n is a function of n and of a secret that is fresh for this door.
    bool nonce_of(std::uint64_t number, nonce& made) const {
        std::array<std::byte, 8> text{};
        handshake_layout::put(text, number);
        return M::authenticate(secret_, text, made);
    }

    void accept(std::uint64_t now_ns) {
        for (;;) {
            const auto older = [](const tcp_stranger& a, const tcp_stranger& b) {
                return a.since_ns != b.since_ns ? a.since_ns < b.since_ns : a.number < b.number;
            };
            auto oldest = std::min_element(strangers_.begin(), strangers_.end(), older);
            const bool full = strangers_.size() >= limits_.strangers;
            const bool may_drop = oldest != strangers_.end() && now_ns - oldest->since_ns >= limits_.grace_ns;
            if (full && !may_drop) return;
            unique_fd socket = accept_socket(listener_.get());
            if (!socket && errno == ECONNABORTED) continue;
            const bool is_short = !socket && is_shortage(errno);
            if (is_short && strangers_.empty()) ++shortages_;
            if (!socket && (!is_short || !may_drop)) return;
            if (full || !socket) {
                ::close(oldest->descriptor);
                *oldest = strangers_.back();
                strangers_.pop_back();
                ++turned_away_;
                if (!socket) continue;
            }
            nonce made{};
            const std::uint64_t number = ++numbers_;
            if (!nonce_of(number, made) || !send_now(socket.get(), make_greeting(made))) continue;
            tcp_stranger s;
            s.number = number;
            s.since_ns = now_ns;
            s.descriptor = socket.release();
            strangers_.push_back(s);
        }
    }

    // True: it is no stranger any more.
    template <class Host>
    bool hear(tcp_stranger& s, std::uint64_t now_ns, Host& host) {
        const int got = receive_now(s.descriptor, std::span(s.said).subspan(s.got));
        if (got > 0) s.got += static_cast<std::uint32_t>(got);
        // Who begins with other words is none of ours.
        bool in = got >= 0 && now_ns - s.since_ns < limits_.stranger_timeout_ns;
        for (std::size_t i = 0; i != std::min<std::size_t>(s.got, 8); ++i)
            in &= s.said[i] == static_cast<std::byte>(handshake_layout::magic[i]);
        if (in && s.got != s.said.size()) return false;
        unique_fd socket(s.descriptor);
        nonce accepting{}, connecting{};
        introduction who;
        if (!in || !nonce_of(s.number, accepting) || !check_proof<M>(key_, who_, accepting, s.said, who, connecting)) {
            ++turned_away_;
            return true;
        }
        const tcp_verdict said = host.judge(who.from);
        answer_message answer{};
        if (!make_answer<M>(key_, who, accepting, connecting, {said, who_.window_kib}, answer) ||
            !send_now(socket.get(), answer))
            return true;
        if (said == tcp_verdict::welcome) {
            stop_calling(who.from);
            host.attach(who.from, std::move(socket), who.window_kib);
        }
        return true;
    }

    // True: this call is over.
    template <class Host>
    bool move_on(caller& c, std::uint64_t now_ns, Host& host) {
        if (!c.socket) {
            if (now_ns < c.retry_ns) return false;
            c.socket = open_socket(c.at.protocol().family());
            if (!c.socket) {
                ++shortages_;
                return fail(c, now_ns, errc::no_resources, host);
            }
            if (limits_.socket_bytes != 0) {
                set_socket_option(c.socket.get(), SOL_SOCKET, SO_RCVBUF, static_cast<int>(limits_.socket_bytes));
                set_socket_option(c.socket.get(), SOL_SOCKET, SO_SNDBUF, static_cast<int>(limits_.socket_bytes));
            }
            c.got = 0;
            c.proved = false;
            if (::connect(c.socket.get(), c.at.data(), static_cast<socklen_t>(c.at.size())) != 0 &&
                errno != EINPROGRESS && errno != EINTR)
                return fail(c, now_ns, errc::peer_dead, host);
        }
        // Where nobody listens yet, and the port is one that the kernel gives out, a socket can connect to itself.
        if (!c.proved && local_address(c.socket.get()) == c.at) return fail(c, now_ns, errc::peer_dead, host);
        const std::size_t due = c.proved ? answer_bytes : greeting_bytes;
        const int got = receive_now(c.socket.get(), std::span(c.heard).first(due).subspan(c.got));
        if (got < 0) return fail(c, now_ns, c.proved ? errc::protocol_error : errc::peer_dead, host);
        c.got += static_cast<std::uint32_t>(got);
        if (c.got != due) return false;
        introduction who = who_;
        who.from = who_.to;
        who.to = c.to;
        c.got = 0;
        if (!c.proved) {
            greeting_message greeting{};
            std::copy_n(c.heard.begin(), greeting.size(), greeting.begin());
            proof_message proof{};
            if (!read_greeting(greeting, c.accepting) || !M::random(c.connecting) ||
                !make_proof<M>(key_, who, c.accepting, c.connecting, proof) || !send_now(c.socket.get(), proof))
                return fail(c, now_ns, errc::protocol_error, host);
            c.proved = true;
            return false;
        }
        tcp_answer said;
        if (!check_answer<M>(key_, who, c.accepting, c.connecting, c.heard, said))
            return fail(c, now_ns, errc::protocol_error, host);
        if (said.verdict == tcp_verdict::taken) return fail(c, now_ns, errc::ok, host);
        host.attach(c.to, std::move(c.socket), said.window_kib);
        return true;
    }
    // Tries again later, unless the host has had enough.
    template <class Host>
    bool fail(caller& c, std::uint64_t now_ns, errc why, Host& host) {
        c.socket.reset();
        c.fault = why;
        c.retry_ns = now_ns + c.pause_ns;
        c.pause_ns = std::min<std::uint64_t>(2 * c.pause_ns, 50'000'000);
        return why != errc::ok && host.unreachable(c.to);
    }

    introduction who_;
    job_key key_;
    door_limits limits_;
    std::array<std::byte, mac_bytes> secret_{};
    unique_fd listener_;
    std::vector<tcp_stranger> strangers_;
    std::vector<caller> callers_;
    std::uint64_t numbers_ = 0;
    std::uint64_t turned_away_ = 0;
    std::uint64_t shortages_ = 0;
};

} // namespace bough::detail

#endif
