// SPDX-License-Identifier: BSL-1.0
// Ranks whose memory runs out in their polls: whatever allocation fails, each message comes once and in its order, each
// post ends once, and each loss is told once. Over each transport that needs no other program.
#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include "transport/poor_polls.hpp"
#include <bough/algorithm/groups.hpp>
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/composite.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/one_sided.hpp>
#include <bough/transport/segment/heap.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

using namespace bough;
using bough_test::check_polls, bough_test::short_of_memory;

namespace {

template <class End, class Join>
std::vector<End> joined(const Join& join) {
    return bough_test::joined_ends<End>(3, [&](rank_t, auto& wire, status& result) { return join(wire, result); });
}
std::vector<in_process::endpoint> in_process_ends(rank_t ranks) {
    in_process world(ranks);
    std::vector<in_process::endpoint> ends;
    for (rank_t r = 0; r != ranks; ++r) ends.push_back(world.connect(r));
    return ends;
}

// Each put takes memory, as over a device whose buffers have run out.
struct hungry_regions : shared_memory_regions {
    explicit hungry_regions(shared_memory_regions&& inner) : shared_memory_regions(std::move(inner)) {}
    posted put(rank_t to, std::uint64_t offset, std::span<const std::byte> first, std::span<const std::byte> second,
               std::uint64_t id) {
        ::operator delete(::operator new(64));
        return shared_memory_regions::put(to, offset, first, second, id);
    }
};
template <class Regions>
void check_one_sided() {
    check_polls([] {
        const one_sided_options options{};
        auto regions = joined<shared_memory_regions>([&](auto& wire, status& result) {
            return shared_memory_regions::join(wire, {.region_bytes = one_sided_bytes(3, options)}, result);
        });
        std::vector<one_sided<Regions>> ends;
        for (auto& r : regions) ends.emplace_back(Regions(std::move(r)), options);
        return ends;
    });
}

} // namespace

TEST_CASE("polls without memory: in_process") {
    check_polls([] { return in_process_ends(3); });
}
TEST_CASE("polls without memory: shared_memory") {
    check_polls([] {
        return joined<shared_memory>(
            [](auto& wire, status& result) { return shared_memory::join(wire, {.heap_bytes = 1u << 20}, result); });
    });
}
TEST_CASE("polls without memory: tcp") {
    check_polls([] { return joined<tcp>([](auto& wire, status& result) { return tcp::join(wire, {}, result); }); });
}
TEST_CASE("polls without memory: one_sided") { check_one_sided<shared_memory_regions>(); }
TEST_CASE("polls without memory: one_sided, where each put takes memory") { check_one_sided<hungry_regions>(); }
TEST_CASE("polls without memory: composite") {
    check_polls([] {
        auto near = in_process_ends(2), alone = in_process_ends(1);
        auto far = joined<tcp>([](auto& wire, status& result) { return tcp::join(wire, {}, result); });
        std::vector<composite<in_process::endpoint, tcp>> ends;
        const listed_groups groups({0, 0, 1});
        for (rank_t r = 0; r != 3; ++r)
            ends.emplace_back(std::move(r == 2 ? alone[0] : near[r]), std::move(far[r]), groups);
        return ends;
    });
}
TEST_CASE("polls without memory: emulated") {
    check_polls([] {
        std::vector<emulated<in_process::endpoint>> ends;
        for (auto& end : in_process_ends(3)) ends.emplace_back(std::move(end), emulation{.latency_ns = 2'000});
        return ends;
    });
}

TEST_CASE("polls without memory: what is due at an emulated rank is handed over") {
    auto inner = in_process_ends(2);
    emulated<in_process::endpoint> from(std::move(inner[0]), {}), to(std::move(inner[1]), {});
    std::array<event, 1> one;
    std::vector<std::byte> bytes(100'000), into(100'000);
    for (std::uint64_t id = 0; id != 4; ++id) REQUIRE(from.post_send(1, {}, bytes, id) == posted::pending);
    std::uint64_t came = 0, ended = 0;
    for (int turn = 0; turn != 4'000; ++turn) {
        std::size_t found = 0;
        short_of_memory({.few = turn == 0 ? 100 : 0}, [&] { found = to.poll(one); });
        if (found != 0 && one[0].what == event::kind::arrived) {
            ++came;
            REQUIRE(to.take(one[0].id, into, 9) == posted::complete);
        }
        found = 0;
        short_of_memory({.few = turn == 10 ? 100 : 0}, [&] { found = from.poll(one); });
        ended += found != 0 && one[0].what == event::kind::complete;
    }
    CHECK((came == 4 && ended == 4));
}

TEST_CASE("polls without memory: senders that are new to an in_process rank do not keep it from the others") {
    constexpr rank_t ranks = 100; // more than it reserves memory for
    auto ends = in_process_ends(ranks);
    std::array<event, 8> events;
    const auto send = [&](rank_t from) { REQUIRE(ends[from].post_send(0, {}, {}, 1) == posted::complete); };
    for (rank_t r = 1; r != 65; ++r) send(r);
    std::vector<int> came(ranks);
    const auto poll_all = [&](long few) {
        for (int turn = 0; turn != 100; ++turn) {
            std::size_t found = 0;
            short_of_memory({few}, [&] { found = ends[0].poll(events); });
            for (const event& e : std::span(events).first(found)) {
                came[e.peer] += e.what == event::kind::arrived ? 1 : 100;
                if (e.what == event::kind::arrived) ends[0].release(e.id);
            }
        }
    };
    poll_all(1'000);
    CHECK(std::count(came.begin(), came.end(), 1) == 64);
    for (rank_t r = 1; r != ranks; ++r) send(r);
    poll_all(0);
    CHECK(std::count(came.begin(), came.end(), 2) == 64);
    CHECK(std::count(came.begin(), came.end(), 0) == 36);
    while (ends.size() != 1) ends.pop_back();
    poll_all(0);
    CHECK(std::count(came.begin(), came.end(), 102) == 64); // the loss of the others comes behind what they sent
    CHECK(std::count(came.begin(), came.end(), 0) == 36);
    poll_all(1'000);
    CHECK(std::count(came.begin(), came.end(), 101) == 35);
}

TEST_CASE("polls without memory: pieces of a heap are given back, in any order") {
    std::vector<std::byte> memory(64 * 128);
    detail::shared_heap heap(memory);
    std::vector<std::span<std::byte>> pieces;
    for (auto piece = heap.allocate(64); !piece.empty(); piece = heap.allocate(64)) pieces.push_back(piece);
    REQUIRE(pieces.size() > 100);
    std::size_t given_back = 0;
    short_of_memory({}, [&] {
        for (const std::size_t first : {0u, 1u}) // the odd ones join the others
            for (std::size_t i = first; i < pieces.size(); i += 2, ++given_back) heap.deallocate(pieces[i]);
    });
    CHECK(given_back == pieces.size());
    CHECK(heap.allocate(pieces.size() * 64).size() == pieces.size() * 64);
}

TEST_CASE("polls without memory: a message that is read in place stays where it is if its sender cannot take it out") {
    auto ends = joined<shared_memory>(
        [](auto& wire, status& result) { return shared_memory::join(wire, {.heap_bytes = 1u << 20}, result); });
    std::array<event, 1> one;
    const std::span<std::byte> first = ends[0].allocate(8'192), second = ends[0].allocate(8'192);
    REQUIRE((first.size() == 8'192 && second.size() == 8'192));
    std::uint64_t id = 1;
    for (const auto& piece : {first, second}) {
        REQUIRE(ends[0].post_send(1, {}, piece, id) == posted::pending);
        REQUIRE((ends[1].poll(one) == 1 && ends[1].claim(one[0].id)));
        // Without memory it ends as if it had not been cancelled; otherwise at once.
        errc how = errc::op_threw;
        if (id == 1)
            short_of_memory({}, [&] { how = ends[0].cancel(id); });
        else
            how = ends[0].cancel(id);
        CHECK(how == errc::ok);
        const std::uint64_t held = one[0].id;
        if (id == 2) REQUIRE(ends[0].poll(one) == 1);
        ends[1].release(held);
        if (id == 1) REQUIRE(ends[0].poll(one) == 1);
        CHECK((one[0].id == id && one[0].code == (id == 1 ? errc::ok : errc::cancelled)));
        ++id;
    }
    ends[0].deallocate(second);
    ends[0].deallocate(first);
    std::span<std::byte> all;
    short_of_memory({}, [&] { all = ends[0].allocate((1u << 20) - 4'096); }); // the pages are brought back
    if (all.empty()) all = ends[0].allocate((1u << 20) - 4'096);
    CHECK_FALSE(all.empty());
}
