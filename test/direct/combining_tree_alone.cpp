// SPDX-License-Identifier: BSL-1.0
// Combining trees whose ranks one thread plays in turn: what a forked child does, who only polls, what a rank waits for, and
// calls and memory that do not fit.
#include "support/catch.hpp"
#include "support/local_memory.hpp"
#include <bough/direct/combining_tree.hpp>
#include <bough/op/arithmetic.hpp>
#if defined(__linux__)
#include "support/joined_ends.hpp"
#include <bough/remote/common_memory.hpp>

#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

using namespace bough;
using bough_test::local_memory;
using bough_test::local_world;

namespace {

constexpr std::uint64_t ms = 1'000'000;

status ended(operation& op) {
    status s;
    op.wait(s);
    return s;
}
bool names(const status& s, std::string_view argument) {
    return s.argument != nullptr && std::string_view(s.argument).starts_with(argument);
}
bool is_forked_child(const status& s) { return s.code == errc::forked_child; }

// Everything that a child can do with what its parent held: true if each call ends, at once, with forked_child.
template <class M>
bool child_has_no_group(combining_tree<M>& tree, std::array<operation, 3>& held) {
    std::uint64_t x = 1;
    bool good = held[0].wait_for_ns(1) && is_forked_child(held[0].result());
    good &= held[1].done() && is_forked_child(held[1].result()); // all of them
    held[1].cancel();
    held[1] = {};
    good &= is_forked_child(ended(held[2]));
    operation op = start_allreduce(tree, std::span(&x, 1), plus{});
    good &= is_forked_child(ended(op));
    op = start_reduce(tree, std::span(&x, 1), plus{}, root{99}); // a bad call is no news for the parent's group
    return good && is_forked_child(ended(op));
}

} // namespace

TEST_CASE("combining_tree: a forked child's calls end with forked_child, and write nothing that others see") {
    for (const int first : {0, 1, 2, 3, 4}) { // what the child does first
        local_world world(2, 20'000);
        combining_tree tree{local_memory{world, 0}, {.in_flight = 1}};
        std::array<std::uint64_t, 3> x{1, 2, 3};
        std::array<operation, 3> held; // two of them have no memory yet
        for (std::size_t i = 0; i != 3; ++i) held[i] = start_allreduce(tree, std::span(&x[i], 1), plus{});
        const std::vector<std::byte> before = world.copy();
        const int looks = world.looks;
        world.forked = true;
        if (first == 1) held[0].cancel();
        if (first == 2) {
            held[0] = {};
            held[0] = start_allreduce(tree, std::span(&x[0], 1), plus{});
        }
        if (first == 3) CHECK(held[0].poll());
        if (first == 4) {
            combining_tree of_the_child{local_memory{world, 0}, {.most_bytes = 0}};
            operation op = start_allreduce(of_the_child, std::span(&x[0], 1), plus{});
            CHECK(is_forked_child(ended(op)));
        }
        CHECK(child_has_no_group(tree, held));
        CHECK(world.copy() == before);
        CHECK(world.looks == looks);
        CHECK(world.sleeps + world.needless == 0);
    }
}
#if defined(__linux__)
TEST_CASE("combining_tree: what a child of a fork does to a group of processes is nothing") {
    const auto join = [](rank_t, auto& wire, status& why) { return common_memory::join(wire, why); };
    for (const bool dies : {false, true}) {
        auto ends = bough_test::joined_ends<common_memory>(2, join);
        const std::span<const std::byte> shared = ends[0].bytes();
        std::optional<combining_tree<common_memory>> peer;
        combining_tree tree{std::move(ends[0])};
        peer.emplace(std::move(ends[1]));
        std::array<std::uint64_t, 3> x{1, 1, 1}, y{2, 2, 2};
        std::array<operation, 3> held, theirs;
        for (std::size_t i = 0; i != 3; ++i) held[i] = start_allreduce(tree, std::span(&x[i], 1), plus{});
        if (dies) peer.reset(); // its end is there to be seen, once
        const std::vector<std::byte> before(shared.begin(), shared.end());
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(20);
            const bool good = child_has_no_group(tree, held);
            ::_exit(good ? 0 : 1);
        }
        int state = -1;
        REQUIRE(::waitpid(child, &state, 0) == child);
        CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
        CHECK(std::equal(before.begin(), before.end(), shared.begin()));
        for (std::size_t i = 0; i != 3 && !dies; ++i) theirs[i] = start_allreduce(*peer, std::span(&y[i], 1), plus{});
        for (std::size_t i = 0; i != 3; ++i) {
            const status s = ended(held[i]);
            CHECK(s.code == (dies ? errc::peer_dead : errc::ok));
            CHECK(x[i] == (dies ? 1u : 3u));
            CHECK(theirs[i].poll());
        }
    }
}
TEST_CASE("common_memory: a wait yields for a while before it sleeps, unless the one before was long") {
    const auto join = [](rank_t, auto& wire, status& why) { return common_memory::join(wire, why); };
    auto ends = bough_test::joined_ends<common_memory>(1, join);
    common_memory& memory = ends[0];
    std::atomic<std::uint32_t> word{0};
    // Waits until it has slept; how many times it had to, and for how long.
    const auto wait = [&](bool is_long, std::uint64_t& took_ns) {
        const std::uint64_t from = memory.now_ns();
        std::uint32_t idle = 0;
        for (bool sleeps = false; !sleeps; ++idle)
            memory.wait(
                idle, forever, word,
                [&] { // asked when it is about to
                    sleeps = true;
                    for (const std::uint64_t till = memory.now_ns() + ms; is_long && memory.now_ns() < till;) {
                    }
                    return true;
                },
                [](rank_t) {});
        took_ns = memory.now_ns() - from;
        return idle;
    };
    std::uint64_t took = 0;
    const std::uint32_t at_first = wait(true, took);
    int compared = 0;
    for (int i = 0; i != 1000 && compared != 10; ++i) {
        const std::uint32_t after_long = wait(false, took);
        CHECK(after_long < at_first);
        if (took < 60'000) { // a short one, whatever else the machine did
            CHECK(wait(true, took) > after_long);
            CHECK(took >= ms + 20'000);
            ++compared;
        } else {
            wait(true, took);
        }
    }
    if (compared == 0) WARN("no wait was short here: the machine is too busy to see a wait yield after one");
}
#endif
TEST_CASE("combining_tree: who only polls sees that its time is up, and that a rank is dead") {
    for (const bool dies : {false, true}) {
        local_world world(3, 20'000);
        combining_tree tree{local_memory{world, 0}, {.timeout_ns = 200 * ms}};
        combining_tree other{local_memory{world, 2}};
        std::uint64_t x = 1, y = 1;
        operation op = start_allreduce(tree, std::span(&x, 1), plus{});
        operation of_2 = start_allreduce(other, std::span(&y, 1), plus{});
        if (dies) world.dead = {1};
        int polls = 0;
        while (!op.poll() && ++polls != 100) world.now_ns += 10 * ms;
        CHECK(polls == (dies ? 0 : 20));
        CHECK(op.result().code == (dies ? errc::peer_dead : errc::deadline));
        CHECK(op.result().peer == 1);
        CHECK(of_2.poll());
        CHECK(of_2.result().cause == op.result().code);
    }
    // It is not looked for the dead, a system call, in each of many polls.
    local_world world(2, 20'000);
    combining_tree tree{local_memory{world, 0}}, other{local_memory{world, 1}};
    std::uint64_t x = 1, y = 2;
    operation op = start_allreduce(tree, std::span(&x, 1), plus{});
    const int looks = world.looks;
    for (int i = 0; i != 1000; ++i) {
        CHECK_FALSE(op.poll());
        world.now_ns += 20'000;
    }
    CHECK(world.looks - looks <= 10);
    CHECK(world.looks - looks >= 9);
    operation last = start_allreduce(other, std::span(&y, 1), plus{});
    CHECK((op.poll() && last.poll() && x == 3 && y == 3));
    // A result that is there counts, however late it is looked at; also one that comes between two looks. The group lives on.
    for (const bool between : {true, false}) {
        std::uint64_t mine = 1, theirs = 2;
        operation of_0 = start_allreduce(tree, std::span(&mine, 1), plus{}), of_1;
        world.now_ns += 100'000 * ms;
        const auto come = [&] { of_1 = start_allreduce(other, std::span(&theirs, 1), plus{}); };
        if (between)
            world.at_clock = come;
        else
            come();
        CHECK(((of_0.poll() || of_0.poll()) && !of_0.result() && mine == 3));
        CHECK((of_1.poll() && !of_1.result() && theirs == 3));
    }
}
TEST_CASE(
    "combining_tree: an operation that waits for memory too long names who has not come, and never its own rank") {
    for (const bool comes : {false, true}) {
        local_world world(3, 20'000);
        const combining_tree_options options{.in_flight = 1, .timeout_ns = 200 * ms};
        combining_tree a{local_memory{world, 0}, options}, b{local_memory{world, 1}, options},
            c{local_memory{world, 2}, options};
        std::array<std::uint64_t, 3> x{1, 1, 1}, y{2, 2, 2};
        std::uint64_t z = 3;
        const auto at = [](auto& values, std::size_t i) { return std::span(&values[i], 1); };
        operation of_b = start_reduce(b, at(y, 0), plus{}, root{1});
        operation first = start_reduce(a, at(x, 0), plus{}, root{1}), of_c;
        REQUIRE(first.done());
        if (comes) of_c = start_reduce(c, std::span(&z, 1), plus{}, root{1}); // but rank 1 does not look at the sum
        operation second = start_allreduce(a, at(x, 1), plus{}), third = start_allreduce(a, at(x, 2), plus{});
        second.set_timeout_ns(500 * ms); // the third's time is over first
        for (int i = 0; i != 40 && !third.poll(); ++i) world.now_ns += 10 * ms;
        REQUIRE(third.done());
        for (const operation* op : {&second, &third}) {
            CHECK(op->result().code == errc::deadline);
            CHECK(op->result().peer == (comes ? no_rank : 2u));
        }
        CHECK((of_b.poll() && of_b.result().cause == errc::deadline) == !comes);
    }
}
TEST_CASE("combining_tree: a rank does not stay awake for memory that is not its turn") {
    local_world world(2, 20'000);
    combining_tree a{local_memory{world, 0}, {.in_flight = 2}}, b{local_memory{world, 1}, {.in_flight = 2}};
    std::array<std::uint64_t, 4> x{1, 1, 1, 1}, y{1, 1, 1, 1};
    const auto at = [](auto& values, std::size_t i) { return std::span(&values[i], 1); };
    std::array<operation, 4> of_a, of_b;
    of_b[0] = start_reduce(b, at(y, 0), plus{}, root{1});
    of_b[1] = start_reduce(b, at(y, 1), plus{}, root{0});
    of_a[0] = start_reduce(a, at(x, 0), plus{}, root{1}); // rank 1 has not looked at its result: its memory is not free
    of_a[1] = start_reduce(a, at(x, 1), plus{}, root{0}); // but this one's is
    REQUIRE((of_a[0].done() && of_a[1].done()));
    of_a[2] = start_allreduce(a, at(x, 2), plus{});
    of_a[3] = start_allreduce(a, at(x, 3), plus{}); // waits behind it
    CHECK_FALSE(of_a[2].wait_for_ns(10 * ms));
    CHECK(world.sleeps == 10);
    CHECK(world.needless == 0);
    CHECK(of_b[0].poll());
    for (const std::size_t i : {2u, 3u}) of_b[i] = start_allreduce(b, at(y, i), plus{});
    for (const std::size_t i : {2u, 3u}) {
        CHECK_FALSE(ended(of_a[i]));
        CHECK_FALSE(ended(of_b[i]));
        CHECK((x[i] == 2 && y[i] == 2));
    }
}
TEST_CASE("combining_tree: no rank is no root") {
    local_world world(2, 20'000);
    combining_tree a{local_memory{world, 0}}, b{local_memory{world, 1}};
    for (auto* tree : {&a, &b}) {
        std::uint64_t x = 1;
        operation op = start_reduce(*tree, std::span(&x, 1), plus{}, root{no_rank});
        const status s = ended(op);
        CHECK((s.code == errc::invalid_argument || s.cause == errc::invalid_argument));
        CHECK((tree != &a || names(s, "root: ")));
    }
}
TEST_CASE("combining_tree: most_bytes is what a call may have and what ranks compare, to the byte") {
    const auto run = [](const std::array<std::uint32_t, 2>& most, std::size_t bytes) {
        local_world world(2, 20'000);
        combining_tree a{local_memory{world, 0}, {.most_bytes = most[0]}};
        combining_tree b{local_memory{world, 1}, {.most_bytes = most[1]}};
        std::vector<std::uint8_t> x(bytes, 1), y(bytes, 2);
        operation of_a = start_allreduce(a, x, plus{}), of_b = start_allreduce(b, y, plus{});
        status s = ended(of_b);
        return std::array{ended(of_a), s};
    };
    for (const status& s : run({50, 50}, 50)) CHECK_FALSE(s);
    for (const std::size_t bytes : {51u, 64u, 65u}) {
        const auto said = run({50, 50}, bytes);
        CHECK(said[0].code == errc::size_overflow);
        CHECK(names(said[0], "data: "));
        CHECK(said[1].cause == errc::size_overflow);
    }
    const auto differ = run({50, 60}, 8);
    CHECK((differ[1].code == errc::invalid_argument && names(differ[1], "options: ")));
    CHECK(differ[0].cause == errc::invalid_argument);
}
TEST_CASE("combining_tree: memory with less than a record for each rank, and options that cannot be, are errors of "
          "each call") {
    const auto check = [](std::size_t bytes, const combining_tree_options& options, std::string_view argument) {
        local_world world(64, bytes);
        for (const rank_t r : {0u, 5u, 63u}) {
            combining_tree tree{local_memory{world, r}, options};
            std::uint64_t x = 1;
            for (int i = 0; i != 2; ++i) {
                operation op = start_allreduce(tree, std::span(&x, 1), plus{});
                CHECK((op.done() && ended(op).code == errc::invalid_argument && names(ended(op), argument)));
                op = start_reduce(tree, std::span(&x, 1), plus{}, root{64});
                CHECK((op.done() && ended(op).code == errc::invalid_argument && names(ended(op), argument)));
            }
        }
    };
    check(0, {}, "memory: ");
    check(1'000, {}, "memory: ");
    check(20'000, {}, "memory: "); // no room for an operation
    check(1'000'000, {.most_bytes = 0}, "most_bytes: ");
    check(1'000'000, {.most_bytes = ~0u}, "most_bytes: ");
    check(1'000'000, {.in_flight = 0}, "in_flight: ");
}
