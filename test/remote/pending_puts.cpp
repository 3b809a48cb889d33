// SPDX-License-Identifier: BSL-1.0
// Simulated regions notice a sender that changes bytes of a put which is still pending.
#include "support/catch.hpp"
#include <bough/concepts/remote_write_transport.hpp>
#include <bough/core/rank.hpp>
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using bytes = std::vector<std::byte>;

bytes counted(std::size_t n, unsigned first) {
    bytes made(n);
    for (std::size_t i = 0; i != n; ++i) made[i] = static_cast<std::byte>(first + i);
    return made;
}

// How many violations there are if `change` is made to both parts of a put while it is pending, or after.
template <class World, class Change>
std::uint64_t violations_after(bytes first, bytes second, bool too_early, Change change) {
    World world(2, {.region_bytes = 4096, .late = 1000});
    auto from = world.connect(0), to = world.connect(1);
    REQUIRE(from.put(1, 64, first, second, 5) == posted::pending);
    if (too_early) change(first, second);
    event seen[1];
    while (from.poll(seen) == 0) REQUIRE(world.advance());
    CHECK(seen[0].what == event::kind::complete);
    CHECK(seen[0].id == 5);
    const bytes whole = [&] {
        bytes made = first;
        made.insert(made.end(), second.begin(), second.end());
        return made;
    }();
    if (!too_early) change(first, second);
    while (world.advance()) {
    }
    if (!too_early) CHECK(std::equal(whole.begin(), whole.end(), to.region().begin() + 64));
    CHECK(world.strays() == 0);
    return world.violations();
}

} // namespace

TEMPLATE_TEST_CASE("pending puts: bytes that change before the completion are a violation", "", simulated_regions,
                   scattered_regions) {
    const auto check = [](const bytes& first, const bytes& second, auto change) {
        CHECK(violations_after<TestType>(first, second, true, change) == 1);
        CHECK(violations_after<TestType>(first, second, false, change) == 0);
    };
    const bytes a = counted(24, 1), b = counted(24, 101);
    for (const std::size_t i : {0u, 7u, 8u, 23u}) { // one bit, anywhere
        check(a, b, [&](bytes& first, bytes&) { first[i] ^= std::byte{1}; });
        check(a, b, [&](bytes&, bytes& second) { second[i] ^= std::byte{128}; });
    }
    check(a, b, [](bytes& first, bytes&) { std::swap(first[3], first[4]); });
    check(a, b, [](bytes& first, bytes& second) { std::swap_ranges(first.begin(), first.end(), second.begin()); });
    check(a, {}, [](bytes& first, bytes&) { std::reverse(first.begin(), first.end()); });
    check({}, b, [](bytes&, bytes& second) { std::reverse(second.begin(), second.end()); });
    CHECK(violations_after<TestType>(a, b, true, [](bytes&, bytes&) {}) == 0);
}

TEMPLATE_TEST_CASE("pending puts: none goes to its own rank, to one that is not there, or to one that is lost", "",
                   simulated_regions, scattered_regions, in_process_regions) {
    TestType world(3);
    auto from = world.connect(0);
    std::optional to{world.connect(1)};
    const auto other = world.connect(2);
    bytes memory(64);
    const exposure place = to->expose(memory), own = from.expose(memory);
    const bytes few = counted(8, 1);
    const auto fails = [&](rank_t r, const exposure& at) {
        bool all = from.put(r, 0, few, {}, 1) == posted::failed && from.put_exposed(r, at, few, 2) == posted::failed;
        if constexpr (requires { from.flush(r, 3); }) all &= from.flush(r, 3) == posted::failed;
        return all;
    };
    REQUIRE(place);
    CHECK(fails(0, own));
    CHECK(fails(3, place));
    CHECK(fails(no_rank, place));
    CHECK(from.put_exposed(1, place, few, 4) != posted::failed);
    from.conceal(own);
    to.reset();
    event seen[4];
    for (bool is_told = false; !is_told;) {
        const std::size_t found = from.poll(seen);
        for (std::size_t i = 0; i != found; ++i) is_told |= seen[i].what == event::kind::lost && seen[i].peer == 1;
        if constexpr (requires { world.advance(); })
            if (found == 0) REQUIRE(world.advance());
    }
    CHECK(fails(1, place));
}

namespace {

// What the change of a put's bytes counts as if it comes when they have landed, and perhaps after the sender's death.
template <class World>
std::uint64_t violations_behind(std::uint64_t seed, bool dies) {
    World world(2, {.seed = seed, .region_bytes = 4096, .most_pieces = 1, .late = 1000});
    auto from = world.connect(0);
    const auto to = world.connect(1);
    bytes sent = counted(24, 1);
    REQUIRE(from.put(1, 64, sent, {}, 5) == posted::pending);
    while (to.landed(0) == 0) REQUIRE(world.advance());
    if (dies) world.crash(0);
    sent[3] ^= std::byte{1};
    while (world.advance()) {
    }
    CHECK(to.landed(0) == 1);
    return world.violations();
}

// How many of three puts land that are complete, and under way, when their rank goes.
template <class World>
std::uint64_t landed_behind(std::uint64_t seed, bool dies) {
    World world(2, {.seed = seed, .region_bytes = 4096, .late = 0});
    std::optional from{world.connect(0)};
    const auto to = world.connect(1);
    for (std::uint64_t at = 0; at != 3; ++at)
        REQUIRE(from->put(1, 64 * at, counted(24, 1), {}, at) == posted::complete);
    CHECK(to.landed(0) == 0);
    if (dies) world.crash(0);
    from.reset();
    while (world.advance()) {
    }
    return to.landed(0);
}

} // namespace

TEMPLATE_TEST_CASE("pending puts: of a rank that is gone no memory is read, and what was under way may be lost", "",
                   simulated_regions, scattered_regions) {
    constexpr std::uint64_t seeds = 40;
    std::uint64_t violations = 0, landed = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        violations += violations_behind<TestType>(seed, false);
        CHECK(violations_behind<TestType>(seed, true) == 0);
        CHECK(landed_behind<TestType>(seed, false) == 3); // it leaves
        landed += landed_behind<TestType>(seed, true);
    }
    CHECK(violations > 0); // of puts that were pending when their bytes had landed
    CHECK(landed > 0);
    CHECK(landed < 3 * seeds);
}
