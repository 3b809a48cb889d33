// SPDX-License-Identifier: BSL-1.0
// Calls of any collective with a handler that counts, on the flights of the split-phase tests.
#ifndef BOUGH_TEST_ASIO_FLIGHTS_HPP
#define BOUGH_TEST_ASIO_FLIGHTS_HPP

#include "frontdoor/start_flights.hpp"
#include <bough/asio/async.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 107700
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#endif

#include <memory>
#include <utility>

namespace test {

// What a handler has seen.
struct heard {
    int calls = 0;
    int destroyed = 0;   // handlers that were never called
    bool inside = false; // called while it was initiated
    bool initiating = true;
    boost::system::error_code error;
#if BOOST_VERSION >= 107700
    boost::asio::cancellation_signal cancel;
#endif
};

// Counts itself: called or destroyed, once.
class counting_handler {
public:
    explicit counting_handler(std::shared_ptr<heard> to) : to_(std::move(to)) {}
    counting_handler(counting_handler&&) = default;
    counting_handler& operator=(counting_handler&&) = delete;
    ~counting_handler() {
        if (to_) ++to_->destroyed;
    }
    void operator()(boost::system::error_code ec) {
        const std::shared_ptr<heard> to = std::move(to_);
        ++to->calls;
        to->inside |= to->initiating;
        to->error = ec;
    }

private:
    std::shared_ptr<heard> to_;
};

// Calls f(handler), an initiation.
template <class F>
std::shared_ptr<heard> initiated(F&& f) {
    auto h = std::make_shared<heard>();
#if BOOST_VERSION >= 107700
    f(boost::asio::bind_cancellation_slot(h->cancel.slot(), counting_handler(h)));
#else
    f(counting_handler(h));
#endif
    h->initiating = false;
    return h;
}

struct asynchronous {
    using handle = std::shared_ptr<heard>;
    static constexpr bool every = true;
#define BOUGH_TEST_DOOR(name)                                                                                          \
    template <class... A>                                                                                              \
    static handle name(A&&... a) {                                                                                     \
        return initiated([&](auto handler) { bough::async_##name(std::forward<A>(a)..., std::move(handler)); });       \
    }
    BOUGH_TEST_DOOR(allreduce)
    BOUGH_TEST_DOOR(reduce)
    BOUGH_TEST_DOOR(broadcast)
    BOUGH_TEST_DOOR(barrier)
    BOUGH_TEST_DOOR(scan)
    BOUGH_TEST_DOOR(exscan)
    BOUGH_TEST_DOOR(gather)
    BOUGH_TEST_DOOR(gatherv)
    BOUGH_TEST_DOOR(scatter)
    BOUGH_TEST_DOOR(scatterv)
    BOUGH_TEST_DOOR(allgather)
    BOUGH_TEST_DOOR(allgatherv)
    BOUGH_TEST_DOOR(reduce_scatter)
    BOUGH_TEST_DOOR(reduce_scatterv)
    BOUGH_TEST_DOOR(alltoall)
    BOUGH_TEST_DOOR(alltoallv)
    BOUGH_TEST_DOOR(multicast)
    BOUGH_TEST_DOOR(multicasts)
    BOUGH_TEST_DOOR(neighbour_allgather)
    BOUGH_TEST_DOOR(neighbour_alltoall)
    BOUGH_TEST_DOOR(neighbour_alltoallv)
#undef BOUGH_TEST_DOOR
};
struct asynchronous_some : asynchronous { // five kinds only: compiles faster
    static constexpr bool every = false;
};

} // namespace test

#endif
