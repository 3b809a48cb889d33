// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include "support/huge_memory.hpp"
#include "support/sample.hpp"
#include <bough/concepts/explain_transport.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using namespace bough;

static_assert(explain_transport<in_process::endpoint>() && explain_in_place_transport<in_process::endpoint>() &&
              explain_waitable_transport<in_process::endpoint>());
static_assert(!std::is_copy_constructible_v<in_process::endpoint>);

namespace {

std::vector<in_process::endpoint> ends_of(rank_t ranks, const in_process_options& options = {}) {
    std::vector<in_process::endpoint> ends;
    in_process group(ranks, options);
    for (rank_t r = 0; r != ranks; ++r) ends.push_back(group.connect(r));
    return ends;
}

// Bytes of message n; they tell n and their place.
std::size_t length_of(std::uint32_t n) {
    constexpr std::array<std::size_t, 8> lengths{0, 8, 24, 25, 64, 2048, 2049, 40'000};
    return lengths[static_cast<std::size_t>(bough_test::mixed(n) % lengths.size())];
}
std::byte byte_of(std::uint32_t n, std::size_t i) { return static_cast<std::byte>(n * 7 + i * 3 + i / 256); }

} // namespace

TEST_CASE("in_process: keeps the rules of a transport, whatever its options") {
    for (const std::uint32_t slots : {1u, 2u, 8u, 64u})
        for (const std::uint32_t eager_bytes : {0u, 24u, 2048u, 200'000u}) {
            const auto fault = testing::check_transport(
                [&](rank_t n) { return ends_of(n, {.slots = slots, .eager_bytes = eager_bytes}); },
                {.messages = slots == 8 ? 10'000u : 1000u});
            CAPTURE(slots, eager_bytes, fault.sentence, fault.rank);
            CHECK(fault.rule == testing::transport_rule::none);
        }
}

TEST_CASE("in_process: an end knows its group") {
    const auto ends = ends_of(3, {.cores = 2});
    CHECK(ends[2].rank() == 2);
    CHECK(ends[2].size() == 3);
    CHECK(ends[0].cores() == 2);
    CHECK(ends[0].oversubscribed());
    CHECK(in_process(7).size() == 7);
    CHECK_FALSE(in_process(2, {.cores = 2}).connect(0).oversubscribed());
}

TEST_CASE("in_process: a rank sends so many messages ahead, fewer where there are many ranks") {
    struct expected {
        rank_t ranks;
        std::uint32_t asked, slots;
    };
    for (const auto& [ranks, asked, slots] : {expected{2, 0, 64},
                                              {8, 0, 64},
                                              {9, 0, 32},
                                              {16, 0, 32},
                                              {17, 0, 16},
                                              {32, 0, 16},
                                              {33, 0, 8},
                                              {2, 4, 4},
                                              {33, 64, 64}}) {
        auto ends = ends_of(ranks, {.slots = asked});
        const std::byte said[8]{};
        std::uint32_t sent = 0;
        while (sent <= 64 && ends[0].post_send(1, {}, said, sent) == posted::complete) ++sent;
        CAPTURE(ranks, asked);
        CHECK(sent == slots);
    }
}

TEST_CASE("in_process: memory for late ranks that no machine has is not there") {
    if (!bough_test::may_ask_for_huge_memory) return;
    for (const std::uint64_t bytes : {~std::uint64_t{0}, ~std::uint64_t{0} - 64}) {
        in_process world(2, {.common_bytes = bytes});
        CHECK(world.connect(0).common(1, 128, 64).empty());
    }
}

TEST_CASE("in_process: rings go round under two threads, with long messages in between") {
    const std::uint32_t messages = bough_test::all() ? 200'000 : 20'000;
    for (const std::uint32_t slots : {1u, 8u}) {
        std::atomic<std::uint32_t> wrong{0};
        in_process(2, {.slots = slots}).run([&](auto end) {
            std::array<event, 8> events;
            const rank_t peer = 1 - end.rank();
            std::vector<std::byte> sent(40'000), taken(40'000);
            std::uint32_t posted_so_far = 0, seen = 0;
            bool open = false; // `sent` belongs to the transport
            while (posted_so_far != messages || seen != messages || open) {
                if (!open && posted_so_far != messages) {
                    const std::size_t bytes = length_of(posted_so_far);
                    for (std::size_t i = 0; i < bytes; i += 61) sent[i] = byte_of(posted_so_far, i);
                    envelope tag;
                    tag.segment = posted_so_far;
                    const posted result = end.post_send(peer, tag, {sent.data(), bytes}, posted_so_far);
                    open = result == posted::pending;
                    posted_so_far += result == posted::complete || open;
                    if (result == posted::failed) ++wrong, posted_so_far = messages;
                }
                const std::size_t found = end.poll(events);
                if (found == 0) end.wait(5000, 0);
                for (std::size_t k = 0; k != found; ++k) {
                    const event& e = events[k];
                    if (e.what == event::kind::complete) {
                        wrong += !open || e.id != posted_so_far - 1 || e.peer != peer;
                        open = false;
                        continue;
                    }
                    if (e.what == event::kind::lost) continue; // the peer has seen everything
                    const std::size_t bytes = length_of(seen);
                    wrong += e.envelope.segment != seen || e.bytes != bytes || e.peer != peer;
                    const std::byte* data = e.data;
                    const bool in_place = seen % 2 == 0;
                    if (in_place) {
                        wrong += !end.claim(e.id);
                    } else {
                        wrong += end.take(e.id, {taken.data(), bytes}, 0) != posted::complete;
                        data = taken.data();
                    }
                    for (std::size_t i = 0; i < bytes; i += 61) wrong += data[i] != byte_of(seen, i);
                    if (in_place) end.release(e.id);
                    ++seen;
                }
            }
        });
        CHECK(wrong == 0);
    }
}

TEST_CASE("in_process: rings of many senders are found, and each keeps its order") {
    constexpr rank_t ranks = 17;
    std::array<std::uint32_t, ranks> seen{};
    std::atomic<std::uint32_t> wrong{0};
    in_process(ranks).run([&](auto end) {
        std::array<event, 3> events;
        std::uint32_t left = end.rank() == 0 ? 100 * (ranks - 1) : 0;
        std::uint64_t number = 0;
        while (end.rank() != 0 && number != 100) {
            const auto result = end.post_send(0, {}, std::as_bytes(std::span(&number, 1)), 1);
            if (result == posted::complete) ++number;
            if (result == posted::would_block) end.wait(5000, 0);
        }
        while (left != 0) {
            const std::size_t found = end.poll(events);
            for (std::size_t i = 0; i != found; ++i) {
                if (events[i].what != event::kind::arrived) continue;
                std::uint64_t got = 0;
                std::memcpy(&got, events[i].data, sizeof got);
                wrong += got != seen[events[i].peer]++;
                end.release(events[i].id);
                --left;
            }
            if (found == 0) end.wait(5000, 0);
        }
    });
    CHECK(wrong == 0);
    for (rank_t r = 1; r != ranks; ++r) CHECK(seen[r] == 100);
}

TEST_CASE("in_process: a sender that leaves takes its long messages back") {
    auto ends = ends_of(2);
    std::vector<std::byte> bytes(10'000, std::byte{1});
    REQUIRE(ends[1].post_send(0, {}, bytes, 1) == posted::pending);
    ends.pop_back();
    std::fill(bytes.begin(), bytes.end(), std::byte{2}); // it is its owner's again
    std::array<event, 4> events;
    REQUIRE(ends[0].poll(events) == 2);
    CHECK(events[0].what == event::kind::arrived);
    CHECK_FALSE(ends[0].claim(events[0].id));
    CHECK(ends[0].take(events[0].id, bytes, 2) == posted::failed);
    CHECK(events[1].what == event::kind::lost);
    ends[0].release(events[0].id);
}

TEST_CASE("in_process: a receiver that leaves with a claim does not keep the sender waiting") {
    auto ends = ends_of(2);
    std::vector<std::byte> bytes(10'000, std::byte{1});
    REQUIRE(ends[0].post_send(1, {}, bytes, 7) == posted::pending);
    std::array<event, 4> events;
    REQUIRE(ends[1].poll(events) == 1);
    REQUIRE(ends[1].claim(events[0].id));
    ends.pop_back();
    SECTION("it is told") {
        REQUIRE(ends[0].poll(events) == 1);
        CHECK(events[0].what == event::kind::lost);
        REQUIRE(ends[0].poll(events) == 1);
        CHECK(events[0].what == event::kind::complete);
        CHECK(events[0].id == 7);
        CHECK(events[0].code == errc::peer_dead);
        CHECK(events[0].peer == 1);
        CHECK(ends[0].poll(events) == 0);
    }
    SECTION("it may leave at once") { ends.pop_back(); }
}

TEST_CASE("in_process: run rethrows the exception that came first, not one that it caused") {
    struct followed : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    for (int turn = 0; turn != 100; ++turn) {
        const auto culprit = static_cast<rank_t>(turn % 4);
        try {
            in_process(4).run([&](auto end) {
                if (end.rank() == culprit) throw std::runtime_error("the cause");
                std::array<event, 4> events;
                for (std::uint32_t idle = 0;; ++idle) {
                    const std::size_t found = end.poll(events);
                    for (std::size_t i = 0; i != found; ++i)
                        if (events[i].what == event::kind::lost) throw followed("a consequence");
                    end.wait(5000 + idle, 0);
                }
            });
            FAIL("run must throw");
        } catch (const std::runtime_error& e) {
            CHECK(std::string(e.what()) == "the cause");
        }
    }
}
