// SPDX-License-Identifier: BSL-1.0
// operation: a collective that has been started and goes on while the program does something else.
//
//   bough::operation op = bough::start_allreduce(comm, x, bough::plus{});    // returns at once
//   while (!op.poll()) work_a_little();                                     // or comm.progress(), or any other poll
//   op.wait();                                                              // throws bough::error; op.wait(ec) does not
// Its data belong to it from the start to its end: `x` is neither written nor destroyed before, nor read, if it is a result.
// An op, counts and lists of members are copied. Calls are counted in the order in which they are started, together with
// blocking ones; they may be waited for in any order. Operations go on in every call that polls: of any operation, blocking
// or not, over the same transport. A handle is used by one thread at a time, that of its communicator.
// A call that breaks a rule gives a handle that is done, with the error. A handle that is destroyed while its operation is
// in flight gives it up, as cancel() does, and returns when no byte of its data is used any more. (A transport that keeps
// them for another 10 s breaks its rules: the program ends with a sentence, or, if all of them are the library's own, they
// stay where they are for good.)
#ifndef BOUGH_OPERATION_HPP
#define BOUGH_OPERATION_HPP

#include <bough/core/contract.hpp>
#include <bough/core/duration.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

// What a handle knows of the operation behind it: bough/communicator/operation_state.hpp.
class operation_state_base {
public:
    virtual bool poll() = 0;
    virtual bool done() = 0;
    virtual const status& wait() = 0;
    virtual bool wait_for_ns(std::uint64_t ns) = 0;
    virtual void cancel() = 0;
    virtual void set_timeout_ns(std::uint64_t ns) = 0;
    virtual void start() = 0;
    virtual const status& result() const noexcept = 0;
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

    // Looks after messages, as comm.progress(); true if the operation has ended.
    bool poll() { return started_ == nullptr || started_->poll(); }
    // Has it ended? Does nothing else.
    bool done() { return started_ == nullptr || started_->done(); }
    // Waits for the end: at most until the timeout that the communicator had at the start, counted from the start, is over.
    void wait() { throw_if(end()); }
    void wait(std::error_code& ec) { ec = make_error_code(end().code); }
    void wait(status& s) { s = end(); }
    // Waits no longer than so many nanoseconds of the transport's clock; true if the operation has ended: wait() returns at
    // once then, with its result.
    bool wait_for_ns(std::uint64_t ns) { return started_ == nullptr || started_->wait_for_ns(ns); }
    template <Duration D>
    bool wait_for(const D& d) { // any std::chrono::duration
        return wait_for_ns(nanoseconds_of(d));
    }
    // Gives it so much time from now on, in place of what its communicator gave it when it started. Of a persistent
    // operation: for the run that is in flight.
    void set_timeout_ns(std::uint64_t ns) {
        if (started_ != nullptr) started_->set_timeout_ns(ns);
    }
    template <Duration D>
    void set_timeout(const D& d) {
        set_timeout_ns(nanoseconds_of(d));
    }
    // Gives the operation up, if it has not ended: it ends with errc::cancelled, and every other rank's with peer_aborted;
    // the group is poisoned. Its data are used until done().
    void cancel() {
        if (started_ != nullptr) started_->cancel();
    }
    // Valid once done().
    const status& result() const noexcept { return started_ == nullptr ? result_ : started_->result(); }
    // What the operation takes besides the data of the caller: its bound plan, scratch, staged and copied arguments. Early
    // messages are bounded by communicator_options::early.
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

// Move-only. One that was made empty or moved from is done, without error.
class operation : public detail::operation_handle {
public:
    operation() = default;
    // For bough/call/initiator.hpp.
    explicit operation(detail::operation_state_base* made) noexcept : operation_handle(made) {}
    explicit operation(const status& ended) noexcept : operation_handle(ended) {}
};

// A collective that is bound once and run many times on the same data. From the second time on it allocates nothing; the session
// does when more messages of peers that run ahead wait at a time than ever before (bough/session/unexpected.hpp).
//
//   auto norm = bough::bind_allreduce(comm, std::span(&sum, 1), bough::plus{});
//   for (...) { sum = ...; norm.start(); ...; norm.wait(); }
// Binding is local: it is no call, and a rank may bind what others do not. Every start() is one.
class persistent_operation : public detail::operation_handle {
public:
    persistent_operation() = default;
    explicit persistent_operation(detail::operation_state_base* made) noexcept : operation_handle(made) {}
    explicit persistent_operation(const status& ended) noexcept : operation_handle(ended) {}

    // Pre: it is done, or has not been started. If the bound call breaks a rule, that is the result of each start.
    void start() {
        if (started_ != nullptr) started_->start();
    }
};

} // namespace bough

#endif
