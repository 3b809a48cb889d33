// SPDX-License-Identifier: BSL-1.0
// tcp_links: the links of a rank, by peer: none yet, open, or lost. Makes a link of a socket whose
// peer has proved itself, and ends it when it is lost.
#ifndef BOUGH_TRANSPORT_TCP_LINKS_HPP
#define BOUGH_TRANSPORT_TCP_LINKS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/event_loop.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/link.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/sockets.hpp>
#include <bough/transport/tcp/stream.hpp>
#include <bough/transport/tcp/unsent.hpp>
#include <bough/transport/tcp/watch.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// How much a rank takes in from each peer.
struct tcp_intake {
    std::uint64_t most_per_peer = 0; // bytes of unexpected messages
    std::uint32_t window_kib = 0;    // what each peer is told of it
};

template <class Channel = plain_channel>
class tcp_links {
public:
    using session_type = typename Channel::session;
    using link_type = tcp_link<typename Channel::stream>;

    // New links are hot in `loop`. Until `watch` is open, it watches nothing.
    tcp_links(rank_t ranks, const tcp_intake& intake, tcp_memory& memory, tcp_event_loop<link_type>& loop,
              tcp_unsent<link_type>& unsent, tcp_watch& watch, due_events& ends)
        : intake_(intake), memory_(memory), loop_(loop), unsent_(unsent), watch_(watch), ends_(ends), links_(ranks),
          places_(ranks, place::none) {
        ends.expect(ranks); // each may be lost
    }

    rank_t size() const noexcept { return static_cast<rank_t>(links_.size()); }
    rank_t open() const noexcept { return open_; } // how many links are open
    bool is_open(rank_t peer) const noexcept { return places_[peer] == place::open; }
    bool is_lost(rank_t peer) const noexcept { return places_[peer] == place::lost; }
    // There never was a link to the peer.
    bool is_new(rank_t peer) const noexcept { return places_[peer] == place::none; }
    // Pre: the peer's link is open, or was.
    link_type& operator[](rank_t peer) const noexcept { return *links_[peer]; }
    // By peer; null: there never was one.
    const std::vector<std::unique_ptr<link_type>>& all() const noexcept { return links_; }
    // How many links could not be made because memory of the kernel had run out.
    std::uint64_t shortages() const noexcept { return shortages_; }

    // Opens the link to a peer, which has its own already: without memory for it, the peer is lost.
    // `window_kib`: the peer's window.
    void attach(rank_t peer, unique_fd socket, session_type session, std::uint32_t window_kib) {
        ignore_exceptions([&] { links_[peer] = made(peer, std::move(socket), std::move(session), window_kib); });
        if (!links_[peer]) {
            ++shortages_;
            return report_lost(peer, errc::no_resources);
        }
        places_[peer] = place::open;
        ++open_;
        link_type& link = *links_[peer];
        loop_.add(link);
        if (link.has_to_write()) unsent_.add(link);
    }
    // The peer is lost though there never was a link to it.
    BOUGH_COLD void report_lost(rank_t peer, errc why) {
        places_[peer] = place::lost;
        ends_.lost(peer, why);
    }
    // Closes a link over which nothing more will come. `e` becomes the event that says so.
    BOUGH_COLD void lose(link_type& link, event& e) {
        e = {};
        e.what = event::kind::lost;
        e.code = link.in.fault();
        e.peer = link.peer;
        link.in.drop(ends_);
        link.out.drop([&](std::uint64_t id) { ends_.complete(id, errc::peer_dead, link.peer); });
        boost::system::error_code error;
        watch_.remove(link.stream.socket().native_handle());
        link.stream.socket().close(error);
        loop_.forget(link);
        link.open = false;
        places_[link.peer] = place::lost;
        --open_;
    }

private:
    enum class place : std::uint8_t { none, open, lost };

    // Null: the kernel has no memory left.
    std::unique_ptr<link_type> made(rank_t peer, unique_fd socket, session_type session, std::uint32_t window_kib) {
        const int family = family_of(socket.get()), protocol = family == AF_UNIX ? 0 : IPPROTO_TCP;
        if (protocol != 0) {
            set_socket_option(socket.get(), protocol, TCP_NODELAY, 1);
            choose_congestion(socket.get());
        }
        tcp_stream::socket_type stream(loop_.io());
        boost::system::error_code error;
        stream.assign({family, protocol}, socket.get(), error);
        if (error) return {}; // no room in the event queue of the kernel
        (void)socket.release();
        if (watch_.is_open() && !watch_.add(stream.native_handle())) return {};
        stream.non_blocking(true, error);
        return std::make_unique<link_type>(Channel::make_stream(std::move(stream), std::move(session)),
                                           loop_.new_rooms(), memory_, peer, intake_.most_per_peer,
                                           window_bytes(intake_.window_kib), window_bytes(window_kib));
    }

    tcp_intake intake_;
    tcp_memory& memory_;
    tcp_event_loop<link_type>& loop_;
    tcp_unsent<link_type>& unsent_;
    tcp_watch& watch_;
    due_events& ends_;
    std::vector<std::unique_ptr<link_type>> links_;
    std::vector<place> places_;
    rank_t open_ = 0;
    std::uint64_t shortages_ = 0;
};

} // namespace bough::detail

#endif
