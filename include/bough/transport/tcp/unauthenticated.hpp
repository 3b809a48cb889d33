// SPDX-License-Identifier: BSL-1.0
// tcp_unauthenticated: the connections that a rank has accepted and that have proved nothing yet.
// Those that prove to come from a rank of the job move on (authenticated.hpp); the others are
// closed.
//
// Each has 128 bytes of state (and what its channel takes, if that is TLS), a deadline, and one of
// a bounded number of places. When all places are taken, a new connection replaces the oldest one,
// but only after that one has had 20 ms. Meanwhile further connections wait in the kernel. So a
// rank that answers at once gets in, however many others knock.
#ifndef BOUGH_TRANSPORT_TCP_UNAUTHENTICATED_HPP
#define BOUGH_TRANSPORT_TCP_UNAUTHENTICATED_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/authenticated.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/erase_unordered.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/identity.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/nearby.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Options of bough::tcp (options.hpp) have these names.
struct unauthenticated_limits {
    std::uint32_t strangers = 64;
    std::uint64_t stranger_timeout_ns = 2'000'000'000;
    std::uint32_t socket_bytes = 0;
};

template <class Session>
struct unauthenticated_connection {
    proof_message said{};
    std::uint64_t number = 0; // its nonce is made from this
    std::uint64_t since_ns = 0;
    std::uint32_t got = 0; // bytes of `said`
    int descriptor = -1;
    bool greeted = false;
    Session session;
};
static_assert(sizeof(unauthenticated_connection<plain_channel::session>) <= 128);

// Who decides about a rank that has proved itself.
template <class H>
concept AcceptorJudge = requires(H& host, rank_t rank) {
    // Shall this connection of the rank be the pair's?
    { host.judge(rank) } -> std::same_as<tcp_verdict>;
    // The rank has been told that it shall: it will seal the connection, or end it.
    host.welcomed(rank);
};

template <Mac M, class Channel = plain_channel>
class tcp_unauthenticated {
public:
    using session_type = typename Channel::session;

    tcp_unauthenticated(tcp_identity<Channel>& mine, const unauthenticated_limits& limits)
        : mine_(mine), limits_(limits) {
        all_.reserve(limits.strangers);
    }
    tcp_unauthenticated(const tcp_unauthenticated&) = delete;
    tcp_unauthenticated& operator=(const tcp_unauthenticated&) = delete;
    ~tcp_unauthenticated() {
        clear();
        M::wipe(secret_);
    }

    // Draws the secret that nonces are made from. False: there are no random bytes.
    bool open() { return M::random(secret_); }
    void clear() noexcept {
        for (const connection& c : all_) ::close(c.descriptor);
        all_.clear();
    }
    bool empty() const noexcept { return all_.empty(); }
    std::uint64_t turned_away() const noexcept { return turned_away_; }
    // What differs, if a connection came from a build that may not talk to this one. It has proved
    // nothing.
    const status& other_build() const noexcept { return other_build_; }
    // How often a connection could not be accepted, while there was no other one to close instead,
    // because the process or the system was out of descriptors or memory; and how often one was turned
    // away while there was no memory to check what it said.
    std::uint64_t shortages() const noexcept { return shortages_; }

    // Accepts what waits at a listening socket. `is_near`: a Unix socket.
    void accept(int listener, bool is_near, std::uint64_t now_ns) {
        for (;;) {
            const auto oldest = std::min_element(all_.begin(), all_.end(), is_older);
            const bool full = all_.size() >= limits_.strangers;
            const bool may_drop = oldest != all_.end() && now_ns - oldest->since_ns >= grace_ns;
            if (full && !may_drop) return;
            unique_fd socket = accept_socket(listener);
            if (!socket && errno == ECONNABORTED) continue;
            const bool is_short = !socket && is_shortage(errno);
            if (is_short && all_.empty()) ++shortages_;
            if (!socket && (!is_short || !may_drop)) return;
            if (full || !socket) {
                ::close(oldest->descriptor);
                if (&*oldest != &all_.back()) *oldest = std::move(all_.back());
                all_.pop_back();
                ++turned_away_;
                if (!socket) continue;
            }
            // Accepted sockets do not inherit them.
            if (is_near) set_near_buffers(socket.get(), limits_.socket_bytes);
            connection c;
            c.number = ++numbers_;
            c.since_ns = now_ns;
            c.session = mine_.open_session(socket.get(), true);
            c.descriptor = socket.release();
            all_.push_back(std::move(c));
        }
    }

    // Hears all connections. Those of ranks that the host welcomes move to `authenticated`.
    template <AcceptorJudge Host>
    void step(std::uint64_t now_ns, Host& host, tcp_authenticated<session_type>& authenticated) {
        erase_unordered(all_, [&](connection& c) {
            const heard what = hear(c, now_ns);
            if (what == heard::in_part) return false;
            authenticated.make_room();
            unique_fd socket(c.descriptor);
            if (what == heard::nonsense || !check(c, std::move(socket), now_ns, host, authenticated)) {
                ++turned_away_;
                if (is_short_of_macs<M>()) ++shortages_;
            }
            return true;
        });
    }

private:
    using connection = unauthenticated_connection<session_type>;
    static constexpr std::uint64_t grace_ns = 20'000'000;
    static constexpr std::uint32_t least_said = 28; // of a proof: who says so, in every version
    enum class heard { in_part, whole, nonsense };

    static bool is_older(const connection& a, const connection& b) noexcept {
        return a.since_ns != b.since_ns ? a.since_ns < b.since_ns : b.number > a.number;
    }
    // The nonce of connection n is a function of n and of a secret that is fresh for this object,
    // so it need not be kept.
    bool nonce_of(std::uint64_t number, nonce& made) const {
        std::array<std::byte, 8> text{};
        handshake_layout::put(text, number);
        return M::authenticate(secret_, text, made);
    }

    // Sends the greeting once the channel is open. False: that will never be possible.
    bool greet(connection& c) {
        const errc opened = c.session.open();
        if (opened != errc::ok) return opened == errc::would_block;
        nonce made{};
        c.greeted = nonce_of(c.number, made) && c.session.send(make_greeting(made));
        return c.greeted;
    }
    // Receives the proof. Nonsense: what has come is none, or the time is over, or nothing more
    // will come.
    heard hear(connection& c, std::uint64_t now_ns) {
        bool good = c.greeted || greet(c);
        if (c.greeted) {
            const int got = c.session.receive(std::span(c.said).subspan(c.got));
            if (got > 0) c.got += static_cast<std::uint32_t>(got);
            good &= got >= 0;
        }
        // What has come counts, however late this rank looks at it.
        const bool whole = c.got == c.said.size();
        good &= whole || now_ns - c.since_ns < limits_.stranger_timeout_ns;
        // A connection that begins with other bytes is not from bough.
        for (std::size_t i = 0; i != std::min<std::size_t>(c.got, handshake_layout::mark_bytes); ++i)
            good &= c.said[i] == static_cast<std::byte>(handshake_layout::magic[i]);
        if (good && c.got >= least_said) {
            if (const status other = bough::detail::other_build(mine_.who, c.said)) other_build_ = other;
            good = handshake_layout::has_magic(c.said);
        }
        if (!good) return heard::nonsense;
        return whole ? heard::whole : heard::in_part;
    }
    // Checks the proof, and answers it. False: it proves nothing.
    template <class Host>
    bool check(connection& c, unique_fd socket, std::uint64_t now_ns, Host& host,
               tcp_authenticated<session_type>& authenticated) {
        nonce accepting{}, connecting{};
        introduction who;
        job_key key;
        if (!mine_.template key_of<M>(c.session, key) || !nonce_of(c.number, accepting) ||
            !check_proof<M>(key, mine_.who, accepting, c.said, who, connecting))
            return false;
        const tcp_verdict said = host.judge(who.from);
        answer_message answer{};
        if (!make_answer<M>(key, who, accepting, connecting, {said, mine_.who.window_kib}, answer) ||
            !c.session.send(answer))
            return true;
        if (said == tcp_verdict::welcome) {
            host.welcomed(who.from);
            authenticated.admit(who.from, who.window_kib, now_ns, std::move(socket), std::move(c.session));
        }
        return true;
    }

    tcp_identity<Channel>& mine_;
    unauthenticated_limits limits_;
    std::array<std::byte, mac_bytes> secret_{};
    std::vector<connection> all_;
    std::uint64_t numbers_ = 0; // connections so far
    std::uint64_t turned_away_ = 0;
    status other_build_{};
    std::uint64_t shortages_ = 0;
};

} // namespace bough::detail

#endif
