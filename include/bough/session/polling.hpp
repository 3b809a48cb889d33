// SPDX-License-Identifier: BSL-1.0
// polling: hands on what a transport has, event by event. Engines go on when all of it has been handled
// (event_round.hpp).
//
// If memory runs out while an event is handled, the group is broken (failure.hpp), and the events behind
// that one are handled all the same: the transport does not tell them again. It needs the transport, the
// operations in flight, which note in each round for which of them an event was, and failure.
#ifndef BOUGH_SESSION_POLLING_HPP
#define BOUGH_SESSION_POLLING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/session/event_round.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>

#include <array>
#include <cstddef>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class polling {
public:
    polling(T& transport, in_flight<T>& flight, failure<T>& failure) noexcept
        : transport_(transport), flight_(flight), failure_(failure) {}
    polling(const polling&) = delete;
    polling& operator=(const polling&) = delete;

    // Calls handle(event) for the events that the transport has, at most event_round::most of them, and then
    // go_on(). Returns how many events there were.
    template <class Handle, class GoOn>
    BOUGH_ALWAYS_INLINE std::size_t round(const Handle& handle, const GoOn& go_on) {
        std::size_t found = 0, next = 0;
        flight_.begin_events();
        for (std::size_t more = events_.size(); more == events_.size() && found != event_round::most; found += more) {
            more = next = 0;
            failure_.sheltered([&] { more = transport_.poll(events_); });
            while (next != more) // begins again after an exception
                failure_.sheltered([&] {
                    while (next != more) handle(events_[next++]);
                });
        }
        failure_.sheltered(go_on);
        flight_.end_events();
        return found;
    }

private:
    T& transport_;
    in_flight<T>& flight_;
    failure<T>& failure_;
    std::array<event, 8> events_;
};

} // namespace bough::detail

#endif
