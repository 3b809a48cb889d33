// SPDX-License-Identifier: BSL-1.0
// tcp_attempt: one attempt to connect to a rank, from its socket to the seal: the connecting side
// of the handshake (handshake.hpp).
#ifndef BOUGH_TRANSPORT_TCP_ATTEMPT_HPP
#define BOUGH_TRANSPORT_TCP_ATTEMPT_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/identity.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/nearby.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// Where a rank listens.
struct tcp_target {
    rank_t rank = no_rank;
    tcp_address at;
    near_name name{}; // zeros: the rank is on another system, or no process proves itself by that name
};

// How far an attempt has come.
enum class attempt_stage : std::uint8_t { none, reached, opened, greeted };

template <Mac M, class Channel = plain_channel>
class tcp_attempt {
public:
    using session_type = typename Channel::session;

    enum class outcome : std::uint8_t {
        waits,   // for the other side
        moved,   // has come to a new stage
        failed,  // why() says why
        taken,   // the pair has another connection, or will have
        welcome, // the socket is the pair's connection
    };

    explicit operator bool() const noexcept { return static_cast<bool>(socket_); } // it is under way
    bool is_near() const noexcept { return near_; }                                // over a Unix socket
    attempt_stage stage() const noexcept { return stage_; }
    errc why() const noexcept { return why_; }
    // What differs, if the rank's build may not talk to this one.
    const status& other_build() const noexcept { return other_build_; }
    // The channel says that the two sides' settings do not fit.
    bool accused() const noexcept { return session_.accused(); }

    // Opens a socket to the rank: by its near name if a process listens there, otherwise by TCP.
    outcome begin(tcp_identity<Channel>& mine, const tcp_target& to, std::uint32_t socket_bytes) {
        other_build_ = {};
        socket_ = connect_nearby(to.name, socket_bytes);
        near_ = static_cast<bool>(socket_);
        if (!near_) socket_ = open_socket(to.at.protocol().family());
        if (!socket_) return fails(errc::no_resources);
        if (!near_) set_socket_buffers(socket_.get(), socket_bytes);
        stage_ = attempt_stage::reached;
        got_ = 0;
        session_ = mine.open_session(socket_.get(), false);
        if (!near_ && ::connect(socket_.get(), to.at.data(), static_cast<socklen_t>(to.at.size())) != 0 &&
            errno != EINPROGRESS && errno != EINTR)
            return fails(errc::peer_dead);
        return outcome::moved;
    }
    // Takes the next step if the other side has done its part. Pre: begun, and not over.
    outcome step(tcp_identity<Channel>& mine, const tcp_target& to) {
        const bool proved = stage_ == attempt_stage::greeted;
        // If nobody listens yet, and the port is one that the kernel also gives to connecting
        // sockets, a socket can connect to itself.
        if (!proved && !near_ && local_address(socket_.get()) == to.at) return fails(errc::peer_dead);
        const errc opened = session_.open();
        if (opened == errc::would_block) return outcome::waits;
        if (opened != errc::ok) return fails(opened);
        if (!proved) stage_ = attempt_stage::opened;
        const std::size_t due = proved ? answer_bytes : greeting_bytes;
        const int got = session_.receive(std::span(heard_).first(due).subspan(got_));
        if (got < 0) return fails(session_.accused() || (proved && !near_) ? errc::protocol_error : errc::peer_dead);
        got_ += static_cast<std::uint32_t>(got);
        if (got_ != due) return outcome::waits;
        got_ = 0;
        introduction who = mine.who;
        who.from = mine.who.to;
        who.to = to.rank;
        job_key key;
        if (!mine.template key_of<M>(session_, key)) return fails(errc::no_resources);
        return proved ? hear_answer(who, key) : prove(who, key);
    }
    // Closes the socket; the attempt is over.
    void end() noexcept {
        session_ = session_type();
        socket_.reset();
        stage_ = attempt_stage::none;
    }
    // Pre of these three: welcome.
    std::uint32_t window_kib() const noexcept { return window_kib_; } // of the rank
    unique_fd take_socket() noexcept { return std::move(socket_); }
    session_type take_session() noexcept { return std::move(session_); }

private:
    outcome fails(errc why) noexcept {
        why_ = why;
        return outcome::failed;
    }
    outcome prove(const introduction& who, const job_key& key) {
        greeting_message greeting{};
        std::copy_n(heard_.begin(), greeting.size(), greeting.begin());
        proof_message proof{};
        if (handshake_layout::has_mark(greeting)) other_build_ = builds_of(greeting, who.to);
        if (other_build_) { // it is told who speaks so
            if (make_proof<M>(key, who, accepting_, connecting_, proof)) (void)session_.send(proof);
            return fails(errc::protocol_error);
        }
        if (!read_greeting(greeting, accepting_)) return fails(errc::protocol_error);
        if (!M::random(connecting_) || !make_proof<M>(key, who, accepting_, connecting_, proof))
            return fails(errc::no_resources);
        stage_ = attempt_stage::greeted;
        // dead: it has given up waiting.
        return session_.send(proof) ? outcome::moved : fails(errc::peer_dead);
    }
    outcome hear_answer(const introduction& who, const job_key& key) {
        tcp_answer said;
        if (!check_answer<M>(key, who, accepting_, connecting_, heard_, said))
            return fails(is_short_of_macs<M>() ? errc::no_resources : errc::protocol_error);
        if (said.verdict == tcp_verdict::taken) return outcome::taken;
        if (!session_.send(make_seal())) return fails(errc::peer_dead);
        window_kib_ = said.window_kib;
        return outcome::welcome;
    }

    unique_fd socket_{};
    session_type session_{};
    attempt_stage stage_ = attempt_stage::none;
    bool near_ = false;
    errc why_ = errc::ok;
    std::uint32_t got_ = 0;
    std::array<std::byte, answer_bytes> heard_{};
    nonce accepting_{}, connecting_{};
    status other_build_{};
    std::uint32_t window_kib_ = 0;
};

} // namespace bough::detail

#endif
