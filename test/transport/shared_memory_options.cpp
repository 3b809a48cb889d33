// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/shared_memory/options.hpp>

#include <string>

using namespace bough;
using namespace bough::detail;

TEST_CASE("shared_memory_options: each rule that they break is named") {
    CHECK_FALSE(check({}));
    for (const std::uint32_t slots : {0u, 1u, 2u, 64u, 256u}) CHECK_FALSE(check({.slots = slots}));
    for (const std::uint32_t slots : {3u, 96u, 512u}) {
        const status bad = check({.slots = slots});
        CHECK(bad.code == errc::invalid_argument);
        CHECK(std::string(bad.argument).find("slots: ") == 0);
    }
    CHECK_FALSE(check({.eager_bytes = 1u << 24}));
    CHECK(std::string(check({.eager_bytes = (1u << 24) + 1}).argument).find("eager_bytes: ") == 0);
    CHECK(check({.heap_bytes = ~std::uint64_t{0}}).code == errc::no_resources);
}

TEST_CASE("shared_memory_options: with many ranks, the payloads of all rings of a segment take 3 MiB") {
    CHECK(layout_of(2, {}).area_bytes == 1u << 19); // room for two messages of 256 KiB
    CHECK(layout_of(5, {}).area_bytes == 1u << 19);
    CHECK(layout_of(6, {}).area_bytes == 1u << 18);
    CHECK(layout_of(17, {}).area_bytes == 1u << 17);
    CHECK(layout_of(18, {}).area_bytes == 1u << 16);
    CHECK(layout_of(64, {}).area_bytes == 1u << 15);
    CHECK(layout_of(512, {}).area_bytes == 1u << 12);
    CHECK(layout_of(10'000, {}).area_bytes == 1u << 12); // never less
    for (const rank_t ranks : {2u, 5u, 6u, 9u, 16u, 17u, 33u, 64u, 100u})
        CHECK(layout_of(ranks, {}).backed_bytes() < (7u << 19)); // with slots
    CHECK(layout_of(2, {}).piece_bytes == 1u << 16);             // four pieces are half of the area
    CHECK(layout_of(512, {}).piece_bytes == 1u << 9);
}

// As in doc/transports/shared_memory.md.
TEST_CASE("shared_memory_options: how many bytes a segment takes") {
    const auto in_pages = [](std::uint64_t bytes) { return (bytes + 4095) / 4096 * 4096; };
    for (const std::uint32_t slots : {1u, 16u, 64u, 256u})
        for (const std::uint32_t eager : {512u, 2048u, 65536u, 1u << 18})
            for (const rank_t p : {1u, 2u, 9u, 64u})
                CHECK(layout_of(p, {.slots = slots, .eager_bytes = eager, .heap_bytes = 5000}).backed_bytes() ==
                      in_pages(128 + (p - 1) * (896 + 128 * slots + std::uint64_t{3} * eager)) + in_pages(5000));
    CHECK(layout_of(2, {.eager_bytes = 24}).backed_bytes() == layout_of(2, {.eager_bytes = 512}).backed_bytes());
    for (const rank_t p : {1u, 2u, 8u}) CHECK(layout_of(p, {}).slots == 256);
    for (const rank_t p : {9u, 16u}) CHECK(layout_of(p, {}).slots == 128);
    for (const rank_t p : {17u, 32u}) CHECK(layout_of(p, {}).slots == 64);
    for (const rank_t p : {33u, 1024u}) CHECK(layout_of(p, {}).slots == 16);
    CHECK(layout_of(2, {}).backed_bytes() == 804u << 10);
    CHECK(layout_of(5, {}).backed_bytes() == 3204u << 10);
    CHECK(layout_of(16, {}).backed_bytes() == 3136u << 10);
    CHECK(layout_of(64, {}).backed_bytes() == 3208u << 10);
    CHECK(layout_of(512, {}).backed_bytes() == 4536u << 10);
    CHECK(layout_of(1024, {}).backed_bytes() == 9080u << 10);
    // Common memory lies behind, and takes none before it is used.
    for (const std::uint64_t common : {0u, 1u, 4096u, 1u << 20}) {
        const auto layout = layout_of(3, {.heap_bytes = 5000, .common_bytes = common});
        CHECK(layout.backed_bytes() == layout_of(3, {.heap_bytes = 5000}).backed_bytes());
        CHECK(layout.common_at() == layout.backed_bytes());
        CHECK(layout.bytes() == layout.common_at() + in_pages(common));
    }
}

TEST_CASE("shared_memory_options: a ring has room for twice the longest message that it copies") {
    CHECK(layout_of(2, {.eager_bytes = 1000}).area_bytes == 2048);
    CHECK(layout_of(2, {.eager_bytes = 1}).area_bytes == 1024);
    CHECK(layout_of(2, {.eager_bytes = 1}).piece_bytes == 128);
    CHECK(layout_of(2, {.eager_bytes = 2100}).piece_bytes % 64 == 0);
    const segment_layout l = layout_of(3, {.slots = 4, .heap_bytes = 77});
    CHECK((l.ranks == 3 && l.slots == 4 && l.heap_bytes == 77));
}
