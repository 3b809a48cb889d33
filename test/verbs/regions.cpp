// SPDX-License-Identifier: BSL-1.0
// Remote writes through an RDMA card: their rules, and messages and collectives made of them.
#include "support/catch.hpp"
#include "support/forked_group.hpp"
#include "support/process_regions.hpp"
#include "support/sample.hpp"
#include "verbs/ranks.hpp"
#include <bough/concepts/explain_remote_write_transport.hpp>
#include <bough/testing/remote_write_conformance.hpp>
#include <bough/transport/one_sided.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;
using namespace test_verbs;

static_assert(explain_remote_write_transport<verbs_regions>() && FlushableRemoteWrites<verbs_regions>);

namespace {

// A rank's end of a group whose regions have so many bytes. Puts are copied, or, of every third seed, all but words are
// written from where they lie.
auto joining(std::uint64_t seed) {
    return [seed](job& world, std::uint64_t bytes) {
        verbs_options device;
        if (seed % 3 == 0) device.eager_bytes = 128;
        return verbs_regions{world, {.region_bytes = bytes, .device = device}};
    };
}
// Until `holds`, or ten seconds; all ends are polled by this thread.
template <class F>
bool until(std::vector<verbs_regions>& ends, std::vector<event>& come, const F& holds) {
    for (const std::uint64_t last = ends[0].now_ns() + 10'000'000'000; ends[0].now_ns() < last;) {
        if (holds()) return true;
        for (verbs_regions& end : ends)
            if (event e; end.poll(std::span(&e, 1)) == 1) come.push_back(e);
    }
    return holds();
}

} // namespace

TEST_CASE("verbs_regions: keeps the rules of remote writes, its ends driven by one thread") {
    if (!has_card()) return;
    for (const std::uint32_t eager_bytes : {8192u, 100u, 64u}) { // copied, written from where they lie, put together
        verbs_regions_options options{.region_bytes = 1u << 16, .device = in_one_thread()};
        options.device.eager_bytes = eager_bytes;
        const auto fault =
            testing::check_remote_writes([&](rank_t n) { return regions_of(std::vector(n, options)); },
                                         {.rounds = bough_test::all() ? 500u : 200u, .patience_polls = 2'000'000});
        CAPTURE(eager_bytes, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::remote_write_rule::none);
    }
}

TEST_CASE("verbs_regions: a put longer than a card writes at once lands whole, and a flush waits for all of it") {
    if (!has_card()) return;
    detail::verbs_port port;
    REQUIRE_FALSE(detail::open_verbs_port({}, port));
    const std::uint64_t at_once =
        std::min<std::uint64_t>(port.address.most_bytes, 1u << 30); // soft-RoCE: 8 MiB; others more
    std::vector<std::byte> bytes(std::size_t{16} << 20);
    for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = static_cast<std::byte>(1 + i % 251);
    auto ends = regions_of(std::vector(2, verbs_regions_options{bytes.size() + 100, in_one_thread()}));
    REQUIRE(ends[0].put(1, 77, bytes, {}, 1) == posted::pending);
    REQUIRE(ends[0].flush(1, 2) == posted::pending);
    std::vector<event> come;
    REQUIRE(until(ends, come, [&] { return !come.empty() && come.back().id == 2; }));
    CHECK(ends[1].landed(0) == (bytes.size() + at_once - 1) / at_once); // pieces
    CHECK(std::equal(bytes.begin(), bytes.end(), ends[1].region().begin() + 77));
    CHECK(ends[1].region()[76] == std::byte{0});
    CHECK(ends[1].region()[77 + bytes.size()] == std::byte{0});
    REQUIRE(until(ends, come, [&] { return come.size() == 2; }));
    for (const event& e : come) CHECK((e.what == event::kind::complete && e.code == errc::ok && e.peer == 1));
}

TEST_CASE("verbs_regions: messages over it keep the rules of a transport, between processes") {
    if (!has_card()) return;
    for (std::uint64_t seed = 10 * bough_test::seed(), last = seed + 3; seed != last; ++seed) {
        const rank_t ranks = seed % 2 == 0 ? 2 : 4;
        const launch_report report = bough_test::region_messages(
            ranks, {.seed = seed, .messages = bough_test::all() ? 150u : 60u, .cancellations = 15}, joining(seed));
        CAPTURE(ranks, seed, describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("verbs_regions: collectives over it are folds, bit by bit") {
    if (!has_card()) return;
    struct group {
        rank_t ranks;
        std::uint64_t seed;
        std::size_t longest; // in pieces
    };
    for (const auto& [ranks, seed, longest] :
         {group{1, 0, 600}, {2, 0, 20'000}, {2, 1, 600}, {4, 2, 5'000}, {4, 3, 600}}) {
        const launch_report report = bough_test::region_collectives(ranks, seed, {0, 1, 7, longest}, joining(seed));
        CAPTURE(ranks, seed, describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("verbs_regions: a process that is killed is lost to those that wait for it") {
    if (!has_card()) return;
    const launch_report report = bough_test::region_death(joining(1));
    CAPTURE(describe(report));
    REQUIRE(report.ranks.size() == 3);
    for (const rank_t r : {0u, 2u}) CHECK(report.ranks[r].ok());
}

TEST_CASE("verbs_regions: a rank whose process nobody can watch is lost when it ends without a word") {
    if (!has_card()) return;
    const launch_report report = end_of_a_stranger([](job& world) {
        return verbs_regions{world, {.region_bytes = 4096, .device = {.ack_timeout = 10}}};
    });
    CAPTURE(describe(report));
    CHECK(report.ok());
}

TEST_CASE("verbs_regions: joining says what does not fit, on every rank") {
    if (!has_card()) return;
    std::vector<verbs_regions_options> options(3, {.region_bytes = 4096, .device = in_one_thread()});
    std::vector<status> why;
    SECTION("regions of different sizes") {
        options[2].region_bytes = 8192;
        CHECK(regions_of(options, &why).empty());
        for (const status& s : why) {
            CHECK(s.code == errc::invalid_argument);
            CHECK(s.peer == 2);
        }
    }
    SECTION("a card that is not there") {
        options[1].device.device = "no such card";
        CHECK(regions_of(options, &why).empty());
        for (const rank_t r : {0u, 2u}) {
            CHECK(why[r].code == errc::peer_aborted);
            CHECK(why[r].cause == errc::unsupported);
            CHECK(why[r].peer == 1);
        }
        CHECK(why[1].code == errc::unsupported);
    }
    SECTION("memory that may not be registered") {
        const launch_report report = little_memory([](job& world, status& why_not) {
            const verbs_options device{.window = 1, .eager_bytes = 0}; // the region alone is too much
            return verbs_regions::join(world, {.region_bytes = 1u << 20, .device = device}, why_not).has_value();
        });
        CAPTURE(describe(report));
        CHECK(report.ok());
    }
}

TEST_CASE("verbs_regions: after a fork the child has no group, and its parent keeps its own") {
    if (!has_card()) return;
    auto ends = regions_of(std::vector(2, verbs_regions_options{4096, in_one_thread()}));
    CHECK(ends[0].device() == ends[1].device());
    const std::array<std::byte, 3> x{std::byte{1}, std::byte{2}, std::byte{3}};
    const std::span<const std::byte> none;
    REQUIRE(ends[0].put(1, 0, x, none, 1) == posted::complete);
    bough_test::check_in_child(ends, [&] {
        event e;
        return ends[0].forked() && ends[0].put(1, 8, x, none, 2) == posted::failed &&
               ends[0].flush(1, 3) == posted::failed && ends[0].poll(std::span(&e, 1)) == 0;
    });
    CHECK_FALSE(ends[0].forked());
    std::vector<event> come;
    REQUIRE(ends[0].put(1, 16, x, none, 4) == posted::complete);
    REQUIRE(until(ends, come, [&] { return ends[1].landed(0) == 2; }));
    CHECK(std::equal(x.begin(), x.end(), ends[1].region().begin()));
    CHECK(std::equal(x.begin(), x.end(), ends[1].region().begin() + 16));
    CHECK(ends[1].region()[8] == std::byte{0});
    CHECK(come.empty());
}
