// SPDX-License-Identifier: BSL-1.0
// check_remote_writes keeps the bytes of pending puts as long as its ends, also when a rule is broken while they are pending.
// (Which rules it finds broken: test/concepts/remote_write_transport.cpp.)
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/remote/simulated.hpp>
#include <bough/testing/remote_write_conformance.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// Says of each put that it is pending, and never that it has ended. Looks at the bytes of all its puts when it is destroyed.
// AddressSanitizer sees whether those are still there that lie on the stack.
template <class World>
class ends_no_put {
public:
    static constexpr bool keeps_byte_order = World::endpoint::keeps_byte_order;
    static inline std::size_t puts = 0, changed = 0;
    static inline bool less_memory = false; // something was freed between a put and the end

    explicit ends_no_put(typename World::endpoint end, bool starts_now) : end_(std::move(end)), breaks_(starts_now) {}
    ends_no_put(ends_no_put&&) = default;
    ~ends_no_put() {
        if (held_ != 0) less_memory |= std::exchange(held_, 0) > bough_test::held_bytes;
        for (const source& s : sources_) {
            ++puts;
            changed += !std::equal(s.bytes.begin(), s.bytes.end(), s.as_put.begin());
        }
    }

    rank_t rank() const { return end_.rank(); }
    rank_t size() const { return end_.size(); }
    std::uint64_t now_ns() const { return end_.now_ns(); }
    std::span<std::byte> region() const { return end_.region(); }
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        return remember(end_.put(to, offset, first, second, id), first, second);
    }
    posted flush(rank_t to, std::uint64_t id) requires(!keeps_byte_order) { return end_.flush(to, id); }
    exposure expose(std::span<std::byte> memory) { return end_.expose(memory); }
    void conceal(const exposure& e) { end_.conceal(e); }
    posted put_exposed(rank_t to, exposure at, std::span<const std::byte> bytes, std::uint64_t id) {
        return remember(end_.put_exposed(to, at, bytes, id), bytes, {});
    }
    std::uint64_t landed(rank_t from) const { return end_.landed(from); }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = end_.poll(events);
        const auto last = events.begin() + static_cast<std::ptrdiff_t>(found);
        const auto is_hidden = [this](const event& e) { return breaks_ && e.what == event::kind::complete; };
        return static_cast<std::size_t>(std::remove_if(events.begin(), last, is_hidden) - events.begin());
    }

private:
    struct source {
        std::span<const std::byte> bytes;
        std::vector<std::byte> as_put;
    };

    posted remember(posted result, std::span<const std::byte> first, std::span<const std::byte> second) {
        if (!breaks_ || result == posted::would_block) return result;
        for (const auto bytes : {first, second}) sources_.push_back({bytes, {bytes.begin(), bytes.end()}});
        held_ = bough_test::held_bytes;
        return posted::pending;
    }

    static inline std::ptrdiff_t held_ = 0; // when the last put was made
    typename World::endpoint end_;
    bool breaks_;
    std::vector<source> sources_;
};

} // namespace

TEMPLATE_TEST_CASE("remote write conformance: what is pending when a rule is broken lives as long as the ends", "",
                   simulated_regions, scattered_regions) {
    using end = ends_no_put<TestType>;
    const auto groups_until = [](int broken) { // groups from that one on break a rule
        int groups = 0;
        const auto fault = testing::check_remote_writes(
            [&](rank_t ranks) {
                ++groups;
                TestType world(ranks, {.region_bytes = 8192});
                std::vector<end> ends;
                ends.reserve(ranks);
                for (rank_t r = 0; r != ranks; ++r) ends.push_back(end{world.connect(r), groups >= broken});
                return ends;
            },
            {.rounds = 20, .patience_polls = 2'000});
        CAPTURE(broken, groups, fault.sentence);
        CHECK((fault.rule != testing::remote_write_rule::none) == (groups >= broken));
        return groups;
    };
    const int all = groups_until(1'000);
    CHECK(all > 10);
    for (int broken = 2; broken <= all; ++broken) { // the first group puts nothing
        end::puts = end::changed = 0;
        end::less_memory = false;
        groups_until(broken);
        CAPTURE(broken);
        CHECK(end::puts != 0);
        CHECK(end::changed == 0);
        CHECK(!end::less_memory);
    }
}
