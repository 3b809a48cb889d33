// SPDX-License-Identifier: BSL-1.0
// Nonblocking calls. The host's progress moves them on, whatever the program waits for.
//
// The first call on a communicator may be one of them. It must not wait until the other ranks come, so it
// is remembered, and those after it, until bough's communicator is made by nonblocking calls of the host.
#ifndef BOUGH_TOOLS_MPI_FLIGHTS_HPP
#define BOUGH_TOOLS_MPI_FLIGHTS_HPP

#include "calls.hpp"
#include "group.hpp"
#include "route.hpp"
#include <bough/operation.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mpi.h>
#include <mutex>
#include <utility>
#include <vector>

namespace under_mpi {

// One nonblocking call. The host's request owns it.
class flight {
public:
    flight() = default;
    flight(const flight&) = delete;
    flight& operator=(const flight&) = delete;
    virtual ~flight() = default;

    // What the host has as the request.
    virtual MPI_Request request() = 0;
    // The call has ended, with this class of error. Nothing uses the flight after that.
    virtual void has_ended(int code) = 0;

    collective which{};
    frame room;
    bough::operation operation;
    std::size_t bytes = 0;      // for the report
    std::uint64_t began_ns = 0; // likewise
    // Of a call that waits for its turn: by bough, and by the host.
    std::function<int(const place&)> take;
    std::function<int(MPI_Request*)> pass;
    MPI_Request passed = MPI_REQUEST_NULL; // the host makes it
};

// All of this process.
class flights {
public:
    static flights& get(); // never destroyed

    // It has begun, or waits for its turn in `of`.
    void add(flight& f, group* of = nullptr);
    // Moves all on. How many have ended.
    int progress();

private:
    flights() = default;
    bool begin_waiting(group& of);
    int look_at_all();

    std::atomic<std::size_t> count_{0};
    std::recursive_mutex mutex_;
    bool is_busy_ = false; // the progress of the host may come here again
    std::vector<flight*> begun_;
    std::vector<group*> making_; // with calls that wait
};

// Until no call waits for its turn there.
void wait_for_turn(const group& of);

// Starts a nonblocking call, by bough if it can: take(place) starts it, and fresh() makes its flight.
// pass(request) starts it by the host; describe() -> outcome.
template <class Describe, class Take, class Pass, class Fresh>
int begin(group& of, collective which, const Describe& describe, const Take& take, const Pass& pass, const Fresh& fresh,
          MPI_Request* request) {
    const setting is = world::get().is();
    if (is == setting::check || !of.may_use()) { // results of the host and of bough are compared by blocking calls
        if (is == setting::report) count_passed_on(which, of.why(), form::nonblocking);
        return pass(request);
    }
    flight* const f = fresh();
    if (f == nullptr) return MPI_ERR_NO_MEM;
    f->which = which;
    *request = f->request();
    if (is == setting::report) {
        f->bytes = describe().bytes;
        f->began_ns = bough::detail::steady_now_ns();
    }
    if (communicator* const ours = of.made()) {
        const int code = take_guarded({*ours, f->room, &f->operation}, which, take);
        if (code != MPI_SUCCESS) return f->has_ended(code), MPI_SUCCESS;
        flights::get().add(*f);
    } else {
        f->take = take;
        f->pass = pass;
        flights::get().add(*f, &of);
    }
    return MPI_SUCCESS;
}

} // namespace under_mpi

#endif
