// SPDX-License-Identifier: BSL-1.0
// tcp_acceptor, the door of a rank: it accepts connections, lets those in that prove to come from
// ranks of the job, and calls on other ranks, which means that it connects to them.
//
// Until its proof has been checked, a connection is a stranger. Each stranger has 128 bytes of
// state (and what its channel takes, if that is TLS), a deadline, and one of a bounded number of
// places. When all places are taken, a new connection replaces the oldest stranger, but only after
// that one has had 20 ms. Meanwhile further connections wait in the kernel. So a rank that answers
// at once gets in, however many others knock.
//
// A rank that has proved itself and was welcomed is a guest until it seals the connection. That may
// take long, because the rank must poll to do it. If the rank ends the connection instead, the
// connection counts as never made, and the rank may call again.
//
// The process that listens by a rank's near name (nearby.hpp) is a stranger, too. If it does not
// prove in time that it is that rank, the rank is called by TCP.
#ifndef BOUGH_TRANSPORT_TCP_ACCEPTOR_HPP
#define BOUGH_TRANSPORT_TCP_ACCEPTOR_HPP

#include <bough/core/deadline.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/handshake.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/nearby.hpp>
#include <bough/transport/tcp/sockets.hpp>
#include <bough/transport/tcp/watch.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

struct door_limits {
    std::uint32_t strangers = 64;
    std::uint64_t stranger_timeout_ns = 2'000'000'000;
    std::uint64_t grace_ns = 20'000'000;
    // For each step of a call by a near name, counted from the first time that the call comes to
    // it.
    std::uint64_t near_ns = 2'000'000'000;
    std::uint32_t socket_bytes = 0;
};

// A connection that has proved nothing.
template <class Session>
struct stranger_of {
    proof_message said{};
    std::uint64_t number = 0; // its nonce is made from this
    std::uint64_t since_ns = 0;
    std::uint32_t got = 0; // bytes of `said`
    int descriptor = -1;
    bool greeted = false;
    Session session;
};
using tcp_stranger = stranger_of<plain_channel::session>;
static_assert(sizeof(tcp_stranger) <= 128);

// The owner of the door. `window_kib` is the window of the rank, in KiB.
template <class H, class Session>
concept AcceptorHost = requires(H& host, rank_t rank, unique_fd descriptor, Session session, std::uint32_t window_kib) {
    // Shall this connection of the rank be the pair's?
    { host.judge(rank) } -> std::same_as<tcp_verdict>;
    // Both sides have agreed that it is. From now on the host owns descriptor and session.
    host.attach(rank, std::move(descriptor), std::move(session), window_kib);
    // Calling on the rank failed. True: do not try again.
    { host.unreachable(rank) } -> std::same_as<bool>;
};

template <Mac M, class Channel = plain_channel>
class tcp_acceptor {
public:
    using session_type = typename Channel::session;

    // `who`: job, size, this rank as `to`, and its window.
    tcp_acceptor(const introduction& who, const job_key& key, const door_limits& limits,
                 typename Channel::settings& settings, boost::asio::io_context& io)
        : who_(who), key_(key), limits_(limits), settings_(settings), io_(io) {
        strangers_.reserve(limits.strangers);
    }
    tcp_acceptor(const tcp_acceptor&) = delete;
    tcp_acceptor& operator=(const tcp_acceptor&) = delete;
    ~tcp_acceptor() {
        for (const stranger& s : strangers_) ::close(s.descriptor);
        M::wipe(secret_);
    }

    // `near`: a Unix socket that listens as well, or empty.
    status open(unique_fd listener, unique_fd near) {
        listener_ = std::move(listener);
        near_ = std::move(near);
        if (watch_.open() ? !watch_.add(listener_.get()) || (near_ && !watch_.add(near_.get())) : bool(near_))
            return {.code = errc::no_resources};
        return M::random(secret_) ? status{} : status{.code = errc::no_resources};
    }
    void close() noexcept {
        watch_ = {};
        listener_.reset();
        near_.reset();
        for (const stranger& s : strangers_) ::close(s.descriptor);
        strangers_.clear();
        guests_.clear();
    }
    // Readable when a connection waits to be accepted, or a guest has sent something.
    int listener() const noexcept { return watch_.is_open() ? watch_.get() : listener_.get(); }
    // True: step() must be called even if listener() is not readable.
    bool busy() const noexcept {
        if (!strangers_.empty() || !callers_.empty()) return true;
        for (const guest& g : guests_)
            if (!g.watched || now_ns_ - g.since_ns < limits_.grace_ns) return true;
        return false;
    }
    std::size_t strangers() const noexcept { return strangers_.size(); }
    std::uint64_t turned_away() const noexcept { return turned_away_; }
    // How often no socket could be opened for a call, or accepted while there was no stranger to
    // close instead. Then the process or the system is out of descriptors or memory.
    std::uint64_t shortages() const noexcept { return shortages_; }

    // Begins to call on a rank: first by its name on this system, if it has one. Does nothing while
    // the rank is a guest.
    void call_on(rank_t to, const tcp_address& at, const near_name& name) {
        if (!is_calling(to) && !is_guest(to)) callers_.push_back({to, at, name});
    }
    void stop_calling(rank_t to) {
        std::erase_if(callers_, [to](const caller& c) { return c.to == to; });
    }
    bool is_guest(rank_t from) const noexcept {
        for (const guest& g : guests_)
            if (g.from == from) return true;
        return false;
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
    // Why calling on the rank has failed so far.
    errc fault_of(rank_t to) const noexcept {
        for (const caller& c : callers_)
            if (c.to == to) return c.fault;
        return errc::ok;
    }

    // A rank whose certificates and this rank's do not fit: their channels have refused each other
    // three times, and the first time was at least 100 ms ago. It is this rank itself if that holds
    // for all ranks that it calls on and it is not connected. no_rank: there is none.
    rank_t refuser(bool is_connected) const noexcept {
        rank_t first = no_rank;
        std::size_t refusals = 0;
        for (const caller& c : callers_) {
            if (c.refusals < 3 || now_ns_ - c.refused_ns < 100'000'000) continue;
            if (refusals++ == 0) first = c.to;
        }
        if (is_connected || callers_.size() < 2) return first;
        return refusals == callers_.size() ? who_.to : no_rank;
    }

    // Takes every step that is possible now; does not block.
    template <AcceptorHost<session_type> Host>
    void step(std::uint64_t now_ns, Host& host) {
        now_ns_ = now_ns;
        if (near_) accept(near_.get(), now_ns);
        if (listener_) accept(listener_.get(), now_ns);
        sift(strangers_, [&](stranger& s) { return hear(s, now_ns, host); });
        sift(guests_, [&](guest& g) { return settle(g, host); });
        sift(callers_, [&](caller& c) { return move_on(c, now_ns, host); });
    }

private:
    using stranger = stranger_of<session_type>;
    struct guest {
        rank_t from;
        std::uint32_t window_kib;
        std::uint64_t since_ns;
        bool watched;
        unique_fd socket;
        session_type session;
        seal_message said{};
        std::uint32_t got = 0; // bytes of `said`
    };
    // How far a call has come.
    enum class stage : std::uint8_t { begun, reached, opened, greeted };
    struct caller {
        rank_t to = no_rank;
        tcp_address at;
        near_name name{};
        bool near = false;               // the present attempt is by that name
        stage furthest = stage::begun;   // the furthest that any attempt by that name has come
        std::uint64_t near_until_ns = 0; // by then it must have come further
        unique_fd socket{};
        session_type session{};
        bool proved = false; // the proof is sent
        std::uint32_t got = 0;
        std::array<std::byte, answer_bytes> heard{};
        nonce accepting{}, connecting{};
        std::uint64_t retry_ns = 0, pause_ns = 1'000'000;
        errc fault = errc::ok;
        std::uint32_t refusals = 0;   // of attempts over TCP, by the channel
        std::uint64_t refused_ns = 0; // time of the first refusal
    };

    // Removes those for which `is_over` is true; the others may change places.
    template <class T, class F>
    static void sift(std::vector<T>& all, F&& is_over) {
        for (std::size_t i = 0; i != all.size();) {
            if (!is_over(all[i])) {
                ++i;
                continue;
            }
            if (i + 1 != all.size()) all[i] = std::move(all.back());
            all.pop_back();
        }
    }
    static bool is_shortage(int error) noexcept {
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    }
    // The nonce of stranger n is a function of n and of a secret that is fresh for this door, so it
    // need not be kept.
    bool nonce_of(std::uint64_t number, nonce& made) const {
        std::array<std::byte, 8> text{};
        handshake_layout::put(text, number);
        return M::authenticate(secret_, text, made);
    }

    void accept(int listener, std::uint64_t now_ns) {
        for (;;) {
            const auto older = [](const stranger& a, const stranger& b) {
                return a.since_ns != b.since_ns ? a.since_ns < b.since_ns : b.number > a.number;
            };
            auto oldest = std::min_element(strangers_.begin(), strangers_.end(), older);
            const bool full = strangers_.size() >= limits_.strangers;
            const bool may_drop = oldest != strangers_.end() && now_ns - oldest->since_ns >= limits_.grace_ns;
            if (full && !may_drop) return;
            unique_fd socket = accept_socket(listener);
            if (!socket && errno == ECONNABORTED) continue;
            const bool is_short = !socket && is_shortage(errno);
            if (is_short && strangers_.empty()) ++shortages_;
            if (!socket && (!is_short || !may_drop)) return;
            if (full || !socket) {
                ::close(oldest->descriptor);
                if (&*oldest != &strangers_.back()) *oldest = std::move(strangers_.back());
                strangers_.pop_back();
                ++turned_away_;
                if (!socket) continue;
            }
            if (listener == near_.get())
                set_near_buffers(socket.get(), limits_.socket_bytes); // accepted sockets do not inherit them
            stranger s;
            s.number = ++numbers_;
            s.since_ns = now_ns;
            s.session = session_type(settings_, io_, socket.get(), true);
            s.descriptor = socket.release();
            strangers_.push_back(std::move(s));
        }
    }

    // Sends the greeting once the channel is open. False: that will never be possible.
    bool greet(stranger& s) {
        const errc opened = s.session.open();
        if (opened != errc::ok) return opened == errc::would_block;
        nonce made{};
        s.greeted = nonce_of(s.number, made) && s.session.send(make_greeting(made));
        return s.greeted;
    }

    // True: it is no stranger any more.
    template <AcceptorHost<session_type> Host>
    bool hear(stranger& s, std::uint64_t now_ns, Host& host) {
        bool in = s.greeted || greet(s);
        if (s.greeted) {
            const int got = s.session.receive(std::span(s.said).subspan(s.got));
            if (got > 0) s.got += static_cast<std::uint32_t>(got);
            in &= got >= 0;
        }
        // What has come counts, however late this rank looks at it.
        const bool whole = s.got == s.said.size();
        in &= whole || now_ns - s.since_ns < limits_.stranger_timeout_ns;
        // A connection that begins with other bytes is not from bough.
        for (std::size_t i = 0; i != std::min<std::size_t>(s.got, 8); ++i)
            in &= s.said[i] == static_cast<std::byte>(handshake_layout::magic[i]);
        if (in && !whole) return false;
        guests_.reserve(guests_.size() + 1);
        unique_fd socket(s.descriptor);
        nonce accepting{}, connecting{};
        introduction who;
        job_key key = key_;
        if (!in || !s.session.template bind<M>(key) || !nonce_of(s.number, accepting) ||
            !check_proof<M>(key, who_, accepting, s.said, who, connecting)) {
            ++turned_away_;
            return true;
        }
        const tcp_verdict said = host.judge(who.from);
        answer_message answer{};
        if (!make_answer<M>(key, who, accepting, connecting, {said, who_.window_kib}, answer) ||
            !s.session.send(answer))
            return true;
        if (said == tcp_verdict::welcome) {
            stop_calling(who.from);
            dismiss(who.from); // closes its earlier connection, which it has given up
            const bool watched = watch_.is_open() && watch_.add(socket.get());
            guests_.push_back({who.from, who.window_kib, now_ns, watched, std::move(socket), std::move(s.session)});
        }
        return true;
    }

    // True: it is no guest any more.
    template <AcceptorHost<session_type> Host>
    bool settle(guest& g, Host& host) {
        const int got = g.session.receive(std::span(g.said).subspan(g.got));
        if (got > 0) g.got += static_cast<std::uint32_t>(got);
        if (got >= 0 && g.got != g.said.size()) return false;
        watch_.remove(g.socket.get());
        if (got < 0 || g.said != make_seal()) {
            g.socket.reset();
            return true;
        }
        host.attach(g.from, std::move(g.socket), std::move(g.session), g.window_kib);
        return true;
    }
    void dismiss(rank_t from) {
        for (const guest& g : guests_)
            if (g.from == from) watch_.remove(g.socket.get());
        std::erase_if(guests_, [from](const guest& g) { return g.from == from; });
    }

    // Called when a call by a near name comes to a stage. If it does so for the first time, its
    // time starts anew.
    void come_to(caller& c, stage now_at, std::uint64_t now_ns) const noexcept {
        if (!c.near || c.furthest >= now_at) return;
        c.furthest = now_at;
        c.near_until_ns = deadline_after(now_ns, limits_.near_ns);
    }
    // True: this call is over.
    template <AcceptorHost<session_type> Host>
    bool move_on(caller& c, std::uint64_t now_ns, Host& host) {
        const auto late = [&] { return c.furthest != stage::begun && now_ns >= c.near_until_ns; };
        if (!c.socket) {
            if (now_ns < c.retry_ns) return false;
            if (late()) c.name = {};
            c.socket = connect_nearby(c.name, limits_.socket_bytes);
            c.near = static_cast<bool>(c.socket);
            if (!c.near) c.socket = open_socket(c.at.protocol().family());
            if (!c.socket) {
                ++shortages_;
                return fail(c, now_ns, errc::no_resources, host);
            }
            if (!c.near) set_socket_buffers(c.socket.get(), limits_.socket_bytes);
            come_to(c, stage::reached, now_ns);
            c.got = 0;
            c.proved = false;
            c.session = session_type(settings_, io_, c.socket.get(), false);
            if (!c.near && ::connect(c.socket.get(), c.at.data(), static_cast<socklen_t>(c.at.size())) != 0 &&
                errno != EINPROGRESS && errno != EINTR)
                return fail(c, now_ns, errc::peer_dead, host);
        }
        // If nobody listens yet, and the port is one that the kernel also gives to connecting
        // sockets, a socket can connect to itself.
        if (!c.proved && !c.near && local_address(c.socket.get()) == c.at)
            return fail(c, now_ns, errc::peer_dead, host);
        // What has come counts, however late this rank looks at it.
        const auto wait_on = [&] { return c.near && late() && fail(c, now_ns, errc::deadline, host); };
        const errc opened = c.session.open();
        if (opened == errc::would_block) return wait_on();
        if (opened != errc::ok) return fail(c, now_ns, opened, host);
        come_to(c, stage::opened, now_ns);
        const std::size_t due = c.proved ? answer_bytes : greeting_bytes;
        const int got = c.session.receive(std::span(c.heard).first(due).subspan(c.got));
        if (got < 0) {
            const bool refused = c.session.accused() || (c.proved && !c.near);
            return fail(c, now_ns, refused ? errc::protocol_error : errc::peer_dead, host);
        }
        c.got += static_cast<std::uint32_t>(got);
        if (c.got != due) return wait_on();
        introduction who = who_;
        who.from = who_.to;
        who.to = c.to;
        c.got = 0;
        job_key key = key_;
        if (!c.session.template bind<M>(key)) return fail(c, now_ns, errc::no_resources, host);
        if (!c.proved) {
            greeting_message greeting{};
            std::copy_n(c.heard.begin(), greeting.size(), greeting.begin());
            proof_message proof{};
            if (!read_greeting(greeting, c.accepting) || !M::random(c.connecting) ||
                !make_proof<M>(key, who, c.accepting, c.connecting, proof))
                return fail(c, now_ns, errc::protocol_error, host);
            come_to(c, stage::greeted, now_ns);
            if (!c.session.send(proof)) return fail(c, now_ns, errc::peer_dead, host); // it has given up waiting
            c.proved = true;
            return false;
        }
        tcp_answer said;
        if (!check_answer<M>(key, who, c.accepting, c.connecting, c.heard, said))
            return fail(c, now_ns, errc::protocol_error, host);
        if (said.verdict == tcp_verdict::taken) return fail(c, now_ns, errc::ok, host);
        if (!c.session.send(make_seal())) return fail(c, now_ns, errc::peer_dead, host);
        host.attach(c.to, std::move(c.socket), std::move(c.session), said.window_kib);
        return true;
    }
    // Tries again later, unless the host says not to. True: this call is over.
    template <AcceptorHost<session_type> Host>
    bool fail(caller& c, std::uint64_t now_ns, errc why, Host& host) {
        if (!c.near && c.session.accused() && c.refusals++ == 0) c.refused_ns = now_ns;
        c.session = session_type();
        c.socket.reset();
        c.retry_ns = now_ns + c.pause_ns;
        c.pause_ns = std::min<std::uint64_t>(2 * c.pause_ns, 50'000'000);
        if (c.near) { // this says nothing about the rank itself
            if (why == errc::protocol_error) c.name = {};
            return false;
        }
        if (c.fault != errc::protocol_error) c.fault = why; // the impostor may be gone at the next try
        return why != errc::ok && host.unreachable(c.to);
    }

    introduction who_;
    job_key key_;
    door_limits limits_;
    typename Channel::settings& settings_;
    boost::asio::io_context& io_;
    std::array<std::byte, mac_bytes> secret_{};
    unique_fd listener_, near_;
    tcp_watch watch_; // watches these two, and the guests
    std::vector<stranger> strangers_;
    std::vector<guest> guests_;
    std::vector<caller> callers_;
    std::uint64_t now_ns_ = 0; // of the last step
    std::uint64_t numbers_ = 0;
    std::uint64_t turned_away_ = 0;
    std::uint64_t shortages_ = 0;
};

} // namespace bough::detail

#endif
