// SPDX-License-Identifier: BSL-1.0
// One rank whose transport has room when the test says so, and notes what it is given.
#ifndef BOUGH_TEST_SESSION_SCRIPTED_RANK_HPP
#define BOUGH_TEST_SESSION_SCRIPTED_RANK_HPP

#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test::scripted_rank {

using namespace bough;
using endpoint = in_process::endpoint;

// What was posted, in order: "c1" is a message of the session to rank 1, "7>1" one of operation 7. `room`: how many
// messages to each rank it takes. They go nowhere.
struct book {
    std::vector<std::string> posted;
    std::vector<std::size_t> room = std::vector<std::size_t>(8, 1'000'000);
    std::size_t tries = 0;
    rank_t dead = no_rank;
    std::vector<std::string> take() { return std::exchange(posted, {}); }
};
struct scripted : endpoint {
    scripted(endpoint end, book& b) : endpoint(std::move(end)), its(&b) {}
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte>, std::uint64_t) {
        ++its->tries;
        if (to == its->dead) return posted::failed;
        if (its->room[to] == 0) return posted::would_block;
        --its->room[to];
        its->posted.push_back(tag.segment >= detail::inquiry_segment
                                  ? "c" + std::to_string(to)
                                  : std::to_string(tag.operation) + ">" + std::to_string(to));
        return posted::complete;
    }
    book* its;
};
static_assert(PollsPeers<scripted>);

struct operation {
    explicit operation(bound_schedule b) : work(std::move(b)) {}
    prepared work;
    session_operation op;
    std::uint64_t value = 1;
};
// Rank 0 of several. The others are ends of which the test makes what it needs.
struct rank_0 {
    explicit rank_0(rank_t ranks) : world(ranks), mine(scripted(world.connect(0), noted)) {
        for (rank_t r = 1; r != ranks; ++r) others.push_back(world.connect(r));
    }
    // A message of the session.
    void say(rank_t to) {
        envelope tag;
        tag.operation = 0x6e61'6d65;
        mine.send_control(to, tag, {});
    }
    template <class P>
    session_operation& start(const P& plan, std::uint32_t number, int priority = 0) {
        return begin(all.emplace_back(bind_plan(plan, 0)), number, priority);
    }
    session_operation& begin(operation& o, std::uint32_t number, int priority) {
        envelope tag;
        tag.operation = number;
        const call_signature signature{.plan = o.work.bound().plan_id};
        call c;
        c.input = c.output = reinterpret_cast<std::byte*>(&o.value);
        c.count = 1;
        c.element_bytes = sizeof o.value;
        c.combine = make_any_op<std::uint64_t>(plus{}).function;
        o.op.set_priority(priority);
        mine.start(o.op, o.work, c, tag, signature, 60'000'000'000);
        return o.op;
    }
    // It has one message for this rank.
    session_operation& to(rank_t peer, std::uint32_t number, int priority = 0) {
        const std::vector<step> steps{send_step(peer, {input, 0, 1})};
        return begin(all.emplace_back(bind_steps(steps, 1)), number, priority);
    }
    session_operation& to_1(std::uint32_t number, int priority = 0) { return to(1, number, priority); }

    in_process world;
    book noted;
    session<scripted> mine;
    std::vector<endpoint> others;
    std::deque<operation> all;
};

using posts = std::vector<std::string>;

} // namespace test::scripted_rank

#endif
