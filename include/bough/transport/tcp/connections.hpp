// SPDX-License-Identifier: BSL-1.0
// tcp_connections: the transport over all connections of one rank: it sends over the link of each
// peer, and polls the links for what comes.
#ifndef BOUGH_TRANSPORT_TCP_CONNECTIONS_HPP
#define BOUGH_TRANSPORT_TCP_CONNECTIONS_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/os/clock.hpp>
#include <bough/os/fd.hpp>
#include <bough/os/forks.hpp>
#include <bough/transport/detail/due_events.hpp>
#include <bough/transport/tcp/channel.hpp>
#include <bough/transport/tcp/event_loop.hpp>
#include <bough/transport/tcp/goodbye.hpp>
#include <bough/transport/tcp/identity.hpp>
#include <bough/transport/tcp/link.hpp>
#include <bough/transport/tcp/links.hpp>
#include <bough/transport/tcp/mac.hpp>
#include <bough/transport/tcp/membership.hpp>
#include <bough/transport/tcp/memory.hpp>
#include <bough/transport/tcp/options.hpp>
#include <bough/transport/tcp/unsent.hpp>
#include <bough/transport/tcp/watch.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <Mac M, class Channel = plain_channel>
class tcp_connections {
public:
    using settings_type = typename Channel::settings;
    using link_type = tcp_link<typename Channel::stream>;
    using membership_type = tcp_membership<M, Channel>;

    // Copies only numeric options; the private key is not kept.
    tcp_connections(const tcp_group& group, const job_key& key, const tcp_options& options, settings_type&& settings)
        : memory_(options.unexpected_bytes, options.unexpected_bytes / std::max<rank_t>(ranks_of(group), 1)),
          loop_(ranks_of(group)), mine_{{group.job, ranks_of(group), no_rank, group.rank, window_of(options)},
                                        key,
                                        std::move(settings),
                                        loop_.io()},
          unsent_(ranks_of(group)), links_(ranks_of(group), {options.unexpected_bytes_per_peer, window_of(options)},
                                           memory_, loop_, unsent_, watch_, ends_),
          membership_(group, mine_, options, links_), linger_ns_(options.linger_ns),
          before_sleep_(size() > cores() ? turns{0, 16} : turns{300, 0}) {}
    tcp_connections(const tcp_connections&) = delete;
    tcp_connections& operator=(const tcp_connections&) = delete;
    ~tcp_connections() {
        if (!forked())
            say_goodbye(links_.all(), linger_ns_);
        else
            loop_.part_from_parent();
    }

    rank_t rank() const noexcept { return membership_.rank(); }
    rank_t size() const noexcept { return links_.size(); }
    std::uint32_t cores() const noexcept { return membership_.cores(); }
    bool forked() const noexcept { return forks() != forks_; }
    membership_type& membership() noexcept { return membership_; }
    const membership_type& membership() const noexcept { return membership_; }

    // Begins to accept connections. membership().meet() comes next.
    status open(unique_fd listener, unique_fd near) {
        if (const status bad = membership_.open(std::move(listener), std::move(near))) return bad;
        if (membership_.is_lazy()) loop_.listen_to_acceptor(membership_.descriptor());
        return {};
    }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (to >= size() || to == rank() || links_.is_lost(to) || forked()) return posted::failed;
        if (links_.is_new(to)) {
            membership_.connect(to);
            return posted::would_block;
        }
        link_type& link = links_[to];
        ends_.make_room();
        const posted result = link.out.post(link.stream, tag, bytes, id);
        if (result == posted::pending) ends_.expect();
        unsent_.add(link); // even if nothing waits: the next poll then begins a new turn
        return result;
    }

    // If memory runs out, whatever needs it is tried again later. Only a poll that has nothing to hand over
    // throws.
    std::size_t poll(std::span<event> events) {
        if (forked()) return 0;
        ++polls_;
        bool is_poor = false;
        if (!unsent_.empty()) is_poor = !unsent_.write(ends_);
        if (membership_.is_lazy() && (membership_.is_busy() || loop_.has_rung() || polls_ % 64 == 0)) {
            loop_.stop_ringing();
            is_poor |= !has_memory([this] { membership_.step(steady_now_ns()); });
        }
        if (loop_.is_watching() && (loop_.hot().empty() || polls_ % 8 == 0)) loop_.turn(0);
        std::size_t found = 0;
        if (!ends_.empty()) found += ends_.hand_over(events);
        if (found == events.size()) return found;
        for (std::size_t i = 0; i < loop_.hot().size();) {
            bool is_cool = false;
            is_poor |= !has_memory([&] { is_cool = read(*loop_.hot()[i], events, found); });
            if (is_cool)
                loop_.cool(i);
            else
                ++i;
            if (found == events.size()) {
                loop_.rotate(); // each link gets its turn
                return found;
            }
        }
        if (!ends_.empty()) found += ends_.hand_over(events.subspan(found));
        if (is_poor && found == 0) tell_lack();
        return found;
    }

    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        if (forked()) return posted::failed;
        tcp_arrival* a = memory_.find(handle);
        if (a == nullptr || a->bytes != into.size() || a->at == tcp_arrival::place::void_) return posted::failed;
        if (a->at == tcp_arrival::place::stream) {
            link_type& link = links_[a->peer];
            loop_.recall(link);
            ends_.make_room();
            const posted result = link.in.take(link.stream, into, id);
            if (result == posted::pending) ends_.expect();
            return result;
        }
        if (!into.empty()) std::memcpy(into.data(), a->data, into.size());
        use_up(handle, a->peer);
        return posted::complete;
    }
    void release(std::uint64_t handle) {
        if (forked()) return;
        tcp_arrival* a = memory_.find(handle);
        if (a == nullptr) return;
        if (a->at == tcp_arrival::place::stream) {
            loop_.recall(links_[a->peer]);
            links_[a->peer].in.release();
        } else {
            use_up(handle, a->peer);
        }
    }

    errc cancel(std::uint64_t id) {
        if (forked()) return errc::forked_child;
        for (const auto& link : links_.all()) {
            if (!link || !link->open) continue;
            bool went_out = false;
            const bool sent = link->out.cancel(id, went_out);
            if (!sent && !link->in.cancel(id)) continue;
            ends_.complete(id, went_out ? errc::ok : errc::cancelled, link->peer);
            return errc::ok;
        }
        // It may have ended, but the caller does not know yet.
        return ends_.has_completed(id) ? errc::ok : errc::invalid_argument;
    }

    // If each rank has a core, it returns at once for a while, so that the caller spins. Otherwise it yields
    // the core a few times, to ranks that may have something to send: to wake a rank that sleeps would cost
    // them more. Then it sleeps until a socket is ready.
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        if (forked() || !ends_.empty() || loop_.has_more()) return;
        if (idle <= before_sleep_.spins) return;
        if (idle <= before_sleep_.yields && (deadline_ns == 0 || steady_now_ns() < deadline_ns)) return yield();
        std::uint64_t most_ns = 50'000'000;
        // poll() will soon read what stays hot, or give up waiting.
        if (!loop_.cool_all()) most_ns = 200'000;
        for (link_type* link : unsent_.links()) loop_.wait_for_room(*link);
        if (membership_.is_lazy()) loop_.listen_to_acceptor(membership_.descriptor());
        if (membership_.is_lazy() && membership_.is_busy()) most_ns = std::min<std::uint64_t>(most_ns, 500'000);
        const std::uint64_t now = steady_now_ns();
        // A caller whose deadline is still 0 does not know it yet, and must look at the clock soon.
        most_ns = std::min<std::uint64_t>(most_ns, deadline_ns == 0    ? 1'000'000
                                                   : deadline_ns > now ? deadline_ns - now
                                                                       : 0);
        loop_.turn(most_ns);
    }

    // wait() sleeps in Asio's event loop. This descriptor is for callers that sleep elsewhere
    // (DescriptorTransport).
    int descriptor() {
        if (watch_.is_open()) return watch_.get();
        bool all = watch_.open();
        for (const auto& link : links_.all())
            if (link && link->open) all &= watch_.add(link->stream.socket().native_handle());
        if (membership_.is_lazy() && all) all = watch_.add(membership_.descriptor());
        if (!all) watch_ = {};
        return watch_.get();
    }
    bool arm() {
        if (forked() || !ends_.empty() || (membership_.is_lazy() && membership_.is_busy())) return false;
        for (const auto& link : links_.all()) {
            if (!link || !link->open) continue;
            if (link->in.is_impatient() || link->in.has_more()) return false;
            if (link->in.window().owes_credit() && !link->has_to_write() && !link->out.broken())
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
        if (loop_.is_watching()) loop_.turn(0); // finds out which cold link was ready
    }

    // For GatheringTransport. What is counted are frames; a frame is handed over when the kernel
    // has it.
    void flush() {
        if (!unsent_.empty() && !forked()) unsent_.write(ends_);
    }
    bool unsent() const noexcept { return unsent_.any() && !forked(); }
    std::uint64_t accepted(rank_t to) const noexcept { return links_.is_open(to) ? links_[to].out.accepted() : 0; }
    std::uint64_t handed_over(rank_t to) noexcept {
        // Nothing is held for a lost rank.
        return links_.is_open(to) ? links_[to].handed_over() : ~std::uint64_t{0};
    }

    std::uint64_t window_at(rank_t peer) const noexcept {
        return links_.is_open(peer) ? links_[peer].out.window() : window_bytes(least_window_kib);
    }

    std::uint64_t system_calls() const noexcept {
        std::uint64_t sum = loop_.turns();
        for (const auto& link : links_.all())
            if (link) sum += link->stream.calls();
        return sum;
    }
    std::uint64_t unexpected_bytes() const noexcept { return memory_.used(); }

private:
    struct turns { // how many polls may find nothing before wait() sleeps
        std::uint32_t spins, yields;
    };
    // After that, the next poll finds what any link has: most polls read the hot links alone. If there are
    // many hot links, one question to the event loop is cheaper than a read of each.
    void yield() {
        if (loop_.hot().size() > 4) loop_.cool_all();
        std::this_thread::yield();
        if (loop_.is_watching()) loop_.turn(0);
    }
    static rank_t ranks_of(const tcp_group& group) noexcept { return static_cast<rank_t>(group.addresses.size()); }
    static std::uint32_t window_of(const tcp_options& options) noexcept {
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(options.unexpected_bytes_per_peer >> 10, ~0u));
    }

    // Runs f. False: memory has run out.
    template <class F>
    static bool has_memory(const F& f) noexcept {
        bool is_done = false;
        ignore_exceptions([&] { f(), is_done = true; });
        return is_done;
    }
    // Throws if there is still none.
    BOUGH_COLD static void tell_lack() { ::operator delete(::operator new(tcp_chunk::capacity)); }
    // Reads a hot link, and counts in `found` the events that it adds to `events`. True: the link
    // shall become cold. Pre: `events` has room.
    bool read(link_type& link, std::span<event> events, std::size_t& found) {
        bool moved = false;
        if (link.open) found += link.in.poll(link.stream, events.subspan(found), ends_, moved);
        if (!link.out.credit(link.in.credit())) link.in.report_protocol_error();
        if (link.open && link.in.ended() && found != events.size()) links_.lose(link, events[found++]);
        if (link.in.window().owes_credit()) unsent_.add(link);
        // If `events` is full, the link may hold more that has been read already, so it stays hot.
        link.misses = moved || found == events.size() ? 0 : link.misses + 1;
        // With few links, reading them is cheaper than asking the event loop.
        return !link.open || (loop_.hot().size() > 2 && link.misses > 16 && !link.in.blocked());
    }
    void use_up(std::uint64_t handle, rank_t peer) {
        memory_.remove(handle);
        if (link_type& link = links_[peer]; link.in.window().owes_credit()) unsent_.add(link);
    }

    tcp_memory memory_;
    tcp_event_loop<link_type> loop_;
    tcp_identity<Channel> mine_;
    due_events ends_;
    tcp_unsent<link_type> unsent_;
    tcp_watch watch_;
    tcp_links<Channel> links_;
    membership_type membership_;
    std::uint64_t linger_ns_;
    std::uint32_t forks_ = forks();
    turns before_sleep_;
    std::uint64_t polls_ = 0;
};

} // namespace bough::detail

#endif
