// SPDX-License-Identifier: BSL-1.0
// check_remote_write_order: it finds no fault with transports that need the polls of both ends, and each fault of those that
// have one.
#include "support/catch.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/testing/remote_write_threads.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
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

namespace {

// Its last word lands before the rest. That lands word by word, as somebody reads there meanwhile.
struct hasty : base {
    explicit hasty(base&& end) : base(std::move(end)) {}
    posted put(rank_t to, std::uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (second.size() <= 8) return base::put(to, at, first, second, id);
        (void)base::put(to, at + first.size() + second.size() - 8, second.last(8), {}, id);
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // somebody looks now
        for (const std::span<const std::byte> part : {first, second})
            for (std::size_t i = 0; i != part.size(); i += 8, at += 8)
                (void)base::put(to, at, part.subspan(i, 8), {}, id);
        return posted::complete;
    }
};

} // namespace

TEST_CASE("remote writes: a last word that lands first is found from a second thread") {
    const auto fault = testing::check_remote_write_order(
        [](rank_t n) {
            in_process_regions world(n);
            std::vector<hasty> ends;
            for (rank_t r = 0; r != n; ++r) ends.emplace_back(world.connect(r));
            return ends;
        },
        {.enough_ns = 20'000'000'000});
    CHECK(fault.rule == testing::remote_write_rule::word_is_last);
}

namespace {

// What is wrong with the end of rank 0, from its hundredth put on.
enum class wrong { nothing, no_event, another_id, error, loss, refusal };
struct odd : base {
    wrong what;
    int puts = 0;
    std::uint64_t open = 0; // the put that is pending
    odd(base&& end, wrong w) : base(std::move(end)), what(w) {}
    posted put(rank_t to, std::uint64_t at, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        if (++puts > 100 && what == wrong::refusal) return posted::failed;
        const posted p = base::put(to, at, first, second, id);
        if (p == posted::complete) open = id;
        return p == posted::complete ? posted::pending : p;
    }
    std::size_t poll(std::span<event> events) {
        if (open == 0) return base::poll(events);
        const bool good = puts <= 100;
        if (!good && what == wrong::no_event) return 0;
        events[0] = {.what = event::kind::complete, .peer = 1, .id = std::exchange(open, 0)};
        if (!good && what == wrong::another_id) ++events[0].id;
        if (!good && what == wrong::error) events[0].code = errc::peer_dead;
        if (!good && what == wrong::loss) events[0].what = event::kind::lost;
        return 1;
    }
};

} // namespace

TEST_CASE("remote writes: what a put must not end with, between two threads") {
    using testing::remote_write_rule;
    const auto rule_broken_by = [](wrong what) {
        return testing::check_remote_write_order(
                   [&](rank_t n) {
                       in_process_regions world(n);
                       std::vector<odd> ends;
                       for (rank_t r = 0; r != n; ++r) ends.emplace_back(world.connect(r), what);
                       return ends;
                   },
                   {.rounds = 300,
                    .enough_ns = 100'000'000'000,
                    .timeout_ns = what == wrong::no_event ? 500'000'000u : 100'000'000'000u})
            .rule;
    };
    CHECK(rule_broken_by(wrong::nothing) == remote_write_rule::none);
    CHECK(rule_broken_by(wrong::no_event) == remote_write_rule::one_event);
    CHECK(rule_broken_by(wrong::another_id) == remote_write_rule::one_event);
    CHECK(rule_broken_by(wrong::error) == remote_write_rule::one_event);
    CHECK(rule_broken_by(wrong::loss) == remote_write_rule::loss);
    CHECK(rule_broken_by(wrong::refusal) == remote_write_rule::place);
}
