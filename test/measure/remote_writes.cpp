// SPDX-License-Identifier: BSL-1.0
// Puts timed between ranks that are threads: the samples are there, and the model of them is finite.
#include "support/catch.hpp"
#include <bough/measure/remote_writes.hpp>
#include <bough/remote/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using plain_end = decltype(std::declval<in_process_regions&>().connect(0));

// Puts are pending when they are posted, and land at the next poll, as over cards; or never.
class late_end {
public:
    static constexpr bool keeps_byte_order = plain_end::keeps_byte_order;
    struct put_under_way {
        rank_t to;
        std::uint64_t offset;
        std::span<const std::byte> first, second;
        std::uint64_t id;
    };

    late_end(plain_end&& end, bool lands) : end_(std::move(end)), lands_(lands) {}
    rank_t rank() const { return end_.rank(); }
    rank_t size() const { return end_.size(); }
    std::span<std::byte> region() const { return end_.region(); }
    std::uint64_t now_ns() const { return end_.now_ns(); }
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        under_way.push_back({to, offset, first, second, id});
        return posted::pending;
    }
    std::size_t poll(std::span<event> events) {
        if (!lands_ || under_way.empty()) return end_.poll(events);
        const put_under_way p = under_way.front();
        under_way.pop_front();
        event e;
        e.what = event::kind::complete;
        e.code = end_.put(p.to, p.offset, p.first, p.second, p.id) == posted::complete ? errc::ok : errc::peer_dead;
        e.peer = p.to;
        e.id = p.id;
        events[0] = e;
        return 1;
    }

    std::deque<put_under_way> under_way;

private:
    plain_end end_;
    bool lands_;
};
static_assert(RemoteWriteTransport<late_end>);

// Rank 0 puts to rank 2 once rank 1 has gone.
class waiting_end : public plain_end {
public:
    waiting_end(plain_end&& end, std::atomic<bool>& is_gone) : plain_end(std::move(end)), is_gone_(is_gone) {}
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        const std::uint64_t last = now_ns() + 10'000'000'000;
        while (to == 2 && !is_gone_ && now_ns() < last) std::this_thread::yield();
        return plain_end::put(to, offset, first, second, id);
    }

private:
    std::atomic<bool>& is_gone_;
};

// Notes how long it may wait.
class noting_end : public plain_end {
public:
    explicit noting_end(plain_end&& end) : plain_end(std::move(end)) {}
    template <class Landed>
    void wait(std::uint32_t idle, std::uint64_t deadline_ns, Landed&& landed) {
        earliest_ns = std::min(earliest_ns, deadline_ns);
        ++waits;
        plain_end::wait(idle, deadline_ns, landed);
    }

    std::uint64_t earliest_ns = forever;
    int waits = 0;
};
static_assert(WaitableRemoteWrites<noting_end>);

const remote_write_timing_options few{.bytes = {8, 256, 2048}, .rounds = 10, .parts = 2, .first_byte = 64};

template <class F>
void on_ranks(rank_t size, const F& f) {
    std::vector<std::thread> ranks;
    for (rank_t r = 0; r != size; ++r) ranks.emplace_back([&f, r] { f(r); });
    for (std::thread& t : ranks) t.join();
}

} // namespace

TEST_CASE("measure_remote_writes: rank 0 gets a model, and who only looks on is let go") {
    in_process_regions world(3, {.region_bytes = 1u << 16});
    std::vector<remote_write_timing> found(3);
    on_ranks(3, [&](rank_t r) {
        auto end = world.connect(r);
        found[r] = measure_remote_writes(end, few);
    });
    for (const auto& f : found) CHECK(f.result.code == errc::ok);
    CHECK(found[0].samples.size() == 3 * 2 + 1 + 2); // bytes in order: no acknowledgements
    CHECK((found[1].samples.empty() && found[2].samples.empty()));
    CHECK_FALSE(found[0].fit.error);
    CHECK(found[0].fit.model.copy_ns_per_byte > 0);
    CHECK(found[0].fit.model.acknowledgement_ns == 0);
}

TEST_CASE("measure_remote_writes: a peer that does not come ends it") {
    in_process_regions world(2, {.region_bytes = 1u << 16});
    auto end = world.connect(0);
    auto options = few;
    SECTION("in time") {
        options.timeout_ns = 20'000'000;
        CHECK(measure_remote_writes(end, options).result.code == errc::deadline);
    }
    SECTION("as soon as it is gone") {
        std::optional other(world.connect(1));
        other.reset();
        CHECK(measure_remote_writes(end, options).result.code == errc::peer_dead);
    }
}

TEST_CASE("measure_remote_writes: where it may take for ever, nobody is told to wait until a time that is over") {
    in_process_regions world(2, {.region_bytes = 1u << 16});
    std::atomic<int> waits{0};
    std::array<status, 2> results;
    std::array<std::uint64_t, 2> earliest{};
    on_ranks(2, [&](rank_t r) {
        noting_end end(world.connect(r));
        auto options = few;
        options.timeout_ns = forever;
        results[r] = measure_remote_writes(end, options).result;
        earliest[r] = end.earliest_ns;
        waits += end.waits;
    });
    for (const status& s : results) CHECK(s == status{});
    for (const std::uint64_t ns : earliest) CHECK(ns == forever);
    CHECK(waits > 0);
}

TEST_CASE("measure_remote_writes: puts that are done later, and again over the same memory") {
    in_process_regions world(2, {.region_bytes = 1u << 16});
    std::array<std::array<status, 3>, 2> results;
    on_ranks(2, [&](rank_t r) {
        late_end end(world.connect(r), true);
        for (status& s : results[r]) s = measure_remote_writes(end, few).result;
    });
    for (const auto& of_rank : results)
        for (const status& s : of_rank) CHECK(s == status{});
}

TEST_CASE("measure_remote_writes: what puts under way read outlives an error") {
    in_process_regions world(2, {.region_bytes = 1u << 16});
    late_end end(world.connect(0), false);
    auto options = few;
    options.timeout_ns = 20'000'000;
    CHECK(measure_remote_writes(end, options).result.code == errc::deadline);
    REQUIRE(end.under_way.size() == 1);
    const std::span<const std::byte> source = end.under_way[0].first;
    REQUIRE(source.size() == 8);
    CHECK(remote_words::read(source.data()) == (std::uint64_t{1} << 32) + 1); // the first of the first call
}

TEST_CASE("measure_remote_writes: who has been let go may leave before others are") {
    in_process_regions world(3, {.region_bytes = 1u << 16});
    std::atomic<bool> is_gone = false;
    std::array<status, 3> results;
    on_ranks(3, [&](rank_t r) {
        {
            waiting_end end(world.connect(r), is_gone);
            results[r] = measure_remote_writes(end, few).result;
        }
        if (r == 1) is_gone = true;
    });
    for (const status& s : results) CHECK(s == status{});
}
