// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/contexts.hpp>

using bough::contexts;
using bough::envelope;

namespace {

envelope call(std::uint16_t context, std::uint32_t operation) {
    envelope tag;
    tag.context = context;
    tag.operation = operation;
    return tag;
}

} // namespace

TEST_CASE("contexts: each number is reserved once, and the least free one first") {
    contexts all;
    CHECK_FALSE(all.claim(0)); // the first communicator's
    CHECK(all.reserve() == 1);
    CHECK(all.reserve() == 2);
    CHECK(all.claim(7)); // the others have come further
    CHECK_FALSE(all.claim(7));
    CHECK_FALSE(all.claim(2));
    CHECK(all.reserve() == 3);
    CHECK(all.reserve(7) == 8); // not less than that
    all.give_back(2);
    CHECK(all.reserve() == 2);
    CHECK(all.reserve() == 4);
    all.clear();
    CHECK(all.reserve() == 1);
}

TEST_CASE("contexts: 65,534 communicators besides the first") {
    contexts all;
    std::uint32_t made = 0;
    while (all.reserve() != contexts::none) ++made;
    CHECK(made == 65'534);
    CHECK(all.reserve() == contexts::none);
    all.give_back(40'000);
    CHECK(all.reserve() == 40'000);
}

TEST_CASE("contexts: each counts for itself, and a number from afar makes nothing") {
    contexts all;
    CHECK_FALSE(all.was_started(call(60'000, 1)));
    all.start(call(5, 3));
    all.start(call(0, 9));
    CHECK(all.was_started(call(5, 3)));
    CHECK_FALSE(all.was_started(call(5, 4)));
    CHECK(all.was_started(call(0, 4)));
    CHECK_FALSE(all.was_started(call(4, 1))); // has a place, and has started nothing
    all.start(call(5, 0xffff'ffffu));
    CHECK_FALSE(all.was_started(call(5, 0))); // counts on from there
    CHECK(all.next_agreement(5) == 1);
    CHECK(all.next_agreement(5) == 2);
    CHECK(all.next_agreement(contexts::none) == 1);
    CHECK(all.next_agreement(0) == 1);
    all.clear();
    CHECK(all.next_agreement(5) == 1);
    CHECK_FALSE(all.was_started(call(0, 4)));
}
