// SPDX-License-Identifier: BSL-1.0
// tcp_connections: all connections of one rank. Together they are the transport.
//
// A link is hot or cold. Every poll reads the hot links directly, without asking whether there is
// something. A link that had nothing for a while becomes cold: the event loop watches it and says
// when to read it again. While the rank sleeps, all links are cold.
#ifndef BOUGH_TRANSPORT_TCP_CONNECTIONS_HPP
#define BOUGH_TRANSPORT_TCP_CONNECTIONS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/tcp/acceptor.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/goodbye.hpp>
#include <bough/transport/tcp/link.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/options.hpp>
#include <bough/transport/tcp/watch.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
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
class tcp_connections {
public:
    using settings_type = typename Channel::settings;
    using session_type = typename Channel::session;
    using link_type = tcp_link<typename Channel::stream>;

    // Copies only numeric options; the private key is not kept.
    tcp_connections(const tcp_group& group, const job_key& key, const tcp_options& options, settings_type&& settings)
        : group_(group), settings_(std::move(settings)), eager_(options.eager_mesh), linger_ns_(options.linger_ns),
          most_per_peer_(options.unexpected_bytes_per_peer), memory_(options.unexpected_bytes),
          window_kib_(
              static_cast<std::uint32_t>(std::min<std::uint64_t>(options.unexpected_bytes_per_peer >> 10, ~0u))),
          door_({group.job, static_cast<rank_t>(group.addresses.size()), no_rank, group.rank, window_kib_}, key,
                {.strangers = options.strangers,
                 .stranger_timeout_ns = options.stranger_timeout_ns,
                 .near_ns = std::min(options.stranger_timeout_ns, options.timeout_ns / 4),
                 .socket_bytes = options.socket_bytes},
                settings_, io_),
          links_(group.addresses.size()), places_(group.addresses.size(), place::none) {
        spins_ = size() > cores() ? 0 : 300;
        hot_.reserve(size());
        dirty_.reserve(size());
        ends_.reserve(16);
    }
    tcp_connections(const tcp_connections&) = delete;
    tcp_connections& operator=(const tcp_connections&) = delete;
    ~tcp_connections() {
        if (!forked())
            ignore_exceptions([this] { say_goodbye(links_, linger_ns_); });
        else
            part_from_parent();
    }

    rank_t rank() const noexcept { return group_.rank; }
    rank_t size() const noexcept { return static_cast<rank_t>(links_.size()); }
    std::uint32_t cores() const noexcept { return group_.cores; }
    bool forked() const noexcept { return forks() != forks_; }

    // Opens the door (acceptor.hpp). In an eager group meet() then connects all pairs.
    status open(unique_fd listener, unique_fd near) {
        if (const status bad = door_.open(std::move(listener), std::move(near))) return bad;
        lazy_ = size() > eager_;
        if (lazy_) listen_at_door();
        for (rank_t r = 0; r != rank() && !lazy_; ++r) door_.call_on(r, group_.addresses[r], group_.names[r]);
        return {};
    }
    // Connects all pairs of an eager group, until `until_ns` at the longest. would_block: the rank
    // `peer` is missing.
    status meet(std::uint64_t until_ns) {
        for (std::uint64_t pause_us = 20; connected_ + 1 < size() && !lazy_;
             pause_us = std::min<std::uint64_t>(500, pause_us + 5)) {
            const std::uint64_t now = steady_now_ns();
            if (now >= until_ns) return {.code = errc::would_block, .peer = missing()};
            const rank_t before = connected_;
            door_.step(now, *this);
            if (shortages() != 0) return {.code = errc::no_resources};
            if (connected_ != before) continue;
            std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
        }
        if (door_.turned_away() != 0) strangers_ = door_.turned_away();
        if (!lazy_) door_.close(); // nobody else is expected
        return {};
    }

    rank_t missing() const noexcept { // Pre: there is one.
        rank_t r = 0;
        while (r == rank() || places_[r] == place::open) ++r;
        return r;
    }
    errc fault_of(rank_t r) const noexcept { return door_.fault_of(r); }
    rank_t refuser() const noexcept { return door_.refuser(connected_ != 0); }

    // --- The transport ---------------------------------------------------------------------------------------------

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank() || places_[to] == place::lost || forked()) return posted::failed;
        if (places_[to] == place::none) {
            door_.call_on(to, group_.addresses[to], group_.names[to]);
            return posted::would_block;
        }
        link_type& link = *links_[to];
        const posted result = link.out.post(link.stream, tag, bytes, id);
        touch(link); // even if nothing waits: the next poll then begins a new turn
        return result;
    }

    std::size_t poll(std::span<event> events) {
        if (forked()) return 0;
        ++polls_;
        if (!dirty_.empty()) write_out();
        if (lazy_ && (door_.busy() || knocked_ || polls_ % 64 == 0)) {
            knocked_ = false;
            door_.step(steady_now_ns(), *this);
        }
        if ((cold_ != 0 || at_door_) && (hot_.empty() || polls_ % 8 == 0)) turn(0);
        std::size_t found = 0;
        if (next_end_ != ends_.size()) found += hand_over(events);
        if (found == events.size()) return found;
        for (std::size_t i = 0; i < hot_.size();) {
            link_type& link = *hot_[i];
            bool moved = false;
            if (link.open) found += link.in.poll(link.stream, events.subspan(found), ends_, moved);
            if (!link.out.credit(link.in.credit())) link.in.report_protocol_error();
            if (link.open && link.in.ended() && found != events.size()) lose(link, events[found++]);
            if (link.in.owes_credit()) touch(link);
            // If `events` is full, the link may hold more that has been read already. No socket
            // would report that, so the link stays hot.
            link.misses = moved || found == events.size() ? 0 : link.misses + 1;
            // With few links, reading them is cheaper than asking the event loop.
            const bool cools = !link.open || (hot_.size() > 2 && link.misses > 16 && !link.in.blocked());
            if (cools) {
                if (link.open) listen_to(link);
                hot_[i] = hot_.back();
                hot_.pop_back();
            } else {
                ++i;
            }
            if (found == events.size()) {
                if (hot_.size() > 1) std::rotate(hot_.begin(), hot_.begin() + 1, hot_.end()); // each link gets its turn
                return found;
            }
        }
        if (next_end_ != ends_.size()) found += hand_over(events.subspan(found));
        return found;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        if (forked()) return posted::failed;
        tcp_arrival* a = memory_.find(handle);
        if (a == nullptr || a->bytes != into.size() || a->at == tcp_arrival::place::void_) return posted::failed;
        if (a->at == tcp_arrival::place::stream) {
            link_type& link = *links_[a->peer];
            return link.in.take(link.stream, into, id);
        }
        if (!into.empty()) std::memcpy(into.data(), a->data, into.size());
        use_up(handle, a->peer);
        return posted::complete;
    }
    void release(std::uint64_t handle) {
        if (forked()) return;
        tcp_arrival* a = memory_.find(handle);
        if (a == nullptr) return;
        if (a->at == tcp_arrival::place::stream)
            links_[a->peer]->in.release();
        else
            use_up(handle, a->peer);
    }

    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        for (const auto& link : links_) {
            if (!link || !link->open) continue;
            bool went_out = false;
            const bool sent = link->out.cancel(id, went_out);
            if (!sent && !link->in.cancel(id)) continue;
            ends_.push_back(end_of(id, went_out ? errc::ok : errc::cancelled, link->peer));
            return errc::ok;
        }
        for (std::size_t i = next_end_; i != ends_.size(); ++i) // it has ended, but the caller does not know yet
            if (ends_[i].what == event::kind::complete && ends_[i].id == id) return errc::ok;
        return errc::invalid_argument;
    }

    // Returns at once for a while if each rank has a core, so that the caller spins. Then sleeps
    // until a socket is ready.
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        if (idle < spins_ || forked() || next_end_ != ends_.size()) return;
        std::uint64_t most_ns = 50'000'000;
        for (link_type* link : hot_) {
            if (link->in.blocked())
                most_ns = std::min<std::uint64_t>(most_ns, 200'000); // poll() will soon read it or give up waiting
            else
                listen_to(*link);
        }
        std::erase_if(hot_, [](const link_type* link) { return link->listening; });
        for (link_type* link : dirty_) wait_for_room(*link);
        if (lazy_) listen_at_door();
        if (lazy_ && door_.busy()) most_ns = std::min<std::uint64_t>(most_ns, 500'000);
        const std::uint64_t now = steady_now_ns();
        // A caller whose deadline is still 0 does not know it yet, and must look at the clock soon.
        most_ns = std::min<std::uint64_t>(most_ns, deadline_ns == 0    ? 1'000'000
                                                   : deadline_ns > now ? deadline_ns - now
                                                                       : 0);
        turn(most_ns);
    }

    // wait() sleeps in Asio's event loop. This descriptor is for callers that sleep elsewhere
    // (DescriptorTransport).
    int descriptor() {
        if (watch_.is_open()) return watch_.get();
        bool all = watch_.open();
        for (const auto& link : links_)
            if (link && link->open) all &= watch_.add(link->stream.socket().native_handle());
        if (lazy_ && all) all = watch_.add(door_.listener());
        if (!all) watch_ = {};
        return watch_.get();
    }
    bool arm() {
        if (forked() || next_end_ != ends_.size() || (lazy_ && door_.busy())) return false;
        for (const auto& link : links_) {
            if (!link || !link->open) continue;
            if (link->in.is_impatient()) return false;
            if (link->in.owes_credit() && !link->has_to_write() && !link->out.broken())
                return false; // the next poll sends it
            const bool to_write = link->has_to_write();
            if (to_write || link->in.blocked())
                watch_.ask(link->stream.socket().native_handle(), !link->in.blocked(), to_write);
        }
        return true;
    }
    void disarm() {
        if (forked()) return;
        watch_.calm();
        if (cold_ != 0 || at_door_) turn(0); // finds out which cold link was ready
    }

    // For GatheringTransport. What is counted are frames; a frame is handed over when the kernel
    // has it.
    void flush() {
        if (!dirty_.empty() && !forked()) write_out();
    }
    bool unsent() const noexcept {
        const auto has_some = [](const link_type* link) { return link->open && link->has_to_write(); };
        return std::any_of(dirty_.begin(), dirty_.end(), has_some) && !forked();
    }
    std::uint64_t accepted(rank_t to) const noexcept {
        return places_[to] == place::open ? links_[to]->out.accepted() : 0;
    }
    std::uint64_t handed_over(rank_t to) noexcept {
        return places_[to] == place::open ? links_[to]->handed_over()
                                          : ~std::uint64_t{0}; // nothing is held for a lost rank
    }

    std::uint64_t system_calls() const noexcept {
        std::uint64_t sum = calls_;
        for (const auto& link : links_)
            if (link) sum += link->stream.calls();
        return sum;
    }
    std::uint64_t unexpected_bytes() const noexcept { return memory_.used(); }
    // How many connections failed because descriptors or memory had run out.
    std::uint64_t shortages() const noexcept { return shortages_ + door_.shortages(); }
    std::uint64_t strangers_turned_away() const noexcept { return strangers_ + (lazy_ ? door_.turned_away() : 0); }

    // --- For the door ------------------------------------------------------------------------------------------------

    tcp_verdict judge(rank_t from) const noexcept {
        if (places_[from] != place::none) return tcp_verdict::taken;
        // If both ranks call, the pair keeps the connection that the higher rank makes.
        return door_.is_connected(from) && rank() > from ? tcp_verdict::taken : tcp_verdict::welcome;
    }
    void attach(rank_t peer, unique_fd socket, session_type session, std::uint32_t window_kib) {
        const int family = family_of(socket.get()), protocol = family == AF_UNIX ? 0 : IPPROTO_TCP;
        if (protocol != 0) set_socket_option(socket.get(), protocol, TCP_NODELAY, 1);
        tcp_stream::socket_type made(io_);
        boost::system::error_code error;
        made.assign({family, protocol}, socket.get(), error);
        if (error || (watch_.is_open() && !watch_.add(socket.get()))) { // no room in the event queue of the kernel
            ++shortages_;
            return report_lost(peer, errc::no_resources);
        }
        (void)socket.release();
        made.non_blocking(true, error);
        links_[peer] = std::make_unique<link_type>(Channel::make_stream(std::move(made), std::move(session)),
                                                   *rooms_.emplace_back(std::make_unique<wake_rooms>()), memory_, peer,
                                                   most_per_peer_, window_bytes(window_kib_), window_bytes(window_kib));
        places_[peer] = place::open;
        ++connected_;
        hot_.push_back(links_[peer].get());
        if (links_[peer]->has_to_write()) touch(*links_[peer]);
    }
    bool unreachable(rank_t peer) {
        if (!lazy_ || steady_now_ns() < group_.patience_ns) return false;
        if (places_[peer] != place::none) return true;
        report_lost(peer, door_.fault_of(peer));
        return true;
    }

private:
    enum class place : std::uint8_t { none, open, lost };

    struct wake_up {
        using allocator_type = wake_allocator<void>;
        tcp_connections* self;
        link_type* link;
        wake_room* room; // needed even after the link is gone
        bool to_write;
        allocator_type get_allocator() const noexcept { return allocator_type(room); }
        void operator()(const boost::system::error_code& error) const {
            if (error == boost::asio::error::operation_aborted) return;
            if (to_write) {
                link->waiting = false;
            } else {
                link->listening = false;
                link->misses = 0;
                --self->cold_;
                self->hot_.push_back(link);
            }
        }
    };

    static event end_of(std::uint64_t id, errc code, rank_t peer) {
        event e;
        e.what = event::kind::complete;
        e.code = code;
        e.peer = peer;
        e.id = id;
        return e;
    }

    // Reports the loss of a rank to which there is no connection.
    BOUGH_COLD void report_lost(rank_t peer, errc why) {
        places_[peer] = place::lost;
        event e;
        e.what = event::kind::lost;
        e.code = why;
        e.peer = peer;
        ends_.push_back(e);
    }

    void touch(link_type& link) {
        if (std::exchange(link.dirty, true)) return;
        dirty_.push_back(&link);
    }
    void use_up(std::uint64_t handle, rank_t peer) {
        memory_.remove(handle);
        if (link_type& link = *links_[peer]; link.in.owes_credit()) touch(link);
    }

    void listen_to(link_type& link) {
        if (link.listening || !link.open) return;
        link.listening = true;
        ++cold_;
        link.stream.socket().async_wait(tcp_stream::socket_type::wait_read,
                                        wake_up{this, &link, &link.rooms.read, false});
    }
    void wait_for_room(link_type& link) {
        if (link.waiting || !link.open || !link.has_to_write()) return;
        link.waiting = true;
        link.stream.socket().async_wait(tcp_stream::socket_type::wait_write,
                                        wake_up{this, &link, &link.rooms.write, true});
    }
    void listen_at_door() {
        if (!bell_.is_open()) {
            boost::system::error_code error;
            bell_.assign(::fcntl(door_.listener(), F_DUPFD_CLOEXEC, 0), error);
        }
        if (bell_.is_open() && !std::exchange(at_door_, true))
            bell_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [this](const boost::system::error_code& error) {
                                 if (error) return;
                                 at_door_ = false;
                                 knocked_ = true;
                             });
    }

    // Runs the event loop once and waits for at most this long; 0: does not wait.
    void turn(std::uint64_t most_ns) {
        ++calls_;
        if (most_ns != 0) io_.run_one_for(std::chrono::nanoseconds(most_ns));
        io_.poll();
    }

    void write_out() {
        std::size_t kept = 0;
        for (link_type* link : dirty_) {
            link->out.new_turn();
            if (link->open && link->in.owes_credit() && link->out.give_credit(link->in.used_up()))
                link->in.credit_given();
            if (link->open) link->flush([&](std::uint64_t id) { ends_.push_back(end_of(id, errc::ok, link->peer)); });
            if (link->open && link->has_to_write())
                dirty_[kept++] = link;
            else
                link->dirty = false;
        }
        dirty_.resize(kept);
    }

    std::size_t hand_over(std::span<event> events) {
        std::size_t n = 0;
        while (n != events.size() && next_end_ != ends_.size()) events[n++] = ends_[next_end_++];
        if (next_end_ == ends_.size()) {
            ends_.clear();
            next_end_ = 0;
        }
        return n;
    }

    BOUGH_COLD void lose(link_type& link, event& e) {
        e = {};
        e.what = event::kind::lost;
        e.code = link.in.fault();
        e.peer = link.peer;
        link.in.drop(ends_);
        link.out.drop([&](std::uint64_t id) { ends_.push_back(end_of(id, errc::peer_dead, link.peer)); });
        boost::system::error_code error;
        watch_.remove(link.stream.socket().native_handle());
        link.stream.socket().close(error);
        if (link.listening) --cold_;
        link.open = link.listening = false;
        places_[link.peer] = place::lost;
        --connected_;
    }

    // A forked child shares the kernel's event queue with its parent, and must not take the
    // parent's sockets out of it.
    BOUGH_COLD void part_from_parent() noexcept {
        // Without a new queue the parent may be told of events late.
        ignore_exceptions([this] { io_.notify_fork(boost::asio::io_context::fork_child); });
    }

    tcp_group group_;
    settings_type settings_;
    rank_t eager_;
    std::uint64_t linger_ns_, most_per_peer_;
    std::uint32_t forks_ = forks();
    std::uint32_t spins_ = 0;
    tcp_memory memory_;
    std::uint32_t window_kib_; // this rank's window, which each peer is told
    std::vector<std::unique_ptr<wake_rooms>> rooms_;
    boost::asio::io_context io_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
    tcp_acceptor<M, Channel> door_;
    std::vector<std::unique_ptr<link_type>> links_; // by rank
    std::vector<place> places_;
    std::vector<link_type*> hot_, dirty_;
    std::vector<event> ends_; // from next_end_ on they are not handed over yet
    std::size_t next_end_ = 0;
    std::size_t cold_ = 0;
    rank_t connected_ = 0;
    std::uint64_t polls_ = 0;
    std::uint64_t calls_ = 0;
    std::uint64_t strangers_ = 0, shortages_ = 0;
    bool lazy_ = false;
    boost::asio::posix::stream_descriptor bell_{io_}; // readable when somebody is at a lazy group's door
    bool at_door_ = false;                            // the event loop watches bell_
    tcp_watch watch_;
    bool knocked_ = false;
};

} // namespace bough::detail

#endif
