// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/core/random.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/session.hpp>
#include <bough/session/straight_port.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

using namespace bough;

namespace {

using link = in_process::endpoint;
static_assert(PollsPeers<link>);

// One rank and its operations, all driven by one thread.
struct rank_state {
    explicit rank_state(link end) : group(std::make_unique<session<link>>(std::move(end))) {}

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

    std::unique_ptr<session<link>> group;
    std::vector<std::unique_ptr<operation>> all;
};
struct ranks {
    explicit ranks(rank_t size) : world(size) {
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

TEST_CASE("straight_port: whatever interrupts a short operation, its result is right") {
    for (std::uint64_t seed = 0; seed != 300; ++seed) {
        random_sequence random(seed, 0, 0);
        const auto p = static_cast<rank_t>(2 + random.below(5));
        ranks group(p);
        const auto doubling = plan_allreduce(recursive_doubling{}, {.size = p});
        const auto tree = plan_allreduce(tree_allreduce{fnomial{3}}, {.size = p});
        constexpr std::uint32_t operations = 12;
        std::vector<std::uint32_t> started(p, 0);
        // Each rank starts its operations in order, one or several at a time, and is interrupted.
        for (bool left = true; left;) {
            left = false;
            for (rank_t r = 0; r != p; ++r) {
                auto& own = group[r].all;
                const bool idle = own.empty() || own.back()->op.done();
                if (started[r] != operations && (idle || random.below(8) == 0)) {
                    const std::uint32_t n = ++started[r];
                    n % 2 == 0 ? group[r].start(doubling, n, 100 * n + r) : group[r].start(tree, n, 100 * n + r);
                }
                switch (random.below(6)) {
                case 0: group[r].group->check_deadlines(); break;
                case 1: group[r].group->make_way(); break;
                case 2: break;
                default: group[r].group->progress();
                }
                left |= started[r] != operations || !own.back()->op.done();
            }
        }
        REQUIRE(group.run());
        for (rank_t r = 0; r != p; ++r)
            for (std::uint32_t n = 1; n <= operations; ++n) {
                INFO("seed " << seed << ", rank " << r << ", operation " << n);
                REQUIRE_FALSE(group[r].all[n - 1]->op.result());
                REQUIRE(group[r].all[n - 1]->value == 100 * n * p + p * (p - 1) / 2);
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
        CHECK(group[1].group->poison().cause == errc::cancelled);
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
