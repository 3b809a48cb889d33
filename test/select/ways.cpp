// SPDX-License-Identifier: BSL-1.0
// A decision says which way the messages of the winner come. (That they do: test/frontdoor/ways.cpp)
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/halving_doubling.hpp>
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/select/choose.hpp>
#include <bough/select/on_network.hpp>
#include <bough/select/print_decision.hpp>
#include <bough/select/standard/two_levels.hpp>
#include <bough/select/table.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/select/ways.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::alpha_beta_gamma slow{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

// One rank of a group that sends nothing.
struct one_of : self {
    rank_t me, ranks;
    one_of(rank_t r, rank_t p) : me(r), ranks(p) {}
    rank_t rank() const noexcept { return me; }
    rank_t size() const noexcept { return ranks; }
};
struct telling : one_of {
    std::uint64_t eager = 1000;
    telling(rank_t r, rank_t p, std::uint64_t most = 1000) : one_of(r, p), eager(most) {}
    protocol way_of(rank_t peer, std::size_t bytes, bool combines) const noexcept {
        if (peer >= ranks / 2 && ranks > 4) return protocol::staged; // far away
        if (bytes <= 88) return protocol::in_line;
        return bytes <= eager ? protocol::copied : combines ? protocol::in_place : protocol::direct;
    }
};
static_assert(SaysWays<telling> && !SaysWays<one_of>);

constexpr std::uint64_t no_limit = message_way::longest;

} // namespace

TEST_CASE("ways_of: the messages of a rank, by way, with the lengths for which the way is taken", "[select]") {
    const auto halving = plan_allreduce(halving_doubling_allreduce{}, {.size = 4});
    using rows = std::vector<message_way>;
    // Halves and quarters to combine, then quarters and halves of the result.
    CHECK(ways_of(plan_ref(halving), {.bytes = 8192}, telling(1, 4)) ==
          rows{{protocol::in_place, true, false, 2, 2048, 4096, 1001, no_limit},
               {protocol::direct, false, false, 2, 2048, 4096, 1001, no_limit}});
    CHECK(ways_of(plan_ref(halving), {.bytes = 2000}, telling(1, 4)) ==
          rows{{protocol::copied, true, false, 2, 500, 1000, 89, 1000},
               {protocol::copied, false, false, 2, 500, 1000, 89, 1000}});
    CHECK(ways_of(plan_ref(halving), {.bytes = 2400}, telling(1, 4)) ==
          rows{{protocol::in_place, true, false, 1, 1200, 1200, 1001, no_limit},
               {protocol::copied, true, false, 1, 600, 600, 89, 1000},
               {protocol::copied, false, false, 1, 600, 600, 89, 1000},
               {protocol::direct, false, false, 1, 1200, 1200, 1001, no_limit}});
    CHECK(ways_of(plan_ref(halving), {.bytes = 0}, telling(1, 4)) ==
          rows{{protocol::in_line, true, false, 2, 0, 0, 0, 88}, {protocol::in_line, false, false, 2, 0, 0, 0, 88}});
    CHECK(ways_of(plan_ref(halving), {.bytes = 8192}, one_of(1, 4)).empty());
}

TEST_CASE("ways_of: the ends of a range are exact, wherever they lie", "[select]") {
    const auto doubling = plan_allreduce(recursive_doubling{}, {.size = 2});
    for (const std::uint64_t eager : {89u, 90u, 127u, 4096u, 1u << 30})
        for (const std::uint64_t bytes : {89u, 127u, 128u, 5000u, 1u << 20}) {
            const auto made = ways_of(plan_ref(doubling), {.bytes = bytes}, telling(0, 2, eager));
            CAPTURE(eager, bytes);
            REQUIRE(made.size() == 1);
            CHECK(made[0].from_bytes == (bytes <= eager ? 89 : eager + 1));
            CHECK(made[0].to_bytes == (bytes <= eager ? eager : no_limit));
        }
}

TEST_CASE("ways_of: a limit that no message reaches is none", "[select]") {
    const auto doubling = plan_allreduce(recursive_doubling{}, {.size = 2});
    for (const std::uint64_t eager : {no_limit - 1, no_limit}) // as shared_memory has it, if it never reads directly
        for (const std::uint64_t bytes : {std::uint64_t{5000}, std::uint64_t{1} << 62, no_limit - 1}) {
            const auto made = ways_of(plan_ref(doubling), {.bytes = bytes}, telling(0, 2, eager));
            CAPTURE(eager, bytes);
            REQUIRE(made.size() == 1);
            CHECK((made[0].way == protocol::copied && made[0].from_bytes == 89 && made[0].to_bytes == no_limit));
        }
}

TEST_CASE("ways_of: near ranks stand apart from far ones", "[select]") {
    const auto levels = make_two_levels(listed_groups{{0, 0, 0, 1, 1, 1}}, thread_costs, thread_costs);
    const auto flat = plan_allreduce(fnomial{.degree = 6}, {.size = 6}); // all to rank 0, and back
    const auto made = ways_of(plan_ref(flat), {.bytes = 8, .levels = levels.get()}, telling(0, 6));
    REQUIRE(made.size() == 2);
    CHECK((made[0].from_far ? made[1] : made[0]) == message_way{protocol::in_line, true, false, 2, 8, 8, 0, 88});
    CHECK((made[0].from_far ? made[0] : made[1]) == message_way{protocol::staged, true, true, 3, 8, 8, 0, no_limit});
    CHECK(ways_of(plan_ref(flat), {.bytes = 8, .levels = levels.get()}, telling(5, 6)) ==
          std::vector<message_way>{{protocol::in_line, false, true, 1, 8, 8, 0, 88}});
}

TEST_CASE("choose: a decision says which way its messages go, and who gets them", "[select][choose]") {
    const auto among = candidates<goal::allreduce>(halving_doubling_allreduce{}, ring{});
    const dimensions at{.size = 4};
    const decision silent = choose(among, at, {.bytes = 2400}, slow);
    CHECK(silent.ways.empty());
    CHECK(choose(among, at, {.bytes = 2400}, slow, {.through = one_of(1, 4)}) == silent);
    decision d = choose(among, at, {.bytes = 2400}, slow, {.through = telling(1, 4)});
    CHECK(d.winner() == silent.winner());
    CHECK(to_string(d).find("fastest\n"
                            "  rank 1 gets 1 message of 1200 bytes to combine: in place, as all from 1001 bytes on\n"
                            "  rank 1 gets 1 message of 600 bytes to combine: copied, as all of 89 to 1000 bytes\n"
                            "  rank 1 gets 1 message of 600 bytes: copied, as all of 89 to 1000 bytes\n"
                            "  rank 1 gets 1 message of 1200 bytes: read directly, as all from 1001 bytes on\n"
                            "  ring ") != std::string::npos);
    add_ways(d, telling(2, 4));
    CHECK(to_string(d).find("\n  2 messages of 1200 bytes to combine: in place, as all from 1001 bytes on\n") !=
          std::string::npos);
    decision_table table; // and one by a table
    table.rows.push_back({goal::allreduce::kind, 4, 2400, d.winner().what.algorithm.text(), d.winner().blocks, 1});
    CHECK(choose(among, at, {.bytes = 2400}, table, {.through = telling(1, 4)}).ways ==
          choose(among, at, {.bytes = 2400}, slow, {.through = telling(1, 4)}).ways);
    const network over = network::crossbar(4, 1);
    CHECK(choose(among, at, {.bytes = 2400}, on_network{over, thread_costs}, {.through = telling(1, 4)}).ways.size() >=
          1);
    const decision none = choose(among, at, {.bytes = 2400}, slow,
                                 {.needed = same_bits_as(recursive_doubling{}, {.size = 5}), .through = telling(1, 4)});
    CHECK((!none && none.ways.empty()));
}

TEST_CASE("print_decision: a row of messages", "[select]") {
    CHECK(to_string(message_way{protocol::in_line, false, false, 1, 8, 8, 0, 88}) ==
          "1 message of 8 bytes: in the line of the envelope, as all up to 88 bytes");
    CHECK(to_string(message_way{protocol::staged, true, true, 3, 8, 24, 0, no_limit}) ==
          "3 messages of 8 to 24 bytes to combine, from far ranks: staged");
    CHECK(to_string(message_way{protocol::late_place, false, false, 0, 0, 0, 0, 1024}) ==
          "no messages: left for late ranks, as all up to 1024 bytes");
}
