// SPDX-License-Identifier: BSL-1.0
// What a prepared schedule says of its memory is what it has allocated.
#include "engine/port.hpp"
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/engine/prepared.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace bough;

TEST_CASE("prepared: its memory is what it has allocated, to the unused ends of lists") {
    for (const block_t blocks : {100u, 1'000u}) {
        CAPTURE(blocks);
        const std::ptrdiff_t before = bough_test::held_bytes;
        prepared work([blocks] {
            std::vector<step> steps;
            for (block_t b = 0; b != blocks; ++b) steps.push_back(send_step(1, {scratch(b % 3), b, 1}));
            return bind_steps(steps, blocks);
        }());
        {
            test::port port;
            const call c{.count = blocks, .element_bytes = 8};
            for (const std::uint64_t count : {2 * blocks, 3u, 5u, 7u, 9u})
                work.prepare({.count = count, .element_bytes = 8});
            work.prepare(c);
            work.engine().start(c, port);
        }
        const std::ptrdiff_t held = bough_test::held_bytes - before; // before Catch frees what it said last
        REQUIRE(work.engine().done());
        if (held == 0) continue; // nothing is counted here
        const auto said = static_cast<std::ptrdiff_t>(work.memory_bytes() - sizeof work);
        CHECK(said <= held);
        CHECK(said >= held - 1'000); // what malloc adds to some twenty lists
    }
}
