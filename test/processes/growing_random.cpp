// SPDX-License-Identifier: BSL-1.0
// Random sequences of joins, leaves and deaths, some of them in the middle of a growth: after each
// event all that are there agree on a group of just them.
#include "processes/crowd.hpp"
#include "processes/links.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::clock_ns;
using bough_test::crowd;
using bough_test::crowd_call;

namespace {

constexpr std::uint64_t ms = 1'000'000;
constexpr rank_t least = 2, largest = 6;

struct dice {
    std::uint64_t state;
    std::uint64_t roll(std::uint64_t sides) { return (state = bough_test::mixed(state)) % sides; }
};

enum class happening : std::uint8_t { join, leave, kill, kill_while_joining };

struct outcome {
    std::vector<double> took_ms; // of each event, until all agree
    int broken = 0;              // sequences that did not end in agreement
};

// All that are alive are in one group, or the group grows until they are. False: they do not come to
// agree.
template <class Link>
bool comes_together(crowd<Link>& some, std::vector<int>& group) {
    for (int tries = 0; tries != 20; ++tries) {
        if (!some.wait(group)) return false;
        const std::vector<int> alive = some.alive();
        group = alive;
        std::erase_if(group, [&](int i) { return !some.has_joined(i); });
        if (!some.wait(group)) return false;
        const auto ranks = static_cast<rank_t>(alive.size());
        if (group.size() == ranks && some.is_one_group(group, ranks)) return true;
        some.tell(group, crowd_call::grow, ranks);
    }
    return false;
}

// One sequence; `took_ms`: of each event.
template <class Link>
bool play(std::uint64_t number, std::vector<double>& took_ms) {
    dice d{bough_test::mixed(bough_test::seed() * 1'000'003 + number)};
    crowd<Link> some;
    some.start(static_cast<rank_t>(least + d.roll(3)));
    if (!some.wait(some.alive())) return false;
    std::vector<int> group = some.alive();
    for (std::uint64_t events = 3 + d.roll(4); events-- != 0;) {
        auto what = static_cast<happening>(d.roll(4));
        const auto ranks = static_cast<rank_t>(group.size());
        if (ranks <= least && (what == happening::leave || what == happening::kill)) what = happening::join;
        if (ranks >= largest && what != happening::leave) what = happening::kill;
        const int whom = group[d.roll(ranks)];
        const std::uint64_t begin = clock_ns();
        if (what == happening::join) {
            const auto more = static_cast<rank_t>(1 + d.roll(2));
            for (rank_t i = 0; i != more; ++i) some.add(some.place, 60'000 * ms);
            some.tell(group, crowd_call::grow, ranks + more);
        } else if (what == happening::leave) {
            some.tell({whom}, crowd_call::leave);
            std::erase(group, whom);
            some.tell(group, crowd_call::settle);
            some.reap(whom);
        } else if (what == happening::kill) {
            some.kill(whom);
            std::erase(group, whom);
            some.tell(group, crowd_call::settle);
        } else {
            const int joiner = some.add(some.place, 60'000 * ms);
            some.tell(group, crowd_call::grow, ranks + 1);
            std::this_thread::sleep_for(std::chrono::microseconds(d.roll(25'000)));
            const bool kills_joiner = d.roll(3) == 0;
            some.kill(kills_joiner ? joiner : whom);
            if (kills_joiner)
                some.add(some.place, 60'000 * ms); // comes in its place
            else
                std::erase(group, whom);
        }
        if (!comes_together(some, group)) return false;
        took_ms.push_back(static_cast<double>(clock_ns() - begin) / ms);
    }
    return true;
}

template <class Link>
outcome play_all(std::uint64_t sequences) {
    outcome all;
    for (std::uint64_t n = 0; n != sequences; ++n) {
        if (play<Link>(n, all.took_ms)) continue;
        ++all.broken;
        std::fprintf(stderr, "%s: sequence %llu did not end in agreement\n", Link::name,
                     static_cast<unsigned long long>(n));
    }
    std::sort(all.took_ms.begin(), all.took_ms.end());
    const auto at = [&](double part) {
        return all.took_ms[static_cast<std::size_t>(static_cast<double>(all.took_ms.size() - 1) * part)];
    };
    std::printf(
        "%s: %llu sequences, %zu events, %d sequences without agreement; until all agreed: median %.1f ms, p99 %.1f "
        "ms, most %.1f ms\n",
        Link::name, static_cast<unsigned long long>(sequences), all.took_ms.size(), all.broken, at(0.5), at(0.99),
        at(1));
    return all;
}

// How many; BOUGH_TEST_SEQUENCES says another number.
std::uint64_t sequences(std::uint64_t few, std::uint64_t many) {
    if (const char* text = std::getenv("BOUGH_TEST_SEQUENCES")) return std::strtoull(text, nullptr, 10);
    return bough_test::all() ? many : few;
}

} // namespace

TEST_CASE("growing: random joins, leaves and deaths over tcp all end in agreement") {
    const outcome all = play_all<bough_test::tcp_link>(sequences(12, 1000));
    CHECK(all.broken == 0);
    CHECK(all.took_ms.back() < 10'000);
}

TEST_CASE("growing: random joins, leaves and deaths over shared memory all end in agreement") {
    const outcome all = play_all<bough_test::shared_memory_link>(sequences(12, 300));
    CHECK(all.broken == 0);
    CHECK(all.took_ms.back() < 10'000);
}
