// SPDX-License-Identifier: BSL-1.0
// An operation over a transport that gathers, or has no room, is done when what it sent has left, and not before.
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/session/departures.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>

#include <array>
#include <deque>
#include <memory>
#include <vector>

using namespace bough;
using test::number;

namespace {

// What a rank posts waits until a flush or a poll lets it through: as many messages as the test allows.
struct valve {
    std::uint64_t room = 0;
    bool opened = false; // without limit
};
class held_back : public forwarding_transport<test::link> {
public:
    held_back(test::link inner, valve& v) : forwarding_transport(std::move(inner)), valve_(&v), counts_(size()) {}

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t) {
        if (to >= size() || to == rank()) return posted::failed;
        queue_.push_back({to, tag, {bytes.begin(), bytes.end()}});
        ++counts_[to].accepted;
        return posted::complete;
    }
    std::size_t poll(std::span<event> events) {
        flush();
        const std::size_t found = inner_.poll(events);
        for (const event& e : events.first(found))
            if (e.what == event::kind::lost) {
                std::erase_if(queue_, [&](const message& m) { return m.to == e.peer; });
                counts_[e.peer].handed_over = counts_[e.peer].accepted;
            }
        return found;
    }
    void flush() {
        for (; !queue_.empty() && (valve_->opened || valve_->room != 0); queue_.pop_front()) {
            const message& m = queue_.front();
            if (inner_.post_send(m.to, m.tag, m.bytes, 0) == posted::would_block) return;
            ++counts_[m.to].handed_over;
            if (!valve_->opened) --valve_->room;
        }
    }
    bool unsent() const noexcept { return !queue_.empty(); }
    std::uint64_t accepted(rank_t to) const noexcept { return counts_[to].accepted; }
    std::uint64_t handed_over(rank_t to) noexcept { return counts_[to].handed_over; }

private:
    struct message {
        rank_t to;
        envelope tag;
        std::vector<std::byte> bytes;
    };
    struct count {
        std::uint64_t accepted = 0, handed_over = 0;
    };
    valve* valve_;
    std::deque<message> queue_;
    std::vector<count> counts_;
};
static_assert(explain_gathering_transport<held_back>());
static_assert(!GatheringTransport<test::link>);

// Rank 0 is held back; the others are as they are everywhere.
struct one_held_back {
    explicit one_held_back(rank_t size) : others(size), mine(size), zero(held_back(first_end(), open)) {
        others.fill(2, 10);
        data.assign(2, 3);
    }
    test::link first_end() {
        others.lose(0);
        others.group = testing::loop_group(static_cast<rank_t>(others.all.size()), {.eager_bytes = 4096});
        for (rank_t r = 1; r != others.all.size(); ++r)
            others.all[r] = std::make_unique<test::rank_state>(others.group.connect(r));
        return others.group.connect(0);
    }
    // An operation of rank 0.
    struct flight {
        std::unique_ptr<prepared> work;
        session_operation op;
    };
    template <class P>
    flight& start(const P& plan, std::uint32_t number_of_operation) {
        flight& f = flights.emplace_back();
        f.work = std::make_unique<prepared>(bind_plan(plan, 0));
        envelope tag;
        tag.operation = number_of_operation;
        auto* bytes = reinterpret_cast<std::byte*>(data.data());
        zero.start(f.op, *f.work, {bytes, bytes, data.size(), sizeof(number), any.function, any.state}, tag,
                   {.plan = f.work->bound().plan_id}, 1'000'000);
        return f;
    }
    // The others alone go on.
    void run_others() {
        for (int i = 0; i != 200; ++i)
            for (rank_t r = 1; r != others.all.size(); ++r)
                if (others.all[r]) others[r].session.progress();
    }
    void run_zero() {
        for (int i = 0; i != 50; ++i) zero.progress();
    }

    static inline const plus op{};
    any_op any = make_any_op<number>(op);
    valve open;
    std::vector<number> data;
    test::ranks others;
    rank_t mine;
    std::deque<flight> flights;
    session<held_back> zero;
};

const auto star3 = plan_broadcast(flat{}, {.size = 3});

} // namespace

TEST_CASE("departures: what is sent in a start has left when it returns") {
    one_held_back group(3);
    group.open.opened = true;
    const auto& f = group.start(star3, 1);
    CHECK(f.op.done());
    for (const rank_t r : {1u, 2u}) group.others[r].start(star3, 1);
    group.run_others(); // rank 0 is silent
    for (const rank_t r : {1u, 2u}) {
        REQUIRE(group.others[r].done());
        CHECK(group.others[r].data == std::vector<number>(2, 3));
    }
}

TEST_CASE("departures: an operation is done when its last message has left") {
    one_held_back group(3);
    const auto& f = group.start(star3, 1);
    CHECK_FALSE(f.op.done());
    group.run_zero();
    CHECK_FALSE(f.op.done());
    CHECK(group.zero.outstanding() == 1);
    CHECK(group.zero.busy());
    group.open.room = 1;
    group.run_zero();
    CHECK_FALSE(f.op.done());
    group.open.room = 1;
    CHECK(group.zero.progress()); // whoever waits sees that something has happened
    CHECK(f.op.done());
    CHECK(f.op.result() == status{});
    CHECK(group.zero.outstanding() == 0);
    CHECK_FALSE(group.zero.busy());
}

TEST_CASE("departures: wait() returns when it has left, and by the deadline if it does not") {
    one_held_back group(3);
    auto& f = group.start(star3, 1);
    SECTION("it never does") {
        group.open.room = 1; // rank 2, the first, gets its message, rank 1 does not
        group.zero.wait(f.op);
        CHECK(f.op.result().code == errc::deadline);
        CHECK(f.op.result().peer == 1);
        CHECK_FALSE(group.zero.poison(0));
    }
    SECTION("it does") {
        group.open.opened = true;
        group.zero.wait(f.op);
        CHECK(f.op.result() == status{});
    }
}

TEST_CASE("departures: what is posted behind an operation does not hold it up") {
    one_held_back group(2);
    const auto pair = plan_broadcast(flat{}, {.size = 2});
    const auto& first = group.start(pair, 1);
    const auto& second = group.start(pair, 2);
    group.open.room = 1;
    group.zero.progress();
    CHECK(first.op.done());
    CHECK_FALSE(second.op.done());
    group.open.room = 1;
    group.zero.progress();
    CHECK(second.op.done());
}

TEST_CASE("departures: an operation that receives last waits for its own messages, too") {
    one_held_back group(2);
    const auto both = plan_allreduce(recursive_doubling{}, {.size = 2});
    const auto& f = group.start(both, 1);
    group.others[1].start(both, 1);
    group.run_others();
    group.run_zero();
    CHECK(group.data == std::vector<number>(2, 3 + 11)); // the result is there
    CHECK_FALSE(f.op.done());
    CHECK_FALSE(group.others[1].done());
    group.open.opened = true;
    group.zero.progress();
    CHECK(f.op.done());
    group.run_others();
    CHECK(group.others[1].done());
}

TEST_CASE("departures: nothing is left for a rank that is lost") {
    one_held_back group(3);
    const auto& f = group.start(star3, 1);
    group.open.room = 1;
    group.run_zero();
    CHECK_FALSE(f.op.done());
    group.others.lose(1); // rank 2 has its message
    group.run_zero();
    CHECK(f.op.done());
    CHECK(f.op.result() == status{});
}

TEST_CASE("departures: an operation that is given up does not wait, and the others are told at once") {
    one_held_back group(3);
    auto& f = group.start(star3, 1);
    SECTION("as far as there is room") {
        group.zero.cancel(f.op);
        CHECK(f.op.done());
        CHECK(f.op.result().code == errc::cancelled);
        group.run_others();
        group.open.opened = true;
        group.run_zero();
    }
    SECTION("at once") {
        group.open.opened = true;
        group.zero.cancel(f.op); // its own messages leave before that
    }
    group.run_others();
    for (const rank_t r : {1u, 2u}) {
        group.others[r].start(star3, 1);
        group.run_others();
        REQUIRE(group.others[r].done());
        CHECK((!group.others[r].result() || group.others[r].result().cause == errc::cancelled));
        CHECK_FALSE(group.others[r].session.poison(0));
    }
}

TEST_CASE("departures: refusals and control messages leave with the call that makes them") {
    one_held_back group(2);
    group.open.opened = true;
    group.zero.refuse({.operation = 1}, errc::invalid_argument);
    group.zero.send_control(1, {.operation = 7}, {});
    const auto pair = plan_broadcast(flat{}, {.size = 2});
    group.run_others(); // rank 0 is silent
    CHECK(group.others[1].session.messages().inbox().size() == 1);
    group.others[1].start(pair, 1);
    CHECK(group.others[1].result().code != errc::ok);
}
