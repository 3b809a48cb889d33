// SPDX-License-Identifier: BSL-1.0
// tcp_connector: connects to other ranks, and tries again until each has answered or its host no
// longer wants it.
//
// A rank that has a near name (nearby.hpp) is tried by that name first. The process that listens
// there may be anybody. If it does not prove in time that it is the rank, TCP is used.
#ifndef BOUGH_TRANSPORT_TCP_CONNECTOR_HPP
#define BOUGH_TRANSPORT_TCP_CONNECTOR_HPP

#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/attempt.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/erase_unordered.hpp>
#include <bough/transport/tcp/identity.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/nearby.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// How long the process that listens by a near name may take: so long for each stage, counted from
// the first time that any attempt by the name comes to that stage.
class near_deadline {
public:
    void reach(attempt_stage now_at, std::uint64_t now_ns, std::uint64_t stage_ns) noexcept {
        if (furthest_ >= now_at) return;
        furthest_ = now_at;
        last_ns_ = deadline_after(now_ns, stage_ns);
    }
    bool is_over(std::uint64_t now_ns) const noexcept { return furthest_ != attempt_stage::none && now_ns >= last_ns_; }

private:
    attempt_stage furthest_ = attempt_stage::none;
    std::uint64_t last_ns_ = 0;
};

// When to try again, and why the attempts have failed so far.
class connect_failures {
public:
    bool may_try(std::uint64_t now_ns) const noexcept { return now_ns >= retry_ns_; }
    errc fault() const noexcept { return fault_; }
    // Each pause is twice as long as the one before it, up to 50 ms.
    void postpone(std::uint64_t now_ns) noexcept {
        retry_ns_ = now_ns + pause_ns_;
        pause_ns_ = std::min<std::uint64_t>(2 * pause_ns_, 50'000'000);
    }
    void note(errc why) noexcept {
        if (fault_ != errc::protocol_error) fault_ = why; // the impostor may be gone at the next attempt
    }
    // The channel has refused the rank, or was refused by it.
    void note_refusal(std::uint64_t now_ns) noexcept {
        if (refusals_++ == 0) refused_ns_ = now_ns;
    }
    // Not by chance: three times, and the first time was at least 100 ms ago.
    bool is_refused(std::uint64_t now_ns) const noexcept {
        return refusals_ >= 3 && now_ns - refused_ns_ >= 100'000'000;
    }

private:
    std::uint64_t retry_ns_ = 0, pause_ns_ = 1'000'000;
    errc fault_ = errc::ok;
    std::uint32_t refusals_ = 0;
    std::uint64_t refused_ns_ = 0; // time of the first refusal
};

// The owner of the connections that a connector makes. `window_kib` is the window of the rank.
template <class H, class Session>
concept ConnectorHost = requires(H& host, rank_t rank, unique_fd descriptor, Session session,
                                 std::uint32_t window_kib) {
    // Both sides have agreed on this connection. From now on the host owns descriptor and
    // session.
    host.attach(rank, std::move(descriptor), std::move(session), window_kib);
    // An attempt has failed. True: do not try again.
    { host.unreachable(rank) } -> std::same_as<bool>;
};

template <Mac M, class Channel = plain_channel>
class tcp_connector {
public:
    using session_type = typename Channel::session;

    // `near_ns`: see near_deadline. `socket_bytes`: as in options.hpp.
    tcp_connector(tcp_identity<Channel>& mine, std::uint64_t near_ns, std::uint32_t socket_bytes) noexcept
        : mine_(mine), near_ns_(near_ns), socket_bytes_(socket_bytes) {}

    // Begins to connect to a rank, unless it has begun already.
    void connect(const tcp_target& to) {
        if (find(to.rank) == nullptr) all_.push_back({.to = to});
    }
    void give_up(rank_t to) {
        std::erase_if(all_, [to](const connecting& c) { return c.to.rank == to; });
    }
    // True: step() must be called.
    bool is_busy() const noexcept { return !all_.empty(); }
    // An attempt to connect to the rank is under way.
    bool is_trying(rank_t to) const noexcept {
        const connecting* c = find(to);
        return c != nullptr && c->attempt;
    }
    // Why connecting to the rank has failed so far.
    errc fault_of(rank_t to) const noexcept {
        const connecting* c = find(to);
        return c != nullptr ? c->failures.fault() : errc::ok;
    }
    // What differs, if a rank's build may not talk to this one. Whoever listens there said so.
    status other_build() const noexcept {
        for (const connecting& c : all_)
            if (c.other_build) return c.other_build;
        return {};
    }
    // How often no socket could be opened, because the process or the system was out of descriptors
    // or memory.
    std::uint64_t shortages() const noexcept { return shortages_; }

    // A rank whose certificates and this rank's do not fit: their channels have refused each other.
    // It is this rank itself if that holds for all ranks that it connects to and it has no
    // connection. no_rank: there is none.
    rank_t refuser(bool has_connection) const noexcept {
        rank_t first = no_rank;
        std::size_t refusals = 0;
        for (const connecting& c : all_)
            if (c.failures.is_refused(now_ns_) && refusals++ == 0) first = c.to.rank;
        if (has_connection || all_.size() < 2) return first;
        return refusals == all_.size() ? mine_.who.to : no_rank;
    }

    // Takes every step that is possible now; does not block.
    template <ConnectorHost<session_type> Host>
    void step(std::uint64_t now_ns, Host& host) {
        now_ns_ = now_ns;
        erase_unordered(all_, [&](connecting& c) { return go_on(c, host); });
    }

private:
    using attempt_type = tcp_attempt<M, Channel>;
    using outcome = typename attempt_type::outcome;
    struct connecting {
        tcp_target to;
        attempt_type attempt{};
        near_deadline near{};
        connect_failures failures{};
        status other_build{}; // of the last attempt that heard from the rank
    };

    const connecting* find(rank_t to) const noexcept {
        for (const connecting& c : all_)
            if (c.to.rank == to) return &c;
        return nullptr;
    }
    // True: the rank has a connection, or is not wanted any more.
    template <class Host>
    bool go_on(connecting& c, Host& host) {
        if (!c.attempt) {
            if (!c.failures.may_try(now_ns_)) return false;
            if (c.near.is_over(now_ns_)) c.to.name = {};
            const outcome begun = c.attempt.begin(mine_, c.to, socket_bytes_);
            if (!c.attempt) ++shortages_;
            note_stage(c);
            if (begun == outcome::failed) return fail(c, c.attempt.why(), host);
        }
        const outcome how = c.attempt.step(mine_, c.to);
        note_stage(c);
        switch (how) {
        case outcome::waits:
            // What has come counts, however late this rank looks at it.
            return c.attempt.is_near() && c.near.is_over(now_ns_) && fail(c, errc::deadline, host);
        case outcome::moved: return false;
        case outcome::failed:
            if (c.attempt.why() == errc::no_resources) ++shortages_;
            return fail(c, c.attempt.why(), host);
        case outcome::taken: return fail(c, errc::ok, host);
        case outcome::welcome: break;
        }
        host.attach(c.to.rank, c.attempt.take_socket(), c.attempt.take_session(), c.attempt.window_kib());
        return true;
    }
    void note_stage(connecting& c) const noexcept {
        if (c.attempt.is_near()) c.near.reach(c.attempt.stage(), now_ns_, near_ns_);
    }
    // Tries again later, unless the host says not to. True: it says so.
    template <class Host>
    bool fail(connecting& c, errc why, Host& host) {
        const bool was_near = c.attempt.is_near();
        if (!was_near && c.attempt.accused()) c.failures.note_refusal(now_ns_);
        if (c.attempt.other_build()) c.other_build = c.attempt.other_build();
        c.attempt.end();
        c.failures.postpone(now_ns_);
        if (was_near) { // this says nothing about the rank itself
            if (why == errc::protocol_error) c.to.name = {};
            return false;
        }
        c.failures.note(why);
        return why != errc::ok && host.unreachable(c.to.rank);
    }

    tcp_identity<Channel>& mine_;
    std::uint64_t near_ns_;
    std::uint32_t socket_bytes_;
    std::vector<connecting> all_;
    std::uint64_t now_ns_ = 0; // of the last step
    std::uint64_t shortages_ = 0;
};

} // namespace bough::detail

#endif
