// SPDX-License-Identifier: BSL-1.0
// The ring between two processes, by itself: two threads on one mapping (which ThreadSanitizer understands), and peers
// that write what no peer should.
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/transport/shared_memory/receiver.hpp>
#include <bough/transport/shared_memory/sender.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <sys/un.h>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace bough::detail;
using bough_test::mixed;
using bough_test::one_of;

namespace {

// A ring in memory of its own, of exactly its size.
struct ring_memory {
    explicit ring_memory(const segment_layout& l)
        : layout(l), bytes(static_cast<std::byte*>(
                         ::operator new (static_cast<std::size_t>(l.ring_bytes()), std::align_val_t{64}))) {
        std::memset(bytes, 0, static_cast<std::size_t>(l.ring_bytes()));
    }
    ring_memory(const ring_memory&) = delete;
    ~ring_memory() { ::operator delete (bytes, std::align_val_t{64}); }
    ring_view view() const { return ring_view::at(bytes, layout); }
    segment_layout layout;
    std::byte* bytes;
};

std::size_t length_of(std::uint64_t n, std::size_t eager_bytes) {
    const std::array<std::size_t, 8> lengths{0, 8, 24, 25, eager_bytes / 3, eager_bytes, eager_bytes + 1, 5000};
    return lengths[one_of(lengths.size(), mixed(n))];
}
std::byte byte_of(std::uint64_t n, std::size_t i) { return static_cast<std::byte>(n * 7 + i * 3 + i / 256); }

bool is_message(const std::byte* data, std::size_t bytes, std::uint64_t n) {
    for (std::size_t i = 0; i != bytes; ++i)
        if (data[i] != byte_of(n, i)) return false;
    return true;
}

} // namespace

TEST_CASE("shared_memory: a ring goes round under two threads") {
    const std::uint32_t messages = bough_test::all() ? 200'000 : 1'000;
    for (const bool staged : {false, true})
        for (const std::uint32_t slots : {1u, 4u, 16u, 256u}) {
            const ring_memory memory({.ranks = 2, .slots = slots, .area_bytes = 2048, .piece_bytes = 512});
            std::vector<std::byte> heap(8192);
            std::atomic<std::uint32_t> wrong{0};
            std::thread sender([&] {
                shared_sender out(memory.view(), 1024);
                event e;
                bool open = false;
                for (std::uint32_t n = 0; n != messages || open;) {
                    open = open && out.acknowledged(1, std::span(&e, 1)) == 0;
                    if (staged) out.stage();
                    if (open || n == messages) {
                        std::this_thread::yield();
                        continue;
                    }
                    const std::size_t bytes = length_of(n, out.eager_bytes());
                    for (std::size_t i = 0; i != bytes; ++i) heap[i] = byte_of(n, i);
                    envelope tag;
                    tag.segment = n;
                    if (bytes > out.eager_bytes())
                        open = out.push_long(tag, {heap.data(), bytes}, n, staged ? to_be_staged : in_segment, 0);
                    if (bytes > out.eager_bytes() ? open : out.push(tag, {heap.data(), bytes}))
                        ++n;
                    else
                        std::this_thread::yield();
                }
            });
            shared_receiver in(memory.view(), heap, false);
            const std::size_t eager_bytes = shared_sender(memory.view(), 1024).eager_bytes();
            std::vector<std::uint64_t> held; // released late, and not in order
            std::vector<std::byte> into;
            for (std::uint32_t n = 0; n != messages;) {
                event e;
                if (!in.peek(e, 0, 0)) {
                    while (!held.empty()) {
                        const std::size_t i = one_of(held.size(), mixed(n));
                        in.release(static_cast<std::uint32_t>(held[i]));
                        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
                    }
                    if (in.broken()) break;
                    std::this_thread::yield();
                    continue;
                }
                const auto index = static_cast<std::uint32_t>(e.id);
                const std::uint32_t where = in.at(index).where;
                wrong += e.envelope.segment != n || e.bytes != length_of(n, eager_bytes);
                if (where == to_be_staged) {
                    into.clear();
                    wrong += !in.want(index, 1 + n % 7);
                    shared_receiver::piece p;
                    while (into.size() < e.bytes && !in.broken()) {
                        if (!in.next_piece(p)) {
                            std::this_thread::yield();
                            continue;
                        }
                        wrong += p.ticket != in.at(index).ticket;
                        into.insert(into.end(), p.bytes.begin(), p.bytes.end());
                        in.used_piece();
                    }
                    wrong += !is_message(into.data(), into.size(), n);
                } else {
                    if (where == in_segment) wrong += !in.claim(index);
                    wrong += !is_message(e.data, static_cast<std::size_t>(e.bytes), n);
                }
                if (where != 0) wrong += !in.give_back(index);
                held.push_back(index);
                ++n;
            }
            for (const std::uint64_t index : held) in.release(static_cast<std::uint32_t>(index));
            sender.join();
            CAPTURE(staged, slots);
            CHECK(wrong == 0);
            CHECK_FALSE(in.broken());
        }
}

TEST_CASE("shared_memory: slots of short messages are told of by the quarter of the ring, or when asked") {
    const ring_memory memory({.ranks = 2, .slots = 64, .area_bytes = 4096});
    shared_sender out(memory.view(), 1024);
    shared_receiver in(memory.view(), {}, false);
    const std::vector<std::byte> bytes(200);
    const auto send = [&](std::size_t length) { return out.push({}, std::span(bytes).first(length)); };
    const auto take = [&] {
        event e;
        REQUIRE(in.peek(e, 0, 0));
        return in.release(static_cast<std::uint32_t>(e.id));
    };
    for (int i = 0; i != 64; ++i) CHECK(send(i % 2 == 0 ? 8 : 88));
    for (int i = 0; i != 15; ++i) CHECK_FALSE(take());
    CHECK_FALSE(send(8));
    CHECK(take()); // the 16th
    for (int i = 0; i != 16; ++i) CHECK(send(8));
    CHECK_FALSE(send(8));
    CHECK_FALSE(in.tell()); // nothing is owed
    CHECK_FALSE(take());
    CHECK_FALSE(send(8));
    CHECK(in.tell());
    CHECK_FALSE(in.tell());
    CHECK(send(200)); // lies in the area, which is less than the slots
    for (int i = 0; i != 63; ++i) take();
    CHECK(take());
}

TEST_CASE("shared_memory: messages that are taken soon lie near the start of their ring's area, others all over it") {
    const ring_memory memory({.ranks = 2, .slots = 64, .area_bytes = 1 << 18});
    shared_sender out(memory.view(), 8192);
    shared_receiver in(memory.view(), {}, false);
    std::vector<std::byte> bytes(5000);
    std::uint64_t sent = 0, come = 0;
    std::ptrdiff_t furthest = 0;
    std::vector<std::uint32_t> held;
    std::vector<const std::byte*> at; // of the messages in `held`
    const auto length = [](std::uint64_t n) { return n % 5 == 4 ? std::size_t{8} : 500 + n % 7 * 700; };
    const auto send = [&] {
        for (std::size_t i = 0; i != length(sent); ++i) bytes[i] = byte_of(sent, i);
        if (!out.push({}, std::span(bytes).first(length(sent)))) return false;
        event e;
        REQUIRE(in.peek(e, 0, 0));
        held.push_back(static_cast<std::uint32_t>(e.id));
        at.push_back(e.data);
        if (e.bytes > short_bytes) furthest = std::max(furthest, e.data - memory.view().area);
        ++sent;
        return true;
    };
    const auto take = [&](std::size_t least) { // but for so many
        for (; held.size() > least; held.erase(held.begin()), at.erase(at.begin())) {
            CHECK(is_message(at[0], length(come), come));
            in.release(held[0]);
            ++come;
        }
        in.tell();
    };
    for (int i = 0; i != 2'000; ++i) {
        REQUIRE(send());
        if (i % 3 == 2) take(0);
    }
    for (int i = 0; i != 2'000; ++i) { // a short one is held while the area is empty, and is released by itself
        REQUIRE(send());
        take(length(sent - 1) <= short_bytes || length(sent - 2) <= short_bytes ? 1 : 0);
        (void)out.is_released(1); // it looks at what it is told
    }
    take(0);
    CHECK(furthest < 65'536);
    for (int i = 0; i != 2'000; ++i) { // one in the area is always held
        REQUIRE(send());
        take(2);
    }
    CHECK(furthest > (1 << 18) - 8192);
    while (send()) continue; // all slots, or all of the area
    CHECK(held.size() == 64);
    take(0);
    CHECK(come == sent);
}

TEST_CASE("shared_memory: up to 64 long messages are in flight in a ring of more slots") {
    const ring_memory memory({.ranks = 2, .slots = 256, .area_bytes = 1024});
    const std::vector<std::byte> heap(4096);
    shared_sender out(memory.view(), 64);
    shared_receiver in(memory.view(), heap, true);
    std::array<event, 64> ends;
    event e;
    const auto arrives = [&] {
        REQUIRE(in.peek(e, 0, 0));
        return static_cast<std::uint32_t>(e.id);
    };
    const auto gives_back = [&](std::uint32_t index) {
        CHECK(in.claim(index));
        CHECK(in.give_back(index));
        in.release(index);
    };
    for (std::uint32_t round = 0; round != 5; ++round) { // the ring goes round once
        for (std::uint64_t id = 0; id != 64; ++id) CHECK(out.push_long({}, heap, id, in_segment, 0));
        CHECK_FALSE(out.push_long({}, heap, 64, in_segment, 0));
        std::vector<std::uint32_t> held;
        for (int i = 0; i != 64; ++i) held.push_back(arrives());
        CHECK_FALSE(in.peek(e, 0, 0));
        CHECK(held.back() == (round * 65 + 63) % 256);
        gives_back(held[7]);
        CHECK(out.acknowledged(1, ends) == 1);
        CHECK(ends[0].id == 7);
        CHECK_FALSE(out.has_room()); // the place of the first one is still taken
        gives_back(held[0]);
        CHECK(out.acknowledged(1, ends) == 1);
        CHECK(ends[0].id == 0);
        CHECK(out.push({}, std::span(heap).first(8))); // in the place of the first one
        in.release(arrives());
        CHECK_FALSE(out.push_long({}, heap, 64, in_segment, 0)); // that of the second is taken
        CHECK(out.cancel(1, [](auto, auto) { return false; }));
        CHECK(out.acknowledged(1, ends) == 1);
        CHECK((ends[0].id == 1 && ends[0].code == errc::cancelled));
        CHECK_FALSE(out.push_long({}, heap, 64, in_segment, 0)); // its receiver may still look at it
        CHECK_FALSE(in.is_lent(held[1]));
        CHECK_FALSE(in.claim(held[1]));
        CHECK_FALSE(in.give_back(held[1]));
        in.release(held[1]);
        CHECK(out.has_room());
        for (std::size_t i = 2; i != 64; ++i)
            if (i != 7) gives_back(held[i]);
        CHECK(out.acknowledged(1, ends) == 61);
        CHECK_FALSE(out.has_open());
    }
}

// Long messages that are read, or taken back, between short ones, and slots that are released in any order.
TEST_CASE("shared_memory: whatever is held, released and taken back, each message comes once, whole and in its order") {
    constexpr std::size_t longest = 2000, buffers = 80;
    for (std::uint64_t trial = 0; trial != (bough_test::all() ? 2000u : 36u); ++trial) {
        std::uint64_t dice = bough_test::seed() * 1'000'000 + trial * 10'000;
        const auto draw = [&dice](std::uint64_t below) { return mixed(++dice) % below; };
        const std::uint32_t slots = 1u << trial % 9;
        const ring_memory memory({.ranks = 2, .slots = slots, .area_bytes = 1024});
        std::vector<std::byte> heap(buffers * longest);
        std::array<std::uint64_t, buffers> user{}; // of each part of the heap: the number of its message and 1; 0: none
        shared_sender out(memory.view(), 512);
        shared_receiver in(memory.view(), heap, true);
        std::vector<std::pair<std::uint32_t, event>> held;
        std::vector<bool> taken_back;
        std::uint64_t sent = 0, came = 0;
        std::uint32_t wrong = 0;
        const auto push = [&] {
            const bool is_long = mixed(sent + trial) % 3 == 0;
            const std::size_t bytes = is_long ? longest - sent % 7 : length_of(sent, 512) % 513;
            const auto at = static_cast<std::size_t>(std::find(user.begin(), user.end(), 0u) - user.begin());
            if (is_long && at == buffers) return;
            std::vector<std::byte> shorter(bytes);
            std::byte* const data = is_long ? heap.data() + at * longest : shorter.data();
            for (std::size_t i = 0; i != bytes; ++i) data[i] = byte_of(sent, i);
            envelope tag;
            tag.segment = static_cast<std::uint32_t>(sent);
            const bool went = is_long ? out.push_long(tag, {data, bytes}, at, in_segment, at * longest)
                                      : out.push(tag, {data, bytes});
            if (!went) return;
            if (is_long) user[at] = sent + 1;
            taken_back.push_back(false);
            ++sent;
        };
        const auto release = [&] {
            if (held.empty()) return;
            const auto one = held.begin() + static_cast<std::ptrdiff_t>(draw(held.size()));
            const auto [index, e] = *one;
            held.erase(one);
            const bool is_mine = in.at(index).where == 0 || in.claim(index);
            wrong += is_mine == taken_back[e.envelope.segment];
            wrong += is_mine && !is_message(e.data, static_cast<std::size_t>(e.bytes), e.envelope.segment);
            if (in.at(index).where != 0) wrong += in.give_back(index) != is_mine;
            in.release(index);
        };
        const auto peek = [&] {
            event e;
            if (!in.peek(e, 0, 0)) return;
            wrong += e.envelope.segment != came++;
            held.emplace_back(static_cast<std::uint32_t>(e.id), e);
        };
        const auto ends = [&] {
            std::array<event, 3> events;
            for (std::size_t n = out.acknowledged(1, events); n-- != 0;) {
                const auto at = static_cast<std::size_t>(events[n].id);
                wrong += (events[n].code == errc::cancelled) != taken_back[static_cast<std::size_t>(user[at] - 1)];
                user[at] = 0;
                std::memset(heap.data() + at * longest, 0, longest);
            }
        };
        const auto take_back = [&] {
            const auto at = static_cast<std::size_t>(draw(buffers));
            if (user[at] == 0) return;
            const lent before = memory.view().head->states[lent_at(static_cast<std::uint32_t>(user[at] - 1) % slots)];
            if (out.cancel(at, [](auto, auto) { return false; }) && before == lent::open)
                taken_back[static_cast<std::size_t>(user[at] - 1)] = true;
        };
        for (int step = 0; step != 4000; ++step) {
            const std::uint64_t what = draw(10);
            what < 4 ? push() : what < 6 ? peek() : what < 8 ? release() : what < 9 ? ends() : take_back();
        }
        while (came != sent || !held.empty() || out.has_open()) peek(), release(), ends();
        in.tell();
        CAPTURE(slots, sent);
        CHECK(wrong == 0);
        CHECK_FALSE(in.broken());
        CHECK(out.has_room());
        CHECK(sent > 100);
    }
}

TEST_CASE("shared_memory: a long message is had by its receiver or by its sender") {
    const ring_memory memory({.ranks = 2, .slots = 4, .area_bytes = 1024});
    std::vector<std::byte> heap(4096);
    shared_sender out(memory.view(), 64);
    shared_receiver in(memory.view(), heap, true);
    std::uint32_t claimed = 0, cancelled = 0, both = 0;
    std::atomic<std::uint32_t> turn{0}, answer{0};
    std::atomic<bool> got{false};
    constexpr std::uint32_t turns = 3000;
    std::thread receiver([&] {
        for (std::uint32_t n = 1; n <= turns; ++n) {
            event e;
            while (!in.peek(e, 0, 0)) std::this_thread::yield();
            const auto index = static_cast<std::uint32_t>(e.id);
            while (turn.load(std::memory_order_acquire) != n) {
            }
            got = in.claim(index) && in.give_back(index);
            if (!got) in.give_back(index);
            in.release(index);
            answer.store(n, std::memory_order_release);
        }
    });
    for (std::uint32_t n = 1; n <= turns; ++n) {
        while (!out.push_long({}, heap, n, in_segment, 0)) std::this_thread::yield();
        turn.store(n, std::memory_order_release);
        for (std::uint64_t i = mixed(n) % 60; i != 0; --i) relax();
        out.cancel(n, [](auto, auto) { return false; });
        event e;
        while (out.acknowledged(1, std::span(&e, 1)) == 0) std::this_thread::yield();
        while (answer.load(std::memory_order_acquire) != n) std::this_thread::yield();
        claimed += got;
        cancelled += e.code == errc::cancelled;
        both += got == (e.code == errc::cancelled);
    }
    receiver.join();
    CHECK(both == 0);
    CHECK(claimed + cancelled == turns);
}

// Whatever a peer writes, an arrival's payload lies in the ring or in the peer's heap.
TEST_CASE("shared_memory: what a hostile peer writes is not believed") {
    const std::uint32_t trials = bough_test::all() ? 200'000 : 20'000;
    std::uint32_t outside = 0, broken = 0, came = 0;
    for (std::uint32_t trial = 0; trial != trials; ++trial) {
        std::uint64_t dice = bough_test::seed() * 1'000'000 + trial;
        const auto draw = [&dice] { return mixed(++dice); };
        const bool staged = trial % 2 != 0;
        const ring_memory memory({.ranks = 2, .slots = 4, .area_bytes = 1024, .piece_bytes = 64});
        const std::vector<std::byte> heap(one_of(300, draw()));
        std::vector<std::byte> mine(300);
        shared_sender out(memory.view(), 64); // both sides of the same ring: each is the other's hostile peer
        shared_receiver in(memory.view(), heap, !staged);
        const std::array<std::uint64_t, 8> nasty{0, 1, 24, 25, in_segment, in_private, to_be_staged, heap.size()};
        for (int step = 0; step != 24; ++step) {
            switch (draw() % 5) {
            case 0: { // a word anywhere
                const std::uint64_t word = draw() % 2 != 0 ? nasty[one_of(nasty.size(), draw())] : draw();
                std::memcpy(memory.bytes + draw() % (memory.layout.ring_bytes() / 4) * 4, &word, 4);
                break;
            }
            case 1: { // a slot that looks full
                slot& s = memory.view().slots[draw() % 4];
                s.length =
                    static_cast<std::uint32_t>(draw() % 2 != 0 ? nasty[one_of(nasty.size(), draw())] : draw() % 1100);
                const std::uint64_t said[2] = {draw() % 3 != 0 ? draw() % 400 : draw(),
                                               draw() % 3 != 0 ? draw() % 400 : draw()};
                std::memcpy(s.payload, said, sizeof said);
                s.sequence = static_cast<std::uint32_t>(draw() % 6);
                break;
            }
            case 2: out.push({}, std::span(mine).first(draw() % 64)); break;
            case 3:
                if (out.push_long({}, mine, draw(), staged ? to_be_staged : in_private, 0) && draw() % 2 != 0)
                    out.cancel(0, [](auto, auto) { return false; });
                break;
            default: {
                std::array<event, 4> events;
                out.acknowledged(1, events);
                out.stage();
                if (shared_receiver::piece p; in.next_piece(p)) {
                    outside += p.bytes.size() > memory.view().piece_bytes || p.bytes.data() < memory.bytes ||
                               p.bytes.data() + p.bytes.size() > memory.bytes + memory.layout.ring_bytes();
                    draw() % 4 != 0 ? in.used_piece() : in.set_broken();
                }
            }
            }
            event e;
            if (in.broken() || !in.peek(e, 0, 0)) continue;
            ++came;
            if (e.data != nullptr && e.bytes != 0) {
                const auto within = [&](const std::byte* begin, std::uint64_t bytes) {
                    return e.data >= begin && e.bytes <= bytes &&
                           static_cast<std::uint64_t>(e.data - begin) <= bytes - e.bytes;
                };
                outside += !within(memory.bytes, memory.layout.ring_bytes()) && !within(heap.data(), heap.size());
            }
            const auto index = static_cast<std::uint32_t>(e.id);
            if (in.at(index).where != 0) in.give_back(index);
            in.release(index);
        }
        broken += in.broken();
    }
    CHECK(outside == 0);
    CHECK(came > trials / 10);
    CHECK(broken > trials / 20); // how many depends on the seed
    CHECK(broken < trials);
}

// A sender knows itself where its messages lie: a receiver cannot say that it reads private memory where it lies.
TEST_CASE("shared_memory: a hostile receiver cannot have memory taken out of a segment that is in none") {
    for (const std::uint32_t where : {in_private, to_be_staged, in_segment})
        for (const lent said : {lent::unused, lent::claimed, lent::wanted, lent::deserted, static_cast<lent>(77)}) {
            const ring_memory memory({.ranks = 2, .slots = 4, .area_bytes = 4096, .piece_bytes = 512});
            shared_sender out(memory.view(), 64);
            const std::vector<std::byte> bytes(100'000);
            REQUIRE(out.push_long({}, bytes, 7, where, 0));
            memory.view().head->states[0] = said; // the receiver's to write
            bool asked = false;
            CAPTURE(where, static_cast<std::uint32_t>(said));
            CHECK(out.cancel(7, [&](std::span<const std::byte> part, std::uint32_t ticket) {
                asked = part.data() == bytes.data() && part.size() == bytes.size() && ticket == 1;
                return true;
            }));
            CHECK(asked == (where == in_segment && said == lent::claimed));
            event e;
            CHECK(out.acknowledged(1, std::span(&e, 1)) == 1); // whatever it said, the bytes are the sender's again
            CHECK(e.id == 7);
            const bool as_it_should = asked || (said == lent::wanted);
            CHECK(e.code == (as_it_should             ? errc::cancelled
                             : said == lent::deserted ? errc::peer_dead
                                                      : errc::protocol_error));
            CHECK_FALSE(out.has_open());
        }
}

// The same for a whole transport: everything that the group shares is overwritten, in all ways at once.
TEST_CASE("shared_memory: a peer that writes nonsense is lost, with protocol_error") {
    auto ends = bough_test::shared_ends(2);
    REQUIRE(ends.size() == 2);
    std::array<event, 8> events;
    for (rank_t r = 0; r != 2; ++r) REQUIRE(ends[r].post_send(1 - r, {}, {}, 1) == posted::complete);
    for (rank_t r = 0; r != 2; ++r) {
        REQUIRE(ends[r].poll(events) == 1);
        ends[r].release(events[0].id);
    }
    const segment_layout layout = layout_of(2, {});
    REQUIRE(layout.common_at() == ends[0].segment_bytes());
    std::ifstream maps("/proc/self/maps");
    int overwritten = 0;
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0, end = 0;
        if (line.find("/memfd:bough") == std::string::npos || std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2 ||
            end - begin != layout.bytes())
            continue;
        // Who the owner is does not matter: with two ranks every segment has one ring, at the same place.
        slot* slots = ring_view::at(reinterpret_cast<std::byte*>(begin) + layout.ring_at(1, 0), layout).slots;
        slots[1].length = 0x1234'5678;
        slots[1].sequence = 2;
        ++overwritten;
    }
    CHECK(overwritten == 4); // each of two segments, in each of two ranks
    for (rank_t r = 0; r != 2; ++r) {
        std::size_t found = 0;
        for (int i = 0; i != 5000 && found == 0; ++i) found = ends[r].poll(events);
        REQUIRE(found == 1);
        CHECK((events[0].what == event::kind::lost && events[0].peer == 1 - r));
        CHECK(events[0].code == errc::protocol_error);
        CHECK(ends[r].post_send(1 - r, {}, {}, 1) == posted::failed);
    }
}

// While a group forms, others connect to its sockets: with nonsense, or with nothing.
TEST_CASE("shared_memory: strangers do not take a rank's place") {
    struct slow_wire {
        testing::thread_wire_up::end end;
        std::vector<unique_fd>& strangers;
        std::uint32_t exchanges = 0;
        rank_t rank() const { return end.rank(); }
        rank_t size() const { return end.size(); }
        status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
            const status s = end.exchange(mine, all, timeout_ns);
            if (exchanges++ == 0 && rank() == size() - 1) crowd(); // before this rank connects to the others
            return s;
        }
        void crowd() const {
            std::ifstream list("/proc/net/unix");
            for (std::string line; std::getline(list, line);) {
                const std::size_t at = line.find("@bough-");
                if (at == std::string::npos) continue;
                sockaddr_un address{};
                address.sun_family = AF_UNIX;
                const std::string name = line.substr(at + 1);
                std::memcpy(address.sun_path + 1, name.data(), name.size());
                for (int i = 0; i != 3; ++i) {
                    unique_fd s(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
                    if (::connect(s.get(), reinterpret_cast<const sockaddr*>(&address),
                                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) != 0)
                        continue;
                    const std::array<char, 100> junk{"\x01\x75\x6f\x62 let me in"};
                    if (i != 0 && ::send(s.get(), junk.data(), i == 1 ? 20 : junk.size(), MSG_NOSIGNAL) < 0) continue;
                    strangers.push_back(std::move(s));
                }
            }
        }
    };
    testing::thread_wire_up world{3};
    std::vector<unique_fd> strangers;
    std::array<std::optional<shared_memory>, 3> ends;
    std::array<status, 3> why;
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != 3; ++r)
        threads.emplace_back([&, r] {
            slow_wire wire{world.of(r), strangers};
            if (auto end = shared_memory::join(wire, {}, why[r])) ends[r].emplace(std::move(*end));
        });
    for (std::thread& t : threads) t.join();
    CHECK(strangers.size() >= 6);
    for (rank_t r = 0; r != 3; ++r) {
        CHECK(why[r].code == errc::ok);
        REQUIRE(ends[r]);
    }
    REQUIRE(ends[2]->post_send(0, {}, {}, 1) == posted::complete);
    event e;
    REQUIRE(ends[0]->poll(std::span(&e, 1)) == 1);
    CHECK(e.peer == 2);
}
