// SPDX-License-Identifier: BSL-1.0
// What waits for the same step begins in the order in which it is written: a tree serves its largest subtree first.
#include "engine/port.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/engine/prepared.hpp>
#include <bough/tree/binomial.hpp>

#include <array>
#include <cstddef>
#include <vector>

using namespace bough;

TEST_CASE("engine: a rank of a broadcast sends to its children in send order, root or not") {
    for (const rank_t size : {8u, 16u, 31u})
        for (rank_t rank = 0; rank != size; ++rank) {
            const tree over(binomial{}, size);
            prepared work(bind_plan(plan_broadcast(binomial{}, {.size = size}), rank));
            test::port port;
            std::array<std::byte, 8> in{}, out{}, message{};
            work.prepare({.input = in.data(), .output = out.data(), .count = 8, .element_bytes = 1});
            work.engine().start({.input = in.data(), .output = out.data(), .count = 8, .element_bytes = 1}, port);
            if (rank != 0) work.engine().arrived(0, {.data = message.data(), .bytes = 8});
            work.engine().go_on(port);
            CAPTURE(size, rank);
            REQUIRE(work.engine().done());
            REQUIRE(port.sent.size() == over.child_count(rank));
            for (rank_t i = 0; i != over.child_count(rank); ++i) CHECK(port.sent[i].to == over.child(rank, i));
        }
}
