// SPDX-License-Identifier: BSL-1.0
// Messages by remote writes: the rules of a transport over every kind of region.
// Compiled alone, optimised: it sends millions of messages.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/remote/simulated.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/one_sided.hpp>

#include <vector>

using namespace bough;

namespace {

// What a test does not usually have: counters that wrap soon.
struct small_counters : credited_blocks {
    using counter = std::uint8_t;
    static constexpr std::uint32_t version = 99;
};

template <class Protocol, class World, class Options>
auto ends_of(rank_t ranks, const one_sided_options& options, Options of_world, std::uint64_t heap_bytes = 0) {
    of_world.region_bytes = one_sided_bytes(ranks, options) + heap_bytes;
    World world(ranks, of_world);
    std::vector<one_sided<typename World::endpoint, Protocol>> ends;
    for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(world.connect(r), options);
    return ends;
}

const one_sided_options shapes[] = {{.blocks = 1, .block_bytes = 24, .piece_bytes = 64},
                                    {.blocks = 2, .block_bytes = 16, .piece_bytes = 16, .expose_bytes = 0},
                                    {.blocks = 8, .block_bytes = 2048, .piece_bytes = 4096},
                                    {.blocks = 64, .block_bytes = 200'000, .static_bytes = 100},
                                    {}};

} // namespace

static_assert(explain_in_place_transport<one_sided<in_process_regions::endpoint>>() &&
              explain_waitable_transport<one_sided<scattered_regions::endpoint>>());
static_assert(!std::is_copy_constructible_v<one_sided<in_process_regions::endpoint>>);

TEST_CASE("one_sided: keeps the rules of a transport, whatever its options") {
    for (const one_sided_options& shape : shapes) {
        const auto fault = testing::check_transport(
            [&](rank_t n) {
                return ends_of<credited_blocks, in_process_regions>(n, shape, in_process_regions_options{});
            },
            {.messages = bough_test::all() ? 10'000u : 2'000u});
        CAPTURE(shape.blocks, shape.block_bytes, fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

TEMPLATE_TEST_CASE("one_sided: keeps them where writes land late, torn and refused", "", simulated_regions,
                   scattered_regions) {
    for (std::uint64_t seed = bough_test::seed(); seed != bough_test::seed() + 4; ++seed)
        for (const one_sided_options& shape : shapes) {
            if (seed % 2 != 0 && shape.block_bytes == 200'000) continue;
            const auto fault = testing::check_transport(
                [&](rank_t n) {
                    return ends_of<small_counters, TestType>(
                        n, shape,
                        simulated_regions_options{
                            .seed = seed, .depth = seed % 2 != 0 ? 2u : 16u, .refuse = 100, .straggle = 20});
                },
                {.messages = bough_test::all() ? 3'000u : 400u, .longest = 4096, .patience_ns = 200'000'000});
            CAPTURE(seed, shape.blocks, shape.block_bytes, fault.sentence, fault.rank);
            CHECK(fault.rule == testing::transport_rule::none);
        }
}
