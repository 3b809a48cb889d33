// SPDX-License-Identifier: BSL-1.0
// driven_session and driven_waiter: what a driver (driver.hpp) sees of the session that it drives,
// and of the handlers that wait for operations.
#ifndef BOUGH_ASIO_DETAIL_DRIVEN_HPP
#define BOUGH_ASIO_DETAIL_DRIVEN_HPP

#include <bough/concepts/transport.hpp>

#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// One handler and the operation that it waits for.
class driven_waiter {
public:
    virtual bool done() = 0;
    virtual void complete() = 0;      // Pre: done(). Posts the handler; the waiter is gone.
    virtual void drop() noexcept = 0; // the handler is destroyed uncalled; the waiter is gone
    driven_waiter* next = nullptr;

protected:
    ~driven_waiter() = default;
};

class driven_session {
public:
    virtual ~driven_session() = default;
    // Keeps the session alive. Null: it has ended, and nothing else may be called.
    virtual std::shared_ptr<void> lock() const noexcept = 0;
    virtual bool progress() = 0;
    virtual void check_deadlines() = 0;
    virtual bool busy() = 0; // an operation is in flight, or something is still to be sent
    virtual int descriptor() = 0;
    virtual bool arm() = 0;
    virtual void disarm() = 0;
};

// `Session`: that of a communicator over on_executor<T, E>.
template <class Session>
class driven_session_of final : public driven_session {
public:
    explicit driven_session_of(const std::shared_ptr<Session>& session) : kept_(session), session_(session.get()) {}

    std::shared_ptr<void> lock() const noexcept override { return kept_.lock(); }
    bool progress() override { return session_->progress(); }
    void check_deadlines() override { session_->check_deadlines(); }
    bool busy() override { return session_->busy(); }
    int descriptor() override {
        if constexpr (has_descriptor)
            return transport().descriptor();
        else
            return -1;
    }
    bool arm() override {
        if constexpr (has_descriptor) {
            // If the clock has ended an operation, another may go on.
            if (session_->progress() || session_->make_way()) return false;
            return transport().arm();
        } else {
            return false;
        }
    }
    void disarm() override {
        if constexpr (has_descriptor) transport().disarm();
    }

private:
    using transport_type = std::remove_reference_t<decltype(std::declval<Session&>().transport().inner())>;
    static constexpr bool has_descriptor = DescriptorTransport<transport_type>;
    transport_type& transport() noexcept { return session_->transport().inner(); }

    std::weak_ptr<Session> kept_;
    Session* session_;
};

} // namespace bough::detail

#endif
