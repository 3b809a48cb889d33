// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/refusals.hpp>

#include <cstdint>

using namespace bough;

namespace {

envelope call(std::uint32_t operation, std::uint16_t context = 0) {
    envelope tag;
    tag.operation = operation;
    tag.context = context;
    return tag;
}

} // namespace

TEST_CASE("refusals: what this rank refused is known by number and communicator") {
    refusals all;
    all.mine(call(3), errc::invalid_argument);
    CHECK(all.why_mine(call(3)) == errc::invalid_argument);
    CHECK(all.why_mine(call(4)) == errc::ok);
    CHECK(all.why_mine(call(3, 1)) == errc::ok);
    CHECK(all.empty()); // no peer has refused anything
    CHECK_FALSE(all.why_theirs(call(3)));
}

TEST_CASE("refusals: a call that a peer refused ends with what it said, until this rank refuses it, too") {
    refusals all;
    const status said{.code = errc::peer_aborted, .cause = errc::size_overflow, .peer = 2};
    all.theirs(call(5), said);
    all.theirs(call(5, 1), {.code = errc::peer_aborted, .peer = 3});
    CHECK_FALSE(all.empty());
    CHECK(all.why_theirs(call(5)) == said);
    CHECK_FALSE(all.why_theirs(call(6)));
    all.mine(call(5), errc::invalid_argument);
    CHECK_FALSE(all.why_theirs(call(5)));
    CHECK(all.why_theirs(call(5, 1)).peer == 3); // another communicator's
    CHECK(all.why_mine(call(5)) == errc::invalid_argument);
    all.clear();
    CHECK(all.empty());
    CHECK(all.why_mine(call(5)) == errc::ok);
}

TEST_CASE("refusals: the first peer that refused a call counts") {
    refusals all;
    all.theirs(call(5), {.code = errc::peer_aborted, .peer = 2});
    all.theirs(call(5), {.code = errc::peer_aborted, .peer = 3});
    CHECK(all.why_theirs(call(5)).peer == 2);
}

TEST_CASE("refusals: the latest 1024 of each kind are kept, however many there are") {
    refusals all;
    for (std::uint32_t i = 1; i <= 3000; ++i) {
        all.mine(call(2 * i), errc::invalid_argument); // the calls in between have started
        all.theirs(call(i, 1), {.code = errc::peer_aborted, .peer = i});
    }
    CHECK(all.why_mine(call(2 * 1976)) == errc::ok);
    CHECK_FALSE(all.why_theirs(call(1976, 1)));
    for (std::uint32_t i = 1977; i <= 3000; ++i) {
        CHECK(all.why_mine(call(2 * i)) == errc::invalid_argument);
        CHECK(all.why_mine(call(2 * i - 1)) == errc::ok);
        CHECK(all.why_theirs(call(i, 1)).peer == i);
    }
}

TEST_CASE("refusals: all calls are kept that this rank has refused one behind the other") {
    refusals all;
    const std::uint32_t first = 0xffff'f000; // numbers begin again at 0
    for (std::uint32_t i = 0; i != 100'000; ++i)
        all.mine(call(first + i), i < 50'000 ? errc::invalid_argument : errc::unsupported);
    for (const std::uint32_t i : {0u, 1u, 0xfffu, 0x1000u, 49'999u}) {
        CHECK(all.why_mine(call(first + i)) == errc::invalid_argument);
        CHECK(all.why_mine(call(first + i, 1)) == errc::ok);
    }
    for (const std::uint32_t i : {50'000u, 99'999u}) CHECK(all.why_mine(call(first + i)) == errc::unsupported);
    CHECK(all.why_mine(call(first - 1)) == errc::ok);
    CHECK(all.why_mine(call(first + 100'000)) == errc::ok);
}
