// SPDX-License-Identifier: BSL-1.0
// Connects a started operation with a completion token. Every async_ collective
// (bough/asio/async.hpp) uses this.
//
// The handler is called by its associated executor, never inside the initiating function, and after
// the memory from its associated allocator has been given back. If the handler has a cancellation
// slot (Boost 1.77 or newer), cancellation works with the types `terminal` and `partial`: the operation is
// given up on all of its ranks, whose results are then unspecified, and nothing else ends.
#ifndef BOUGH_ASIO_DETAIL_INITIATE_HPP
#define BOUGH_ASIO_DETAIL_INITIATE_HPP

#include <bough/asio/detail/driven.hpp>
#include <bough/asio/error.hpp>
#include <bough/asio/on_executor.hpp>
#include <bough/call/contiguous.hpp>
#include <bough/call/forms.hpp>
#include <bough/call/initiator.hpp>
#include <bough/call/named.hpp>
#include <bough/communicator.hpp>
#include <bough/operation.hpp>
#include <bough/os/asio_config.hpp>

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 107700
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#endif

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

// What a handler gets: an error code, or the whole status.
template <class Result>
Result async_result_of(const status& s) {
    if constexpr (std::is_same_v<Result, status>)
        return s;
    else
        return make_boost_error_code(s.code);
}

// A handler with its result.
template <class Handler, class Result>
struct async_completion {
    using allocator_type = boost::asio::associated_allocator_t<Handler>;
    Handler handler;
    Result result;
    allocator_type get_allocator() const noexcept { return boost::asio::get_associated_allocator(handler); }
    void operator()() { std::move(handler)(result); }
};

// A handler that waits for an operation. The operation is the waiter's own (start, then wait), or
// belongs to a caller that keeps it until the handler is called.
template <class Handler, class Executor, class Result>
class async_waiter final : public driven_waiter {
    using handler_executor = boost::asio::associated_executor_t<Handler, Executor>;
    using allocator = typename std::allocator_traits<
        boost::asio::associated_allocator_t<Handler>>::template rebind_alloc<async_waiter>;

public:
    static void make(asio_driver<Executor>& driver, operation own, operation_handle* theirs, Handler&& handler) {
        allocator memory(boost::asio::get_associated_allocator(handler));
        struct room {
            allocator& from;
            async_waiter* at;
            ~room() {
                if (at != nullptr) std::allocator_traits<allocator>::deallocate(from, at, 1);
            }
        } place{memory, std::allocator_traits<allocator>::allocate(memory, 1)};
        auto* made =
            new (static_cast<void*>(place.at)) async_waiter(driver, std::move(own), theirs, std::move(handler));
        place.at = nullptr;
        // Until the driver has the waiter, an exception drops the handler and gives the operation
        // up.
        struct nobodys {
            async_waiter* at;
            ~nobodys() {
                if (at != nullptr) at->drop();
            }
        } fresh{made};
        made->listen(driver);
        if (made->done()) {
            fresh.at = nullptr;
            made->complete();
        } else {
            driver.add(*made);
            fresh.at = nullptr;
        }
    }

    bool done() override { return watched_->done(); }
    void complete() override {
        status ended;
        watched_->wait(ended);
        deaf();
        Handler handler(std::move(handler_));
        auto work = std::move(work_);
        destroy(handler);
        boost::asio::post(work.get_executor(),
                          async_completion<Handler, Result>{std::move(handler), async_result_of<Result>(ended)});
    }
    void drop() noexcept override {
        deaf();
        Handler handler(std::move(handler_));
        destroy(handler);
    }

private:
    async_waiter(asio_driver<Executor>& driver, operation&& own, operation_handle* theirs, Handler&& handler)
        : own_(std::move(own)), watched_(theirs != nullptr ? theirs : &own_), handler_(std::move(handler)),
          work_(boost::asio::get_associated_executor(handler_, driver.get_executor())) {}

    void destroy(const Handler& moved) noexcept {
        allocator memory(boost::asio::get_associated_allocator(moved));
        this->~async_waiter();
        std::allocator_traits<allocator>::deallocate(memory, this, 1);
    }

#if BOOST_VERSION >= 107700
    struct canceller {
        async_waiter* self;
        asio_driver<Executor>* driver;
        void operator()(boost::asio::cancellation_type type) const {
            constexpr auto heard = boost::asio::cancellation_type::terminal | boost::asio::cancellation_type::partial;
            if ((type & heard) == boost::asio::cancellation_type::none) return;
            self->watched_->cancel();
            driver->schedule(); // its turn completes the waiter
        }
    };
    void listen(asio_driver<Executor>& driver) {
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected())
            slot.template emplace<canceller>(canceller{this, &driver});
    }
    void deaf() noexcept {
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler_); slot.is_connected()) slot.clear();
    }
#else
    void listen(asio_driver<Executor>&) {}
    void deaf() noexcept {}
#endif

    operation own_;
    operation_handle* watched_;
    Handler handler_;
    boost::asio::executor_work_guard<handler_executor> work_;
};

template <class Result, class T, class E, class Handler>
void complete_later(communicator<on_executor<T, E>>& comm, operation own, operation_handle* theirs, Handler&& handler) {
    asio_driver<E>& driver = comm.transport().driver();
    if (!driver.attached())
        driver.attach(std::make_unique<driven_session_of<session<on_executor<T, E>>>>(comm.shared_session()));
    std::decay_t<Handler> kept(std::forward<Handler>(handler)); // a copy, if the caller keeps its own
    async_waiter<std::decay_t<Handler>, E, Result>::make(driver, std::move(own), theirs, std::move(kept));
}

// Starts a collective. A lazy token (deferred, use_awaitable) keeps this object until the result is
// wanted, and so it has a copy of the name.
template <class Forms, class X, class Result>
struct initiate_collective {
    using executor_type = typename X::executor_type;
    communicator<X>* comm;
    std::optional<std::string> name;

    executor_type get_executor() const noexcept { return comm->transport().get_executor(); }
    template <class Handler, class... A>
    void operator()(Handler&& handler, A&&... arguments) const {
        const named its = name ? detail::name_in({*name}) : named{};
        operation started = detail::start_named<operation, Forms>(*comm, its, std::forward<A>(arguments)...);
        detail::complete_later<Result>(*comm, std::move(started), nullptr, std::forward<Handler>(handler));
    }
};
template <class X, class Result>
struct initiate_wait {
    using executor_type = typename X::executor_type;
    communicator<X>* comm;
    operation_handle* watched;

    executor_type get_executor() const noexcept { return comm->transport().get_executor(); }
    template <class Handler>
    void operator()(Handler&& handler) const {
        detail::complete_later<Result>(*comm, operation(), watched, std::forward<Handler>(handler));
    }
};

template <class Token>
struct status_token {
    Token token;
};
template <class Token>
inline constexpr bool is_status_token_v = false;
template <class Token>
inline constexpr bool is_status_token_v<status_token<Token>> = true;

// Calls f(result type, token type, token) with what the handlers of this token get. The token type is one of a
// reference if the caller keeps the token (`Given` is one of an lvalue): async_initiate moves from all others.
template <class Given, class F>
decltype(auto) with_result_of(std::remove_reference_t<Given>& token, F&& f) {
    const auto run = [&]<class Result, class Token>(std::type_identity<Result> result, Token& its) -> decltype(auto) {
        using type = std::conditional_t<std::is_lvalue_reference_v<Given>, Token&, Token>;
        return f(result, std::type_identity<type>(), its);
    };
    if constexpr (is_status_token_v<std::remove_cvref_t<Given>>)
        return run(std::type_identity<status>(), token.token);
    else
        return run(std::type_identity<boost::system::error_code>(), token);
}

// One async_ collective: the arguments of the collective, a name if it has one, and a completion token.
template <class Forms>
struct asynchronous {
    template <class X, class... A>
    requires(sizeof...(A) != 0) decltype(auto) operator()(communicator<X>& comm, A&&... arguments_and_token) const {
        static_assert(is_on_executor_v<X>, "bough: an async_ collective needs a communicator over an executor: "
                                           "communicator comm{on_executor{std::move(transport), io_context}}");
        constexpr std::size_t names = (std::size_t{0} + ... + is_named_v<A>);
        return initiate(comm, std::make_index_sequence<sizeof...(A) - 1 - (names == 1 ? 1 : 0)>(),
                        std::forward_as_tuple(std::forward<A>(arguments_and_token)...));
    }

private:
    template <class X, std::size_t... I, class... A>
    static decltype(auto) initiate(communicator<X>& comm, std::index_sequence<I...>, std::tuple<A...>&& all) {
        constexpr std::size_t last = sizeof...(A) - 1;
        static_assert(!(is_named_v<std::tuple_element_t<I, std::tuple<A...>>> || ...) &&
                          !is_named_v<std::tuple_element_t<last, std::tuple<A...>>>,
                      "bough: an async_ call has one name, behind its other arguments and before the token: "
                      "named{\"gradient/7\"}");
        if constexpr (explain_call<Forms, initiator<X>, std::tuple_element_t<I, std::tuple<A...>>...>()) {
            std::optional<std::string> name;
            if constexpr (sizeof...(I) != last) name = std::get<sizeof...(I)>(all).name;
            auto& token = std::get<last>(all); // an lvalue, as async_initiate takes it
            return with_result_of<std::tuple_element_t<last, std::tuple<A...>>>(
                token,
                [&]<class Result, class Token>(std::type_identity<Result>, std::type_identity<Token>,
                                               auto& given) -> decltype(auto) {
                    return boost::asio::async_initiate<Token, void(Result)>(
                        initiate_collective<Forms, X, Result>{&comm, std::move(name)}, given,
                        as_argument<I>(std::get<I>(std::move(all)))...);
                });
        }
    }
    // Passes spans instead of containers and values, because a lazy token copies its arguments.
    template <std::size_t Place, class Argument>
    static decltype(auto) as_argument(Argument&& argument) {
        if constexpr (Place == 0)
            return detail::as_data<Forms>(std::forward<Argument>(argument));
        else
            return detail::as_span(std::forward<Argument>(argument));
    }
};

} // namespace detail

} // namespace bough

#endif
