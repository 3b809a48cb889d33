// SPDX-License-Identifier: BSL-1.0
// What a session remembers of a dispute and of its latest calls. How disputes go: disputes.cpp.
#include "support/catch.hpp"
#include <bough/session/dispute.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using detail::dispute;
using detail::made_call;
using detail::recent_calls;
using detail::told_signature;

namespace {

envelope call_of(std::uint32_t operation, std::uint8_t kind = 1) {
    envelope tag;
    tag.operation = operation;
    tag.kind = kind;
    return tag;
}

} // namespace

TEST_CASE("dispute: it is about one call and with one rank, until it is closed") {
    dispute d;
    CHECK_FALSE(d.is_open());
    CHECK(d.find(call_of(3)) == nullptr);
    CHECK(d.last_ns() == ~std::uint64_t{0});
    CHECK_FALSE(d.is_late(~std::uint64_t{0}));
    d.open({call_of(3), {.count = 8}}, call_of(3, 2), 5, 1'000);
    CHECK(d.is_open());
    CHECK(d.is_with(5));
    CHECK_FALSE(d.is_with(4));
    REQUIRE(d.find(call_of(3, 9)) != nullptr);
    CHECK(d.find(call_of(3, 9))->signature.count == 8);
    CHECK(d.find(call_of(4)) == nullptr);
    CHECK(d.known().code == errc::call_mismatch);
    CHECK(d.known().mismatch == mismatch::collective);
    CHECK(d.known().peer == 5);
    CHECK(d.last_ns() == 1'000 + dispute::patience_ns);
    CHECK_FALSE(d.is_late(d.last_ns() - 1));
    CHECK(d.is_late(d.last_ns()));
    d.close();
    CHECK_FALSE(d.is_open());
    CHECK(d.find(call_of(3)) == nullptr);
}

TEST_CASE("dispute: the latest sixteen calls are remembered") {
    recent_calls calls;
    CHECK(calls.find(call_of(0)) == nullptr); // operations count from 1
    for (std::uint32_t n = 1; n != 19; ++n) calls.add(call_of(n), {.count = n});
    CHECK(calls.latest().operation == 18);
    CHECK(calls.find(call_of(2)) == nullptr);
    REQUIRE(calls.find(call_of(3)) != nullptr);
    CHECK(calls.find(call_of(3))->signature.count == 3);
    envelope other = call_of(18);
    other.context = 1;
    CHECK(calls.find(other) == nullptr);
    calls.clear();
    CHECK(calls.find(call_of(18)) == nullptr);
}

TEST_CASE("dispute: the calls of a communicator are forgotten with it, and no others") {
    recent_calls calls;
    envelope other = call_of(5);
    other.context = 7;
    calls.add(call_of(4), {.count = 4});
    calls.add(other, {.count = 5});
    calls.add(call_of(6), {.count = 6});
    calls.forget(7);
    CHECK(calls.find(other) == nullptr); // its number may be used again
    for (const std::uint32_t n : {4u, 6u}) {
        REQUIRE(calls.find(call_of(n)) != nullptr);
        CHECK(calls.find(call_of(n))->signature.count == n);
    }
}

TEST_CASE("dispute: any other payload reads as a call that is forgotten") {
    const told_signature said{{.count = 7}, 1, 1};
    const told_signature read = told_signature::read(said.bytes());
    CHECK(read.signature.count == 7);
    CHECK(read.known == 1);
    CHECK(read.asks == 1);
    const std::vector<std::byte> shorter(said.bytes().begin(), said.bytes().end() - 1);
    CHECK(told_signature::read(shorter).known == 0);
    CHECK(told_signature::read({}).known == 0);
}
