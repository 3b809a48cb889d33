// SPDX-License-Identifier: BSL-1.0
// A rank whose memory runs out in a poll: whichever allocation fails, and however long memory is short, it hands over each
// event once, in the end, and says all that it has to say.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "transport/rdma/scripted_messenger.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/endpoint.hpp>
#include <bough/transport/rdma/region_questions.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

using namespace bough;
using detail::fabric_frame, detail::fabric_result;

namespace {

// What the device allocates is not the library's.
struct spared {
    long left = std::exchange(bough_test::until_failure, -1);
    bool for_good = std::exchange(bough_test::fail_for_good, false);
    spared() = default;
    spared(const spared&) = delete;
    spared& operator=(const spared&) = delete;
    ~spared() {
        bough_test::until_failure = left;
        bough_test::fail_for_good = for_good;
    }
};
struct rich_messenger : bough_test::scripted_messenger {
    using base = bough_test::scripted_messenger;
    std::size_t room = ~std::size_t{0}; // for frames
    bool receive(detail::fabric_buffer& b, std::size_t longest) {
        const spared now;
        return base::receive(b, longest);
    }
    fabric_result send(rank_t to, detail::fabric_buffer& b) {
        const spared now;
        if (room == 0) return fabric_result::full;
        --room;
        return base::send(to, b);
    }
    fabric_result write(rank_t to, const detail::fabric_piece& p, std::uint64_t at, std::uint64_t key,
                        std::uint32_t ticket) {
        const spared now;
        return base::write(to, p, at, key, ticket);
    }
    fabric_result send_tagged(rank_t to, const detail::fabric_piece& p, std::uint64_t tag) {
        const spared now;
        return base::send_tagged(to, p, tag);
    }
    bool receive_tagged(rank_t from, std::span<std::byte> into, void* d, std::uint64_t tag, detail::fabric_op& op) {
        const spared now;
        return base::receive_tagged(from, into, d, tag, op);
    }
    std::size_t poll(std::span<detail::fabric_done> done) {
        const spared now;
        std::size_t n = 0;
        while (n != done.size() && base::poll(done.subspan(n)) != 0) ++n;
        return n;
    }
};

fabric_options options() {
    fabric_options o = bough_test::lone_rank::options(32);
    o.linger_ns = 0; // nobody answers
    return o;
}

// Rank 0 of three.
struct rank {
    detail::fabric_endpoint<rich_messenger> end{std::make_unique<rich_messenger>(), options(),
                                                detail::fabric_group{.size = 3}};
    rich_messenger& device = end.device();
    std::array<std::uint32_t, 3> heard{};
    using told = std::tuple<event::kind, rank_t, std::uint64_t, errc>;
    std::vector<told> events; // of arrivals: the number of the operation
    std::vector<std::uint64_t> handles;
    std::size_t failures = 0;

    rank() {
        REQUIRE_FALSE(end.prepare());
        end.begin();
    }
    // A frame of a peer comes; `ahead`: so many of its frames come later.
    void hear(rank_t from, std::uint16_t kind, std::uint32_t sequence, std::span<const std::byte> body = {},
              std::uint32_t operation = 0) {
        const fabric_frame head{{.operation = operation}, sequence, 0, from, 0, kind};
        detail::fabric_buffer& b = *device.posted.front();
        device.posted.pop_front();
        std::memcpy(b.memory, &head, sizeof head);
        if (!body.empty()) std::memcpy(b.memory + sizeof head, body.data(), body.size());
        device.next.push_back({.op = &b.op, .bytes = sizeof head + body.size()});
    }
    void hear_place(rank_t from, std::uint16_t kind, std::uint32_t sequence, std::uint32_t number,
                    std::uint32_t ticket = 0) {
        const detail::fabric_place place{5000, 7, number, ticket};
        hear(from, kind, sequence, std::as_bytes(std::span(&place, 1)));
    }
    void announce(rank_t from, std::uint32_t sequence, std::uint64_t bytes, std::uint32_t number) {
        const detail::fabric_announcement about{bytes, number, 0};
        hear(from, fabric_frame::announcement, sequence, std::as_bytes(std::span(&about, 1)), 100 + number);
    }
    void poll() {
        std::array<event, 8> some;
        std::size_t found = 0;
        try {
            found = end.poll(some);
        } catch (const std::bad_alloc&) {
            ++failures;
        }
        const spared now;
        for (const event& e : std::span(some).first(found)) {
            events.emplace_back(e.what, e.peer, e.what == event::kind::arrived ? e.envelope.operation : e.id, e.code);
            if (e.what == event::kind::arrived) handles.push_back(e.id);
        }
    }
    // Polls without memory behind the next `few` allocations, and then with memory.
    void poll_poor(long few, bool for_good) {
        bough_test::until_failure = few;
        bough_test::fail_for_good = for_good;
        for (int turns = 0; turns != 20; ++turns) poll();
        bough_test::until_failure = -1;
        bough_test::fail_for_good = false;
        for (int turns = 0; turns != 20; ++turns) poll();
    }
    // What was said to each rank, in order.
    std::vector<std::pair<rank_t, std::uint16_t>> said() const {
        std::vector<std::pair<rank_t, std::uint16_t>> all;
        for (const auto& f : device.sent) all.emplace_back(f.to, f.head.kind);
        std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        return all;
    }
};

// All that may happen to a rank in one poll.
void play(rank& one, long few, bool for_good, std::size_t room) {
    static const std::vector<std::byte> bytes(100);
    static std::vector<std::byte> into(100);
    for (const std::uint64_t id : {1u, 2u, 3u, 4u}) REQUIRE(one.end.post_send(1, {}, bytes, id) == posted::pending);
    for (const std::uint64_t id : {5u, 6u}) REQUIRE(one.end.post_send(2, {}, bytes, id) == posted::pending);
    for (std::uint32_t n = 0; n != 2; ++n) one.announce(1, n, 100, n);
    for (int turns = 0; turns != 4; ++turns) one.poll();
    REQUIRE(one.handles.size() == 2);
    REQUIRE(one.end.take(one.handles[0], into, 11) == posted::pending);
    one.end.release(one.handles[1]);
    REQUIRE(one.end.cancel(2) == errc::ok);
    // The device has done with all frames but two, of which it says that they were not sent.
    one.device.room = room;
    const std::size_t frames = one.device.sent.size();
    for (std::size_t i = 0; i != frames; ++i) one.device.next.push_back({.op = one.device.sent[i].op});
    one.hear_place(1, fabric_frame::go, 5, 0); // before its turn
    one.hear_place(1, fabric_frame::go, 4, 1); // of what was taken back
    one.hear(1, fabric_frame::message, 2, {}, 7);
    one.hear_place(1, fabric_frame::done, 3, 2);
    one.hear(2, fabric_frame::message, 1, {}, 8);
    one.announce(2, 0, 100, 9);
    one.announce(1, 6, 100, 10);
    one.hear_place(1, fabric_frame::none, 7, 0, 1);
    for (std::uint32_t n = 0; n != 30; ++n) one.announce(1, 8 + n, 100, 20 + n);
    one.hear(2, fabric_frame::bye, 2);
    one.poll_poor(few, for_good);
    one.device.room = ~std::size_t{0};
    for (int turns = 0; turns != 20; ++turns) one.poll();
    REQUIRE(one.device.written.size() == 1);
    one.device.next.push_back({.op = one.device.written[0].op});
    one.poll_poor(few, for_good);
}

} // namespace

TEST_CASE("rdma: no event and no word is lost, whichever allocation of a poll fails") {
    std::size_t failures = 0;
    for (const std::size_t room : {std::size_t{0}, std::size_t{1}, ~std::size_t{0}}) {
        rank rich;
        play(rich, -1, false, room);
        REQUIRE(rich.failures == 0);
        REQUIRE(rich.events.size() == 2 + 2 + 32 + 6 + 1);
        std::sort(rich.events.begin(), rich.events.end());
        for (const bool for_good : {false, true})
            for (long few = 0; few != 30; ++few) {
                CAPTURE(room, for_good, few);
                rank poor;
                play(poor, few, for_good, room);
                std::sort(poor.events.begin(), poor.events.end());
                CHECK(poor.events == rich.events);
                CHECK(poor.said() == rich.said());
                failures += poor.failures;
            }
    }
    CHECK(failures > 0);
}

TEST_CASE("rdma: peers to which nothing can be sent are all named without memory") {
    bough_test::lone_rank one;
    REQUIRE(one.core.out.prepare());
    for (const rank_t to : {1u, 2u, 1u})
        REQUIRE(one.core.out.send(to, fabric_frame::message, {}, {}) == fabric_result::ok);
    bough_test::until_failure = 0;
    bough_test::fail_for_good = true;
    for (const auto& f : one.device.sent) one.core.out.not_sent(f.op->index);
    bough_test::until_failure = -1;
    bough_test::fail_for_good = false;
    std::vector<rank_t> named;
    for (rank_t r = 0; one.core.out.next_broken(r);) named.push_back(r);
    std::sort(named.begin(), named.end());
    CHECK(named == std::vector<rank_t>{1, 2});
}

TEST_CASE("rdma: flushes that end without memory are all told, and so is the loss of each peer") {
    bough_test::lone_core one(1000, 40);
    detail::fabric_questions<bough_test::scripted_writer> questions{one.core};
    questions.has_begun(1);
    for (std::uint64_t id = 0; id != 100; ++id) REQUIRE(questions.flush(1, id, 0) == posted::pending);
    one.lands(1, detail::fabric_ticket::answer, one.net.written.at(0).word);
    bough_test::until_failure = 0;
    bough_test::fail_for_good = true;
    std::uint64_t told = 0;
    try {
        questions.answered(1);
        for (rank_t r = 1; r != 40; ++r) one.core.events.lost(r, errc::peer_dead);
        for (; !one.core.events.empty(); ++told) {
            const event e = one.core.events.take();
            if (told < 100 ? e.id != told || e.code != errc::ok : e.peer != told - 99) break;
        }
    } catch (const std::bad_alloc&) {
    }
    bough_test::until_failure = -1;
    bough_test::fail_for_good = false;
    CHECK(told == 139);
}
