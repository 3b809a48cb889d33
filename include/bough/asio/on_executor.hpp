// SPDX-License-Identifier: BSL-1.0
// on_executor: a transport whose operations go on in an Asio executor, beside the program's other
// asynchronous work.
//
//   boost::asio::io_context io;
//   bough::communicator comm{bough::on_executor{std::move(transport), io}};     // or an executor: a strand, ...
//   bough::async_allreduce(comm, x, bough::plus{}, token);                      // bough/asio/async.hpp
//   io.run();
//
// All communicators over the transport (duplicate, split) share the executor. While an operation is
// in flight, a handler of the library looks after it, and is work that keeps run() from returning.
// While none is in flight, there is no such handler. If the transport has a descriptor
// (DescriptorTransport), the executor waits for it like for a socket. Otherwise the transport is
// polled: at first whenever the executor has nothing else to do, then with naps that grow to
// `longest_nap_us`.
//
// The communicator and its operations must be used by one thread at a time: call them in the
// executor's handlers, or while it does not run. If several threads run the io_context, give a
// strand. Blocking calls work, too, and occupy their thread. When the io_context ends, handlers are
// destroyed, and the operations that they wait for are given up, as by operation::cancel().
#ifndef BOUGH_ASIO_ON_EXECUTOR_HPP
#define BOUGH_ASIO_ON_EXECUTOR_HPP

#include <bough/asio/detail/driver.hpp>
#include <bough/asio/options.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/os/asio_config.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class C>
concept AsioContext = std::is_convertible_v<C&, boost::asio::execution_context&>;
} // namespace detail

template <Transport T, class Executor = boost::asio::any_io_executor>
class on_executor : public forwarding_transport<T> {
    using base = forwarding_transport<T>;
    using base::inner_;

public:
    using executor_type = Executor;
    using inner_type = T;

    on_executor(T inner, const Executor& executor, const executor_options& options = {})
        : base(std::move(inner)), driver_(std::make_shared<detail::asio_driver<Executor>>(executor, options)) {}
    template <detail::AsioContext C>
    on_executor(T inner, C& context, const executor_options& options = {})
        : on_executor(std::move(inner), Executor(context.get_executor()), options) {}
    on_executor(on_executor&&) noexcept = default;
    on_executor& operator=(on_executor&&) = delete;
    ~on_executor() {
        if (driver_) driver_->close();
    }

    executor_type get_executor() const noexcept { return driver_->get_executor(); }
    T& inner() noexcept { return inner_; }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        driver_->interrupted();
        return inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = inner_.poll(events);
        if (found != 0) driver_->interrupted();
        return found;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        driver_->interrupted();
        return inner_.take(handle, into, id);
    }
    posted take_pieces(std::uint64_t handle, std::uint64_t grain, std::uint64_t id) requires PiecewiseTransport<T> {
        driver_->interrupted();
        return inner_.take_pieces(handle, grain, id);
    }
    void release(std::uint64_t handle) {
        driver_->interrupted();
        inner_.release(handle);
    }
    errc cancel(std::uint64_t id) {
        driver_->interrupted();
        return inner_.cancel(id);
    }
    // Ranks that come late: who wakes this rank makes the descriptor readable, too.
    std::uint64_t common_bytes() const noexcept requires SharesMemory<T> { return inner_.common_bytes(); }
    std::span<std::byte> common(rank_t owner, std::uint64_t offset, std::uint64_t bytes) requires SharesMemory<T> {
        return inner_.common(owner, offset, bytes);
    }
    void wake(rank_t peer) requires SharesMemory<T> { inner_.wake(peer); }
    void flush() requires GatheringTransport<T> {
        // An operation that this ends makes no descriptor readable.
        if (inner_.unsent()) driver_->interrupted();
        inner_.flush();
    }
    // For a blocking call.
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) requires WaitableTransport<T> {
        driver_->interrupted();
        inner_.wait(idle, deadline_ns);
    }

    // An operation has been started and has not ended at once, or something is left to be sent.
    void operation_started() { driver_->schedule(); }
    detail::asio_driver<Executor>& driver() noexcept { return *driver_; }

private:
    std::shared_ptr<detail::asio_driver<Executor>> driver_;
};

template <class T, class E>
requires(!detail::AsioContext<E>) on_executor(T, const E&, const executor_options& = {})
->on_executor<T, E>;
template <class T, detail::AsioContext C>
on_executor(T, C&, const executor_options& = {}) -> on_executor<T, typename C::executor_type>;

// Is T an on_executor?
template <class T>
inline constexpr bool is_on_executor_v = false;
template <class T, class E>
inline constexpr bool is_on_executor_v<on_executor<T, E>> = true;

} // namespace bough

#endif
