// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/concepts/explain_wire_up.hpp>
#include <bough/concepts/wire_up.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/testing/wire_up_archetype.hpp>
#include <bough/testing/wire_up_conformance.hpp>

#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

static_assert(explain_wire_up<testing::wire_up_archetype>() && explain_wire_up<testing::thread_wire_up::end>());

namespace {

struct returns_a_bool : testing::thread_wire_up::end {
    bool exchange(std::span<const std::byte>, std::span<std::byte>, std::uint64_t) { return true; }
};
static_assert(!WireUp<returns_a_bool> && !WireUp<int>);

enum class flaw { none, swapped, stale, ignores_lengths, forgets_rank, never_ends, recovers };

// A wire-up with a flaw.
struct flawed {
    testing::thread_wire_up::end wire;
    flaw what;
    std::vector<std::byte> last{};
    int calls = 0;
    bool ended = false; // an exchange has ended by its deadline

    rank_t rank() const { return what == flaw::forgets_rank ? 0 : wire.rank(); }
    rank_t size() const { return wire.size(); }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        if (what == flaw::ignores_lengths && all.size() != mine.size() * size()) return {};
        if (what == flaw::never_ends && timeout_ns < 1'000'000'000) timeout_ns *= 50;
        status s = wire.exchange(mine, all, timeout_ns);
        if (what == flaw::swapped && mine.size() == 33) std::swap(all[0], all[33]);
        if (what == flaw::stale && ++calls == 7 && !s) std::copy(last.begin(), last.end(), all.begin());
        last.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(all.size(), 1)));
        if (s.code == errc::deadline && std::exchange(ended, true) && what == flaw::recovers) s = {};
        return s;
    }
};

// What the ranks report, each a thread.
std::vector<testing::wire_up_rule> rules_broken(rank_t ranks, flaw what) {
    std::vector<testing::wire_up_rule> found(ranks);
    const testing::thread_wire_up world{ranks};
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            flawed wire{world.of(r), what};
            found[r] = testing::check_wire_up(wire, {.timeout_ns = 500'000'000, .short_timeout_ns = 40'000'000}).rule;
        });
    for (std::thread& t : threads) t.join();
    return found;
}

} // namespace

TEST_CASE("wire_up: that of threads keeps the rules") {
    for (const rank_t ranks : {1u, 2u, 3u, 8u})
        for (const testing::wire_up_rule rule : rules_broken(ranks, flaw::none))
            CHECK(rule == testing::wire_up_rule::none);
}

TEST_CASE("wire_up: the archetype keeps the rules, and one rank hears itself") {
    auto alone = testing::wire_up_archetype::make();
    CHECK(testing::check_wire_up(alone).rule == testing::wire_up_rule::none);
}

TEST_CASE("wire_up: the conformance suite finds each flaw") {
    using rule = testing::wire_up_rule;
    struct expected {
        flaw what;
        rule breaks;
    };
    for (const expected e :
         {expected{flaw::swapped, rule::exchange}, expected{flaw::stale, rule::exchange},
          expected{flaw::ignores_lengths, rule::length}, expected{flaw::forgets_rank, rule::identity},
          expected{flaw::never_ends, rule::deadline}, expected{flaw::recovers, rule::deadline}}) {
        const auto found = rules_broken(3, e.what);
        CAPTURE(static_cast<int>(e.what));
        CHECK(std::count(found.begin(), found.end(), e.breaks) != 0);
    }
}
