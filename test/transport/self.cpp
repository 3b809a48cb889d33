// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/explain_transport.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/fnomial.hpp>

#include <vector>

using namespace bough;

static_assert(explain_transport<self>() && explain_in_place_transport<self>());
static_assert(self{}.rank() == 0 && self{}.size() == 1 && self{}.now_ns() == 0);
static_assert([] {
    self alone;
    event events[1];
    return alone.post_send(0, {}, {}, 1) == posted::failed && alone.poll(events) == 0 && alone.cancel(1) != errc::ok;
}());

TEST_CASE("self: keeps the rules of a transport") {
    const auto fault = testing::check_transport([](rank_t ranks) { return std::vector<self>(ranks); }, {.ranks = 1});
    CAPTURE(fault.sentence);
    CHECK(fault.rule == testing::transport_rule::none);
}

TEST_CASE("self: a collective of one rank is a copy, and its op is never called") {
    communicator comm{self{}};
    const auto never = [](int, int) -> int { throw "called"; };
    std::vector<int> x{3, 1, 4, 1, 5};
    const std::vector<int> in{2, 7, 1, 8, 2};
    std::vector<int> out(5, 0);
    allreduce(comm, std::span(x), plus{});
    reduce(comm, std::span(x), never, root{0}, tree_reduce{fnomial{.degree = 2}});
    broadcast(comm, std::span(x), root{0});
    barrier(comm);
    CHECK(x == std::vector<int>{3, 1, 4, 1, 5});
    allreduce(comm, std::span(in), std::span(out), plus{});
    CHECK(out == in);
    std::fill(out.begin(), out.end(), 0);
    reduce(comm, std::span(in), std::span(out), never, root{0});
    CHECK(out == in);
}
