// SPDX-License-Identifier: BSL-1.0
// Late places: results in rank order whoever comes last, calls that differ, who is awaited, and how much
// memory there is.
#include "support/affine.hpp"
#include "support/catch.hpp"
#include "support/until.hpp"
#include <bough/session/late_places.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::affine;
using bough_test::compose;
using bough_test::expected;
using bough_test::until;
using bough_test::value_of;
using detail::late_places;

namespace {

constexpr std::uint32_t most = 64;

// Memory for the places of one communicator, zero at first.
struct paper {
    explicit paper(rank_t ranks) : lines(late_places::bytes(ranks, most) / 64 + 1) {}
    std::byte* at() { return lines.data()->bytes; }
    late_places of(rank_t rank, rank_t ranks) { return {at(), ranks, rank, most, {}}; }

    struct line {
        alignas(64) std::byte bytes[64]{};
    };
    std::vector<line> lines;
};

void compose_bytes(const std::byte* lower, const std::byte* upper, std::byte* out) {
    affine a, b;
    std::memcpy(&a, lower, sizeof a);
    std::memcpy(&b, upper, sizeof b);
    a = compose{}(a, b);
    std::memcpy(out, &a, sizeof a);
}
late_places::outcome come(late_places& places, std::uint64_t k, const call_signature& signature, rank_t& peer,
                          std::uint32_t operation = 1) {
    const affine mine = value_of(k, places.rank(), 0);
    return places.contribute(k, signature, operation, std::as_bytes(std::span(&mine, 1)), peer, compose_bytes);
}
late_places::outcome come(late_places& places, std::uint64_t k, const call_signature& signature = {.kind = 2}) {
    rank_t peer = no_rank;
    return come(places, k, signature, peer);
}
affine result_of(const late_places& places, std::uint64_t k) {
    affine x;
    std::memcpy(&x, places.result(k), sizeof x);
    return x;
}
std::vector<rank_t> awaited(const late_places& places, std::uint64_t k) {
    std::vector<rank_t> who;
    places.for_each_awaited(k, [&](rank_t r) { who.push_back(r); });
    return who;
}

} // namespace

// Over one mapping, so that ThreadSanitizer sees all of it.
TEST_CASE("late_places: threads that race to each node") {
    for (const rank_t p : {2u, 3u, 7u}) {
        paper room(p);
        std::atomic<int> wrong{0};
        std::vector<std::thread> all;
        for (rank_t r = 0; r != p; ++r)
            all.emplace_back([&, r] {
                late_places places = room.of(r, p);
                for (std::uint64_t k = 0; k != 150; ++k) {
                    until([&] { return places.is_turn(k); });
                    come(places, k, {.count = k, .kind = 2});
                    until([&] { return places.is_done(k); });
                    wrong += !(result_of(places, k) == expected(k, p, 0));
                    places.release(k, p);
                }
            });
        for (std::thread& t : all) t.join();
        CHECK(wrong == 0);
    }
}
TEST_CASE("late_places: whoever comes last makes the result, in rank order, and all others have left") {
    for (rank_t p = 1; p != 18; ++p)
        for (rank_t last = 0; last != p; ++last) {
            paper room(p);
            std::vector<late_places> ranks;
            for (rank_t r = 0; r != p; ++r) ranks.push_back(room.of(r, p));
            for (rank_t i = 1; i != p; ++i) {
                CHECK(come(ranks[(last + i) % p], 0) == late_places::outcome::left);
                CHECK_FALSE(ranks[0].is_done(0));
                CHECK(ranks[0].has_left((last + i) % p, 0));
                CHECK_FALSE(ranks[0].has_left(last, 0));
            }
            CHECK(come(ranks[last], 0) == late_places::outcome::completed);
            CHECK(ranks[0].is_done(0));
            CHECK(result_of(ranks[p - 1], 0) == expected(0, p, 0));
        }
}
TEST_CASE("late_places: another call is seen by the rank that comes second, before anything is combined") {
    const call_signature usual{.count = 1, .op = 7, .type = 9, .plan = 3, .root = 0, .kind = 2};
    const auto differs = [&](const call_signature& other, std::uint32_t operation) {
        paper room(3);
        late_places a = room.of(0, 3), c = room.of(2, 3);
        rank_t peer = no_rank;
        REQUIRE(come(a, 0, usual, peer) == late_places::outcome::left);
        if (come(c, 0, other, peer, operation) != late_places::outcome::mismatch) return false;
        CHECK_FALSE(a.has_left(2, 0));
        CHECK(peer == 0);
        const late_places::call_made theirs = c.call_of(0, peer);
        CHECK((theirs.signature == usual && theirs.operation == 1));
        return true;
    };
    CHECK_FALSE(differs(usual, 1));
    CHECK(differs(usual, 5)); // the same call, but another one of its communicator
    call_signature other = usual;
    other.count = 2;
    CHECK(differs(other, 1));
    other = usual, other.root = 2;
    CHECK(differs(other, 1));
}
TEST_CASE("late_places: what is written into the memory by a peer gone mad is no rank") {
    paper room(2);
    late_places a = room.of(0, 2), b = room.of(1, 2);
    come(a, 0);
    std::memset(room.at() + 2 * 64, 0xff, 64); // the bank's words
    rank_t peer = 0;
    CHECK(come(b, 0, {.kind = 2}, peer) == late_places::outcome::mismatch);
    CHECK(peer >= 2);
}
TEST_CASE("late_places: a bank is free when all that get its result have read it, and who wants it is known") {
    for (const bool all : {true, false}) {
        const call_signature call{.root = 1, .kind = static_cast<std::uint8_t>(all ? 2 : 1)};
        const rank_t readers = all ? 3 : 1;
        paper room(3);
        std::vector<late_places> ranks;
        for (rank_t r = 0; r != 3; ++r) ranks.push_back(room.of(r, 3));
        for (std::uint64_t k = 0; k != late_places::banks; ++k)
            for (late_places& of : ranks) {
                REQUIRE(of.is_turn(k));
                come(of, k, call);
            }
        const std::uint64_t next = late_places::banks;
        CHECK_FALSE(ranks[0].is_turn(next));
        CHECK(ranks[2].wants_turn(0));
        CHECK_FALSE(ranks[2].wants_turn(1));
        CHECK(awaited(ranks[0], next) == (all ? std::vector<rank_t>{1, 2} : std::vector<rank_t>{1}));
        if (all) {
            CHECK_FALSE(ranks[2].release(0, readers));
            CHECK(awaited(ranks[0], next) == std::vector<rank_t>{1});
            CHECK_FALSE(ranks[0].release(0, readers));
        }
        CHECK(ranks[1].release(0, readers));
        CHECK(ranks[0].is_turn(next));
        CHECK(awaited(ranks[0], next) == std::vector<rank_t>{1, 2}); // to come to it
        come(ranks[0], next, call);
        CHECK_FALSE(ranks[2].wants_turn(0));
        come(ranks[2], next, call);
        CHECK(awaited(ranks[0], next) == std::vector<rank_t>{1});
        CHECK_FALSE(ranks[0].is_turn(next + 1)); // its bank has not been read
    }
}
TEST_CASE("late_places: an op that throws leaves the operation incomplete, and its rank has not done its part") {
    paper room(2);
    late_places a = room.of(0, 2), b = room.of(1, 2);
    come(a, 0);
    const affine mine = value_of(0, 1, 0);
    rank_t peer = no_rank;
    CHECK_THROWS(b.contribute(0, {.kind = 2}, 1, std::as_bytes(std::span(&mine, 1)), peer,
                              [](const std::byte*, const std::byte*, std::byte*) { throw 1; }));
    CHECK_FALSE(a.is_done(0));
    CHECK_FALSE(a.has_left(1, 0));
    CHECK(awaited(a, 0) == std::vector<rank_t>{1});
}
TEST_CASE("late_places: how long data may be follows from the memory, to the byte") {
    STATIC_REQUIRE(late_places::most_bytes(2, 4u << 20) == 4096);
    STATIC_REQUIRE(late_places::most_bytes(16, 4u << 20) == 4096);
    STATIC_REQUIRE(late_places::most_bytes(64, 4u << 20) == 1024);
    STATIC_REQUIRE(late_places::most_bytes(2, 0) == 0);
    for (const rank_t p : {1u, 2u, 5u, 16u, 300u})
        for (std::uint32_t bytes = late_places::longest; bytes != late_places::shortest; bytes /= 2) {
            CHECK(late_places::most_bytes(p, 8 * late_places::bytes(p, bytes)) == bytes);
            CHECK(late_places::most_bytes(p, 8 * late_places::bytes(p, bytes) - 1) == bytes / 2);
        }
    const std::uint64_t least = late_places::bytes(5, late_places::shortest);
    CHECK(late_places::most_bytes(5, least) == late_places::shortest);
    CHECK(late_places::most_bytes(5, least - 1) == 0);
    CHECK(least % 64 == 0);
}
TEST_CASE("late places: cleared for the next communicator of that number, and not touched if nobody was there") {
    paper p(3);
    const std::span<std::byte> all{p.at(), late_places::bytes(3, most)};
    {
        std::vector<late_places> of;
        for (rank_t r = 0; r != 3; ++r) of.push_back(p.of(r, 3));
        CHECK(come(of[1], 0) == late_places::outcome::left); // given up: the others do not come
    }
    late_places::clear(all);
    for (const std::byte b : all) REQUIRE(b == std::byte{0});
    std::vector<late_places> next;
    for (rank_t r = 0; r != 3; ++r) next.push_back(p.of(r, 3));
    CHECK(come(next[2], 0) == late_places::outcome::left);
    CHECK(come(next[0], 0) == late_places::outcome::left);
    CHECK(come(next[1], 0) == late_places::outcome::completed);
    CHECK(result_of(next[0], 0) == expected(0, 3, 0));
    // What was never used stays as it is.
    paper unused(3);
    const std::span<std::byte> rest{unused.at(), late_places::bytes(3, most)};
    rest.back() = std::byte{1};
    late_places::clear(rest);
    CHECK(rest.back() == std::byte{1});
    late_places::clear({});
}
TEST_CASE("late places: parts of a rank's memory do not overlap, and end where it ends") {
    for (const rank_t p : {1u, 3u, 112u, 500u}) {
        std::uint64_t end = 0;
        std::uint32_t parts = 0;
        for (std::uint16_t c = 0; c != 1000; ++c) {
            const late_places::region at = late_places::where(c, p, 4u << 20);
            if (at.most_bytes == 0) continue;
            CHECK((at.offset == end && at.bytes == late_places::bytes(p, at.most_bytes) && at.offset % 64 == 0));
            end = at.offset + at.bytes;
            CHECK((end <= 4u << 20 && parts++ == c));
        }
        CHECK(parts >= 1);
    }
    CHECK(late_places::where(0, 3, 100).most_bytes == 0);
}
