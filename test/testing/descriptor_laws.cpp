// SPDX-License-Identifier: BSL-1.0
// check_descriptor_transport keeps the memory of a pending take as long as its ends. (Which transports keep its rules:
// test/transport/descriptor.cpp.)
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/testing/descriptor_laws.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// Its takes are pending for ever, as over a transport that tells their end later than that of the send. It looks at their
// memory when it is destroyed.
class ends_no_take {
public:
    static inline std::size_t takes = 0, changed = 0;
    static inline bool less_memory = false; // something was freed between a take and the end

    explicit ends_no_take(in_process::endpoint end) : end_(std::move(end)) {}
    ends_no_take(ends_no_take&&) = default;
    ~ends_no_take() {
        if (held_ != 0) less_memory |= std::exchange(held_, 0) > bough_test::held_bytes;
        for (const std::span<const std::byte> into : taken_) {
            ++takes;
            changed += std::any_of(into.begin(), into.end(), [](std::byte b) { return b != fill; });
        }
    }

    rank_t rank() const { return end_.rank(); }
    rank_t size() const { return end_.size(); }
    std::uint64_t now_ns() const { return end_.now_ns(); }
    int descriptor() { return end_.descriptor(); }
    bool arm() { return end_.arm(); }
    void disarm() { end_.disarm(); }
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        return end_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t found = end_.poll(events);
        const auto last = events.begin() + static_cast<std::ptrdiff_t>(found);
        const auto is_take = [](const event& e) { return e.what == event::kind::complete && e.id == take_id; };
        return static_cast<std::size_t>(std::remove_if(events.begin(), last, is_take) - events.begin());
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        REQUIRE(id == take_id);
        REQUIRE(end_.take(handle, into, id) != posted::failed);
        std::fill(into.begin(), into.end(), fill);
        taken_.push_back(into);
        held_ = bough_test::held_bytes;
        return posted::pending;
    }
    void release(std::uint64_t handle) { end_.release(handle); }
    errc cancel(std::uint64_t id) { return end_.cancel(id); }

private:
    static constexpr std::uint64_t take_id = 2;
    static constexpr std::byte fill{0x5a};
    static inline std::ptrdiff_t held_ = 0; // when the last take was posted
    in_process::endpoint end_;
    std::vector<std::span<const std::byte>> taken_;
};

} // namespace

TEST_CASE("descriptor laws: the memory of a pending take lives as long as the ends") {
    const char* const fault = testing::check_descriptor_transport([](rank_t ranks) {
        in_process world{ranks};
        std::vector<ends_no_take> ends;
        ends.reserve(ranks);
        for (rank_t r = 0; r != ranks; ++r) ends.push_back(ends_no_take{world.connect(r)});
        return ends;
    });
    CHECK(fault == nullptr);
    CHECK(ends_no_take::takes == 1);
    CHECK(ends_no_take::changed == 0);
    CHECK(!ends_no_take::less_memory);
}
