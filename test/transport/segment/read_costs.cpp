// SPDX-License-Identifier: BSL-1.0
// When long messages are read directly: what follows from measured times, and that a group agrees on it.
#include "support/catch.hpp"
#include "transport/shared_memory_parts.hpp"
#include <bough/transport/segment/read_costs.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

using namespace bough;
using namespace bough::detail;

TEST_CASE("read_costs: direct reads begin where they win at every longer length, too") {
    std::array<read_sample, 3> s{{{.bytes = 100}, {.bytes = 200}, {.bytes = 400}}};
    for (read_sample& x : s) x.direct_ns = 2, x.copied_ns = 1, x.direct_piece_ns = 2, x.staged_piece_ns = 1;
    const auto costs = [&s] { return read_costs_of(s.data(), s.size()); };
    CHECK(costs().copied_from == read_costs::never);
    CHECK(costs().combined_from == read_costs::never);
    CHECK(costs().direct_ns_per_byte == 2.0 / 400);
    s[0].copied_ns = 3; // wins once, and not again
    CHECK(costs().copied_from == read_costs::never);
    s[2].copied_ns = 2; // no slower
    CHECK(costs().copied_from == 400);
    s[1].copied_ns = 3;
    CHECK(costs().copied_from == 100);
    s[2].staged_piece_ns = s[1].staged_piece_ns = 2.5;
    CHECK(costs().combined_from == 200);
    CHECK(read_costs_of(s.data(), 0).copied_from == read_costs::never);
}

TEST_CASE("read_costs: measuring gives lengths that were measured") {
    const read_costs costs = measure_reads(65536);
    CAPTURE(costs.copied_from, costs.combined_from, costs.direct_ns_per_byte);
    for (const std::uint64_t from : {costs.copied_from, costs.combined_from})
        CHECK((from == read_costs::never || (from >= 16384 && from <= 1048576)));
    CHECK((costs.direct_ns_per_byte > 0 && costs.direct_ns_per_byte < 100));
}

TEST_CASE("read_costs: all ranks of a group have those of rank 0, unless they were told") {
    const auto ranks = bough_test::joined_ends<read_costs>(4, [](rank_t rank, auto& wire, status& result) {
        std::optional<read_costs> made;
        join_room room(wire, 10'000'000'000);
        result = room.run([&]() -> status {
            const std::optional<bool> direct = rank == 2 ? std::optional(true) : std::nullopt;
            shared_join joined(rank, layout_of(4, {}), 0, direct);
            if (const status bad = joined.run(room)) return bad;
            made = joined.read_costs();
            const std::uint32_t most = joined.copied_at_most(1u << 30);
            const std::uint64_t from = std::max(made->copied_from, made->combined_from);
            return most == (from == 0 || from > 1u << 30 ? 1u << 30 : from - 1) ? status{}
                                                                                : status{.code = errc::protocol_error};
        });
        return made;
    });
    REQUIRE(ranks.size() == 4);
    CHECK(ranks[0].direct_ns_per_byte != read_costs{}.direct_ns_per_byte);
    CHECK((ranks[1] == ranks[0] && ranks[3] == ranks[0]));
    CHECK(ranks[2] == read_costs{}); // always
}
