// SPDX-License-Identifier: BSL-1.0
#include "engine/ranks.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/session/session.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

using namespace bough;
using test::number;

namespace {

// What the ranks 0 to size - 1 have in all, if rank r has first + r.
number sum(rank_t size, number first = 1) { return size * first + number{size} * (size - 1) / 2; }

// Two ends: rank 0 is a session, rank 1 is played by the test, message by message.
struct puppet {
    testing::loop_group group{2};
    test::rank_state rank{group.connect(0)};
    test::link other{group.connect(1)};
    std::vector<std::byte> memory = std::vector<std::byte>(1000, std::byte{3});

    posted send(std::uint32_t operation, std::uint32_t segment, std::size_t bytes, std::uint64_t plan,
                std::uint32_t epoch = 1) {
        envelope tag;
        tag.epoch = epoch;
        tag.operation = operation;
        tag.segment = segment;
        sign(tag, {.plan = plan});
        const posted result = other.post_send(0, tag, std::span<const std::byte>(memory).first(bytes), 1);
        for (int i = 0; i != 20; ++i) rank.session.progress();
        return result;
    }
    // The first message that rank 0 has sent.
    bool received(event& e) {
        std::array<event, 1> events;
        if (other.poll(events) == 0) return false;
        e = events[0];
        return true;
    }
};
const auto from_1 = plan_broadcast(flat{}, {.size = 2, .root = 1});
const std::uint64_t from_1_id = bind_plan(from_1, 0).plan_id;

} // namespace

TEST_CASE("session: plans give their result over a transport that copies nothing out and grants little") {
    for (const std::uint32_t slots : {1u, 4u})
        for (const std::size_t count : {std::size_t{1}, std::size_t{300}}) // 8 bytes, and more than is eager
            for (rank_t size = 1; size != 10; ++size) {
                test::ranks group(size, {.slots = slots});
                CAPTURE(size, count, slots);
                group.fill(count);
                group.start_all(plan_allreduce(recursive_doubling{}, {.size = size}), 1);
                REQUIRE(group.run());
                for (rank_t r = 0; r != size; ++r) {
                    REQUIRE(group[r].result() == status{});
                    REQUIRE(group[r].data == std::vector<number>(count, sum(size)));
                }
                group.fill(count);
                group.start_all(plan_allreduce(fnomial{.degree = 3}, {.size = size, .root = size / 2, .blocks = 4}), 2);
                REQUIRE(group.run());
                for (rank_t r = 0; r != size; ++r) REQUIRE(group[r].data == std::vector<number>(count, sum(size)));
            }
}

TEST_CASE("session: a message that comes before its operation waits for it") {
    test::ranks group(3);
    group.fill(2);
    const auto plan = plan_reduce(flat{}, {.size = 3});
    // The leaves are done before the root begins, with two operations.
    for (const std::uint32_t operation : {1u, 2u}) {
        for (const rank_t r : {1u, 2u}) group[r].start(plan, operation);
        group.settle();
        CHECK((group[1].done() && group[2].done()));
    }
    group[0].start(plan, 1);
    CHECK(group.run());
    CHECK(group[0].data == std::vector<number>(2, sum(3)));
    group[0].data.assign(2, 1);
    group[0].start(plan, 2);
    CHECK(group.run());
    CHECK(group[0].data == std::vector<number>(2, sum(3)));
    CHECK_FALSE(group[0].session.poison());
}

TEST_CASE("session: early messages beyond a few are copied, so that they make room") {
    constexpr std::size_t bytes = 100;
    in_process world(2, {.slots = 16});
    session<in_process::endpoint> receiver(world.connect(0), {.in_place = 2, .bytes_per_peer = 900, .bytes = 1000});
    auto sender = world.connect(1);
    std::array<std::byte, bytes> payload{};
    for (std::uint32_t n = 1; n != 9; ++n) {
        envelope tag;
        tag.epoch = 1;
        tag.operation = n;
        sign(tag, {.plan = from_1_id});
        payload.fill(static_cast<std::byte>(n));
        REQUIRE(sender.post_send(0, tag, payload, n) == posted::complete);
    }
    for (int i = 0; i != 10; ++i) receiver.progress();
    CHECK(receiver.early_bytes() >= 3 * bytes);
    CHECK(receiver.early_bytes() <= 900);
    std::array<std::byte, bytes> got{};
    for (std::uint32_t n = 1; n != 9; ++n) {
        prepared work(bind_plan(from_1, 0));
        envelope tag;
        tag.operation = n;
        session_operation op;
        receiver.start(op, work, {nullptr, got.data(), bytes, 1}, tag, {.plan = from_1_id}, 1'000'000);
        REQUIRE(op.done());
        REQUIRE(op.result() == status{});
        REQUIRE(got[0] == static_cast<std::byte>(n));
        REQUIRE(got[bytes - 1] == static_cast<std::byte>(n));
    }
    CHECK(receiver.early_bytes() == 0);
    payload.fill(std::byte{77});
    CHECK(got[0] == std::byte{8});
}

TEST_CASE("session: copies of early messages stay within the cap of the group, to the byte, whoever has sent them") {
    constexpr std::size_t bytes = 100;
    constexpr rank_t senders = 3;
    constexpr std::uint32_t each = 4;
    const auto plan_from = [](rank_t root) { return plan_broadcast(flat{}, {.size = senders + 1, .root = root}); };
    // What is copied with a cap of so many bytes; all come to their operations in the end.
    const auto copied = [&](std::uint64_t cap) {
        in_process world(senders + 1, {.slots = 16});
        session<in_process::endpoint> receiver(world.connect(0), {.in_place = 0, .bytes_per_peer = cap, .bytes = cap});
        std::array<std::byte, bytes> payload{};
        const auto tag_of = [&](rank_t r, std::uint32_t k) {
            envelope tag;
            tag.epoch = 1;
            tag.operation = (r - 1) * each + k + 1;
            sign(tag, {.plan = bind_plan(plan_from(r), 0).plan_id});
            return tag;
        };
        std::vector<in_process::endpoint> ends;
        for (rank_t r = 1; r <= senders; ++r) ends.push_back(world.connect(r));
        for (std::uint32_t k = 0; k != each; ++k) // in turns
            for (rank_t r = 1; r <= senders; ++r) {
                payload.fill(static_cast<std::byte>(tag_of(r, k).operation));
                REQUIRE(ends[r - 1].post_send(0, tag_of(r, k), payload, 1) == posted::complete);
                for (int i = 0; i != 10; ++i) receiver.progress();
            }
        const std::uint64_t most = receiver.early_bytes();
        for (rank_t r = 1; r <= senders; ++r)
            for (std::uint32_t k = 0; k != each; ++k) {
                prepared work(bind_plan(plan_from(r), 0));
                session_operation op;
                receiver.start(op, work, {nullptr, payload.data(), bytes, 1}, tag_of(r, k),
                               {.plan = work.bound().plan_id}, 1'000'000);
                for (int i = 0; i != 10 && !op.done(); ++i) receiver.progress();
                REQUIRE((op.done() && op.result() == status{}));
                REQUIRE(payload[bytes - 1] == static_cast<std::byte>(tag_of(r, k).operation));
            }
        CHECK(receiver.early_bytes() == 0);
        return most;
    };
    const std::uint64_t all = copied(1'000'000), one = all / (senders * each);
    REQUIRE(one * senders * each == all);
    CHECK(one >= bytes);
    CHECK(copied(5 * one) == 5 * one);
    CHECK(copied(6 * one - 1) == 5 * one);
    CHECK(copied(one - 1) == 0);
}

TEST_CASE("session: a message that no operation of this plan expects") {
    puppet p;
    p.rank.data.assign(1, 0);
    p.rank.start(from_1, 5);
    SECTION("wrong number on the channel") { p.send(5, 1, 8, from_1_id); }
    SECTION("of an operation that is over") {
        p.send(5, 0, 8, from_1_id);
        CHECK(p.rank.done());
        CHECK(p.rank.result() == status{});
        CHECK(p.rank.data[0] == 0x0303'0303'0303'0303u);
        CHECK_FALSE(p.rank.session.poison());
        p.send(5, 1, 8, from_1_id); // one more
        CHECK(p.rank.session.poison(0).code == errc::call_mismatch);
        CHECK(p.rank.session.poison(0).mismatch == mismatch::operation);
        CHECK(p.rank.session.poison(0).peer == 1);
        return;
    }
    CHECK(p.rank.done());
    CHECK(p.rank.result().code == errc::call_mismatch);
    CHECK(p.rank.result().mismatch == mismatch::segment);
    CHECK(p.rank.result().operation == 5);
    CHECK(p.rank.data[0] == 0);
    event e;
    REQUIRE(p.received(e)); // and the peer is told
    CHECK((e.bytes == 24 && e.envelope.operation == 5));
}

TEST_CASE("session: messages of a channel come in their order, each once") {
    const auto two = plan_broadcast(flat{}, {.size = 2, .root = 1, .blocks = 2});
    const std::uint64_t id = bind_plan(two, 0).plan_id;
    for (const auto& [first, second] : {std::pair{0u, 0u}, {1u, 0u}, {0u, 2u}}) {
        puppet p;
        p.rank.data.assign(2, 0);
        p.rank.start(two, 1);
        p.send(1, first, 8, id);
        if (!p.rank.done()) p.send(1, second, 8, id);
        CAPTURE(first, second);
        CHECK(p.rank.done());
        CHECK(p.rank.result().code == errc::call_mismatch);
        CHECK(p.rank.result().mismatch == mismatch::segment);
    }
}

TEST_CASE("session: a message of a wrong length breaks the protocol and writes nothing") {
    for (const std::size_t bytes : {0u, 7u, 9u, 900u}) {
        puppet p;
        p.rank.data.assign(1, 42);
        p.rank.start(from_1, 1);
        p.send(1, 0, bytes, from_1_id);
        CAPTURE(bytes);
        CHECK(p.rank.done());
        CHECK(p.rank.result().code == errc::protocol_error);
        CHECK(p.rank.result().peer == 1);
        CHECK(p.rank.data[0] == 42);
    }
}

TEST_CASE("session: what is not an abort reads as a broken protocol") {
    for (const std::size_t bytes : {0u, 23u, 24u, 900u}) {
        puppet p;
        p.memory.assign(1000, std::byte{0xee});
        p.send(7, 0xffff'ffffu, bytes, 0);
        CAPTURE(bytes);
        CHECK(p.rank.session.poison().code == errc::peer_aborted);
        CHECK(p.rank.session.poison().cause == errc::protocol_error);
        CHECK(p.rank.session.poison(0).peer == 1);
    }
}

TEST_CASE("session: messages of another epoch") {
    puppet p;
    p.rank.data.assign(1, 0);
    p.send(1, 0, 8, from_1_id, 0);
    CHECK(p.rank.session.stale_messages() == 1);
    p.send(1, 0, 8, from_1_id, 2); // of one that has yet to begin here
    CHECK(p.rank.session.stale_messages() == 1);
    p.rank.start(from_1, 1);
    p.rank.session.progress();
    CHECK_FALSE(p.rank.done()); // neither is its
    p.send(1, 0, 8, from_1_id);
    CHECK(p.rank.done());
    p.rank.session.begin_epoch();
    p.rank.data[0] = 0;
    p.rank.start(from_1, 1);
    for (int i = 0; i != 10; ++i) p.rank.session.progress();
    CHECK(p.rank.done());
    CHECK(p.rank.data[0] == 0x0303'0303'0303'0303u);
    CHECK(p.rank.session.stale_messages() == 1);
}

TEST_CASE("session: what survivors say in an epoch that is broken before it begins here is heard") {
    in_process world(2);
    session<in_process::endpoint> receiver(world.connect(0));
    auto sender = world.connect(1);
    const std::array<std::byte, 24> said{std::byte{3}};
    // From a rank that has shrunk already, has failed again, and asks what now.
    for (const std::uint32_t segment : {detail::abort_segment, detail::control_segment, detail::control_segment}) {
        envelope tag;
        tag.epoch = 2;
        tag.operation = 7;
        tag.segment = segment;
        REQUIRE(sender.post_send(0, tag, said, 1) == posted::complete);
    }
    for (int i = 0; i != 10; ++i) receiver.progress();
    CHECK_FALSE(receiver.poison());
    receiver.begin_epoch();
    CHECK(receiver.poison());
    REQUIRE(receiver.messages().inbox().size() == 2);
    for (const control_message& m : receiver.messages().inbox()) CHECK(std::ranges::equal(m.bytes, said));
    CHECK(receiver.stale_messages() == 0);
}

TEST_CASE("session: an operation that is given up has given all its memory back") {
    test::ranks group(2);
    group.fill(100); // 800 bytes: not eager
    group[0].start(plan_broadcast(flat{}, {.size = 2}), 1);
    group.settle();
    CHECK_FALSE(group[0].done()); // rank 1 has seen the message, and has not begun
    group[0].session.cancel(group[0].operation());
    CHECK_FALSE(group[0].done()); // its event has yet to come
    CHECK(group[0].result().code == errc::cancelled);
    group[0].session.progress();
    CHECK(group[0].done());
    group[0].data.assign(100, 99);
    group[1].start(plan_broadcast(flat{}, {.size = 2}), 1);
    group.settle();
    CHECK(group[1].done());
    CHECK(group[1].result());
    CHECK(group[1].data == std::vector<number>(100, 2)); // nothing has been written
}
