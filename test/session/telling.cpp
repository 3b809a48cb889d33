// SPDX-License-Identifier: BSL-1.0
// Who is told of a failure and of a refusal, and what.
#include "support/catch.hpp"
#include <bough/session/telling.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

using namespace bough;

namespace {

using transport = testing::transport_archetype;

// A notice that came: its envelope and what it says.
struct heard {
    envelope tag;
    status said;
};
std::vector<heard> hear(transport& me) {
    std::vector<heard> all;
    std::array<event, 8> events;
    std::array<std::byte, sizeof(abort_notice)> bytes{};
    const std::size_t found = me.poll(events);
    for (std::size_t i = 0; i != found; ++i) {
        REQUIRE(events[i].bytes == bytes.size());
        REQUIRE(me.take(events[i].id, bytes, 1) == posted::pending);
        std::array<event, 1> taken;
        REQUIRE(me.poll(taken) == 1);
        all.push_back({events[i].envelope, abort_notice::read(bytes).as_status(events[i].peer, 0)});
    }
    return all;
}

} // namespace

TEST_CASE(
    "telling: each rank that is not lost hears of a broken group once, by a notice of the operation that failed") {
    const testing::loop_group group(4);
    std::vector<transport> ends = group.connect_all();
    std::vector<errc> lost(4, errc::ok);
    lost[2] = errc::peer_dead;
    outbox out;
    rank_t told = 0;
    const status why{.code = errc::op_threw, .peer = 3, .operation = 12, .context = 5};
    detail::tell_poison(out, why, 7, 1, told, lost);
    CHECK(told == 4);
    detail::tell_poison(out, why, 7, 1, told, lost); // all have been told
    out.flush(ends[1]);
    CHECK(out.empty());
    for (const rank_t r : {0u, 3u}) {
        const std::vector<heard> all = hear(ends[r]);
        REQUIRE(all.size() == 1);
        CHECK(all[0].tag.segment == detail::abort_segment);
        CHECK(all[0].tag.epoch == 7);
        CHECK(all[0].tag.operation == 12);
        CHECK(all[0].tag.context == 5);
        CHECK(all[0].said.cause == errc::op_threw);
        CHECK(all[0].said.peer == 3);
    }
    CHECK(hear(ends[1]).empty());
    CHECK(hear(ends[2]).empty());
}

TEST_CASE("telling: a refusal goes to the members of the communicator alone, or to all ranks if it has all") {
    for (const bool some : {true, false}) {
        const testing::loop_group group(4);
        std::vector<transport> ends = group.connect_all();
        std::vector<errc> lost(4, errc::ok);
        lost[3] = errc::peer_dead;
        const std::array<rank_t, 3> members{1, 2, 3};
        envelope call;
        call.operation = 9;
        call.context = 2;
        outbox out;
        detail::tell_refusal(ends[1], out, call, errc::invalid_argument, 7,
                             some ? std::span<const rank_t>(members) : std::span<const rank_t>(), lost);
        for (const rank_t r : {0u, 1u, 2u, 3u}) {
            const std::vector<heard> all = hear(ends[r]);
            CAPTURE(some, r);
            CHECK(all.size() == (r == 2 || (r == 0 && !some) ? 1u : 0u));
            for (const heard& h : all) {
                CHECK(h.tag.segment == detail::refusal_segment);
                CHECK(h.tag.epoch == 7);
                CHECK(h.tag.operation == 9);
                CHECK(h.tag.context == 2);
                CHECK(h.said.cause == errc::invalid_argument);
                CHECK(h.said.peer == 1);
            }
        }
    }
}

TEST_CASE("telling: a rank has told another what the transport has taken") {
    const testing::loop_group group(3, {.slots = 1});
    std::vector<transport> ends = group.connect_all();
    outbox out;
    rank_t told = 1;
    const std::vector<errc> lost(3, errc::ok);
    detail::tell_poison(out, {.code = errc::op_threw}, 0, 0, told, lost);
    CHECK_FALSE(detail::has_told(ends[0], out, 1));
    CHECK(detail::has_told(ends[0], out, 0)); // itself
    out.flush(ends[0]);
    CHECK(detail::has_told(ends[0], out, 1));
    told = 1;
    detail::tell_poison(out, {.code = errc::op_threw}, 0, 0, told, lost);
    out.flush(ends[0]); // there is no slot
    CHECK_FALSE(detail::has_told(ends[0], out, 2));
    CHECK(hear(ends[2]).size() == 1);
    out.flush(ends[0]);
    CHECK(detail::has_told(ends[0], out, 2));
    CHECK_FALSE(detail::has_told(ends[0], out, 1));
}

TEST_CASE("telling: memory for words is reserved for both ways, and nothing is if there is none") {
    std::vector<control_message> inbox;
    notices in;
    outbox out;
    detail::reserve_words(inbox, in, out, 3, 100);
    CHECK(in.room() == 3);
    CHECK(inbox.capacity() >= 3);
    CHECK_THROWS(detail::reserve_words(inbox, in, out, 1, std::numeric_limits<std::size_t>::max() / 2 + 1));
    CHECK(in.room() == 3);
    in.unreserve(3, 100); // would fail if it were not reserved
    out.unreserve(3, 100);
    CHECK(in.room() == 0);
}
