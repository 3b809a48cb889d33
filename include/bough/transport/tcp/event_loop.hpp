// SPDX-License-Identifier: BSL-1.0
// tcp_event_loop: decides which links each poll reads, and sleeps until a socket is ready.
//
// A link is hot or cold. Every poll reads the hot links directly, without asking whether there is
// something. A link that had nothing for a while becomes cold: the event loop watches it and says
// when to read it again. While the rank sleeps, all links are cold.
//
// A take reads its link between two polls, perhaps a cold one. What comes behind it may lie in the link
// already, in memory of TLS for example, and no socket tells of that. So such a link is hot again.
#ifndef BOUGH_TRANSPORT_TCP_EVENT_LOOP_HPP
#define BOUGH_TRANSPORT_TCP_EVENT_LOOP_HPP

#include <bough/core/config.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/asio_config.hpp>
#include <bough/transport/tcp/link.hpp>
#include <bough/transport/tcp/stream.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// `Link`: a tcp_link.
template <class Link>
class tcp_event_loop {
public:
    explicit tcp_event_loop(rank_t ranks) { hot_.reserve(ranks); }
    tcp_event_loop(const tcp_event_loop&) = delete;
    tcp_event_loop& operator=(const tcp_event_loop&) = delete;

    boost::asio::io_context& io() noexcept { return io_; }
    // Memory for the handlers of one link, for as long as the loop lives.
    wake_rooms& new_rooms() { return *rooms_.emplace_back(std::make_unique<wake_rooms>()); }

    // The links that a poll reads. The loop must outlive them.
    const std::vector<Link*>& hot() const noexcept { return hot_; }
    void add(Link& link) { hot_.push_back(&link); }
    // The i-th hot link becomes cold, or is left out if it is not open. Another one takes its place.
    void cool(std::size_t i) {
        listen_to(*hot_[i]);
        hot_[i] = hot_.back();
        hot_.pop_back();
    }
    // All hot links become cold. False: some hold a message that must be looked at again soon, and
    // stay hot.
    bool cool_all() {
        bool all = true;
        std::erase_if(hot_, [&](Link* link) {
            if (link->in.blocked()) return all = false;
            listen_to(*link);
            return link->heat == tcp_heat::cold;
        });
        return all;
    }
    // The link becomes hot, though its socket says nothing.
    void recall(Link& link) {
        if (link.heat != tcp_heat::cold) return;
        link.heat = tcp_heat::recalled;
        link.misses = 0;
        hot_.push_back(&link);
    }
    // A link has more to read than the last poll has read of it.
    bool has_more() const noexcept {
        return std::any_of(hot_.begin(), hot_.end(),
                           [](const Link* link) { return link->open && link->in.has_more(); });
    }
    // The next poll reads another link first.
    void rotate() {
        if (hot_.size() > 1) std::rotate(hot_.begin(), hot_.begin() + 1, hot_.end());
    }
    // To be called before a link's socket is closed.
    void forget(Link& link) noexcept {
        if (link.heat != tcp_heat::hot) --watched_;
        link.heat = tcp_heat::hot;
    }

    // Wakes the loop when there is room for what the link has to write.
    void wait_for_room(Link& link) {
        if (link.waiting || !link.open || !link.has_to_write()) return;
        link.waiting = true;
        link.stream.socket().async_wait(tcp_stream::socket_type::wait_write,
                                        wake_up{this, &link, &link.rooms.write, true});
    }
    // Wakes the loop, once, when the acceptor's descriptor becomes readable.
    void listen_to_acceptor(int descriptor) {
        if (!bell_.is_open()) {
            boost::system::error_code error;
            bell_.assign(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0), error);
        }
        if (bell_.is_open() && !std::exchange(at_bell_, true))
            bell_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                             [this](const boost::system::error_code& error) {
                                 if (error) return;
                                 at_bell_ = false;
                                 rang_ = true;
                             });
    }
    // The acceptor's descriptor has become readable since has_rung() last said so.
    bool has_rung() const noexcept { return rang_; }
    void stop_ringing() noexcept { rang_ = false; }

    // The loop watches something: turn() may find out more than a poll of the hot links does.
    bool is_watching() const noexcept { return watched_ != 0 || at_bell_; }
    // Runs once, and waits for at most this long; 0: does not wait.
    void turn(std::uint64_t most_ns) {
        ++turns_;
        if (most_ns != 0) io_.run_one_for(std::chrono::nanoseconds(most_ns));
        io_.poll();
    }
    std::uint64_t turns() const noexcept { return turns_; }

    // A forked child shares the kernel's event queue with its parent, and must not take the
    // parent's sockets out of it.
    BOUGH_COLD void part_from_parent() noexcept {
        // Without a new queue the parent may be told of events late.
        ignore_exceptions([this] { io_.notify_fork(boost::asio::io_context::fork_child); });
    }

private:
    struct wake_up {
        using allocator_type = wake_allocator<void>;
        tcp_event_loop* self;
        Link* link;
        wake_room* room; // needed even after the link is gone
        bool to_write;
        allocator_type get_allocator() const noexcept { return allocator_type(room); }
        void operator()(const boost::system::error_code& error) const {
            if (error == boost::asio::error::operation_aborted) return;
            if (to_write) {
                link->waiting = false;
            } else if (link->heat != tcp_heat::hot) {
                if (link->heat == tcp_heat::cold) self->hot_.push_back(link);
                link->heat = tcp_heat::hot;
                link->misses = 0;
                --self->watched_;
            }
        }
    };

    void listen_to(Link& link) {
        if (!link.open) return;
        if (std::exchange(link.heat, tcp_heat::cold) != tcp_heat::hot) return;
        ++watched_;
        link.stream.socket().async_wait(tcp_stream::socket_type::wait_read,
                                        wake_up{this, &link, &link.rooms.read, false});
    }

    std::vector<std::unique_ptr<wake_rooms>> rooms_; // outlive io_
    boost::asio::io_context io_{BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{io_.get_executor()};
    boost::asio::posix::stream_descriptor bell_{io_}; // the acceptor's descriptor
    bool at_bell_ = false;                            // the loop watches bell_
    bool rang_ = false;
    std::vector<Link*> hot_;
    std::size_t watched_ = 0; // how many links it listens to
    std::uint64_t turns_ = 0;
};

} // namespace bough::detail

#endif
