// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/core/step.hpp>
#include <bough/model/detail/tapes.hpp>

#include <cstddef>
#include <cstdint>

using namespace bough;
using model::detail::tape;
using model::detail::tapes;

TEST_CASE("tapes: keep the steps of each rank in their order, as many as there is room for") {
    tapes all(4, 2, 2 * 16); // two of four ranks are visited
    REQUIRE(all.begin());
    CHECK(all.find(3) == nullptr);
    for (std::uint32_t i = 0; i != 16; ++i) CHECK(all.keep(3, verb::send, i, 8 * i, i));
    CHECK_FALSE(all.keep(3, verb::send, 16, 8, 0));
    CHECK(all.keep(0, verb::receive, 1, 8, 0));
    tape* kept = all.find(3);
    REQUIRE(kept != nullptr);
    REQUIRE(kept->steps.size() == 16);
    for (std::uint32_t i = 0; i != 16; ++i)
        CHECK((kept->steps[i].verb == verb::send && kept->steps[i].peer == i && kept->steps[i].bytes == 8 * i &&
               kept->steps[i].parts == i));
    CHECK_FALSE(kept->complete);
    all.complete(3);
    CHECK(kept->complete);
    kept->next = 16; // all are used
    CHECK(all.find(3) == nullptr);
    kept->clear();
    CHECK(all.keep(3, verb::copy, no_rank, 8, 0));
    CHECK_FALSE(all.find(3)->complete);
}

TEST_CASE("tapes: keep nothing if there is too little room, and in large groups nothing in the first pass") {
    tapes small(4, 4, 4 * 16 - 1);
    CHECK_FALSE(small.begin());
    small.begin_pass();
    CHECK_FALSE(small.begin());
    CHECK(small.find(0) == nullptr);
    CHECK(tapes(128, 128, 128 * 16).begin());
    tapes large(129, 129, 129 * 16);
    CHECK_FALSE(large.begin());
    large.begin_pass();
    CHECK(large.begin());
}

TEST_CASE("tapes: do not keep a message of more parts than a step can tell") {
    tapes all(1, 1, 16);
    REQUIRE(all.begin());
    CHECK(all.keep(0, verb::send, 1, 8, 0xff'ffff));
    CHECK_FALSE(all.keep(0, verb::send, 1, 8, 0x100'0000));
}
