// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/rdma/region_words.hpp>

using namespace bough;
using ticket = detail::fabric_ticket;

TEST_CASE("region_words: a ticket tells its kind and its sender") {
    for (const rank_t from : {0u, 1u, (1u << ticket::rank_bits) - 1})
        for (const auto kind : {ticket::data, ticket::hello, ticket::bye_heard, ticket::data_too}) {
            const std::uint32_t t = ticket::make(kind, from);
            CHECK((ticket::kind_of(t) == kind && ticket::from_of(t) == from));
        }
    CHECK((ticket::data_of(0) == ticket::data && ticket::data_of(1) == ticket::data_too));
}

TEST_CASE("region_words: a set has the words that were added and not removed") {
    detail::fabric_words words;
    words.add(ticket::bye);
    words.add(ticket::bye);
    words.add(ticket::hello);
    words.remove(ticket::bye);
    words.remove(ticket::answer);
    CHECK(words.has(ticket::hello));
    for (const auto other : {ticket::question, ticket::answer, ticket::bye, ticket::bye_heard})
        CHECK_FALSE(words.has(other));
}
