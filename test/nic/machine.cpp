// SPDX-License-Identifier: BSL-1.0
// The machine by itself: what becomes of each message.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/prove.hpp>
#include <bough/tree/flat.hpp>

#include <vector>

using namespace bough;
using nic::answer;

namespace {

constexpr nic::limits room{16, 16, 16, 16, 2, 16};

// The root of a flat tree of three ranks, two elements, two banks.
constexpr nic::fixed_program<room> root_program() {
    return nic::fix<room>(nic::assemble(plan_reduce(flat{}, {.size = 3}), 0, nic::needs_of<plus, int>,
                                        nic::capabilities_of<nic::host>, {.elements = 2, .banks = 2, .stream = 9})
                              .program);
}
constexpr nic::fixed_program<room> program = root_program();

struct subtract {
    constexpr int operator()(int a, int b) const { return 2 * a - b; }
};
static_assert(nic::StatePort<nic::detail::recorder<int>, nic::fixed_state<room, int>>);
struct never_notifies {
    constexpr void send(const nic::message&, const int*) {}
};
static_assert(!nic::StatePort<never_notifies, nic::fixed_state<room, int>>);

struct rig {
    nic::fixed_state<room, int> state{};
    nic::detail::recorder<int> port{};
    constexpr rig() { nic::start(program, state); }
    constexpr answer give(nic::u32 epoch, nic::u16 from, nic::u16 inlet, int x, nic::u16 count = 2, nic::u16 to = 0,
                          nic::u32 stream = 9) {
        const int payload[2] = {x, x + 1};
        return nic::deliver(program, state, nic::message{stream, epoch, from, to, inlet, count}, payload, subtract{},
                            port);
    }
    constexpr answer ring(nic::u32 epoch, int x) {
        const int payload[2] = {x, x + 1};
        return nic::ring(program, state, epoch, payload, subtract{}, port);
    }
};

// Inlet 1 is rank 1's, inlet 2 rank 2's. Whatever comes first, the result is that of rank order.
constexpr int result_of_order(int first, int second, int third) {
    rig r;
    for (const int what : {first, second, third}) {
        if (what == 0)
            r.ring(0, 10);
        else
            r.give(0, static_cast<nic::u16>(what), static_cast<nic::u16>(what), 100 * what);
    }
    return r.port.told == 1 && r.port.sent.size() == 2 ? r.port.result[0] : -1;
}
constexpr int expected = 2 * (2 * 10 - 100) - 200;
static_assert(result_of_order(0, 1, 2) == expected && result_of_order(0, 2, 1) == expected);
static_assert(result_of_order(1, 0, 2) == expected && result_of_order(1, 2, 0) == expected);
static_assert(result_of_order(2, 0, 1) == expected && result_of_order(2, 1, 0) == expected);

} // namespace

TEST_CASE("what becomes of a message", "[nic]") {
    rig r;
    CHECK(r.give(0, 1, 1, 5, 2, 0, 8) == answer::foreign);
    CHECK(r.give(0, 1, 1, 5, 2, 1) == answer::foreign);
    CHECK(r.give(0, 2, 1, 5) == answer::malformed);
    CHECK(r.give(0, 1, 1, 5, 1) == answer::malformed);
    CHECK(r.give(0, 1, 99, 5) == answer::malformed);
    CHECK(r.give(0, 1, 1, 5) == answer::taken);
    CHECK(r.give(0, 1, 1, 6) == answer::duplicate);
    CHECK(r.give(2, 1, 1, 6) == answer::overrun); // the same bank, whose instance 0 has not read the first
    CHECK(r.give(1, 1, 1, 7) == answer::taken);   // the other bank
    CHECK(r.give(3, 1, 1, 7) == answer::overrun);
    CHECK(r.ring(2, 0) == answer::busy);
    CHECK(r.ring(0, 1) == answer::taken);
    CHECK(r.ring(0, 1) == answer::duplicate);
    CHECK(r.ring(2, 1) == answer::busy);
    CHECK(r.give(2, 1, 1, 6) == answer::taken); // it has been read: that of the next turn may come
    CHECK(r.port.told == 0);
    CHECK(r.give(0, 2, 2, 9) == answer::taken);
    CHECK(r.port.told == 1);
    CHECK(r.port.result == std::vector<int>{2 * (2 * 1 - 5) - 9, 2 * (2 * 2 - 6) - 10});
    REQUIRE(r.port.sent.size() == 2); // credits, for the instance after next
    CHECK(r.port.sent[0].head == nic::message{9, 2, 0, 1, program.steps[3].out, 0});
    CHECK(r.ring(2, 1) == answer::taken);
    CHECK(r.give(0, 2, 2, 9) == answer::duplicate);
    CHECK(r.port.told == 1);
    CHECK(r.give(2, 2, 2, 9) == answer::taken);
    CHECK(r.port.told == 2);
    CHECK(r.port.result[2] == 2 * (2 * 1 - 6) - 9);
}

TEST_CASE("an inlet that nobody may send to takes nothing", "[nic]") {
    const auto made = nic::assemble(plan_reduce(flat{}, {.size = 3}), 0, nic::needs_of<plus, int>,
                                    nic::capabilities_of<nic::host>, {.multicast = true});
    REQUIRE(made);
    REQUIRE(made.program.inlets[nic::multicast_inlet].from == nic::no_index); // the root's own multicast
    auto state = nic::make_state<int>(made.program);
    const auto begin = state;
    nic::detail::recorder<int> port;
    const int payload = 1;
    for (const nic::u16 from : {nic::u16{0}, nic::u16{1}, nic::u16{3}, nic::no_index})
        for (const nic::u16 count : {nic::u16{0}, nic::u16{1}})
            CHECK(nic::deliver(made.program, state, nic::message{0, 0, from, 0, nic::multicast_inlet, count}, &payload,
                               subtract{}, port) == answer::malformed);
    CHECK(state == begin);
}

TEST_CASE("one arrival may fill several counters, and what came early waits for the next turn", "[nic]") {
    // Inlet 0 fills c0, whose two counts fill c1 and c2. Inlet 1 is alone in c3: of the next turn it may come at once.
    nic::program p;
    p.head.ranks = 2;
    p.slots = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
    p.head.elements = 4;
    p.inlets = {{0, 0, 0, 0}, {1, 1, 3, 0}};
    p.counters = {{1, 0, 0, 2}, {1, 0, 2, 1}, {1, 0, 3, 1}, {1, 0, 4, 1}, {3, 0, 5, 1}};
    const nic::u16 none = nic::no_index;
    p.steps = {{nic::kind::count, 0, none, none, none, none, 0, 1, 1},
               {nic::kind::count, 0, none, none, none, none, 0, 1, 2},
               {nic::kind::copy, 0, none, 0, none, 2, 1, 1, 4},
               {nic::kind::copy, 0, none, 0, none, 3, 2, 1, 4},
               {nic::kind::send, 0, 1, 1, none, 0, 3, 1, 4},
               {nic::kind::notify, 0, none, 3, none, none, 4, 3, none}};
    p.head.steps = 6, p.head.slots = 4, p.head.counters = 5, p.head.inlets = 2;
    REQUIRE(nic::sound(p) == nic::table_fault::none);
    auto state = nic::make_state<int>(p);
    nic::detail::recorder<int> port;
    const auto give = [&](nic::u32 epoch, int x) {
        return nic::deliver(p, state, nic::message{0, epoch, 1, 0, 1, 1}, &x, subtract{}, port);
    };
    const int mine = 7;
    CHECK(give(0, 10) == answer::taken);
    CHECK(give(1, 11) == answer::taken); // early: it waits
    CHECK(give(2, 12) == answer::overrun);
    CHECK(port.sent.size() == 1);
    CHECK(nic::ring(p, state, 0, &mine, subtract{}, port) == answer::taken);
    CHECK(port.told == 1);
    CHECK(port.result == std::vector<int>{7});
    REQUIRE(port.sent.size() == 2); // that of the next turn, as soon as it had begun
    CHECK(port.sent[1].head.epoch == 1);
    CHECK(port.sent[1].payload == std::vector<int>{11});
    CHECK(state.banks[0].next == std::vector<nic::u16>(5, nic::no_index));
    CHECK(give(2, 12) == answer::taken);
    CHECK(nic::ring(p, state, 1, &mine, subtract{}, port) == answer::taken);
    CHECK(port.told == 2);
    CHECK(port.sent.size() == 3);
}

TEST_CASE("a table with indices beyond its memory does no harm", "[nic]") {
    nic::fixed_program<room> broken = program;
    for (nic::step& s : broken.steps.data) s.a = s.b = s.out = 1234, s.bump = 999;
    for (nic::slot& s : broken.slots.data) s.first = 0xffff'fff0u;
    nic::fixed_state<room, int> state;
    nic::start(broken, state);
    nic::detail::recorder<int> port;
    const int payload[2] = {1, 2};
    CHECK(nic::ring(broken, state, 0, payload, subtract{}, port) == answer::taken);
    CHECK(nic::deliver(broken, state, nic::message{9, 0, 1, 0, 1, 2}, payload, subtract{}, port) == answer::taken);
}

TEST_CASE("the number of elements may be a constant", "[nic]") {
    nic::fixed_state<room, int> one, two;
    nic::start(program, one);
    nic::start(program, two);
    nic::detail::recorder<int> first, second;
    const int payload[2] = {3, 4};
    for (const nic::u16 inlet : {nic::u16{0}, nic::u16{1}, nic::u16{2}}) {
        const nic::message m{9, 0, inlet, 0, inlet, 2};
        CHECK(nic::deliver(program, one, m, payload, subtract{}, first) == answer::taken);
        CHECK(nic::deliver<2>(program, two, m, payload, subtract{}, second) == answer::taken);
    }
    CHECK(first.result == second.result);
    CHECK(first.told == 1);
    CHECK(one == two);
}
