// SPDX-License-Identifier: BSL-1.0
// driver_registry: tells drivers that their execution context ends, while the objects that they
// made from it can still be destroyed. So a communicator, or an operation, may outlive the
// io_context that drove it.
#ifndef BOUGH_ASIO_DETAIL_DRIVER_REGISTRY_HPP
#define BOUGH_ASIO_DETAIL_DRIVER_REGISTRY_HPP

#include <bough/core/config.hpp>
#include <bough/os/asio_config.hpp>

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/query.hpp>

#include <mutex>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

class registered_driver {
public:
    virtual void context_ended() noexcept = 0;
    registered_driver* next = nullptr;

protected:
    ~registered_driver() = default;
};

class driver_registry final : public boost::asio::execution_context::service {
public:
    using key_type = driver_registry;
    static inline boost::asio::execution_context::id id;

    explicit driver_registry(boost::asio::execution_context& context) : service(context) {}

    void add(registered_driver& d) {
        const std::scoped_lock lock(mutex_);
        d.next = std::exchange(first_, &d);
    }
    void remove(registered_driver& d) noexcept {
        const std::scoped_lock lock(mutex_);
        for (registered_driver** link = &first_; *link != nullptr; link = &(*link)->next)
            if (*link == &d) {
                *link = d.next;
                return;
            }
    }

private:
    void shutdown() noexcept override {
        for (;;) {
            registered_driver* d = nullptr;
            {
                const std::scoped_lock lock(mutex_);
                if ((d = first_) == nullptr) return;
                first_ = d->next;
            }
            d->context_ended(); // other drivers may go with it
        }
    }

    std::mutex mutex_;
    registered_driver* first_ = nullptr;
};

template <class Executor>
boost::asio::execution_context& context_of(const Executor& executor) {
    if constexpr (requires { executor.context(); })
        return executor.context();
    else
        return boost::asio::query(executor, boost::asio::execution::context);
}

} // namespace bough::detail

#endif
