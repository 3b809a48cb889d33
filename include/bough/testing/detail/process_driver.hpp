// SPDX-License-Identifier: BSL-1.0
// process_driver: polls the end that check_transport_process checks, and hands each event to the
// part that it is for.
#ifndef BOUGH_TESTING_DETAIL_PROCESS_DRIVER_HPP
#define BOUGH_TESTING_DETAIL_PROCESS_DRIVER_HPP

#include <bough/concepts/transport.hpp>
#include <bough/testing/detail/process_arrivals.hpp>
#include <bough/testing/detail/process_end.hpp>
#include <bough/testing/detail/process_sending.hpp>
#include <bough/testing/detail/process_taking.hpp>
#include <bough/testing/transport_rules.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>

namespace bough::inline BOUGH_ABI::testing::detail {

template <class T>
class process_driver {
public:
    process_driver(process_end<T>& end, process_sending<T>& sending, process_arrivals<T>& arrivals,
                   process_taking<T>& taking, std::uint64_t patience_ns)
        : end_(end), sending_(sending), arrivals_(arrivals), taking_(taking), patience_ns_(patience_ns) {}

    // Polls once, and uses the arrivals that are due. False: a rule is broken.
    bool turn() {
        std::array<event, 5> events;
        const std::size_t found = end_->poll(std::span(events).first(static_cast<std::size_t>(1 + end_.draw(5))));
        for (std::size_t i = 0; i != found && !end_.fault(); ++i) handle(events[i]);
        if (!taking_.go_on()) return false;
        if (found != 0) end_.move();
        return !end_.fault();
    }
    // Calls turn() until `done()`. False: a rule is broken, or nothing has happened for too long,
    // of which `sentence` then says what it means.
    template <class F>
    bool until(F&& done, const char* sentence) {
        auto since = clock::now();
        for (std::uint32_t idle = 0; !end_.fault() && !done();) {
            if (!turn()) return false;
            if (end_.has_moved()) {
                idle = 0;
                since = clock::now();
                continue;
            }
            ++idle;
            if constexpr (WaitableTransport<T>)
                end_->wait(idle, end_->now_ns() + 1'000'000);
            else if (idle > 100)
                std::this_thread::yield();
            if (idle % 64 == 0 && clock::now() - since > std::chrono::nanoseconds(patience_ns_))
                return end_.fail(transport_rule::in_order, sentence);
        }
        return !end_.fault();
    }

private:
    using clock = std::chrono::steady_clock;

    void handle(const event& e) {
        std::uint32_t number = 0;
        switch (e.what) {
        case event::kind::arrived:
            if (arrivals_.arrived(e, number)) taking_.hold(e, number);
            return;
        case event::kind::piece:
            if (!taking_.piece(e)) end_.fail(transport_rule::length, "a piece comes for no take, or is too long");
            return;
        case event::kind::complete:
            if (sending_.has(e.id))
                sending_.completed(e);
            else if (taking_.has(e.id))
                taking_.completed(e);
            else
                end_.fail(transport_rule::one_event, "an event of no post");
            return;
        case event::kind::lost: arrivals_.lost(e.peer); return;
        }
    }

    process_end<T>& end_;
    process_sending<T>& sending_;
    process_arrivals<T>& arrivals_;
    process_taking<T>& taking_;
    std::uint64_t patience_ns_;
};

} // namespace bough::testing::detail

#endif
