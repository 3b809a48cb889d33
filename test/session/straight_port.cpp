// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/last_words.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/core/random.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/session.hpp>
#include <bough/session/straight_port.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

using namespace bough;

namespace {

using endpoint = in_process::endpoint;
static_assert(PollsPeers<endpoint>);

// Counts the polls of all peers, and the messages that are no call's own.
struct counting_link : endpoint {
    explicit counting_link(endpoint end) : endpoint(std::move(end)) {}
    std::size_t poll(std::span<event> events) {
        ++polls;
        const std::size_t found = endpoint::poll(events);
        polled += found;
        return found;
    }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        if (idles != nullptr)
            (*idles)();
        else
            endpoint::wait(idle, deadline_ns);
    }
    std::size_t polls = 0;
    std::size_t polled = 0;                 // events that they told of
    std::function<void()>* idles = nullptr; // what is done instead of waiting
};

// One rank and its operations, all driven by one thread.
struct rank_state {
    explicit rank_state(endpoint end)
        : group(std::make_unique<session<counting_link>>(counting_link(std::move(end)))) {}

    struct operation {
        prepared work;
        session_operation op;
        std::uint64_t value = 0;
        explicit operation(bound_schedule b) : work(std::move(b)) {}
    };
    template <class P>
    operation& start(const P& plan, std::uint32_t number, std::uint64_t value, call_signature signature = {},
                     combine_function* combine = make_any_op<std::uint64_t>(plus{}).function) {
        all.push_back(std::make_unique<operation>(bind_plan(plan, group->rank())));
        operation& o = *all.back();
        o.value = value;
        envelope tag;
        tag.operation = number;
        signature.plan = o.work.bound().plan_id;
        call c;
        c.input = reinterpret_cast<const std::byte*>(&o.value);
        c.output = reinterpret_cast<std::byte*>(&o.value);
        c.count = 1;
        c.element_bytes = sizeof o.value;
        c.combine = combine;
        group->start(o.op, o.work, c, tag, signature, 60'000'000'000);
        return o;
    }

    std::unique_ptr<session<counting_link>> group;
    std::vector<std::unique_ptr<operation>> all;
};
struct ranks {
    explicit ranks(rank_t size, in_process_options options = {}) : world(size, options) {
        for (rank_t r = 0; r != size; ++r) all.emplace_back(world.connect(r));
    }
    rank_state& operator[](rank_t r) { return all[r]; }
    bool run(int turns = 100'000) {
        for (int i = 0; i != turns; ++i) {
            bool done = true;
            for (rank_state& r : all) {
                if (!r.group) continue;
                r.group->progress();
                for (const auto& o : r.all) done &= r.group->is_done(o->op);
            }
            if (done) return true;
        }
        return false;
    }
    in_process world;
    std::vector<rank_state> all;
};

} // namespace

TEST_CASE("straight_port: a call whose messages are there polls no other peer, but for every 64th") {
    ranks group(2);
    const auto plan = plan_allreduce(tree_allreduce{fnomial{2}}, {.size = 2});
    const std::size_t before = group[0].group->transport().polls;
    std::uint32_t n = 0;
    while (++n != 63) {
        group[1].start(plan, n, 1); // sends, and waits
        REQUIRE(group[0].start(plan, n, 1).op.done());
        group[1].group->progress();
        REQUIRE(group[1].all.back()->op.done());
    }
    CHECK(group[0].group->transport().polls == before);
    CHECK(group[1].group->transport().polls == before);
    for (; n != 66; ++n) {
        group[1].start(plan, n, 1);
        group[0].start(plan, n, 1);
        REQUIRE(group.run());
    }
    CHECK(group[0].group->transport().polls != before);
}

TEST_CASE("straight_port: while one peer is late, what another one sends for later operations stays where it is") {
    ranks group(3, {.slots = 64});
    const auto plan = plan_reduce(fnomial{3}, {.size = 3});
    for (std::uint32_t n = 1; n != 40; ++n) REQUIRE(group[1].start(plan, n, 1).op.done()); // runs ahead
    int idle = 0;
    std::function<void()> idles = [&] {
        if (++idle == 50) // of which 32 go straight
            for (std::uint32_t n = 1; n != 40; ++n) group[2].start(plan, n, 1);
    };
    counting_link& link = group[0].group->transport();
    link.idles = &idles;
    CHECK_FALSE(group[0].group->wait(group[0].start(plan, 1, 1).op));
    CHECK(idle >= 50);
    CHECK(link.polls >= 3);   // all peers are heard, now and then
    CHECK(link.polled <= 20); // and not all 38
    for (std::uint32_t n = 2; n != 40; ++n) CHECK_FALSE(group[0].group->wait(group[0].start(plan, n, 1).op));
    for (const auto& o : group[0].all) CHECK(o->value == 3);
    CHECK(link.polled <= 40);
}

TEST_CASE("straight_port: a rank that waits for few peers hears within four turns what ends its call") {
    enum class deed { needed_rank_leaves, other_rank_breaks, other_rank_cancels };
    const deed what = GENERATE(deed::needed_rank_leaves, deed::other_rank_breaks, deed::other_rank_cancels);
    ranks group(4);
    const auto plan = plan_reduce(fnomial{2}, {.size = 4}); // nothing goes from 3 to 0
    int idle = 0;
    std::function<void()> idles = [&] {
        if (++idle != 50) return; // of which 32 go straight
        switch (what) {
        case deed::needed_rank_leaves: group[2].group.reset(); break;
        case deed::other_rank_breaks: group[3].group->break_communicator(0, {.code = errc::op_threw}); break;
        case deed::other_rank_cancels: {
            auto& call = group[3].start(plan_allreduce(recursive_doubling{}, {.size = 4}), 1, 1);
            group[3].group->cancel(call.op);
        }
        }
    };
    group[0].group->transport().idles = &idles;
    const status& s = group[0].group->wait(group[0].start(plan, 1, 1).op);
    INFO(static_cast<int>(what) << " " << describe(s.code) << " " << describe(s.cause) << " " << s.peer);
    CHECK(idle <= 54);
    CHECK(s.peer == (what == deed::needed_rank_leaves ? 2 : 3));
    CHECK(s.code == (what == deed::needed_rank_leaves ? errc::peer_dead : errc::peer_aborted));
}

TEST_CASE("straight_port: that every other operation only sends does not keep a rank from polling") {
    // Rank 0 receives in the odd operations, where the message is there already, and only sends in the even ones.
    // The 64th of the short ones in a row is one that only sends.
    const std::size_t elements = GENERATE(1u, 256u); // of the even ones: short, or long
    INFO(elements << " elements");
    in_process world(2, {.eager_bytes = 4096});
    std::vector<rank_state> all;
    for (rank_t r = 0; r != 2; ++r) all.emplace_back(world.connect(r));
    const auto there = plan_reduce(fnomial{2}, {.size = 2});
    const auto back = plan_broadcast(fnomial{2}, {.size = 2});
    prepared from_0(bind_plan(back, 0)), to_1(bind_plan(back, 1));
    std::vector<std::uint64_t> data(elements, 3);
    call c;
    c.input = c.output = reinterpret_cast<std::byte*>(data.data());
    c.count = elements;
    c.element_bytes = sizeof data[0];
    const std::size_t before = all[0].group->transport().polls;
    const std::uint32_t last_straight = elements == 1 ? 64 : 126;
    std::uint32_t n = 0;
    while (n != last_straight) {
        all[1].start(there, ++n, 1);
        REQUIRE(all[0].start(there, n, 1).op.done());
        envelope tag;
        tag.operation = ++n;
        session_operation sent, came;
        all[0].group->start(sent, from_0, c, tag, {.plan = from_0.bound().plan_id}, 60'000'000'000);
        REQUIRE(sent.done());
        all[1].group->start(came, to_1, c, tag, {.plan = to_1.bound().plan_id}, 60'000'000'000);
        for (int i = 0; i != 10 && !came.done(); ++i) all[1].group->progress();
        REQUIRE(came.done());
    }
    CHECK(all[0].group->transport().polls == before);
    all[1].start(there, ++n, 1);
    const session_operation& next = all[0].start(there, n, 1).op;
    CHECK_FALSE(next.done());
    all[0].group->progress();
    CHECK(next.done());
    CHECK(all[0].group->transport().polls != before);
}

TEST_CASE("straight_port: a caller that does not wait looks at all peers when its message is not there") {
    // Rank 0 waits for 1, which is late, and passes on to 3 what came from 2.
    ranks group(4);
    const slice whole{input, 0, 1}, from_one{scratch(0), 0, 1}, from_two{scratch(1), 0, 1};
    prepared work(bind_steps(std::vector<step>{receive_step(1, from_one), receive_step(2, from_two),
                                               send_step(3, from_two), copy_step(whole, {output, 0, 1})},
                             1));
    std::uint64_t in = 1, out = 0;
    session_operation op;
    envelope tag;
    tag.operation = 1;
    call c{reinterpret_cast<std::byte*>(&in), reinterpret_cast<std::byte*>(&out), 1, sizeof in};
    const call_signature signature{.plan = 5};
    prepared sends(bind_steps(std::vector<step>{send_step(0, whole)}, 1));
    session_operation sent;
    group[2].group->start(sent, sends, c, tag, signature, 1'000'000'000);
    REQUIRE(sent.done());
    group[0].group->start(op, work, c, tag, signature, 1'000'000'000);
    CHECK_FALSE(op.done());
    group[0].group->progress();
    group[0].group->progress();
    event e;
    CHECK(group[3].group->transport().poll_from(0, e));
    group[0].group->cancel(op);
}

TEST_CASE("straight_port: whatever interrupts a short operation, its result is right") {
    constexpr std::size_t elements = 8;
    struct rank_run {
        explicit rank_run(bound_schedule a, bound_schedule b) : work{prepared(std::move(a)), prepared(std::move(b))} {}
        prepared work[2]; // used again and again, with one operation
        session_operation op, other;
        std::vector<std::uint64_t> x = std::vector<std::uint64_t>(elements);
        std::vector<std::uint64_t> y = std::vector<std::uint64_t>(elements);
        std::uint32_t started = 0;
    };
    for (std::uint64_t seed = 0; seed != 300; ++seed) {
        random_sequence random(seed, 0, 0);
        const auto p = static_cast<rank_t>(2 + random.below(5));
        // Messages of 64 bytes are copied, or stay with their sender until they are read.
        in_process world(p, {.slots = 1u << random.below(4), .eager_bytes = random.below(2) == 0 ? 32u : 2048u});
        const auto doubling = plan_allreduce(recursive_doubling{}, {.size = p});
        const auto tree = plan_allreduce(tree_allreduce{fnomial{3}}, {.size = p});
        std::vector<std::unique_ptr<session<endpoint>>> sessions;
        std::vector<std::unique_ptr<rank_run>> all;
        for (rank_t r = 0; r != p; ++r) {
            sessions.push_back(std::make_unique<session<endpoint>>(world.connect(r)));
            all.push_back(std::make_unique<rank_run>(bind_plan(doubling, r), bind_plan(tree, r)));
        }
        const auto start = [&](rank_t r, bool second) {
            rank_run& own = *all[r];
            auto& data = second ? own.y : own.x;
            const std::uint32_t n = ++own.started;
            for (std::size_t i = 0; i != elements; ++i) data[i] = 100 * n + r + i;
            envelope tag;
            tag.operation = n;
            call c;
            c.input = c.output = reinterpret_cast<std::byte*>(data.data());
            c.count = elements;
            c.element_bytes = sizeof data[0];
            c.combine = make_any_op<std::uint64_t>(plus{}).function;
            prepared& work = own.work[second];
            sessions[r]->start(second ? own.other : own.op, work, c, tag, {.plan = work.bound().plan_id},
                               60'000'000'000);
        };
        constexpr std::uint32_t operations = 20;
        // Each rank starts its operations in order, one or two at a time, and is interrupted.
        std::size_t turns = 0;
        for (bool left = true; left;) {
            REQUIRE(++turns != 1'000'000);
            left = false;
            for (rank_t r = 0; r != p; ++r) {
                rank_run& own = *all[r];
                const auto check = [&](const session_operation& op, const std::vector<std::uint64_t>& data,
                                       std::uint32_t n) {
                    INFO("seed " << seed << ", rank " << r << ", operation " << n);
                    REQUIRE(op.result().code == errc::ok);
                    for (std::size_t i = 0; i != elements; ++i) REQUIRE(data[i] == (100 * n + i) * p + p * (p - 1) / 2);
                };
                if (own.op.done() && own.other.done() && own.started % 2 == 0 && own.started != 0) {
                    check(own.op, own.x, own.started - 1);
                    check(own.other, own.y, own.started);
                }
                if (own.op.done() && own.other.done() && own.started % 2 == 0 && own.started != operations)
                    start(r, false);
                if (own.started % 2 == 1 && (own.op.done() || random.below(8) == 0)) start(r, true);
                switch (random.below(6)) {
                case 0: sessions[r]->check_deadlines(); break;
                case 1: sessions[r]->make_way(); break;
                case 2: break;
                default: sessions[r]->progress();
                }
                left |= own.started != operations || !own.op.done() || !own.other.done();
            }
        }
    }
}

TEST_CASE("straight_port: a rank that calls something else is an error on all ranks") {
    ranks group(3);
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 3});
    for (rank_t r = 0; r != 3; ++r) group[r].start(plan, 1, r, {.op = r == 1 ? 9u : 8u});
    REQUIRE(group.run());
    for (rank_t r = 0; r != 3; ++r) {
        const status& s = group[r].all[0]->op.result();
        INFO(describe(s.code) << ", rank " << r);
        CHECK((s.code == errc::call_mismatch || s.cause == errc::call_mismatch));
        CHECK(s.mismatch == mismatch::op);
    }
}

TEST_CASE("straight_port: an op that throws fails the operation on all ranks") {
    ranks group(2);
    const auto plan = plan_allreduce(tree_allreduce{fnomial{2}}, {.size = 2});
    const auto throws = [](const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) { throw 1; };
    for (rank_t r = 0; r != 2; ++r) group[r].start(plan, 1, r, {}, throws);
    REQUIRE(group.run());
    CHECK(group[0].all[0]->op.result().code == errc::op_threw);
    CHECK(group[1].all[0]->op.result().code == errc::peer_aborted);
    CHECK(group[1].all[0]->op.result().cause == errc::op_threw);
}

TEST_CASE("straight_port: an op that calls the library ends the program with a sentence, straight or in the engine") {
    static rank_state* caller = nullptr;
    static const plan<goal::reduce, tree_reduce<fnomial>> plan = plan_reduce(fnomial{2}, {.size = 2});
    static void (*deed)() = nullptr;
    deed = GENERATE(
        as<void (*)()>{}, [] { caller->group->progress(); }, [] { caller->start(plan, 2, 1); },
        [] { caller->group->make_way(); }, [] { caller->group->check_deadlines(); },
        [] { caller->group->cancel(caller->all[0]->op); });
    const auto calls = [](const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) { deed(); };
    SECTION("as it starts") {
        CHECK(bough_test::last_words_of([&] {
                  ranks group(2);
                  caller = &group[0];
                  group[1].start(plan, 1, 1);
                  group[0].start(plan, 1, 1, {}, calls);
              }).has(op_calls_library));
    }
    SECTION("later") {
        CHECK(bough_test::last_words_of([&] {
                  ranks group(2);
                  caller = &group[0];
                  group[0].start(plan, 1, 1, {}, calls);
                  group[1].start(plan, 1, 1);
                  group[0].group->progress();
              }).has(op_calls_library));
    }
}

TEST_CASE("straight_port: an op that polls from within the engine ends the program with the same sentence") {
    static rank_state* caller = nullptr;
    const auto calls = [](const void*, const std::byte*, const std::byte*, std::byte*, std::size_t) {
        caller->group->progress();
    };
    const auto plan = plan_reduce(fnomial{2}, {.size = 2});
    const bough_test::last_words said = bough_test::last_words_of([&] {
        ranks group(2);
        caller = &group[0];
        group[0].start(plan, 1, 1, {}, calls);
        group[0].group->progress(); // the engine goes on with it
        group[1].start(plan, 1, 1);
        group[0].group->progress();
    });
    CHECK((said.aborted && said.has(op_calls_library)));
}

TEST_CASE("straight_port: the loss of a peer, and a cancelled operation, end it") {
    const auto plan = plan_allreduce(recursive_doubling{}, {.size = 2});
    SECTION("lost while it waits") {
        ranks group(2);
        group[0].start(plan, 1, 1);
        group[1].group.reset();
        REQUIRE(group.run());
        CHECK(group[0].all[0]->op.result().code == errc::peer_dead);
    }
    SECTION("lost, but its last message came") {
        ranks group(2);
        const auto to_root = plan_reduce(fnomial{2}, {.size = 2});
        group[1].start(to_root, 1, 5);
        group[1].group.reset();
        group[0].start(to_root, 1, 1);
        REQUIRE(group.run());
        CHECK_FALSE(group[0].all[0]->op.result());
        CHECK(group[0].all[0]->value == 6);
    }
    SECTION("cancelled") {
        ranks group(2);
        auto& o = group[0].start(plan, 1, 1);
        group[0].group->cancel(o.op);
        group[1].start(plan, 1, 1);
        REQUIRE(group.run());
        CHECK(o.op.result().code == errc::cancelled);
        CHECK_FALSE(group[1].all[0]->op.result()); // its message had left
        for (int i = 0; i != 100; ++i) group[1].group->progress();
        CHECK_FALSE(group[1].group->poison(0)); // nothing else ends
    }
}

TEST_CASE("straight_port: a message that is refused for want of room goes later") {
    in_process world(2, {.slots = 1});
    std::vector<rank_state> all;
    for (rank_t r = 0; r != 2; ++r) all.emplace_back(world.connect(r));
    const auto plan = plan_allreduce(tree_allreduce{fnomial{2}}, {.size = 2});
    // Rank 1 is a leaf: it sends and waits. Its second operation finds the only slot full.
    for (std::uint32_t n = 1; n <= 3; ++n) all[1].start(plan, n, n);
    for (std::uint32_t n = 1; n <= 3; ++n) all[0].start(plan, n, 10 * n);
    for (int i = 0; i != 1000; ++i)
        for (rank_state& r : all) r.group->progress();
    for (rank_state& r : all)
        for (std::uint32_t n = 1; n <= 3; ++n) {
            REQUIRE(r.all[n - 1]->op.done());
            CHECK(r.all[n - 1]->value == 11 * n);
        }
}

TEST_CASE("straight_port: progress says that a message has left which was refused before") {
    // Rank 1 sends three messages; there is room for one.
    in_process world(2, {.slots = 1});
    std::vector<rank_state> all;
    for (rank_t r = 0; r != 2; ++r) all.emplace_back(world.connect(r));
    const slice whole{input, 0, 1}, first{scratch(0), 0, 1}, second{scratch(1), 0, 1}, last{output, 0, 1};
    prepared sends(bind_steps(std::vector<step>{send_step(0, whole), send_step(0, whole), send_step(0, whole)}, 1));
    prepared takes(
        bind_steps(std::vector<step>{receive_step(1, first), receive_step(1, second), receive_step(1, last)}, 1));
    std::uint64_t in = 7, out = 0;
    const call c{reinterpret_cast<std::byte*>(&in), reinterpret_cast<std::byte*>(&out), 1, sizeof in};
    envelope tag;
    tag.operation = 1;
    session_operation sent, taken;
    all[1].group->start(sent, sends, c, tag, {.plan = 5}, 1'000'000'000);
    all[0].group->start(taken, takes, c, tag, {.plan = 5}, 1'000'000'000); // takes the first
    CHECK(all[1].group->progress());                                       // sends the second
    CHECK_FALSE(all[1].group->progress());                                 // there is no room for the third
    all[0].group->progress();
    CHECK(all[1].group->progress());
    CHECK(sent.done());
    all[0].group->progress();
    CHECK(taken.done());
    CHECK(out == 7);
}
