// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/session/early_list.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace bough;
using detail::early_list;

namespace {

event message(rank_t peer, std::uint32_t operation, std::uint64_t id) {
    event e;
    e.peer = peer;
    e.id = id;
    e.envelope.epoch = 1;
    e.envelope.operation = operation;
    return e;
}
envelope call(std::uint32_t operation, std::uint32_t epoch = 1) {
    envelope c;
    c.epoch = epoch;
    c.operation = operation;
    return c;
}

} // namespace

TEST_CASE("early list: like a plain list, whatever comes and goes", "[session]") {
    std::mt19937 random(3);
    early_list list(7);
    std::vector<event> plain;
    for (std::uint64_t i = 0; i != 20'000; ++i) {
        const auto operation = static_cast<std::uint32_t>(random() % 40);
        if (random() % 2 == 0 || plain.size() > 200) {
            std::size_t at = 0;
            while (at != plain.size() && plain[at].envelope.operation != operation) ++at;
            detail::early_message* const found = list.find(call(operation));
            REQUIRE((found == nullptr) == (at == plain.size()));
            CHECK(list.find(call(operation, 2)) == nullptr);
            if (found == nullptr) continue;
            REQUIRE(found->what.id == plain[at].id);
            if (random() % 4 == 0) list.leaves_transport(*found);
            REQUIRE(list.take_out(*found).id == plain[at].id);
            plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
        } else if (random() % 8 == 0 && !plain.empty()) { // from the middle, in no order of calls
            detail::early_message* m = list.first();
            std::size_t at = random() % plain.size();
            for (std::size_t k = 0; k != at; ++k) m = m->after;
            REQUIRE(list.take_out(*m).id == plain[at].id);
            plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
            plain.push_back(message(static_cast<rank_t>(random() % 5), operation, i));
            list.append(plain.back(), random() % 3 != 0);
        }
        std::size_t count = 0;
        std::uint32_t in_place = 0;
        for (detail::early_message* m = list.first(); m != nullptr; m = m->after, ++count) {
            REQUIRE(m->what.id == plain[count].id);
            in_place += m->in_place;
        }
        REQUIRE(count == plain.size());
        REQUIRE(in_place == list.in_place());
        std::uint32_t of_peers = 0;
        for (rank_t r = 0; r != 5; ++r) {
            std::uint64_t last = 0;
            for (detail::early_message* m = list.first_of(r); m != nullptr; m = m->after_of_peer, ++of_peers) {
                REQUIRE(m->what.peer == r);
                REQUIRE(m->what.id >= last);
                last = m->what.id;
            }
        }
        REQUIRE(of_peers == in_place);
    }
}

TEST_CASE("early list: as many as before allocate nothing", "[session]") {
    early_list list(7);
    std::uint64_t after_first = 0;
    for (int round = 0; round != 3; ++round) {
        for (std::uint32_t i = 0; i != 5000; ++i) list.append(message(i % 7, i, i), true);
        for (std::uint32_t i = 0; i != 5000; ++i) list.take_out(*list.find(call(i)));
        CHECK(list.empty());
        if (round == 0) after_first = list.allocations();
    }
    CHECK(after_first < 40);
    CHECK(list.allocations() == after_first);
}

TEST_CASE("early list: it counts each of its allocations", "[session]") {
    early_list list(300);
    const std::size_t before = bough_test::allocations;
    for (std::uint32_t i = 0; i != 2'000; ++i) {
        list.append(message(i % 300, i / 3, i), i % 2 == 0);
        REQUIRE(list.allocations() == bough_test::allocations - before);
    }
    CHECK(list.allocations() != 0);
}

// It begins with room for 256 ranks.
TEST_CASE("early list: of a rank that has sent nothing there is no message, whatever its number", "[session]") {
    for (const rank_t ranks : {3u, 300u}) {
        early_list list(ranks);
        const rank_t last = ranks - 1, beyond_room = ranks == 3 ? 3 : 256;
        CHECK(list.first_of(0) == nullptr);
        CHECK(list.first_of(last) == nullptr);
        CHECK(list.first_of(beyond_room) == nullptr);
        list.append(message(last, 1, 1), true);
        CHECK(list.first_of(last) == list.first());
        CHECK(list.first_of(0) == nullptr);
    }
}
