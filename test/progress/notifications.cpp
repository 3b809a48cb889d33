// SPDX-License-Identifier: BSL-1.0
// Who asks a transport for notifications, to sleep until they come, asks for no more of them when it is awake. A
// transport that gives none is looked at now and then.
#include "support/catch.hpp"
#include "support/until.hpp"
#include <bough/allreduce.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/concepts/transport.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/progress/events.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <poll.h>
#include <span>
#include <thread>
#include <utility>

namespace {

using namespace bough;

struct notices {
    std::atomic<int> arms{0}, disarms{0}, polls{0};
    std::atomic<bool> armed{false}, refuses{false}, has_descriptor{true};
};
template <Transport T>
class watched : public forwarding_transport<T> {
public:
    watched(T inner, notices& n) : forwarding_transport<T>(std::move(inner)), its_(&n) {}
    std::size_t poll(std::span<event> events) {
        ++its_->polls;
        return forwarding_transport<T>::poll(events);
    }
    int descriptor() { return its_->has_descriptor ? this->inner_.descriptor() : -1; }
    bool arm() {
        ++its_->arms;
        if (its_->refuses) return false;
        its_->armed = this->inner_.arm();
        return its_->armed;
    }
    void disarm() {
        ++its_->disarms;
        its_->armed = false;
        this->inner_.disarm();
    }

private:
    notices* its_;
};

// Is the transport polled less than once in 25 us, for 100 ms within 20 s? A nap takes longer.
bool naps(const notices& n) {
    for (int i = 0; i != 200; ++i) {
        const int before = n.polls;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (n.polls - before < 4'000) return true;
    }
    return false;
}

} // namespace

TEST_CASE("notifications: event_progress has them from prepare() to progress(), and at no other time") {
    notices of_first, of_other;
    std::atomic<bool> may_come{false};
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        const bool first = transport.rank() == 0;
        communicator comm{watched{std::move(transport), first ? of_first : of_other}};
        int x = 1;
        if (!first) {
            bough_test::until([&] { return may_come.load(); });
            start_allreduce(comm, std::span(&x, 1), plus{}).wait();
            return;
        }
        notices& n = of_first;
        {
            event_progress events{comm};
            wrong += events.prepare() != -1 || n.arms != 0; // nothing is in flight
            events.progress();
            wrong += n.disarms != 0;
            operation op = start_allreduce(comm, std::span(&x, 1), plus{});
            for (int round = 1; round != 4; ++round) {
                bough_test::until([&] { return events.prepare() > 0; });
                wrong += !n.armed;
                events.progress();
                wrong += n.armed || n.disarms != round;
                events.progress(); // twice, and it has none
                wrong += n.disarms != round;
            }
            n.refuses = true; // then the loop does not sleep
            wrong += events.prepare() != 0;
            events.progress();
            wrong += n.disarms != 3;
            n.refuses = false;
            may_come = true;
            bough_test::until([&] { return op.done(); },
                              [&] {
                                  pollfd p{events.descriptor(), POLLIN, 0};
                                  ::poll(&p, 1, events.prepare());
                                  events.progress();
                              });
            wrong += n.armed || x != 2;
        }
        wrong += n.armed.load();
    });
    CHECK(wrong == 0);
}

TEST_CASE("notifications: an event_progress that ends while it has them gives them back") {
    notices n, of_other;
    std::atomic<bool> may_come{false};
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        const bool first = transport.rank() == 0;
        communicator comm{watched{std::move(transport), first ? n : of_other}};
        int x = 1;
        if (!first) bough_test::until([&] { return may_come.load(); });
        operation op = start_allreduce(comm, std::span(&x, 1), plus{});
        if (first) {
            {
                event_progress events{comm};
                bough_test::until([&] { return events.prepare() > 0; });
                event_progress moved{std::move(events)};
                wrong += !n.armed;
            }
            wrong += n.armed || n.disarms != 1;
            may_come = true;
        }
        op.wait();
        wrong += x != 2;
    });
    CHECK(wrong == 0);
}

TEST_CASE("notifications: a progress_thread has them while it sleeps, naps where there are none, and ends without") {
    for (const bool has_descriptor : {true, false}) {
        CAPTURE(has_descriptor);
        notices n, of_other;
        n.has_descriptor = has_descriptor;
        std::atomic<bool> may_come{false};
        std::atomic<int> wrong{0};
        in_process{2}.run([&](auto transport) {
            const bool first = transport.rank() == 0;
            communicator comm{serialised{watched{std::move(transport), first ? n : of_other}}};
            int x = 1;
            if (!first) {
                bough_test::until([&] { return may_come.load(); });
                start_allreduce(comm, std::span(&x, 1), plus{}).wait();
                return;
            }
            {
                progress_thread helper{{.polls = 2}};
                helper.look_after(comm);
                operation op = start_allreduce(comm, std::span(&x, 1), plus{});
                if (has_descriptor) bough_test::until([&] { return n.armed.load(); });
                wrong += !naps(n);
                wrong += (n.arms != 0) != has_descriptor;
                may_come = true;
                op.wait();
                bough_test::until([&] { return !n.armed; }); // when the thread has woken
                wrong += x != 2;
            }
            wrong += n.armed.load();
        });
        CHECK(wrong == 0);
    }
}
