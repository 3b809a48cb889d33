// SPDX-License-Identifier: BSL-1.0
// Operations with a higher priority send first, where the transport has room for few messages at a time.
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/call/named.hpp>
#include <bough/core/random.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/chain.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace bough;

constexpr block_t blocks = 200;

// Two ranks in one thread. Rank 0 broadcasts 200 blocks, one message each, and then a single number; the
// transport has room for few messages.
struct two_ranks {
    using end = in_process::endpoint;
    in_process world{2, {.slots = 4}};
    communicator<end> a{world.connect(0)}, b{world.connect(1)};
    std::vector<std::uint64_t> from = std::vector<std::uint64_t>(blocks, 7),
                               into = std::vector<std::uint64_t>(blocks, 0);
    std::uint64_t one = 5, other = 0;
    operation long_a, long_b, short_a, short_b;

    static auto plan() { return plan_broadcast(chain{}, {.size = 2, .blocks = blocks}); }
    std::size_t received() const { return static_cast<std::size_t>(std::count(into.begin(), into.end(), 7u)); }
    void start(const std::function<void(two_ranks&)>& between = [](two_ranks&) {}) {
        long_a = start_broadcast(a, std::span(from), root{0}, plan());
        long_b = start_broadcast(b, std::span(into), root{0}, plan());
        for (int i = 0; i != 3; ++i) a.progress(); // no slot is free
        between(*this);
        short_a = start_broadcast(a, std::span(&one, 1), root{0}, chain{});
        short_b = start_broadcast(b, std::span(&other, 1), root{0}, chain{});
    }
    // How many blocks of the long one had come when the short one ended.
    std::size_t blocks_before_short() {
        for (int i = 0; i != 10'000 && !short_b.poll(); ++i) a.progress();
        REQUIRE((short_b.done() && !short_b.result() && other == 5));
        const std::size_t before = received();
        for (int i = 0; i != 10'000 && !(long_b.poll() && long_a.done() && short_a.done()); ++i) a.progress();
        REQUIRE((long_a.done() && !long_a.result() && long_b.done() && !long_b.result() && !short_a.result()));
        REQUIRE(received() == blocks);
        return before;
    }
};

} // namespace

TEST_CASE("priorities: without them the older operation sends all that it has before the younger one") {
    two_ranks r;
    r.start();
    CHECK(r.blocks_before_short() == blocks);
}

TEST_CASE("priorities: an operation with a higher one sends as soon as there is room") {
    SECTION("of its communicator") {
        two_ranks r;
        r.start([](two_ranks& t) { t.a.set_priority(1); });
        CHECK(r.blocks_before_short() <= 12);
        CHECK(r.a.options().priority == 1);
    }
    SECTION("the other one has a lower one") {
        two_ranks r;
        r.a.set_priority(-3);
        r.start([](two_ranks& t) { t.a.set_priority(-2); });
        CHECK(r.blocks_before_short() <= 12);
    }
    SECTION("of the operation alone, while it is in flight") {
        two_ranks r;
        r.start();
        r.short_a.set_priority(1);
        CHECK(r.blocks_before_short() <= 12);
    }
    SECTION("of the older one: nothing changes") {
        two_ranks r;
        r.start();
        r.long_a.set_priority(1);
        CHECK(r.blocks_before_short() == blocks);
    }
    SECTION("an operation that has ended, or was made empty, has none") {
        operation none;
        none.set_priority(1);
        two_ranks r;
        r.start();
        (void)r.blocks_before_short();
        r.short_a.set_priority(1);
    }
}

TEST_CASE("priorities: of communicator_options, for duplicates, too, and for calls with names") {
    in_process world(1);
    communicator comm{world.connect(0), {.priority = 2}};
    auto twin = duplicate(comm);
    CHECK(twin.options().priority == 2);
    std::uint64_t x = 1;
    operation op = start_allreduce(twin, std::span(&x, 1), plus{}, named{"x"});
    op.set_priority(3);
    op.wait();
    CHECK(x == 1);
}

// Whatever the priorities, nothing waits for ever, and the results are those of the same calls without.
TEST_CASE("priorities: random ones on each rank, with few slots and many operations") {
    for (std::uint64_t seed = 1; seed != 151; ++seed) {
        CAPTURE(seed);
        detail::split_mix random(seed);
        const auto p = static_cast<rank_t>(2 + random.below(4));
        simulated world(p, {.seed = seed, .refuse = static_cast<std::uint32_t>(random.below(3) * 150)});
        std::vector<std::optional<communicator<simulated::endpoint>>> first(p);
        for (rank_t r = 0; r != p; ++r)
            first[r].emplace(world.connect(r), communicator_options{.timeout_ns = 10'000'000'000});
        const std::size_t calls = seed % 10 == 0 ? 80 : 12; // from 64 on they take turns
        std::vector<std::vector<std::vector<std::uint64_t>>> data(p);
        std::vector<std::vector<operation>> ops(p);
        for (rank_t r = 0; r != p; ++r) {
            data[r].resize(calls);
            for (std::size_t k = 0; k != calls; ++k) {
                data[r][k].assign(1 + k * 37 % 300, r + k);
                if (random.below(2) == 0) first[r]->set_priority(static_cast<int>(random.below(5)) - 2);
                ops[r].push_back(start_allreduce(*first[r], std::span(data[r][k]), plus{}));
                if (random.below(4) == 0) ops[r].back().set_priority(static_cast<int>(random.below(100)));
            }
        }
        const auto all_done = [&] {
            for (auto& of_rank : ops)
                for (auto& op : of_rank)
                    if (!op.done()) return false;
            return true;
        };
        for (int still = 0; !all_done() && still != 1'000;) {
            bool moved = false;
            for (rank_t r = 0; r != p; ++r) moved |= first[r]->progress();
            if (!moved && !world.advance()) ++still;
        }
        REQUIRE(all_done());
        for (rank_t r = 0; r != p; ++r)
            for (std::size_t k = 0; k != calls; ++k) {
                REQUIRE(!ops[r][k].result());
                REQUIRE(data[r][k].back() == p * (p - 1) / 2 + p * k);
            }
    }
}
