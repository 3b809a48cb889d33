// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/plans.hpp"
#include <bough/engine/bound.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

using namespace bough;

namespace {

constexpr slice part(buffer b, block_t first, block_t count = 1) { return {b, first, count}; }
constexpr buffer s0 = scratch(0), s1 = scratch(1);

constexpr bound_schedule bound_of(std::vector<step> steps, block_t blocks = 1) { return bind_steps(steps, blocks); }

// The steps that wait for step i.
std::vector<std::uint32_t> after(const bound_schedule& b, std::uint32_t i) {
    const auto first = b.after.begin() + b.steps[i].after;
    return {first, first + b.steps[i].after_count};
}
bool is_fused(const bound_schedule& b, std::uint32_t i) { return b.steps[i].partner != not_a_step; }

// A plan with nothing but what the concept asks for.
struct ping {
    constexpr goal::broadcast goal() const { return {}; }
    constexpr rank_t size() const { return 2; }
    constexpr rank_t root() const { return 0; }
    constexpr block_t blocks() const { return 1; }
    constexpr block_t scratch(rank_t) const { return 0; }
    constexpr void emit(rank_t rank, StepSink auto&& out) const {
        if (rank == 0)
            out.send(1, slice{input, 0, 1});
        else
            out.receive(0, slice{output, 0, 1});
    }
};

} // namespace

// The same at compile time.
static_assert([] {
    const bound_schedule b = bind_plan(plan_broadcast(chain{}, {.size = 3, .blocks = 4}), 1);
    if (b.steps.size() != 8 || !b.start.empty() || b.channels.size() != 1) return false;
    for (std::uint32_t block = 0; block != 4; ++block)
        if (b.steps[2 * block].segment != block || b.steps[2 * block + 1].segment != block) return false;
    return b.channels[0].peer == 0 && b.channels[0].count == 4;
}());

TEST_CASE("bound: messages of a channel are numbered, and sends are posted in that order") {
    const bound_schedule b =
        bound_of({send_step(1, part(input, 0)), send_step(2, part(input, 0)), send_step(1, part(input, 1)),
                  receive_step(1, part(s0, 0)), send_step(1, part(input, 2)), receive_step(1, part(s0, 1))},
                 3);
    const std::vector<std::uint32_t> segments{0, 0, 1, 0, 2, 1};
    for (std::size_t i = 0; i != segments.size(); ++i) CHECK(b.steps[i].segment == segments[i]);
    CHECK(b.steps[0].next_on_channel == 2);
    CHECK(b.steps[2].next_on_channel == 4);
    CHECK(b.steps[4].next_on_channel == not_a_step);
    CHECK(b.steps[1].next_on_channel == not_a_step);
    CHECK(std::ranges::equal(b.waits, std::array{0u, 0u, 1u, 0u, 1u, 0u}));
    CHECK(std::ranges::equal(b.start, std::array{0u, 1u})); // a receive waits for its message
}

TEST_CASE("bound: a message finds its step by peer and number") {
    const bound_schedule b = bound_of({receive_step(7, part(s0, 0)), receive_step(2, part(s1, 0)),
                                       receive_step(7, part(s0, 1)), receive_step(2, part(s1, 1))},
                                      2);
    REQUIRE(b.channels.size() == 2);
    CHECK((b.channels[0].peer == 2 && b.channels[1].peer == 7));
    CHECK((b.channels[0].count == 2 && b.channels[1].count == 2));
    const auto step_of = [&](std::size_t channel, std::uint32_t segment) {
        return b.receives[b.channels[channel].first + segment];
    };
    CHECK(step_of(0, 0) == 1);
    CHECK(step_of(0, 1) == 3);
    CHECK(step_of(1, 0) == 0);
    CHECK(step_of(1, 1) == 2);
}

TEST_CASE("bound: waits and afters say the same") {
    for (const rank_t size : {2u, 5u, 8u, 13u})
        test::for_each_plan({.size = size, .root = size / 2, .blocks = 4}, [&](const char* name, const auto& plan) {
            CAPTURE(name, size);
            for (rank_t r = 0; r != size; ++r) {
                const bound_schedule b = bind_plan(plan, r);
                std::vector<std::uint32_t> waits(b.steps.size(), 0);
                for (std::uint32_t i = 0; i != b.steps.size(); ++i) {
                    for (const std::uint32_t later : after(b, i)) ++waits[later];
                    if (b.steps[i].next_on_channel != not_a_step) ++waits[b.steps[i].next_on_channel];
                }
                REQUIRE(std::ranges::equal(waits, b.waits));
            }
        });
}

TEST_CASE("bound: equal slices share a place, planes know the blocks that are used") {
    const bound_schedule b =
        bound_of({receive_step(1, part(s1, 2, 2)), combine_step(part(input, 2, 2), part(s1, 2, 2), part(output, 2, 2)),
                  send_step(1, part(output, 2, 2)), receive_step(1, part(s1, 5))},
                 8);
    CHECK(b.steps[0].out == b.steps[1].b);
    CHECK(b.steps[1].out == b.steps[2].a);
    CHECK(b.places.size() == 4);
    REQUIRE(b.planes.size() == 2);
    CHECK(b.planes[0].first >= b.planes[0].last); // not used
    CHECK((b.planes[1].first == 2 && b.planes[1].last == 6));
}

TEST_CASE("bound: a receive is fused with the one combine that reads it") {
    SECTION("as the upper operand") {
        const auto b =
            bound_of({receive_step(1, part(s0, 0)), combine_step(part(input, 0), part(s0, 0), part(output, 0))});
        CHECK((b.steps[0].partner == 1 && b.steps[1].partner == 0));
        CHECK_FALSE(b.steps[1].partner_is_a);
    }
    SECTION("as the lower operand") {
        const auto b =
            bound_of({receive_step(1, part(s0, 0)), combine_step(part(s0, 0), part(input, 0), part(output, 0))});
        CHECK(b.steps[0].partner == 1);
        CHECK(b.steps[1].partner_is_a);
    }
    SECTION("also if the plane is used again") {
        const auto b =
            bound_of({receive_step(1, part(s0, 0)), combine_step(part(input, 0), part(s0, 0), part(output, 0)),
                      receive_step(2, part(s0, 0)), combine_step(part(output, 0), part(s0, 0), part(output, 0))});
        CHECK((b.steps[0].partner == 1 && b.steps[2].partner == 3));
    }
    SECTION("a combine reads one message in place") {
        const auto b = bound_of({receive_step(1, part(s0, 0)), receive_step(2, part(s1, 0)),
                                 combine_step(part(s0, 0), part(s1, 0), part(output, 0))});
        CHECK(is_fused(b, 0)); // the one that stands first
        CHECK_FALSE(is_fused(b, 1));
    }
}

TEST_CASE("bound: a receive is not fused") {
    const step receive = receive_step(1, part(s0, 0, 2));
    const step use = combine_step(part(input, 0, 2), part(s0, 0, 2), part(output, 0, 2));
    const auto fused = [&](std::vector<step> steps) { return is_fused(bind_steps(steps, 2), 0); };
    CHECK(fused({receive, use}));
    CHECK_FALSE(fused({receive}));                                                             // if nobody reads it
    CHECK_FALSE(fused({receive, use, send_step(2, part(s0, 0, 2))}));                          // if it is sent on
    CHECK_FALSE(fused({receive, use, copy_step(part(s0, 0), part(output, 1))}));               // if it is copied
    CHECK_FALSE(fused({receive, use, use}));                                                   // if it is read twice
    CHECK_FALSE(fused({receive, combine_step(part(input, 0), part(s0, 0), part(output, 0))})); // if it is read in part
    CHECK_FALSE(fused({receive, combine_step(part(s0, 0, 2), part(s0, 0, 2), part(output, 0, 2))})); // if it is both
    CHECK_FALSE(fused({receive, combine_step(part(input, 0, 2), part(s0, 0, 2), part(s0, 0, 2))}));  // if it is changed
    CHECK_FALSE(fused({receive_step(1, part(output, 0, 2)),
                       combine_step(part(s0, 0, 2), part(output, 0, 2), part(s1, 0, 2))})); // if it is a result
    CHECK_FALSE(fused({receive, copy_step(part(input, 0), part(s0, 0)), use})); // if a part is overwritten before
}

TEST_CASE("bound: what overwrites the place of a part waits for those that read it before the part came") {
    // Parts 1 and 2 are combined where they came with their message, so they do not wait for the send.
    const auto b =
        bound_of({copy_step(part(input, 0), part(s0, 0)), send_step(1, part(s0, 0)), receive_step(2, part(s0, 0), true),
                  receive_step(2, part(s0, 1)), combine_step(part(input, 0), part(s0, 0), part(output, 0)),
                  combine_step(part(input, 1), part(s0, 1), part(output, 1)), copy_step(part(input, 0), part(s0, 0))},
                 2);
    REQUIRE(b.steps.size() == 6); // the message is one step
    CHECK(b.waits[2] == 0);
    CHECK(std::ranges::equal(after(b, 1), std::array{5u}));
}

TEST_CASE("bound: what begins a load waits for those that read the load before a part that was not copied there") {
    // Each part is combined where it came, so the plane still has block 0 when the last copy comes.
    const buffer p0 = packed_scratch(0), s2 = scratch(2);
    const auto b =
        bound_of({copy_step(part(input, 0), part(p0, 0)), send_step(1, part(p0, 0)), receive_step(2, part(p0, 1), true),
                  receive_step(2, part(s2, 2)), combine_step(part(input, 1), part(p0, 1), part(output, 1)),
                  combine_step(part(input, 2), part(s2, 2), part(output, 2)), copy_step(part(input, 3), part(p0, 3))},
                 4);
    REQUIRE(b.steps.size() == 6); // the message is one step
    CHECK(b.waits[2] == 0);
    CHECK(std::ranges::equal(after(b, 1), std::array{5u}));
}

TEST_CASE("bound: what is added to a load waits for those that read the load before") {
    const auto packed = [](block_t b) { return part(packed_scratch(0), b); };
    const auto b = bound_of({copy_step(part(input, 0), packed(0)), copy_step(part(input, 1), packed(1)),
                             send_step(1, packed(0), true), send_step(1, packed(1)), // as it lies: step 2
                             receive_step(2, packed(0), true), receive_step(2, packed(1)),
                             copy_step(part(input, 2), packed(2)), // the message is not the whole load
                             combine_step(part(input, 0), packed(0), part(output, 0)),
                             copy_step(packed(1), part(output, 1)), copy_step(packed(2), part(output, 2))},
                            3);
    std::vector<bool> waits(b.steps.size()); // for the send, directly or not
    const auto mark = [&](const auto& self, std::uint32_t i) -> void {
        for (const std::uint32_t later : after(b, i)) waits[later] = true, self(self, later);
    };
    REQUIRE((b.steps[2].verb == verb::send && b.places[b.steps[2].a].parts == 2));
    mark(mark, 2);
    for (std::uint32_t i = 3; i != b.steps.size(); ++i)
        if (b.steps[i].verb != verb::receive && b.places[b.steps[i].out].buffer == packed_scratch(0).index)
            CHECK(waits[i]);
}

TEST_CASE("bound: a plan's id is the same on all ranks") {
    for (rank_t size = 1; size != 18; ++size)
        for (const rank_t root : {rank_t{0}, size - 1})
            test::for_each_plan({.size = size, .root = root, .blocks = 3}, [&](const char* name, const auto& plan) {
                const std::uint64_t id = bind_plan(plan, 0).plan_id;
                for (rank_t r = 1; r != size; ++r) {
                    CAPTURE(name, size, root, r);
                    REQUIRE(bind_plan(plan, r).plan_id == id);
                }
            });
}

TEST_CASE("bound: a message in parts is one place, and the places behind it are its parts") {
    const auto check = [](const bound_schedule& b, std::uint32_t whole) {
        REQUIRE(b.places.size() > whole + 3);
        const bound_place& all = b.places[whole];
        CHECK(all.parts == 3);
        REQUIRE(all.buffer >= 2);
        CHECK(b.planes[all.buffer - 2].last == 0); // in memory of its own, in which no block has its place
        const block_t blocks[] = {4, 0, 2};        // in the order of the message
        for (std::uint32_t i = 0; i != 3; ++i) {
            CHECK(b.places[whole + 1 + i].buffer == all.buffer);
            CHECK(b.places[whole + 1 + i].first == blocks[i]);
            CHECK(b.places[whole + 1 + i].parts == 0);
        }
    };
    const auto sent = bound_of(
        {send_step(1, part(input, 4), true), send_step(1, part(input, 0), true), send_step(1, part(input, 2))}, 5);
    REQUIRE(sent.steps.size() == 4); // three copies, and then the message
    REQUIRE(sent.steps[3].verb == verb::send);
    check(sent, sent.steps[3].a);
    const auto come = bound_of({receive_step(1, part(output, 4), true), receive_step(1, part(output, 0), true),
                                receive_step(1, part(output, 2))},
                               5);
    REQUIRE(come.steps.size() == 4);
    REQUIRE(come.steps[0].verb == verb::receive);
    check(come, come.steps[0].out);
}

// 16 bits: one pair in 65536 may agree by chance. Plans of different collectives are told apart by their kind.
TEST_CASE("bound: plans that differ have different ids") {
    std::uint32_t pairs = 0, equal = 0;
    for (rank_t size = 2; size != 18; ++size)
        for (const rank_t root : {rank_t{0}, size / 2, size - 1})
            for (const block_t blocks : {1u, 4u}) {
                std::multimap<int, std::pair<std::vector<schedule>, std::uint16_t>> seen; // by kind
                test::for_each_plan({.size = size, .root = root, .blocks = blocks}, [&](const char*, const auto& plan) {
                    std::vector<schedule> steps;
                    for (rank_t r = 0; r != size; ++r) steps.push_back(plan.schedule_of(r));
                    const int kind = decltype(plan.goal())::kind;
                    const std::uint64_t id = bind_plan(plan, 0).plan_id;
                    for (auto [other, last] = seen.equal_range(kind); other != last; ++other) {
                        if (other->second.first == steps) continue;
                        ++pairs;
                        equal += other->second.second == id;
                    }
                    seen.emplace(kind, std::pair{std::move(steps), id});
                });
            }
    CAPTURE(pairs);
    CHECK(pairs > 10'000);
    CHECK(equal <= 8);
}

namespace {

// Its text does not tell it from others, though that of what it is derived from does.
struct derived_doubling : recursive_doubling {
    rank_t unused = 0;
    friend constexpr bool operator==(const derived_doubling&, const derived_doubling&) = default;
};

} // namespace

TEST_CASE("bound: an algorithm's identity stands for its steps, and shows in the id") {
    static_assert(identity_of(recursive_doubling{}) != 0 && identity_of(derived_doubling{}) == 0);
    static_assert(identity_of(tree_reduce{fnomial{3}}) != 0 && identity_of(tree_reduce{ordered{chain{}}}) != 0);
    static_assert(identity_of(tree_reduce{fnomial{3}}) != identity_of(tree_reduce{fnomial{4}}));
    const auto id = [](const auto& algorithm, rank_t root, block_t blocks) {
        return bind_plan(plan_reduce(algorithm, {.size = 9, .root = root, .blocks = blocks}), 4).plan_id;
    };
    CHECK(id(tree_reduce{fnomial{3}}, 0, 1) == id(any_algorithm(tree_reduce{fnomial{3}}), 0, 1));
    CHECK(id(tree_reduce{fnomial{3}}, 0, 1) != id(tree_reduce{fnomial{3}}, 1, 1));
    CHECK(id(tree_reduce{fnomial{3}}, 0, 1) != id(tree_reduce{fnomial{3}}, 0, 2));
    // A table is told by its steps.
    const table three(tree(fnomial{3}, 9)), four(tree(fnomial{4}, 9));
    CHECK(identity_of(tree_reduce{three}) == 0);
    CHECK(id(tree_reduce{three}, 0, 1) != id(tree_reduce{four}, 0, 1));

    for (const rank_t size : {2u, 7u, 16u})
        for (const block_t blocks : {1u, 4u}) {
            std::multimap<std::uint64_t, std::pair<int, std::vector<schedule>>> seen;
            test::for_each_plan({.size = size, .root = size / 2, .blocks = blocks},
                                [&](const char* name, const auto& plan) {
                                    const std::uint64_t who = identity_of(plan.algorithm());
                                    if (who == 0) return;
                                    std::vector<schedule> steps;
                                    for (rank_t r = 0; r != size; ++r) steps.push_back(plan.schedule_of(r));
                                    const int kind = decltype(plan.goal())::kind;
                                    CAPTURE(name, size, blocks);
                                    for (auto [other, last] = seen.equal_range(who); other != last; ++other)
                                        if (other->second.first == kind) CHECK(other->second.second == steps);
                                    seen.emplace(who, std::pair{kind, std::move(steps)});
                                });
            CHECK(seen.size() > 20);
        }
}

TEST_CASE("bound: a plan needs nothing but the concept") {
    const bound_schedule b = bind_plan(ping{}, 1);
    CHECK(b.steps.size() == 1);
    CHECK(b.plan_id == bind_plan(ping{}, 0).plan_id);
    CHECK_FALSE(b.may_hold);
}
