// SPDX-License-Identifier: BSL-1.0
// The parts of a session, put together as in bough/session/core.hpp, but without events: a test says what happens.
#ifndef BOUGH_TEST_SESSION_PARTS_OF_SESSION_HPP
#define BOUGH_TEST_SESSION_PARTS_OF_SESSION_HPP

#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/session/failure.hpp>
#include <bough/session/matching.hpp>
#include <bough/testing/transport_archetype.hpp>
#include <bough/tree/flat.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace test {

using loop_end = bough::testing::transport_archetype;

struct parts_of_session {
    // A broadcast from rank 0 to all others, `bytes` long, and what it needs.
    struct flight {
        flight(const bough::detail::membership& members, std::size_t bytes)
            : data(bytes),
              work(bough::bind_plan(bough::plan_broadcast(bough::flat{}, {.size = members.size()}), members.rank())) {}
        std::vector<std::byte> data;
        bough::prepared work;
        bough::session_operation op;
    };

    parts_of_session(const bough::testing::loop_group& group, bough::rank_t rank, bough::rank_t size)
        : members(rank, size), messages(transport, members), early(transport, size, {}), transport(group.connect(rank)),
          running(transport, messages, size, {}), matched(early, members, messages, running),
          failing(transport, members, messages, early, running) {}

    static bough::envelope call_of(std::uint32_t n) {
        bough::envelope call;
        call.epoch = 1;
        call.operation = n;
        return call;
    }
    bough::session_operation& start(std::uint32_t n, std::size_t bytes = 4) {
        flight& f = started.emplace_back(members, bytes);
        const bough::call c{f.data.data(), f.data.data(), bytes, 1};
        running.prepare(f.op, f.work, call_of(n), members.epoch(), {}, 1'000'000);
        f.work.prepare(c);
        running.add(f.op);
        bough::detail::session_port<loop_end> port{running, matched.early(), f.op};
        f.work.start(c, port);
        return f.op;
    }
    std::vector<bough::event> polled() {
        std::array<bough::event, 8> events;
        const std::size_t found = transport.poll(events);
        return {events.begin(), events.begin() + static_cast<std::ptrdiff_t>(found)};
    }
    // What the aborts, or the refusals, say that have come in this epoch. Nothing else is looked at.
    std::vector<bough::status> notices(std::uint32_t segment) {
        std::vector<bough::status> all;
        for (int i = 0; i != 3; ++i)
            for (const bough::event& e : polled()) {
                bough::control_message m;
                const bool is_one = e.envelope.segment == segment && members.is_of_epoch(e.envelope);
                const bool is_there = e.what == bough::event::kind::arrived
                                          ? is_one && messages.read(matched.early(), e, m)
                                          : messages.owns(e) && messages.completed(e, m);
                if (!is_there) continue;
                if (segment == bough::detail::given_up_segment)
                    all.push_back(bough::detail::given_up_notice::read(m.bytes, m.peer, m.tag));
                else
                    all.push_back(bough::abort_notice::read(m.bytes).as_status(m.peer, m.tag.operation, m.tag.context));
            }
        return all;
    }

    bough::detail::membership members;
    bough::detail::control<loop_end> messages;
    bough::unexpected_messages<loop_end> early;
    loop_end transport;
    bough::detail::in_flight<loop_end> running;
    bough::detail::matching<loop_end> matched;
    bough::detail::failure<loop_end> failing;
    std::deque<flight> started;
};

} // namespace test

#endif
