// SPDX-License-Identifier: BSL-1.0
#include "session/call_of.hpp"
#include "support/catch.hpp"
#include <bough/session/given_up.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

using namespace bough;
using test::call_of;

TEST_CASE("given_up: a call is found by its communicator and number, and taken once") {
    detail::given_up_calls calls;
    CHECK(calls.empty());
    calls.add(call_of(1, 7), {.code = errc::peer_aborted, .cause = errc::cancelled, .peer = 3});
    calls.add(call_of(2, 7), {.code = errc::peer_aborted, .cause = errc::deadline});
    CHECK(calls.has(call_of(1, 7)));
    CHECK_FALSE(calls.has(call_of(1, 8)));
    CHECK(calls.take(call_of(2, 7)).cause == errc::deadline);
    CHECK_FALSE(calls.take(call_of(2, 7)));
    CHECK(calls.take(call_of(1, 7)).peer == 3);
    CHECK(calls.empty());
}

TEST_CASE("given_up: those of a communicator are forgotten with it, and there is an end to them") {
    detail::given_up_calls calls;
    for (std::uint32_t n = 0; n != detail::given_up_calls::most; ++n) {
        CHECK_FALSE(calls.is_full());
        calls.add(call_of(static_cast<std::uint16_t>(n % 2), n), {.code = errc::cancelled});
    }
    CHECK(calls.is_full());
    calls.forget(1);
    CHECK_FALSE(calls.is_full());
    CHECK(calls.has(call_of(0, 2)));
    CHECK_FALSE(calls.has(call_of(1, 3)));
    calls.clear();
    CHECK(calls.empty());
}

TEST_CASE("given_up: a notice tells the reader what the status told, and nonsense is a protocol_error") {
    const status report{.code = errc::deadline,
                        .collective = 4,
                        .peer = 5,
                        .operation = 16,
                        .context = 3,
                        .missing = 2,
                        .mine = 0x60,
                        .theirs = 77};
    const auto notice = detail::given_up_notice::of(report);
    const auto bytes = std::as_bytes(std::span(&notice, 1));
    status expected = report; // it is about an earlier call than the one that was given up
    expected.code = errc::peer_aborted;
    expected.cause = errc::deadline;
    CHECK(detail::given_up_notice::read(bytes, 1, call_of(9, 17)) == expected);
    // Who cancels is named by those who hear it.
    const auto cancelled = detail::given_up_notice::of({.code = errc::cancelled, .operation = 17});
    const status said = detail::given_up_notice::read(std::as_bytes(std::span(&cancelled, 1)), 1, call_of(9, 17));
    CHECK(said.cause == errc::cancelled);
    CHECK(said.peer == 1);
    const status nonsense = detail::given_up_notice::read(bytes.first(31), 1, call_of(9, 17));
    CHECK(nonsense.cause == errc::protocol_error);
    CHECK(nonsense.peer == 1);
    CHECK(nonsense.operation == 17);
}
