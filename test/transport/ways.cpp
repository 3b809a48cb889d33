// SPDX-License-Identifier: BSL-1.0
// What a transport says of the way of its messages is what happens: each message is watched on its way, at sizes around all
// thresholds, and where it is copied to its place and where it is combined. (tcp: tcp_ways.cpp)
#include "support/catch.hpp"
#include "transport/pair_of_ends.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/transport/composite.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/transport/serialised.hpp>
#include <bough/transport/simulated.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include "transport/shared_memory_world.hpp"
#endif

using namespace bough;

namespace {

using in_process_end = in_process::endpoint;
static_assert(SaysWays<in_process_end> && SaysWays<composite<in_process_end, in_process_end>>);
static_assert(!SaysWays<composite<self, in_process_end>> && !SaysWays<composite<in_process_end, self>>);

template <class T>
event next(T& end) {
    event e;
    for (int i = 0; i != 1'000'000; ++i)
        if (end.poll(std::span(&e, 1)) == 1) return e;
    FAIL("nothing has come");
    return e;
}

// The way that a message from one end to the other takes. Its address tells where it lies: in the line of a slot, behind
// the 40 bytes before it; in a line of its own; or with its sender.
template <class T>
protocol watched(T& from, T& to, std::size_t bytes, bool combines) {
    const std::vector<std::byte> sent(bytes, std::byte{5});
    const posted result = from.post_send(to.rank(), {}, sent, 1);
    REQUIRE((result == posted::complete || result == posted::pending));
    event e = next(to);
    REQUIRE((e.what == event::kind::arrived && e.bytes == bytes));
    protocol way = protocol::late_place;
    if (e.data != nullptr) {
        const bool with_sender = bytes != 0 && e.data == sent.data();
        CHECK(with_sender == (result == posted::pending));
        const auto at = reinterpret_cast<std::uintptr_t>(e.data) % 64;
        way = with_sender ? combines ? protocol::in_place : protocol::direct
              : at == 40  ? protocol::in_line
              : at == 0   ? protocol::copied
                          : way;
        CHECK(to.claim(e.id));
        to.release(e.id);
        if (with_sender) CHECK(next(from).id == 1);
    } else if (std::vector<std::byte> into(bytes); !combines) {
        way = to.take(e.id, into, 2) == posted::complete ? protocol::direct : protocol::staged;
    } else if constexpr (PiecewiseTransport<T>) {
        REQUIRE(to.take_pieces(e.id, 1, 2) == posted::pending);
        event piece; // the sender does nothing, so only what is read directly comes at once
        way = to.poll(std::span(&piece, 1)) == 1 ? protocol::direct : protocol::staged;
    }
    return way;
}

} // namespace

TEST_CASE("way_of: in_process says which way each message goes") {
    for (const std::uint32_t eager_bytes : {0u, 88u, 100u, 2048u}) {
        in_process group(2, {.eager_bytes = eager_bytes});
        auto a = group.connect(0), b = group.connect(1);
        for (const std::size_t bytes : {0u, 1u, 24u, 25u, 87u, 88u, 89u, 99u, 100u, 101u, 2047u, 2048u, 2049u, 50'000u})
            for (const bool combines : {false, true}) {
                CAPTURE(eager_bytes, bytes, combines);
                CHECK(watched(a, b, bytes, combines) == b.way_of(0, bytes, combines));
            }
    }
    in_process group(2);
    const auto end = group.connect(0);
    CHECK(end.way_of(1, 88, true) == protocol::in_line);
    CHECK(end.way_of(1, 2048, true) == protocol::copied);
    CHECK(end.way_of(1, 2049, true) == protocol::in_place);
    CHECK(end.way_of(1, 2049, false) == protocol::direct);
}

TEST_CASE("way_of: a composite says what the transport says that carries the message") {
    in_process all(4, {.eager_bytes = 500}), near(2, {.eager_bytes = 1000});
    const composite end{near.connect(1), all.connect(2), listed_groups{{0, 1, 1, 0}}}; // rank 2 is beside rank 1
    const composite other{in_process(2).connect(0), all.connect(0), listed_groups{{0, 1, 1, 0}}};
    static_assert(explain_optional_members<composite<in_process_end, in_process_end>>());
    CHECK(end.way_of(1, 1000, false) == protocol::copied);
    CHECK(end.way_of(1, 1001, false) == protocol::direct);
    CHECK(end.way_of(0, 500, true) == protocol::copied);
    CHECK(end.way_of(3, 501, true) == protocol::in_place);
    CHECK(other.way_of(1, 501, true) == protocol::in_place);
    CHECK(other.way_of(3, 501, true) == protocol::copied);
}

TEST_CASE("way_of: a composite carries messages as it says") {
    in_process all(3, {.eager_bytes = 500}), near(2, {.eager_bytes = 1000}), alone(1);
    const listed_groups nodes{{0, 0, 1}};
    std::vector<composite<in_process_end, in_process_end>> ends;
    ends.emplace_back(near.connect(0), all.connect(0), nodes);
    ends.emplace_back(near.connect(1), all.connect(1), nodes);
    ends.emplace_back(alone.connect(0), all.connect(2), nodes);
    for (const rank_t from : {1u, 2u})
        for (const std::size_t bytes : {88u, 89u, 500u, 501u, 1000u, 1001u})
            for (const bool combines : {false, true}) {
                CAPTURE(from, bytes, combines);
                CHECK(watched(ends[from], ends[0], bytes, combines) == ends[0].way_of(from, bytes, combines));
            }
}

TEST_CASE("way_of: over remote writes, a long message is written to its place if memory can be exposed for it") {
    for (const std::uint64_t expose_bytes : {0u, 1u, 100u, 3000u})
        for (const std::uint32_t static_bytes : {0u, 48u})
            for (const std::size_t bytes : {1u, 48u, 49u, 64u, 65u, 99u, 100u, 101u, 2999u, 3000u, 3001u}) {
                // It outlives the ends: nobody waits for the send.
                const std::vector<std::byte> sent(bytes, std::byte{3});
                std::vector<std::byte> into(bytes);
                bough_test::pair_of_ends<simulated_regions> two(
                    {.blocks = 4, .block_bytes = 64, .static_bytes = static_bytes, .expose_bytes = expose_bytes});
                static_assert(SaysWays<std::remove_cvref_t<decltype(two.ends[0])>>);
                REQUIRE(two.ends[0].post_send(1, {}, sent, 1) != posted::failed);
                std::optional<event> e = two.next(1);
                REQUIRE((e && e->bytes == bytes));
                protocol way = protocol::copied;
                if (e->data == nullptr) {
                    REQUIRE(two.ends[1].take(e->id, into, 2) == posted::pending);
                    way = two.world.exposed(1) == 1 ? protocol::remote_write : protocol::staged;
                    e = two.next(1);
                    CHECK((e && e->id == 2 && e->code == errc::ok && into == sent));
                }
                CAPTURE(expose_bytes, static_bytes, bytes);
                CHECK(way == two.ends[1].way_of(0, bytes, false));
            }
}

TEMPLATE_TEST_CASE("way_of: simulated says which way each message goes", "", simulated, simulated_taking) {
    static_assert(SaysWays<typename TestType::endpoint> && explain_optional_members<typename TestType::endpoint>());
    constexpr bool in_place = std::is_same_v<TestType, simulated>;
    for (const std::uint32_t eager_bytes : {0u, 100u, 256u})
        for (const std::size_t bytes : {1u, 99u, 100u, 101u, 255u, 256u, 257u, 5000u})
            for (const bool combines : {false, true}) {
                TestType world(2, {.eager_bytes = eager_bytes, .take_late = 0});
                auto from = world.connect(0), to = world.connect(1);
                std::vector<std::byte> sent(bytes, std::byte{5}), into(bytes);
                REQUIRE(from.post_send(1, {}, sent, 1) != posted::failed);
                event e;
                while (to.poll(std::span(&e, 1)) == 0) REQUIRE(world.advance());
                REQUIRE((e.what == event::kind::arrived && e.bytes == bytes && (e.data != nullptr) == in_place));
                sent.assign(bytes,
                            std::byte{6}); // seen by whoever reads the sender's memory, which is against the rules
                protocol way = protocol::copied;
                if (in_place && combines) {
                    if (e.data[0] == std::byte{6}) way = protocol::in_place;
                } else {
                    REQUIRE(to.take(e.id, into, 2) == posted::complete);
                    if (into[0] == std::byte{6}) way = protocol::direct;
                }
                CAPTURE(eager_bytes, bytes, combines, in_place);
                CHECK(way == to.way_of(0, bytes, combines));
                CHECK((way == protocol::copied) == (bytes <= eager_bytes));
                if (in_place && combines) to.release(e.id);
                CHECK((world.violations() != 0) == (way != protocol::copied));
            }
}

#if defined(__linux__)
TEST_CASE("way_of: shared_memory says which way each message goes") {
    static_assert(SaysWays<shared_memory> && SaysWays<serialised<shared_memory>>);
    const std::optional<bool> direct = GENERATE(std::optional<bool>{}, std::optional(true), std::optional(false));
    for (const std::uint32_t eager_bytes : {50u, 1024u, 0u}) {
        const shared_memory_options options{.eager_bytes = eager_bytes, .direct_reads = direct};
        std::vector<std::size_t> sizes{1, 49, 50, 51, 88, 89, 1023, 1024, 1025, 200'000, 300'000, 1'048'576};
        {
            const auto ends = bough_test::shared_ends(2, options);
            for (const std::uint64_t from : {ends[1].copied_directly_from(), ends[1].combined_directly_from()})
                if (from != 0 && from < 1u << 24)
                    for (const std::uint64_t size : {from - 1, from, from + 1})
                        sizes.push_back(static_cast<std::size_t>(size));
        }
        for (const std::size_t bytes : sizes)
            for (const bool combines : {false, true}) {
                auto ends = bough_test::shared_ends(2, options); // anew: so no sender has been silent
                REQUIRE(ends.size() == 2);
                CAPTURE(direct.has_value(), direct.value_or(false), eager_bytes, bytes, combines);
                CHECK(ends[1].way_of(0, bytes, combines) == watched(ends[0], ends[1], bytes, combines));
            }
    }
}

TEST_CASE("way_of: shared_memory, without direct reads or with them alone") {
    const auto staged = bough_test::shared_ends(2, {.eager_bytes = 1024, .direct_reads = false});
    const auto direct = bough_test::shared_ends(2, {.eager_bytes = 1024, .direct_reads = true});
    for (const auto* ends : {&staged, &direct}) {
        CHECK((*ends)[0].way_of(1, 88, false) == protocol::in_line);
        CHECK((*ends)[0].way_of(1, 89, false) == protocol::copied);
        CHECK((*ends)[0].way_of(1, 1024, true) == protocol::copied);
    }
    CHECK(staged[0].way_of(1, 1025, false) == protocol::staged);
    CHECK(staged[0].way_of(1, 1 << 20, true) == protocol::staged);
    CHECK(direct[0].way_of(1, 1025, false) == protocol::direct);
    CHECK(direct[0].way_of(1, 1 << 20, true) == protocol::direct);
}
#endif
