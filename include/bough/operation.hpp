// SPDX-License-Identifier: BSL-1.0
// operation: a collective that has been started and goes on while the program does something else.
//
//   bough::operation op = bough::start_allreduce(comm, x, bough::plus{}); // returns at once
//   while (!op.poll()) work_a_little();       // or comm.progress(), or any other poll
//   op.wait();                                // throws bough::error; op.wait(ec) does not
//
// The data belong to the operation from its start to its end. Until then the program does not write
// or destroy `x`, and does not read it if it is a result. An op, counts and lists of members are
// copied. Calls are counted in the order in which they are started, together with blocking calls;
// they may be waited for in any order. A start may wait for other ranks only on a communicator that
// follows arrivals (doc/concepts/choosing.md). Operations go on in every call that polls over the same
// transport, whichever operation it is for, blocking or not. A handle is used by one thread at a
// time: the one that uses its communicator.
//
// A call that breaks a rule gives a handle that is done, with the error. A handle that is destroyed
// while its operation is in flight gives the operation up, as cancel() does. It returns when no
// byte of the data is used any more. (A transport that keeps them for another 10 s breaks its
// rules. Then the program ends with a sentence; or, if all these bytes are the library's own, they
// are never freed.)
#ifndef BOUGH_OPERATION_HPP
#define BOUGH_OPERATION_HPP

#include <bough/core/contract.hpp>
#include <bough/core/duration.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

// The operation behind a handle, as the handle sees it: bough/communicator/operation_state.hpp.
class operation_state_base {
public:
    virtual bool poll() = 0;
    virtual bool done() = 0;
    virtual const status& wait() = 0;
    virtual bool wait_for_ns(std::uint64_t ns) = 0;
    virtual void cancel() = 0;
    virtual void set_timeout_ns(std::uint64_t ns) = 0;
    virtual void set_priority(int priority) = 0;
    virtual void start() = 0;
    virtual const status& result() const noexcept = 0;
    virtual std::string where() const { return {}; } // begins what() of its error
    virtual std::size_t memory_bytes() const noexcept = 0;
    virtual void release() noexcept = 0; // the handle is gone

protected:
    ~operation_state_base() = default;
};

// What operation and persistent_operation share.
class operation_handle {
public:
    operation_handle(operation_handle&& other) noexcept
        : started_(std::exchange(other.started_, nullptr)), result_(std::exchange(other.result_, {})) {}
    operation_handle& operator=(operation_handle&& other) noexcept {
        if (this != &other) {
            if (started_ != nullptr) started_->release();
            started_ = std::exchange(other.started_, nullptr);
            result_ = std::exchange(other.result_, {});
        }
        return *this;
    }

    // Moves messages on, like comm.progress(). True: the operation has ended.
    bool poll() { return started_ == nullptr || started_->poll(); }
    // Has it ended? Does nothing else.
    bool done() { return started_ == nullptr || started_->done(); }
    // Waits for the end, at most for the timeout that the communicator had at the start. The
    // timeout counts from the start.
    void wait() {
        const status& s = end();
#if BOUGH_HAS_EXCEPTIONS
        if (s && started_ != nullptr) throw error(s, started_->where());
#endif
        throw_if(s);
    }
    void wait(std::error_code& ec) { ec = make_error_code(end().code); }
    void wait(status& s) { s = end(); }
    // Waits at most so many nanoseconds of the transport's clock. True: the operation has ended,
    // and wait() returns its result at once.
    bool wait_for_ns(std::uint64_t ns) { return started_ == nullptr || started_->wait_for_ns(ns); }
    template <Duration D>
    bool wait_for(const D& d) { // any std::chrono::duration
        return wait_for_ns(nanoseconds_of(d));
    }
    // Gives the operation so much time from now on, in place of the timeout from its communicator.
    // For a persistent operation this holds for the run that is in flight.
    void set_timeout_ns(std::uint64_t ns) {
        if (started_ != nullptr) started_->set_timeout_ns(ns);
    }
    template <Duration D>
    void set_timeout(const D& d) {
        set_timeout_ns(nanoseconds_of(d));
    }
    // Gives the operation a priority in place of communicator_options::priority. For a persistent
    // operation this holds for the run that is in flight.
    void set_priority(int priority) {
        if (started_ != nullptr) started_->set_priority(priority);
    }
    // Gives the operation up if it has not ended. It ends with errc::cancelled here, and with
    // peer_aborted on the other ranks of its communicator that have not finished it. Nothing else ends
    // (doc/failures.md). Its data are used until done().
    void cancel() {
        if (started_ != nullptr) started_->cancel();
    }
    // Valid once done().
    const status& result() const noexcept { return started_ == nullptr ? result_ : started_->result(); }
    // The memory of the operation besides the data of the caller: its bound plan, scratch, staged
    // and copied arguments. It does not include early messages, which communicator_options::early
    // bounds.
    std::size_t memory_bytes() const noexcept { return started_ == nullptr ? 0 : started_->memory_bytes(); }

protected:
    operation_handle() = default;
    explicit operation_handle(operation_state_base* made) noexcept : started_(made) {}
    explicit operation_handle(const status& ended) noexcept : result_(ended) {}
    ~operation_handle() {
        if (started_ != nullptr) started_->release();
    }
    const status& end() { return started_ == nullptr ? result_ : started_->wait(); }

    operation_state_base* started_ = nullptr;
    status result_{};
};

} // namespace detail

// Move-only. An operation that was made empty or moved from is done, without error.
class operation : public detail::operation_handle {
public:
    operation() = default;
    // For bough/call/initiator.hpp.
    explicit operation(detail::operation_state_base* made) noexcept : operation_handle(made) {}
    explicit operation(const status& ended) noexcept : operation_handle(ended) {}
};

// A collective that is bound once and run many times on the same data.
//
//   auto norm = bough::bind_allreduce(comm, std::span(&sum, 1), bough::plus{});
//   for (...) { sum = ...; norm.start(); ...; norm.wait(); }
// From the second run on it allocates nothing. The session allocates when peers run ahead and more
// of their messages wait at a time than ever before (bough/session/unexpected.hpp). Binding is
// local: it is not a call, and a rank may bind what others do not. Every start() is a call.
class persistent_operation : public detail::operation_handle {
public:
    persistent_operation() = default;
    explicit persistent_operation(detail::operation_state_base* made) noexcept : operation_handle(made) {}
    explicit persistent_operation(const status& ended) noexcept : operation_handle(ended) {}

    // Pre: it is done, or has not been started, and has not been moved from. If the bound call breaks a
    // rule, each start ends with that error.
    void start() {
        BOUGH_EXPECTS(started_ != nullptr || result_, "persistent_operation: empty or moved from, it starts nothing");
        if (started_ != nullptr) started_->start();
    }
};

} // namespace bough

#endif
