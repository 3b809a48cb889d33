// SPDX-License-Identifier: BSL-1.0
// tcp_membership: how the links of a group come about. A small group is eager: it connects all
// pairs when it is joined, and then accepts nobody. In a larger one, which is lazy, a pair connects
// when one of the two first sends to the other.
#ifndef BOUGH_TRANSPORT_TCP_MEMBERSHIP_HPP
#define BOUGH_TRANSPORT_TCP_MEMBERSHIP_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/acceptor.hpp>
#include <bough/transport/tcp/attempt.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/connector.hpp>
#include <bough/transport/tcp/identity.hpp>
#include <bough/transport/tcp/links.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/nearby.hpp>
#include <bough/transport/tcp/options.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// What a rank knows of its group before it talks to it.
struct tcp_group {
    std::uint64_t job = 0;
    rank_t rank = 0;
    std::vector<tcp_address> addresses; // by rank
    std::vector<near_name> names;       // near names (nearby.hpp), by rank; zeros: none
    std::uint32_t cores = 1;
    std::uint64_t last_ns = 0;     // by this time of now_ns() all must be there
    std::uint64_t patience_ns = 0; // until this time a rank that cannot be reached is merely late
};

template <Mac M, class Channel = plain_channel>
class tcp_membership {
public:
    using session_type = typename Channel::session;

    tcp_membership(const tcp_group& group, tcp_identity<Channel>& mine, const tcp_options& options,
                   tcp_links<Channel>& links)
        : group_(group), lazy_(group.addresses.size() > options.eager_mesh), links_(links),
          acceptor_(mine, {options.strangers, options.stranger_timeout_ns, options.socket_bytes}),
          connector_(mine, std::min(options.stranger_timeout_ns, options.timeout_ns / 4), options.socket_bytes) {}
    tcp_membership(const tcp_membership&) = delete;
    tcp_membership& operator=(const tcp_membership&) = delete;

    rank_t rank() const noexcept { return group_.rank; }
    std::uint32_t cores() const noexcept { return group_.cores; }
    bool is_lazy() const noexcept { return lazy_; }

    // Begins to accept. In an eager group meet() then connects all pairs.
    status open(unique_fd listener, unique_fd near) {
        if (const status bad = acceptor_.open(std::move(listener), std::move(near))) return bad;
        for (rank_t r = 0; r != rank() && !lazy_; ++r) connect(r);
        return {};
    }
    // Connects all pairs of an eager group, until `until_ns` at the longest. would_block: the rank
    // `peer` is missing.
    status meet(std::uint64_t until_ns) {
        for (std::uint64_t pause_us = 20; links_.open() + 1 < links_.size() && !lazy_;
             pause_us = std::min<std::uint64_t>(500, pause_us + 5)) {
            const std::uint64_t now = steady_now_ns();
            if (now >= until_ns) return {.code = errc::would_block, .peer = missing()};
            const rank_t before = links_.open();
            step(now);
            if (shortages() != 0) return {.code = errc::no_resources};
            if (links_.open() != before) continue;
            std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        }
        if (!lazy_) acceptor_.close(); // nobody else is expected
        return {};
    }
    // Why connecting to the rank has failed so far.
    errc fault_of(rank_t r) const noexcept { return connector_.fault_of(r); }
    // What differs, if a rank's build may not talk to this one, as somebody has said who proved nothing.
    status other_build() const noexcept {
        const status said = connector_.other_build();
        return said ? said : acceptor_.other_build();
    }
    // A rank whose certificates do not fit those of others (connector.hpp).
    rank_t refuser() const noexcept { return connector_.refuser(links_.open() != 0); }

    // --- For a lazy group ---

    // Begins to connect to a rank, unless that rank is about to seal a connection of its own.
    void connect(rank_t to) {
        if (!acceptor_.has_welcomed(to)) connector_.connect({to, group_.addresses[to], group_.names[to]});
    }
    // True: step() must be called even if descriptor() is not readable.
    bool is_busy() const noexcept { return acceptor_.is_busy() || connector_.is_busy(); }
    int descriptor() const noexcept { return acceptor_.descriptor(); }
    // Takes every step that is possible now; does not block.
    void step(std::uint64_t now_ns) {
        acceptor_.step(now_ns, *this);
        connector_.step(now_ns, *this);
    }

    // How many connections failed because descriptors or memory had run out.
    std::uint64_t shortages() const noexcept {
        return links_.shortages() + acceptor_.shortages() + connector_.shortages();
    }
    std::uint64_t turned_away() const noexcept { return acceptor_.turned_away(); }

    // --- For the acceptor and the connector ---

    tcp_verdict judge(rank_t from) const noexcept {
        if (!links_.is_new(from)) return tcp_verdict::taken;
        // If both ranks connect, the pair keeps the connection that the higher rank makes.
        return connector_.is_trying(from) && rank() > from ? tcp_verdict::taken : tcp_verdict::welcome;
    }
    void welcomed(rank_t from) { connector_.give_up(from); }
    void attach(rank_t peer, unique_fd socket, session_type session, std::uint32_t window_kib) {
        links_.attach(peer, std::move(socket), std::move(session), window_kib);
    }
    bool unreachable(rank_t peer) {
        if (!lazy_ || steady_now_ns() < group_.patience_ns) return false;
        if (links_.is_new(peer)) links_.report_lost(peer, connector_.fault_of(peer));
        return true;
    }

private:
    rank_t missing() const noexcept { // Pre: there is one.
        rank_t r = 0;
        while (r == rank() || links_.is_open(r)) ++r;
        return r;
    }

    tcp_group group_;
    bool lazy_;
    tcp_links<Channel>& links_;
    tcp_acceptor<M, Channel> acceptor_;
    tcp_connector<M, Channel> connector_;
};

} // namespace bough::detail

#endif
