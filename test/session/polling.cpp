// SPDX-License-Identifier: BSL-1.0
#include "session/parts_of_session.hpp"
#include "support/catch.hpp"
#include <bough/core/config.hpp>
#include <bough/session/polling.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

using namespace bough;
using test::parts_of_session;

namespace {

void send(parts_of_session& from, rank_t to, std::uint32_t messages) {
    for (std::uint32_t n = 0; n != messages; ++n)
        REQUIRE(from.transport.post_send(to, parts_of_session::call_of(n), {}, n) == posted::complete);
}

} // namespace

TEST_CASE("polling: hands on what has come in its order, up to a round of it, and then goes on once") {
    const testing::loop_group group(2, {.slots = 200});
    parts_of_session zero(group, 0, 2), one(group, 1, 2);
    detail::polling<test::loop_end> events(one.transport, one.running, one.matched.early(), one.failing);
    std::vector<std::uint32_t> numbers;
    int goes_on = 0;
    const auto round = [&] {
        return events.round(
            8, [&](const event& e) { numbers.push_back(e.envelope.operation); }, [&] { ++goes_on; });
    };
    CHECK(round() == 0);
    CHECK(goes_on == 1);
    send(zero, 1, 3);
    CHECK(round() == 3);
    CHECK(numbers == std::vector<std::uint32_t>{0, 1, 2});
    send(zero, 1, 70);
    numbers.clear();
    CHECK(round() == detail::event_round::most);
    CHECK(goes_on == 3);
    CHECK(round() == 70 - detail::event_round::most);
    CHECK(numbers.size() == 70);
    CHECK(numbers.back() == 69);
}

TEST_CASE("polling: posts wait while events are being handled, and no longer") {
    const testing::loop_group group(3);
    parts_of_session zero(group, 0, 3);
    session_operation& op = zero.start(1);
    { const auto lost = group.connect(2); }
    detail::polling<test::loop_end> events(zero.transport, zero.running, zero.matched.early(), zero.failing);
    const std::array<std::byte, 4> bytes{};
    const auto post = [&] { return zero.running.send(op, 0, 2, 1, bytes); };
    std::vector<posted> posts;
    CHECK(events.round(
              8, [&](const event&) { posts.push_back(post()); }, [&] { posts.push_back(post()); }) == 1);
    CHECK(posts == std::vector<posted>(2, posted::would_block));
    CHECK(post() == posted::failed);
}

TEST_CASE("polling: reads no further once there are early messages, nor if few events were asked for") {
    const testing::loop_group group(2, {.slots = 200});
    parts_of_session zero(group, 0, 2), one(group, 1, 2);
    detail::polling<test::loop_end> events(one.transport, one.running, one.matched.early(), one.failing);
    send(zero, 1, 60);
    const auto ignores = [](const event&) {};
    CHECK(events.round(3, ignores, [] {}) == 3);
    CHECK(events.round(
              8, [&](const event& e) { one.matched.early().keep(e); }, [] {}) == 8);
    CHECK(one.matched.early().size() == 8);
    CHECK(events.round(8, ignores, [] {}) == 49); // none of these is kept
}

#if BOUGH_HAS_EXCEPTIONS
TEST_CASE("polling: where one event throws, the group is broken, and the others are handled all the same") {
    const testing::loop_group group(2, {.slots = 200});
    parts_of_session zero(group, 0, 2), one(group, 1, 2);
    detail::polling<test::loop_end> events(one.transport, one.running, one.matched.early(), one.failing);
    send(zero, 1, 11);
    std::uint32_t handled = 0;
    bool has_gone_on = false;
    CHECK(events.round(
              8,
              [&](const event&) {
                  if (++handled % 4 == 0) throw std::bad_alloc();
              },
              [&] { has_gone_on = true; }) == 11);
    CHECK(handled == 11);
    CHECK(has_gone_on);
    CHECK(one.failing.poison().code == errc::no_resources);
}
#endif
