// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/process_collectives.hpp"
#include "support/sample.hpp"
#include "support/watched_device.hpp"
#include "verbs/ranks.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/transport_conformance.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <type_traits>

using namespace bough;
using namespace test_verbs;

static_assert(explain_transport<verbs>() && explain_in_place_transport<verbs>() && explain_waitable_transport<verbs>());
static_assert(!std::is_copy_constructible_v<verbs> && std::is_nothrow_move_constructible_v<verbs>);

namespace {

// Much room; every message long; little room, and frames between what is inlined and what is not.
std::vector<verbs_options> variants(const verbs_options& o) {
    std::vector<verbs_options> all(3, o);
    all[1].eager_bytes = 0;
    all[2].window = 1;
    all[2].eager_bytes = 200;
    return all;
}

} // namespace

TEST_CASE("verbs: keeps the rules of a transport, its ends driven by one thread") {
    if (!has_card()) return;
    for (const verbs_options& options : variants(in_one_thread())) {
        const auto fault =
            testing::check_transport([&](rank_t n) { return ends_of(std::vector(n, options)); },
                                     {.ranks = 3, .messages = bough_test::all() ? 2'000u : 200u, .queue_limit = 4096});
        CAPTURE(options.window, options.eager_bytes, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

TEST_CASE("verbs: says which way each message goes") {
    static_assert(explain_optional_members<verbs>());
    if (!has_card()) return;
    for (const verbs_options& options : variants(in_one_thread())) {
        CAPTURE(options.eager_bytes);
        bough_test::check_ways<detail::verbs_device>(options);
    }
}

TEST_CASE("verbs: keeps them between processes") {
    if (!has_card()) return;
    std::uint64_t seed = 10 * bough_test::seed();
    for (const verbs_options& options : variants({}))
        for (const rank_t ranks : {2u, 4u}) {
            ++seed;
            const launch_report report = launch(ranks, [&](job world) {
                const auto fault = testing::check_transport_process(
                    verbs{world, options}, {.seed = seed, .messages = 60, .cancellations = 15});
                if (fault)
                    std::printf("rank %u, seed %u: %s\n", fault.rank, static_cast<unsigned>(seed), fault.sentence);
                return fault ? 1 : 0;
            });
            CAPTURE(ranks, options.window, options.eager_bytes, seed, describe(report));
            CHECK(report.ok());
        }
}

TEST_CASE("verbs: a payload longer than a card writes at once arrives whole") {
    if (!has_card()) return;
    auto ends = ends_of(std::vector(2, in_one_thread()));
    std::vector<std::byte> bytes((std::size_t{8} << 20) + 4'999), into(bytes.size()); // soft-RoCE: 8 MiB at once
    for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
    REQUIRE(ends[0].post_send(1, {}, bytes, 1) == posted::pending);
    const std::uint64_t last = ends[0].now_ns() + 30'000'000'000;
    int over = 0;
    while (over != 2 && ends[0].now_ns() < last)
        for (verbs& end : ends) {
            std::array<event, 2> events;
            const std::size_t found = end.poll(events);
            for (std::size_t i = 0; i != found; ++i) {
                if (events[i].what == event::kind::arrived)
                    REQUIRE(end.take(events[i].id, into, 2) == posted::pending);
                else
                    over += events[i].code == errc::ok;
            }
        }
    CHECK(over == 2);
    CHECK(into == bytes);
}

TEST_CASE("verbs: collectives are folds, bit by bit") {
    if (!has_card()) return;
    for (const rank_t ranks : {1u, 2u, 4u}) {
        const launch_report report = launch(ranks, [&](job world) {
            communicator comm{verbs{world}};
            comm.set_timeout_ns(60'000'000'000);
            return bough_test::wrong_collectives(comm, {0, 1, 7, 600, 20'000}) == 0 ? 0 : 1;
        });
        CAPTURE(ranks, describe(report));
        CHECK(report.ok());
    }
}
