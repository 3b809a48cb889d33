// SPDX-License-Identifier: BSL-1.0
// tcp_acceptor: the listening sockets of a rank. Each connection that comes is unauthenticated,
// then authenticated, and at the end its host's.
#ifndef BOUGH_TRANSPORT_TCP_ACCEPTOR_HPP
#define BOUGH_TRANSPORT_TCP_ACCEPTOR_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/authenticated.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/identity.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/unauthenticated.hpp>
#include <bough/transport/tcp/watch.hpp>

#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// The owner of the connections that are accepted. `window_kib` is the window of the rank, in KiB.
template <class H, class Session>
concept AcceptorHost = AcceptorJudge<H> &&
    requires(H& host, rank_t rank, unique_fd descriptor, Session session, std::uint32_t window_kib) {
    // Both sides have agreed on this connection. From now on the host owns descriptor and session.
    host.attach(rank, std::move(descriptor), std::move(session), window_kib);
};

template <Mac M, class Channel = plain_channel>
class tcp_acceptor {
public:
    using session_type = typename Channel::session;

    tcp_acceptor(tcp_identity<Channel>& mine, const unauthenticated_limits& limits)
        : unauthenticated_(mine, limits), authenticated_(watch_) {}
    tcp_acceptor(const tcp_acceptor&) = delete;
    tcp_acceptor& operator=(const tcp_acceptor&) = delete;

    // `near`: a Unix socket that listens as well, or empty.
    status open(unique_fd listener, unique_fd near) {
        listener_ = std::move(listener);
        near_ = std::move(near);
        if (watch_.open() ? !watch_.add(listener_.get()) || (near_ && !watch_.add(near_.get())) : bool(near_))
            return {.code = errc::no_resources};
        return unauthenticated_.open() ? status{} : status{.code = errc::no_resources};
    }
    void close() noexcept {
        watch_ = {};
        listener_.reset();
        near_.reset();
        unauthenticated_.clear();
        authenticated_.clear();
    }
    // Readable when a connection waits to be accepted, or an authenticated one has sent something.
    int descriptor() const noexcept { return watch_.is_open() ? watch_.get() : listener_.get(); }
    // True: step() must be called even if descriptor() is not readable.
    bool is_busy() const noexcept { return !unauthenticated_.empty() || authenticated_.is_busy(now_ns_); }
    // The rank has been welcomed, and has not sealed its connection yet.
    bool has_welcomed(rank_t from) const noexcept { return authenticated_.has(from); }
    std::uint64_t turned_away() const noexcept { return unauthenticated_.turned_away(); }
    const status& other_build() const noexcept { return unauthenticated_.other_build(); }
    std::uint64_t shortages() const noexcept { return unauthenticated_.shortages(); }

    // Takes every step that is possible now; does not block.
    template <AcceptorHost<session_type> Host>
    void step(std::uint64_t now_ns, Host& host) {
        now_ns_ = now_ns;
        if (near_) unauthenticated_.accept(near_.get(), true, now_ns);
        if (listener_) unauthenticated_.accept(listener_.get(), false, now_ns);
        unauthenticated_.step(now_ns, host, authenticated_);
        authenticated_.step([&](rank_t from, unique_fd socket, session_type session, std::uint32_t window_kib) {
            host.attach(from, std::move(socket), std::move(session), window_kib);
        });
    }

private:
    unique_fd listener_, near_;
    tcp_watch watch_; // watches these two, and the authenticated connections
    tcp_unauthenticated<M, Channel> unauthenticated_;
    tcp_authenticated<session_type> authenticated_;
    std::uint64_t now_ns_ = 0; // of the last step
};

} // namespace bough::detail

#endif
