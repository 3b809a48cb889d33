// SPDX-License-Identifier: BSL-1.0
// asio_driver, behind on_executor: while operations are in flight, it runs turns of their session
// as handlers of an executor.
//
// A turn polls, completes what has ended, and says when the next turn shall be: at once (posted, so
// that other handlers run in between), when the transport's descriptor is readable, or after a
// while. Of each kind at most one is waited for. When nothing is in flight, the waits are
// cancelled, and the executor has no handlers of the driver.
//
// A wait can fire before it is cancelled, while its handler runs only after a new wait has begun.
// The handler is then taken for that of the new wait. So a turn comes too early, and a second wait
// begins beside the new one. That does no harm, because a turn may come at any time.
#ifndef BOUGH_ASIO_DETAIL_DRIVER_HPP
#define BOUGH_ASIO_DETAIL_DRIVER_HPP

#include <bough/asio/detail/driven.hpp>
#include <bough/asio/detail/driver_registry.hpp>
#include <bough/asio/options.hpp>
#include <bough/os/asio_config.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/detail/config.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <fcntl.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <class Executor>
class asio_driver final : public std::enable_shared_from_this<asio_driver<Executor>>, private registered_driver {
public:
    asio_driver(const Executor& executor, const executor_options& options)
        : executor_(executor), options_(options), timer_(executor) {
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
        descriptor_.emplace(executor);
#endif
        registry_ =
            &boost::asio::use_service<driver_registry>(context_of(executor)); // after what it uses: it ends first
        registry_->add(*this);
    }
    ~asio_driver() {
        if (registry_ != nullptr) registry_->remove(*this);
    }
    asio_driver(const asio_driver&) = delete;
    asio_driver& operator=(const asio_driver&) = delete;

    const Executor& get_executor() const noexcept { return executor_; }

    // Sets the session to drive, once. The session is not kept alive.
    bool attached() const noexcept { return session_ != nullptr; }
    void attach(std::unique_ptr<driven_session> session) { session_ = std::move(session); }

    // Completes the waiter when its operation has ended. Throws what posting throws; then the
    // waiter has not been added.
    void add(driven_waiter& w) {
        schedule();
        w.next = waiters_;
        waiters_ = &w;
    }
    // Makes sure that there is a turn soon, if there is a session to drive. Throws what posting
    // throws.
    void schedule() {
        if (posted_ || dead_ || session_ == nullptr) return;
        posted_ = true;
        try {
            boost::asio::post(executor_, turn{this->shared_from_this(), cause::post});
        } catch (...) { // memory ran out: there is no turn under way, and the next call tries again
            posted_ = false;
            throw;
        }
    }
    // Called when the transport is used outside of a turn. That may leave something to be done that
    // the descriptor does not report: frames to be sent, events that are due.
    void interrupted() {
        if (armed_) [[unlikely]]
            wake();
    }
    // Called when the transport goes away: its session has ended.
    void close() noexcept {
        dead_ = true;
        armed_ = false;
        timer_.reset(); // cancels its wait
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
        descriptor_.reset();
#endif
    }

private:
    enum class cause : std::uint8_t { post, timer, descriptor };

    void wake() {
        armed_ = false;
        session_->disarm();
        try {
            schedule();
        } catch (...) { // memory ran out; the timer will still have a turn
        }
    }

    struct turn { // a handler
        std::shared_ptr<asio_driver> self;
        cause why;
        void operator()(const boost::system::error_code& error = {}) const { self->called(why, error); }
    };

    void called(cause why, const boost::system::error_code& error) {
        // Another one may be under way already.
        if (dead_ || error == boost::asio::error::operation_aborted) return;
        switch (why) {
        case cause::post: posted_ = false; break;
        case cause::timer: timing_ = false; break;
        case cause::descriptor: watching_ = false; break;
        }
        if (error) options_.use_descriptor = false; // the descriptor cannot be waited for here
        if (why != cause::timer && posted_) return; // the posted turn will do
        take_turn();
    }

    void take_turn() {
        const std::shared_ptr<void> alive = session_->lock();
        if (!alive) return;
        // If memory runs out and something throws, what is in flight must not be forgotten.
        struct again {
            asio_driver* self;
            ~again() {
                if (self == nullptr) return;
                try {
                    self->nap(1'000);
                } catch (...) { // no memory even for that: the next call of the communicator has a turn
                }
            }
        } on_exception{this};
        if (std::exchange(armed_, false)) session_->disarm();
        bool moved = false;
        for (int i = 0; i != 16 && session_->progress(); ++i) moved = true;
        idle_ = moved ? 0 : idle_ + 1;
        const bool tired = !moved && idle_ >= options_.polls;
        // Deadlines must be checked, however much traffic there is.
        if (++turns_ % 64 == 0 || tired) session_->check_deadlines(); // this may end operations
        complete_ended();
        if (dead_) {
            // What was in flight has ended, and the driver with it.
        } else if (waiters_ == nullptr && !session_->busy()) {
            idle_ = 0;
            stop_waiting();
        } else {
            tired ? sleep() : schedule();
        }
        on_exception.self = nullptr;
    }
    void complete_ended() {
        for (driven_waiter** link = &waiters_; *link != nullptr;) {
            driven_waiter& w = **link;
            if (!w.done()) {
                link = &w.next;
                continue;
            }
            *link = w.next;
            w.complete(); // posts the handler, and calls nothing here
        }
    }
    void sleep() {
        if (watch()) return nap(std::uint64_t{options_.tick_ms} * 1000);
        const std::uint64_t more = idle_ - options_.polls;
        nap(std::min<std::uint64_t>(options_.longest_nap_us, 5 + more));
    }
    void nap(std::uint64_t us) {
        if (dead_) return;
        const auto due = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
        if (timing_ && timer_->expiry() <= due) return;
        timing_ = false; // it stays so if one of these throws
        timer_->expires_at(due);
        timer_->async_wait(turn{this->shared_from_this(), cause::timer});
        timing_ = true;
    }
    void stop_waiting() noexcept {
        if (std::exchange(timing_, false)) timer_->cancel();
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
        boost::system::error_code ignored;
        if (std::exchange(watching_, false)) descriptor_->cancel(ignored);
#endif
    }

    // Waits for the descriptor. False: there is none, or there is something to be done now.
    bool watch() {
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
        if (!options_.use_descriptor || !open_descriptor() || !session_->arm()) return false;
        armed_ = true;
        if (watching_) return true;
        descriptor_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                                turn{this->shared_from_this(), cause::descriptor});
        return watching_ = true;
#else
        return false;
#endif
    }
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
    bool open_descriptor() {
        if (descriptor_->is_open()) return true;
        const int theirs = session_->descriptor();
        // A duplicate, for Asio closes it.
        const int mine = theirs < 0 ? -1 : ::fcntl(theirs, F_DUPFD_CLOEXEC, 0);
        boost::system::error_code error;
        if (mine >= 0) descriptor_->assign(mine, error);
        if (mine >= 0 && error) ::close(mine);
        return options_.use_descriptor = mine >= 0 && !error;
    }
#endif

    // Destroys the handlers, uncalled, and gives up the operations that they wait for.
    void context_ended() noexcept override {
        const std::shared_ptr<asio_driver> me = this->weak_from_this().lock();
        const std::shared_ptr<void> alive = session_ ? session_->lock() : nullptr;
        registry_ = nullptr;
        close();
        for (driven_waiter* w = std::exchange(waiters_, nullptr); w != nullptr;) std::exchange(w, w->next)->drop();
    }

    Executor executor_;
    executor_options options_;
    using timer = boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                                    boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;
    std::optional<timer> timer_; // empty once dead_
#if defined(BOOST_ASIO_HAS_POSIX_STREAM_DESCRIPTOR)
    // A duplicate of the transport's.
    std::optional<boost::asio::posix::basic_stream_descriptor<Executor>> descriptor_;
#endif
    driver_registry* registry_ = nullptr;
    std::unique_ptr<driven_session> session_;
    driven_waiter* waiters_ = nullptr;
    std::uint64_t turns_ = 0;                                 // all turns so far
    std::uint64_t idle_ = 0;                                  // turns in a row that found nothing
    bool posted_ = false, timing_ = false, watching_ = false; // turns under way
    bool armed_ = false, dead_ = false;
};

} // namespace bough::detail

#endif
