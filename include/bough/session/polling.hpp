// SPDX-License-Identifier: BSL-1.0
// polling: hands on what a transport has, event by event. Engines go on when all of it has been handled
// (event_round.hpp).
//
// If memory runs out while an event is handled, the group is broken (failure.hpp), and the events behind
// that one are handled all the same: the transport does not tell them again. Messages for operations that
// have still to start are best left where they are: so it reads no further once there are such. It needs the
// transport, the operations in flight, which note in each round for which of them an event was, the messages
// that are early, and failure.
#ifndef BOUGH_SESSION_POLLING_HPP
#define BOUGH_SESSION_POLLING_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/session/event_round.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/in_flight.hpp>
#include <bough/session/unexpected.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

template <Transport T>
class polling {
public:
    polling(T& transport, in_flight<T>& flight, const unexpected_messages<T>& early, failure<T>& failure) noexcept
        : transport_(transport), flight_(flight), early_(early), failure_(failure) {}
    polling(const polling&) = delete;
    polling& operator=(const polling&) = delete;

    static constexpr std::size_t at_once = 8; // events of one poll

    // Calls handle(event) for the events that the transport has, at most event_round::most of them, and then
    // go_on(). Returns how many events there were. `first`, at most at_once: how many one poll may tell of; if
    // fewer, there is no other poll.
    template <class Handle, class GoOn>
    BOUGH_ALWAYS_INLINE std::size_t round(std::size_t first, const Handle& handle, const GoOn& go_on) {
        std::size_t found = 0, next = 0;
        const std::size_t early = early_.size();
        flight_.begin_events();
        for (std::size_t more = at_once; more == at_once && found != event_round::most && early_.size() <= early;
             found += more) {
            more = next = 0;
            failure_.sheltered([&] { more = transport_.poll(std::span(events_).first(first)); });
            BOUGH_EXPECTS(more <= first, "a Transport's poll() says that it found more events than it was asked for");
            while (next != more) // begins again after an exception
                failure_.sheltered([&] {
                    while (next != more) handle(events_[next++]);
                });
        }
        failure_.sheltered(go_on);
        flight_.end_events();
        return found;
    }

    // One turn of the engines. `lone`: the only operation in flight, if it is short, nothing is unusual,
    // and the caller does nothing else until it is done; or null. If the transport can look at one peer,
    // this rank looks for the messages of `lone` at their senders. It hears all peers in each 4th turn
    // only, one message of each. Otherwise it would always have early messages of some peers that are
    // ahead, and the next operation could not run straight, either.
    template <class Straight, class Handle, class GoOn>
    BOUGH_ALWAYS_INLINE std::size_t turn(session_operation* lone, Straight& straight, const Handle& handle,
                                         const GoOn& go_on) {
        constexpr bool can_ask = PollsPeers<T> && !GatheringTransport<T>;
        if constexpr (can_ask)
            if (lone != nullptr && !straight.is_poll_due() && ++turns_ % 4 != 0) return ask(*lone, handle, go_on);
        return round(straight.poll(at_once, can_ask && lone != nullptr), handle, go_on);
    }

private:
    // The same as round() for the messages that `op` awaits.
    template <class Handle, class GoOn>
    std::size_t ask(const session_operation& op, const Handle& handle, const GoOn& go_on) {
        std::size_t found = 0;
        const auto takes_one = [&](rank_t from) {
            bool is_there = false;
            failure_.sheltered([&] {
                is_there = transport_.poll_from(from, events_[0]);
                if (is_there) handle(events_[0]);
            });
            found += is_there;
            return is_there;
        };
        flight_.begin_events();
        for (const auto& from : op.work_->incoming())
            for (std::uint32_t left = from.count - from.arrived;
                 left != 0 && !op.done() && found != event_round::most && takes_one(from.peer); --left) {
            }
        failure_.sheltered(go_on);
        flight_.end_events();
        return found;
    }

    T& transport_;
    in_flight<T>& flight_;
    const unexpected_messages<T>& early_;
    failure<T>& failure_;
    std::array<event, at_once> events_;
    std::uint32_t turns_ = 0; // in which one operation was alone
};

} // namespace bough::detail

#endif
