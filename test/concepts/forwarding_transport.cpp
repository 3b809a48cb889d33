// SPDX-License-Identifier: BSL-1.0
// A transport over another one says of the costs what that one says: plans are chosen by them, and ranks must not choose
// differently where one of them has a transport more. And it takes messages in pieces if that one does. (on_executor:
// test/asio/on_executor.cpp)
#include "support/catch.hpp"
#include "support/priced.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/testing/faulty.hpp>
#include <bough/testing/recording.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/serialised.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__)
#include "support/pieces_through.hpp"
#include <bough/testing/transport_conformance.hpp>
#endif

using namespace bough;
using bough_test::priced;
using bough_test::says_the_same;

TEST_CASE("forwarding_transport: every transport over another one says the same of costs", "[concepts]") {
    testing::record log;
    testing::fault_point fault;
    CHECK(says_the_same(priced{}));
    CHECK_FALSE(bough_test::price(default_costs_of(self{})) == bough_test::price(priced::default_costs()));
    CHECK(says_the_same(forwarding_transport<priced>{priced{}}));
    CHECK(says_the_same(serialised{priced{}}));
    CHECK(says_the_same(emulated{priced{}, emulation{}}));
    CHECK(says_the_same(testing::recording{priced{}, log}));
    CHECK(says_the_same(testing::faulty{priced{}, fault}));
    CHECK(says_the_same(serialised{emulated{priced{}, emulation{}}}));
}

TEST_CASE("forwarding_transport: every transport over another one says how much early messages it keeps",
          "[concepts]") {
    struct keeping : self {
        std::uint64_t early_bytes(rank_t peer) const noexcept { return 1000 + peer; }
    };
    static_assert(KeepsEarly<keeping> && explain_optional_members<keeping>());
    static_assert(!KeepsEarly<self> && !KeepsEarly<serialised<self>>);
    CHECK(forwarding_transport<keeping>{keeping{}}.early_bytes(3) == 1003);
    CHECK(serialised{keeping{}}.early_bytes(4) == 1004);
}

#if defined(__linux__)
TEST_CASE("forwarding_transport: a long message is combined piece by piece through a transport over another",
          "[concepts]") {
    using bough_test::pieces_through;
    testing::record log[2];
    testing::fault_point fault;
    CHECK(pieces_through([](auto end, rank_t) { return end; }));
    CHECK(pieces_through([](auto end, rank_t) { return forwarding_transport<decltype(end)>{std::move(end)}; }));
    CHECK(pieces_through([](auto end, rank_t) { return serialised{std::move(end)}; }));
    CHECK(pieces_through([&](auto end, rank_t) { return testing::faulty{std::move(end), fault}; }));
    CHECK(pieces_through([&](auto end, rank_t r) { return testing::recording{std::move(end), log[r]}; }));
    const std::string said = to_string(log[0]);
    CHECK(said.find(": pending\n") > said.find(" ns take in pieces of "));
    CHECK(said.find(" ns piece of ") != std::string::npos);
    CHECK(said.find(" lost ") == std::string::npos);
}

TEST_CASE("forwarding_transport: one that keeps events back takes no message in pieces", "[concepts]") {
    static_assert(PiecewiseTransport<forwarding_transport<shared_memory>> &&
                  !PiecewiseTransport<emulated<shared_memory>>);
    CHECK_FALSE(bough_test::pieces_through([](auto end, rank_t) { return emulated{std::move(end), emulation{}}; }));
}

TEST_CASE("forwarding_transport: every transport over shared memory keeps the rules", "[concepts]") {
    const auto fault_of = [](auto wrap) {
        return testing::check_transport(
            [&](rank_t n) {
                std::vector<decltype(wrap(std::declval<shared_memory>()))> all;
                for (auto& end : bough_test::shared_ends(n, {.eager_bytes = 2048, .direct_reads = false}))
                    all.push_back(wrap(std::move(end)));
                return all;
            },
            {.messages = 1000});
    };
    testing::record log;
    testing::fault_point none;
    for (const auto& fault : {fault_of([](auto end) { return forwarding_transport<decltype(end)>{std::move(end)}; }),
                              fault_of([](auto end) { return serialised{std::move(end)}; }), fault_of([](auto end) {
                                  return emulated{std::move(end), emulation{}};
                              }),
                              fault_of([&](auto end) {
                                  return testing::recording{std::move(end), log};
                              }),
                              fault_of([&](auto end) {
                                  return testing::faulty{std::move(end), none};
                              })}) {
        CAPTURE(fault.sentence, fault.rank);
        CHECK(fault.rule == testing::transport_rule::none);
    }
}

TEST_CASE("faulty: a take in pieces that had begun goes on when the peer is lost", "[concepts]") {
    auto ends = bough_test::shared_ends(2, {.direct_reads = false});
    testing::fault_point point{.what = testing::fault::lose, .at = 0};
    testing::faulty end{std::move(ends[0]), point};
    const std::vector<std::byte> from(1 << 20);
    std::array<event, 8> events;
    REQUIRE(ends[1].post_send(0, {}, from, 1) == posted::pending);
    while (end.poll(events) == 0) {
    }
    REQUIRE(end.take_pieces(events[0].id, 8, 2) == posted::pending);
    CHECK(end.post_send(1, {}, {}, 3) == posted::failed);
    REQUIRE(end.poll(std::span(events).first(1)) == 1);
    CHECK(events[0].what == event::kind::lost);
    std::uint64_t came = 0;
    for (bool ended = false; !ended;) {
        std::array<event, 8> of_sender;
        (void)ends[1].poll(of_sender);
        for (const event& e : std::span(events).first(end.poll(events))) {
            if (e.what == event::kind::piece) came += e.bytes;
            if (e.what == event::kind::complete) ended = true;
        }
    }
    CHECK(came == from.size());
}
#endif
