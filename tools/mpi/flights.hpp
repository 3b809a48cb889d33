// SPDX-License-Identifier: BSL-1.0
// Nonblocking and persistent calls. The host's progress moves them on, whatever the program waits for. On a
// communicator nonblocking ones are taken after its first blocking collective, with which bough's part of it is
// made: a start must not wait for other ranks. A persistent call has a part of its own, made when it is
// initialised, which is collective: ranks may start such calls in other orders.
#ifndef BOUGH_TOOLS_MPI_FLIGHTS_HPP
#define BOUGH_TOOLS_MPI_FLIGHTS_HPP

#include "calls.hpp"
#include "group.hpp"
#include "never_destroyed.hpp"
#include "route.hpp"
#include <bough/operation.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mpi.h>
#include <mutex>
#include <vector>

namespace under_mpi {

// One call that was started. The host's request owns it. A persistent call is started again and again.
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
    form how = form::nonblocking;
    frame room;
    bough::operation operation;
    std::size_t bytes = 0;      // for the report
    std::uint64_t began_ns = 0; // likewise
};

// All of this process.
class flights {
public:
    static flights& get(); // never destroyed

    // start(make_room) -> error class begins the call, after it has called make_room(), which throws if no
    // memory is left; what goes wrong with the call, the request says.
    template <class Start>
    void launch(flight& f, const Start& start) noexcept {
        {
            const std::scoped_lock held(mutex_);
            const int code = start([this] {
                if (begun_.size() == begun_.capacity()) begun_.reserve(2 * begun_.size() + 8);
            });
            if (code != MPI_SUCCESS) return f.has_ended(code);
            begun_.push_back(&f);
            ++count_;
        }
        progress();
    }
    // Moves all on. How many have ended.
    int progress() noexcept;

private:
    friend struct never_destroyed<flights>;
    flights() = default;
    std::atomic<std::size_t> count_{0};
    std::recursive_mutex mutex_;
    bool is_busy_ = false; // the progress of the host may come here again
    std::vector<flight*> begun_;
};

// Starts a call by bough: take(place) does it; describe() -> outcome.
template <class Describe, class Take>
void start(flight& f, communicator& ours, collective which, const Describe& describe, const Take& take) noexcept {
    f.which = which;
    if (world::get().is() == setting::report) {
        f.bytes = describe().bytes;
        f.began_ns = bough::detail::steady_now_ns();
    }
    flights::get().launch(f, [&](const auto& make_room) {
        return take_guarded({ours, f.room, &f.operation}, which, [&](const place& at) {
            make_room();
            return take(at);
        });
    });
}

// Starts a nonblocking call, by bough if it can: take(place) starts it, and fresh() makes its flight.
// pass(request) starts it by the host; describe() -> outcome.
template <class Describe, class Take, class Pass, class Fresh>
int begin(group& of, collective which, const Describe& describe, const Take& take, const Pass& pass, const Fresh& fresh,
          MPI_Request* request) {
    const setting is = world::get().is();
    // Results of the host and of bough are compared by blocking calls.
    if (is == setting::check || !of.takes_later()) {
        const bool is_first = of.why() == reason::not_started && world::get().has_started();
        if (is == setting::report) count_passed_on(which, is_first ? reason::first : of.why(), form::nonblocking);
        return pass(request);
    }
    communicator* const ours = of.use_later();
    if (ours == nullptr) return MPI_ERR_NO_MEM;
    flight* const f = fresh();
    if (f == nullptr) {
        (void)ours->refuse({.code = bough::errc::no_resources});
        return MPI_ERR_NO_MEM;
    }
    *request = f->request();
    start(*f, *ours, which, describe, take);
    return MPI_SUCCESS;
}

} // namespace under_mpi

#endif
