// SPDX-License-Identifier: BSL-1.0
// The rules of a transport over shared memory, with threads as ranks, and what belongs to this transport alone.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/allreduce.hpp>
#include <bough/concepts/explain_transport.hpp>
#include <bough/error.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/testing/transport_conformance.hpp>
#include <bough/transport/shared_memory.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <span>
#include <thread>
#include <vector>

using namespace bough;
using bough_test::shared_ends;

static_assert(explain_transport<shared_memory>() && explain_in_place_transport<shared_memory>() &&
              explain_waitable_transport<shared_memory>());
static_assert(!std::is_copy_constructible_v<shared_memory>);

namespace {

// The next event of an end; gives up after some seconds.
event next(shared_memory& end) {
    event e;
    for (std::uint32_t idle = 1; idle != 2'000'000; ++idle) {
        if (end.poll(std::span(&e, 1)) == 1) return e;
        if (idle % 64 == 0) std::this_thread::yield();
    }
    FAIL("nothing has come");
    return e;
}
std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
    std::vector<std::byte> p(bytes);
    for (std::size_t i = 0; i != bytes; ++i)
        p[i] = static_cast<std::byte>(bough_test::mixed(seed + i / 8) >> i % 8 * 8);
    return p;
}

} // namespace

TEST_CASE("shared_memory: keeps the rules of a transport, whatever its options") {
    for (const bool direct : {true, false})
        for (const std::uint32_t slots : {1u, 2u, 16u, 64u, 256u})
            for (const std::uint32_t eager_bytes : {24u, 2048u, 200'000u}) {
                const auto fault = testing::check_transport(
                    [&](rank_t n) {
                        return shared_ends(n, {.slots = slots, .eager_bytes = eager_bytes, .direct_reads = direct});
                    },
                    {.messages = slots == 16 ? 10'000u : 1000u});
                CAPTURE(direct, slots, eager_bytes, fault.sentence, fault.rank);
                CHECK(fault.rule == testing::transport_rule::none);
            }
}

TEST_CASE("shared_memory: an end knows its group") {
    const auto ends = shared_ends(3, {.cores = 2});
    REQUIRE(ends.size() == 3);
    CHECK(ends[2].rank() == 2);
    CHECK(ends[2].size() == 3);
    CHECK(ends[0].cores() == 2);
    CHECK(ends[0].oversubscribed());
    CHECK_FALSE(ends[0].forked());
    CHECK_FALSE(shared_ends(2, {.cores = 2})[0].oversubscribed());
    CHECK(shared_ends(1).size() == 1);
    for (const auto& end : ends) { // rank 0 has measured for all
        CHECK(end.copied_directly_from() == ends[0].copied_directly_from());
        CHECK(end.combined_directly_from() == ends[0].combined_directly_from());
        CHECK(end.copied_directly_from() >= 16384);
        CHECK(end.combined_directly_from() >= 16384);
    }
    CHECK(shared_ends(2, {.direct_reads = true})[1].copied_directly_from() == 0);
    CHECK(shared_ends(2, {.direct_reads = true})[1].combined_directly_from() == 0);
    CHECK(shared_ends(2)[0].cores() >= 1);
    // 768 KiB a ring, and 3 MiB in all for many ranks
    CHECK(shared_ends(2)[0].segment_bytes() < 808u * 1024);
    CHECK(shared_ends(2, {.heap_bytes = 1 << 20})[0].segment_bytes() > 1u << 20);
    // Here one process has all ranks, each of which maps the segments of all: 5 GiB of addresses for 40 ranks.
    const rank_t ranks = sizeof(void*) > 4 ? 40 : 16;
    const auto many = shared_ends(ranks);
    REQUIRE(many.size() == ranks);
    CHECK(many[0].segment_bytes() < (7u << 19));
}

TEST_CASE("shared_memory: a join that fails fails everywhere, and says why") {
    std::vector<status> why;
    SECTION("a rank's options are wrong") {
        CHECK(shared_ends({{}, {.slots = 3}, {}}, &why).empty());
        CHECK(why[1].code == errc::invalid_argument);
        for (const rank_t r : {0u, 2u}) {
            CHECK(why[r].code == errc::peer_aborted);
            CHECK(why[r].cause == errc::invalid_argument);
            CHECK(why[r].peer == 1);
        }
    }
    SECTION("options differ") {
        CHECK(shared_ends({{}, {.slots = 8}, {}}, &why).empty());
        for (const status& s : why) CHECK((s.code == errc::invalid_argument && s.argument != nullptr));
    }
    SECTION("a rank has no memory") {
        CHECK(shared_ends({{}, {}, {.heap_bytes = std::uint64_t{1} << 50}}, &why).empty());
        CHECK(why[2].code == errc::no_resources);
        CHECK((why[0].code == errc::peer_aborted && why[0].cause == errc::no_resources && why[0].peer == 2));
    }
    SECTION("a rank does not come") {
        testing::thread_wire_up world{2};
        auto wire = world.of(0);
        status s;
        CHECK_FALSE(shared_memory::join(wire, {.join_timeout_ns = 20'000'000}, s));
        CHECK(s.code == errc::deadline);
    }
    SECTION("by exception") {
        testing::thread_wire_up world{2};
        auto wire = world.of(0);
        CHECK_THROWS_AS(shared_memory(wire, {.join_timeout_ns = 20'000'000}), error);
    }
}

TEST_CASE("shared_memory: where a payload lies") {
    const bool direct = GENERATE(true, false);
    auto ends = shared_ends(2, {.eager_bytes = 1024, .heap_bytes = 1 << 20, .direct_reads = direct});
    REQUIRE(ends.size() == 2);
    CHECK(ends[0].reads_directly(1) == direct); // processes of one user may read each other here
    std::vector<std::byte> into(300'000);

    const auto copied = pattern(512);
    REQUIRE(ends[0].post_send(1, {}, copied, 1) == posted::complete);
    event e = next(ends[1]);
    REQUIRE(e.data != nullptr);
    REQUIRE(ends[1].claim(e.id));
    CHECK(std::equal(copied.begin(), copied.end(), e.data));
    ends[1].release(e.id);

    const auto lent = pattern(300'000, 5);
    REQUIRE(ends[0].post_send(1, {}, lent, 2) == posted::pending);
    e = next(ends[1]);
    CHECK(e.data == nullptr);
    CHECK_FALSE(ends[1].claim(e.id));
    CHECK(ends[1].take(e.id, std::span(into).first(299'999), 3) == posted::failed);
    const posted taken = ends[1].take(e.id, into, 3);
    CHECK(taken == (direct ? posted::complete : posted::pending));
    event sent, got;
    for (int i = 0; taken == posted::pending && i != 1000 && got.id != 3; ++i) {
        if (ends[0].poll(std::span(&sent, 1)) != 0) CHECK(sent.id == 2);
        ends[1].poll(std::span(&got, 1));
    }
    CHECK(into == lent);
    if (sent.id != 2) sent = next(ends[0]);
    CHECK((sent.what == event::kind::complete && sent.id == 2 && sent.code == errc::ok));

    const std::span<std::byte> heap = ends[0].allocate(300'000);
    REQUIRE(heap.size() == 300'000);
    CHECK(reinterpret_cast<std::uintptr_t>(heap.data()) % 64 == 0);
    std::copy(lent.begin(), lent.end(), heap.begin());
    REQUIRE(ends[0].post_send(1, {}, heap.subspan(8), 4) == posted::pending);
    e = next(ends[1]);
    REQUIRE(e.data != nullptr);
    REQUIRE(ends[1].claim(e.id));
    CHECK(std::equal(lent.begin() + 8, lent.end(), e.data));
    ends[1].release(e.id);
    CHECK(next(ends[0]).id == 4);
    ends[0].deallocate(heap);
}

TEST_CASE("shared_memory: the heap gives, takes back, and joins its pieces again") {
    auto ends = shared_ends(1, {.heap_bytes = 4096});
    CHECK(ends[0].allocate(0).empty());
    CHECK(ends[0].allocate(4097).empty());
    std::vector<std::span<std::byte>> pieces;
    for (std::size_t i = 0; i != 64; ++i) pieces.push_back(ends[0].allocate(33 + i % 3));
    CHECK(pieces.back().size() == 33);
    CHECK(ends[0].allocate(1).empty());
    for (std::size_t k = 0; k != 64; ++k) { // in any order
        const std::size_t i = bough_test::one_of(pieces.size(), bough_test::mixed(k));
        ends[0].deallocate(pieces[i]);
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
    }
    CHECK(ends[0].allocate(4096).size() == 4096);
}

// Taken back while it is read in place: the sender's pages leave the segment, and the reader's stay as they were.
TEST_CASE("shared_memory: a message that is being read in place can be taken back at once") {
    auto ends = shared_ends(2, {.eager_bytes = 65536, .heap_bytes = 1 << 20, .direct_reads = true});
    const std::span<std::byte> all = ends[0].allocate(200'000);
    const std::span<std::byte> bytes = all.subspan(5000, 150'000);
    const auto content = pattern(bytes.size());
    std::copy(content.begin(), content.end(), bytes.begin());
    REQUIRE(ends[0].post_send(1, {}, bytes, 1) == posted::pending);
    const event e = next(ends[1]);
    REQUIRE(ends[1].claim(e.id));
    REQUIRE(ends[0].cancel(1) == errc::ok);
    const event end = next(ends[0]);
    CHECK((end.id == 1 && end.code == errc::cancelled));
    CHECK(std::equal(content.begin(), content.end(), bytes.begin()));
    std::fill(bytes.begin(), bytes.end(), std::byte{0xee}); // it is its owner's again
    CHECK(std::equal(content.begin(), content.end(), e.data));
    ends[1].release(e.id);
    // What is sent from there now is not read in place any more, but arrives.
    REQUIRE(ends[0].post_send(1, {}, bytes, 2) == posted::pending);
    const event again = next(ends[1]);
    CHECK(again.data == nullptr);
    std::vector<std::byte> into(bytes.size());
    CHECK(ends[1].take(again.id, into, 3) == posted::complete);
    CHECK(std::equal(into.begin(), into.end(), bytes.begin()));
}

TEST_CASE("shared_memory: what lies beside a message that is taken back stays in the segment") {
    auto ends = shared_ends(2, {.heap_bytes = 1 << 20});
    const std::span<std::byte> before = ends[0].allocate(5000), between = ends[0].allocate(70'001),
                               small = ends[0].allocate(100), after = ends[0].allocate(4096);
    const auto page_of = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) / 4096; };
    CHECK((page_of(&small.front()) > page_of(&between.back()) || page_of(&small.back()) < page_of(&between.front())));
    std::array<event, 3> seen;
    REQUIRE(ends[0].post_send(1, {}, before, 1) == posted::pending);
    REQUIRE(ends[0].post_send(1, {}, between, 2) == posted::pending);
    REQUIRE(ends[0].post_send(1, {}, after, 3) == posted::pending);
    for (event& e : seen) {
        e = next(ends[1]);
        REQUIRE(ends[1].claim(e.id));
    }
    REQUIRE(ends[0].cancel(2) == errc::ok);
    for (const std::span<std::byte> piece : {before, between, after})
        std::fill(piece.begin(), piece.end(), std::byte{7});
    CHECK(seen[0].data[4999] == std::byte{7}); // nobody may write there before the event; but it is seen
    CHECK(seen[2].data[0] == std::byte{7});
    CHECK(std::count(seen[1].data, seen[1].data + between.size(), std::byte{0}) == 70'001);
}

TEST_CASE("shared_memory: pages of a message that was taken back are had again once its reader has let go of it") {
    constexpr std::size_t all = 64 << 10;
    auto ends = shared_ends(2, {.heap_bytes = all + 100}); // not a whole number of pages
    for (int turn = 0; turn != 3; ++turn) {
        const std::span<std::byte> piece = ends[0].allocate(all + 100);
        REQUIRE(piece.size() == all + 100);
        const auto content = pattern(20'000, static_cast<unsigned>(turn) + 1);
        const std::span<std::byte> part = piece.subspan(10'000, content.size());
        std::copy(content.begin(), content.end(), part.begin());
        std::array<event, 2> seen; // of two messages that share pages
        REQUIRE(ends[0].post_send(1, {}, part, 1) == posted::pending);
        REQUIRE(ends[0].post_send(1, {}, part.subspan(1), 2) == posted::pending);
        for (event& e : seen) {
            e = next(ends[1]);
            REQUIRE(e.data != nullptr);
            REQUIRE(ends[1].claim(e.id));
            REQUIRE(ends[0].cancel(e.id == seen[0].id ? 1u : 2u) == errc::ok);
        }
        for (int i = 0; i != 2; ++i) CHECK(next(ends[0]).code == errc::cancelled);
        std::fill(piece.begin(), piece.end(), std::byte{0xee});
        ends[0].deallocate(piece);
        for (const event& e : seen) {
            CHECK(ends[0].allocate(all + 100).empty());               // a reader is still there
            const std::span<std::byte> rest = ends[0].allocate(8192); // which has these no more than before
            REQUIRE(rest.size() == 8192);
            REQUIRE(ends[0].post_send(1, {}, rest, 3) == posted::pending);
            const event other = next(ends[1]);
            CHECK(other.data != nullptr); // never a page that is out of the segment
            ends[1].release(other.id);
            CHECK(next(ends[0]).id == 3);
            ends[0].deallocate(rest);
            CHECK(std::equal(content.begin() + (e.id == seen[0].id ? 0 : 1), content.end(), e.data));
            ends[1].release(e.id);
        }
    }
    const std::span<std::byte> piece = ends[0].allocate(all);
    REQUIRE(piece.size() == all);
    std::fill(piece.begin(), piece.end(), std::byte{5});
    REQUIRE(ends[0].post_send(1, {}, piece, 4) == posted::pending);
    const event e = next(ends[1]);
    REQUIRE(e.data != nullptr);
    CHECK(std::count(e.data, e.data + all, std::byte{5}) == all);
}

TEST_CASE("shared_memory: a group may be waited for without end") {
    auto ends = shared_ends(2, {.join_timeout_ns = forever});
    REQUIRE(ends.size() == 2);
    REQUIRE(ends[0].post_send(1, {}, {}, 1) == posted::complete);
    CHECK(next(ends[1]).peer == 0);
}

TEST_CASE("shared_memory: an end that leaves takes its long messages back, and what is in the ring stays") {
    auto ends = shared_ends(2);
    const auto content = pattern(10'000), lent = pattern(300'000);
    std::vector<std::byte> into(300'000);
    REQUIRE(ends[1].post_send(0, {}, content, 1) == posted::complete);
    REQUIRE(ends[1].post_send(0, {}, lent, 2) == posted::pending);
    ends.pop_back();
    const event first = next(ends[0]), second = next(ends[0]), last = next(ends[0]);
    CHECK(std::equal(content.begin(), content.end(), first.data));
    CHECK(ends[0].take(second.id, into, 3) == posted::failed);
    CHECK((last.what == event::kind::lost && last.peer == 1 && last.code == errc::peer_dead));
    CHECK(ends[0].post_send(1, {}, {}, 4) == posted::failed);
}

TEST_CASE("shared_memory: collectives over threads") {
    const bool direct = GENERATE(true, false);
    for (const rank_t ranks : {2u, 5u, 8u}) {
        auto ends = shared_ends(ranks, {.eager_bytes = 4096, .direct_reads = direct});
        REQUIRE(ends.size() == ranks);
        std::atomic<std::uint32_t> wrong{0};
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != ranks; ++r)
            threads.emplace_back([&, r] {
                communicator comm{std::move(ends[r])};
                for (const std::size_t count : {1u, 7u, 1000u, 20'000u})
                    for (unsigned turn = 0; turn != 20; ++turn) {
                        std::vector<double> x(count, r + turn);
                        status s;
                        allreduce(comm, std::span(x), plus{}, s);
                        const double sum = ranks * turn + ranks * (ranks - 1) / 2.0;
                        wrong += s || std::count(x.begin(), x.end(), sum) != static_cast<std::ptrdiff_t>(count);
                    }
            });
        for (std::thread& t : threads) t.join();
        CHECK(wrong == 0);
    }
}

TEST_CASE("shared_memory: who sleeps has told its senders which slots are free") {
    for (const int how : {0, 1, 2}) {
        CAPTURE(how);
        std::vector<shared_memory> ends = bough_test::shared_ends(2, {.slots = 16});
        const std::vector<std::byte> bytes(8);
        for (int i = 0; i != 16; ++i) CHECK(ends[0].post_send(1, {}, bytes, 1) == posted::complete);
        CHECK(ends[0].post_send(1, {}, bytes, 1) == posted::would_block);
        std::vector<event> events(20);
        CHECK(ends[1].poll(events) == 16);
        CHECK(ends[1].poll(events) == 0);
        ends[1].release(events[0].id); // too few to tell of at once
        CHECK(ends[0].post_send(1, {}, bytes, 1) == posted::would_block);
        if (how == 0 && ends[1].descriptor() < 0) continue; // this system has none
        if (how == 0)
            (void)ends[1].arm();
        else if (how == 1)
            ends[1].wait(1, ends[1].now_ns());
        else
            ends[1].wait_for_late(1, ends[1].now_ns());
        CHECK(ends[0].post_send(1, {}, bytes, 1) == posted::complete);
    }
}

TEST_CASE("shared_memory: who sleeps is rung when its long message has been read, even behind one that is in use") {
    for (const bool is_taken : {false, true})
        for (const bool is_private : {false, true}) {
            if (is_private && !is_taken) continue; // such a message can only be taken
            CAPTURE(is_taken, is_private);
            std::vector<shared_memory> ends = bough_test::shared_ends(2, {.heap_bytes = 1 << 20, .direct_reads = true});
            if (ends[1].descriptor() < 0 || (is_private && !ends[0].reads_directly(1))) continue;
            const std::vector<std::byte> mine(1 << 20);
            const auto piece = is_private ? std::span(mine) : std::span<const std::byte>(ends[1].allocate(8192));
            CHECK(ends[1].post_send(0, {}, std::span(mine).first(8), 1) == posted::complete);
            CHECK(ends[1].post_send(0, {}, piece, 2) == posted::pending);
            std::vector<event> events(4);
            REQUIRE(ends[0].poll(events) == 2); // the first one is not released
            REQUIRE(ends[1].arm());
            std::vector<std::byte> into(piece.size());
            if (is_taken) {
                CHECK(ends[0].take(events[1].id, into, 3) == posted::complete);
            } else {
                CHECK(ends[0].claim(events[1].id));
                ends[0].release(events[1].id);
            }
            pollfd rung{ends[1].descriptor(), POLLIN, 0};
            CHECK(::poll(&rung, 1, 0) == 1);
            ends[1].disarm();
            REQUIRE(ends[1].poll(events) == 1);
            CHECK((events[0].what == event::kind::complete && events[0].id == 2));
        }
}
