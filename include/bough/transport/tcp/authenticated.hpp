// SPDX-License-Identifier: BSL-1.0
// tcp_authenticated: accepted connections whose rank has proved itself and was welcomed. They stay
// here until the rank seals them. That may take long, because the rank must poll to do it. If the
// rank ends the connection instead, the connection counts as never made, and the rank may connect
// again.
#ifndef BOUGH_TRANSPORT_TCP_AUTHENTICATED_HPP
#define BOUGH_TRANSPORT_TCP_AUTHENTICATED_HPP

#include <bough/core/rank.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/erase_unordered.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/watch.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

template <class Session>
class tcp_authenticated {
public:
    // As long as `watch` is open, it watches these connections too.
    explicit tcp_authenticated(tcp_watch& watch) noexcept : watch_(watch) {}

    bool has(rank_t from) const noexcept {
        for (const connection& c : all_)
            if (c.from == from) return true;
        return false;
    }
    // True: step() must be called even if the watch shows nothing, because a connection is not
    // watched, or is so young that its seal may come at once.
    bool is_busy(std::uint64_t now_ns) const noexcept {
        for (const connection& c : all_)
            if (!c.watched || now_ns - c.since_ns < young_ns) return true;
        return false;
    }

    // After this the next admit() does not allocate.
    void make_room() { all_.reserve(all_.size() + 1); }
    // Closes an earlier connection of the rank, which has given that one up.
    void admit(rank_t from, std::uint32_t window_kib, std::uint64_t now_ns, unique_fd socket, Session session) {
        for (const connection& c : all_)
            if (c.from == from) watch_.remove(c.socket.get());
        std::erase_if(all_, [from](const connection& c) { return c.from == from; });
        const bool watched = watch_.is_open() && watch_.add(socket.get());
        all_.push_back({from, window_kib, now_ns, watched, std::move(socket), std::move(session)});
    }

    // Calls attach(from, socket, session, window_kib) for each connection that is sealed now.
    template <class F>
    void step(const F& attach) {
        erase_unordered(all_, [&](connection& c) {
            const int got = c.session.receive(std::span(c.said).subspan(c.got));
            if (got > 0) c.got += static_cast<std::uint32_t>(got);
            if (got >= 0 && c.got != c.said.size()) return false;
            watch_.remove(c.socket.get());
            if (got < 0 || c.said != make_seal())
                c.socket.reset();
            else
                attach(c.from, std::move(c.socket), std::move(c.session), c.window_kib);
            return true;
        });
    }
    void clear() noexcept { all_.clear(); }

private:
    static constexpr std::uint64_t young_ns = 20'000'000;
    struct connection {
        rank_t from;
        std::uint32_t window_kib;
        std::uint64_t since_ns;
        bool watched;
        unique_fd socket;
        Session session;
        seal_message said{};
        std::uint32_t got = 0; // bytes of `said`
    };

    tcp_watch& watch_;
    std::vector<connection> all_;
};

} // namespace bough::detail

#endif
