// SPDX-License-Identifier: BSL-1.0
// Over libfabric, too, a call that returns has handed its data over: a rank that then computes, or ends, delays and loses
// nothing. That is hardest where the provider moves data only while its process calls it.
#include "support/handed_over.hpp"

#include "fabric/ranks.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/transport/one_sided.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace bough;
using namespace bough_test;

namespace {

// Runs trial(name, join) over each provider, by messages and by remote writes.
template <class F>
void over_each_provider(const F& trial) {
    for (fabric_options options : test_fabric::offered_here()) {
        options.linger_ns = 10'000'000'000;
        const std::string name = options.provider;
        trial(("fabric, " + name).c_str(), [=](auto& wire) { return fabric(wire, options); });
        trial(("one_sided, " + name).c_str(), [=](auto& wire) {
            return one_sided(fabric_regions{wire, {.region_bytes = one_sided_bytes(wire.size()), .device = options}});
        });
    }
}

} // namespace

TEST_CASE("fabric: a rank is silent between its calls, and the others have what it sent") {
    over_each_provider([](const char* name, const auto& join) {
        for (const rank_t ranks : {2u, 3u, 4u}) check_silence_between_calls(name, ranks, {1, 1'000, 4'097}, join);
    });
}

TEST_CASE("fabric: a rank is silent after it has started operations") {
    over_each_provider([](const char* name, const auto& join) { check_silence_after_start(name, 3, join); });
}

TEST_CASE("fabric: a rank is silent after it has given up, refused or agreed") {
    over_each_provider([](const char* name, const auto& join) {
        const bool writes = std::string_view(name).starts_with("one_sided");
        check_silence_after_words(name, 3, join, writes ? std::size_t{8} : std::size_t{1} << 21);
    });
}

TEST_CASE("fabric: a rank ends when its last call has returned, and its data arrive") {
    over_each_provider(
        [](const char* name, const auto& join) { check_leaving(name, 3, bough_test::all() ? 40 : 4, join); });
}

// Every rank leaves as soon as its last call has returned; or computes before, so that the others wait for its farewell.
// join(job): a rank's end.
template <class Join>
void check_farewells(const char* name, const Join& join) {
    for (int run = 0; run != (bough_test::all() ? 40 : 3); ++run)
        for (const rank_t ranks : {2u, 3u}) {
            const launch_report report = launch(ranks, [&](job world) {
                communicator comm{join(world)};
                comm.set_timeout_ns(30'000'000'000);
                const rank_t me = comm.rank(), other = static_cast<rank_t>(run) % ranks;
                std::uint64_t one = me == other ? 7 : 0, sum = me + 1;
                std::vector<std::uint64_t> many(10'000, me + 1); // longer than a block
                status s;
                broadcast(comm, std::span(&one, 1), root{other}, s);
                if (!s) allreduce(comm, std::span(many), plus{}, s);
                if (!s) allreduce(comm, std::span(&sum, 1), plus{}, s);
                if (s) say(name, "the last call", 1, me, ranks, s);
                if (run % 2 == 1 && me == other) std::this_thread::sleep_for(std::chrono::milliseconds(100));
                const std::uint64_t all = ranks * (ranks + 1) / 2;
                return !s && one == 7 && sum == all && many.back() == all ? 0 : 1;
            });
            CAPTURE(name, run, ranks, describe(report));
            CHECK(report.ok());
        }
}

TEST_CASE("fabric: ranks leave when their last call has returned, and nobody is taken for dead") {
    over_each_provider([](const char* name, const auto& join) { check_farewells(name, join); });
}

TEST_CASE("fabric_regions: a rank that leaves is heard to leave, and one that is killed is dead") {
    for (fabric_options device : test_fabric::offered_here())
        for (const bool dies : {false, true}) {
            device.linger_ns = 10'000'000'000;
            const launch_report report = launch(3, [&](job world) {
                std::optional<fabric_regions> end(std::in_place, world,
                                                  fabric_regions_options{.region_bytes = 4096, .device = device});
                const std::uint64_t word = 5;
                if (end->rank() == 2) {
                    for (const rank_t r : {0u, 1u})
                        if (end->put(r, 64, std::as_bytes(std::span(&word, 1)), {}, 1) != posted::complete) return 1;
                    if (dies) ::raise(SIGKILL);
                    return 0;
                }
                const std::uint64_t last = end->now_ns() + 20'000'000'000;
                for (event e; end->now_ns() < last;) {
                    if (end->poll(std::span(&e, 1)) != 1 || e.what != event::kind::lost) continue;
                    if (e.peer != 2) continue; // the other one has seen it already, and left
                    std::uint64_t landed = 0;
                    std::memcpy(&landed, end->region().data() + 64, sizeof landed);
                    return e.code == (dies ? errc::peer_dead : errc::ok) && (dies || landed == word) ? 0 : 2;
                }
                return 3;
            });
            CAPTURE(device.provider, dies, describe(report));
            for (const rank_t r : {0u, 1u}) CHECK(report.ranks[r].code == 0);
        }
}
