// SPDX-License-Identifier: BSL-1.0
// check_remote_write_order: it finds no fault with transports that need the polls of both ends.
#include "support/catch.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/testing/remote_write_threads.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using base = in_process_regions::endpoint;

// Its puts end when the other end has been polled since.
struct needs_target : base {
    std::shared_ptr<std::atomic<std::uint64_t>> polls; // of rank 1
    std::uint64_t open = 0, begun = 0;                 // the put that is pending, and `polls` then
    needs_target(base&& end, std::shared_ptr<std::atomic<std::uint64_t>> count)
        : base(std::move(end)), polls(std::move(count)) {}
    posted put(rank_t to, std::uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        const posted p = base::put(to, at, first, second, id);
        if (p != posted::complete) return p;
        open = id;
        begun = polls->load();
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (rank() == 1) ++*polls;
        if (open == 0 || polls->load() == begun) return 0;
        events[0] = {.what = event::kind::complete, .peer = 1, .id = std::exchange(open, 0)};
        return 1;
    }
};

// Its puts are copied and complete at once, and land when it is polled.
struct needs_source : base {
    struct copy {
        std::uint64_t at = 0;
        std::vector<std::byte> bytes{};
    };
    std::vector<copy> under_way{};
    needs_source(base&& end, const std::shared_ptr<std::atomic<std::uint64_t>>&) : base(std::move(end)) {}
    posted put(rank_t, std::uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t) {
        under_way.push_back({at, {first.begin(), first.end()}});
        under_way.back().bytes.insert(under_way.back().bytes.end(), second.begin(), second.end());
        return posted::complete;
    }
    std::size_t poll(std::span<event> events) {
        for (const copy& c : std::exchange(under_way, {})) (void)base::put(1, c.at, c.bytes, {}, 0);
        return base::poll(events);
    }
};

} // namespace

TEMPLATE_TEST_CASE("remote writes: the check between two threads polls both ends to the end", "", needs_target,
                   needs_source) {
    const auto made = [](rank_t n) {
        in_process_regions world(n);
        const auto polls = std::make_shared<std::atomic<std::uint64_t>>(0);
        std::vector<TestType> ends;
        for (rank_t r = 0; r != n; ++r) ends.emplace_back(world.connect(r), polls);
        return ends;
    };
    // Over after no time: most often while a put is pending.
    for (int i = 0; i != 20; ++i) {
        const auto fault = testing::check_remote_write_order(
            made, {.rounds = 20, .enough_ns = i % 2 == 0 ? 1u : 20'000'000'000u, .timeout_ns = 30'000'000'000});
        CAPTURE(i, fault.sentence, fault.rank);
        REQUIRE(fault.rule == testing::remote_write_rule::none);
    }
}
