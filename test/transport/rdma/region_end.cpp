// SPDX-License-Identifier: BSL-1.0
// One rank's end of remote writes over a device that does what the test says: what networks do rarely.
#include "support/catch.hpp"
#include "transport/rdma/scripted_writer.hpp"
#include <bough/transport/rdma/region_end.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

using namespace bough;
using ticket = detail::fabric_ticket;
using bough_test::network;
using bough_test::scripted_writer;

namespace {

// Rank 0 of a few. The others say what the test says.
struct lone_end {
    network net;
    std::optional<detail::fabric_region_end<scripted_writer>> end;
    std::byte* lines = nullptr;

    explicit lone_end(rank_t ranks, std::uint64_t linger_ns, std::size_t longest = 1u << 20) {
        fabric_options options;
        options.linger_ns = linger_ns;
        options.eager_bytes = 64;
        detail::fabric_group group;
        group.size = ranks;
        end.emplace(std::make_unique<scripted_writer>(scripted_writer{net, longest}), options, group, 4096);
        detail::fabric_region_card card;
        REQUIRE_FALSE(end->prepare(card));
        lines = end->region().data() - std::size_t{64} * ranks;
        for (rank_t r = 1; r != ranks; ++r) hear(r, ticket::hello, 1);
        end->reach(std::vector(ranks, card));
        REQUIRE_FALSE(end->greet(detail::steady_now_ns() + 10'000'000'000));
        end->begin();
        net.written.clear();
    }
    // A word of a rank lands, and then its ticket comes.
    void hear(rank_t from, ticket::what kind, std::uint64_t word) {
        std::memcpy(lines + std::size_t{64} * from + 8 * (kind - ticket::hello), &word, sizeof word);
        net.next.push_back({.how = detail::fabric_done::way::written, .ticket = ticket::make(kind, from)});
    }
    std::vector<event> poll() {
        std::array<event, 8> events;
        const std::size_t n = end->poll(events);
        return {events.begin(), events.begin() + static_cast<std::ptrdiff_t>(n)};
    }
    // How long it takes to leave.
    std::uint64_t leave() {
        const std::uint64_t begin = detail::steady_now_ns();
        end.reset();
        return detail::steady_now_ns() - begin;
    }
};
constexpr std::uint64_t long_time_ns = 20'000'000'000; // longer than anything here should take
constexpr std::span<const std::byte> none;
// A question, and its answer: have so many writes of a kind landed?
constexpr std::uint64_t asked(std::uint64_t writes, std::uint32_t kind = 0) { return writes << 1 | kind; }

} // namespace

TEST_CASE("region_end: a flush behind a put that failed does not end well, whatever is put elsewhere") {
    lone_end one(3, 1'000'000, 1000);
    const std::vector<std::byte> bytes(1500);
    one.net.goes_out = [](const network::write&) { return false; };
    REQUIRE(one.end->put(1, 0, bytes, none, 7) == posted::pending); // two pieces, of which one is under way
    REQUIRE(one.net.written.size() == 1);
    REQUIRE(one.end->flush(1, 8) == posted::pending);
    one.net.next.push_back({.op = one.net.written[0].op, .how = detail::fabric_done::way::failed});
    std::vector<event> seen = one.poll();
    REQUIRE(one.end->put(2, 0, std::span(bytes).first(900), none, 9) == posted::pending); // where that put's state was
    one.hear(1, ticket::answer, asked(1));                                                // late
    for (const std::uint64_t last = detail::steady_now_ns() + long_time_ns;
         seen.size() < 3 && detail::steady_now_ns() < last;)
        for (const event& e : one.poll()) seen.push_back(e);
    REQUIRE(seen.size() == 3);
    for (const event& e : seen) CHECK((e.code == errc::peer_dead && e.peer == 1));
    CHECK((seen[0].what == event::kind::complete && seen[0].id == 7));
    CHECK((seen[1].what == event::kind::complete && seen[1].id == 8));
    CHECK(seen[2].what == event::kind::lost);
}

TEST_CASE("region_end: that a last word was heard is not lost in an answer that lands with it") {
    lone_end one(2, 2 * long_time_ns);
    REQUIRE(one.end->put(1, 0, std::vector<std::byte>(10), none, 1) == posted::complete);
    REQUIRE(one.end->flush(1, 2) == posted::pending); // a question
    one.net.goes_out = [&](const network::write& w) {
        if (w.kind == ticket::bye) one.hear(1, ticket::bye_heard, 1), one.hear(1, ticket::answer, asked(1));
        return true;
    };
    CHECK(one.leave() < long_time_ns);
}

TEST_CASE("region_end: an answer and the word that a last word was heard have places of their own") {
    lone_end one(2, 1'000'000);
    one.net.next.push_back({.how = detail::fabric_done::way::written, .ticket = ticket::make(ticket::data, 1)});
    one.hear(1, ticket::question, asked(1));
    one.hear(1, ticket::bye, 1);
    (void)one.poll();
    REQUIRE(one.net.written.size() == 2);
    CHECK(one.net.written[0].kind == ticket::answer);
    CHECK(one.net.written[1].kind == ticket::bye_heard);
    CHECK(one.net.written[0].at != one.net.written[1].at);
}

TEST_CASE("region_end: an answer is not lost in the word that lands with it, that a last word was heard") {
    lone_end one(2, 1'000'000);
    for (const std::uint64_t id : {1u, 2u})
        REQUIRE(one.end->put(1, 0, std::vector<std::byte>(10), none, id) == posted::complete);
    REQUIRE(one.end->flush(1, 3) == posted::pending); // a question
    one.hear(1, ticket::answer, asked(2));
    one.hear(1, ticket::bye_heard, 1);
    const std::vector<event> seen = one.poll();
    REQUIRE(seen.size() == 1);
    CHECK((seen[0].what == event::kind::complete && seen[0].id == 3 && seen[0].code == errc::ok));
}

TEST_CASE("region_end: who leaves does not wait long for what is under way to one that has left") {
    lone_end one(2, 2 * long_time_ns);
    one.net.goes_out = [](const network::write&) { return false; };
    REQUIRE(one.end->put(1, 0, std::vector<std::byte>(10), none, 1) == posted::complete);
    one.hear(1, ticket::bye, 0);
    const std::vector<event> seen = one.poll();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].what == event::kind::lost);
    CHECK(one.net.written.back().kind == ticket::bye_heard);
    CHECK(one.leave() < long_time_ns);
}

TEST_CASE("region_end: who leaves waits until what it had put is out") {
    lone_end one(2, long_time_ns);
    one.net.goes_out = [&](const network::write& w) {
        if (w.kind == ticket::bye) one.hear(1, ticket::bye_heard, 1);
        return w.kind != ticket::data;
    };
    REQUIRE(one.end->put(1, 0, std::vector<std::byte>(10), none, 1) == posted::complete);
    detail::fabric_op* const data = one.net.written[0].op;
    int polls = 0;
    one.net.asked = [&] {
        if (++polls == 100) one.net.next.push_back({.op = data});
    };
    CHECK(one.leave() < long_time_ns);
    CHECK(polls >= 100);
}

TEST_CASE("region_end: a flush behind two long puts is over when both have landed, whichever goes ahead") {
    lone_end one(2, 1'000'000, 1000);
    const std::vector<std::byte> bytes(3500);
    one.net.goes_out = [](const network::write& w) { return w.kind != ticket::data; };
    REQUIRE(one.end->put(1, 0, bytes, none, 7) == posted::pending);                        // four pieces,
    REQUIRE(one.end->put(1, 0, std::span(bytes).first(1500), none, 8) == posted::pending); // two
    REQUIRE(one.end->flush(1, 9) == posted::pending);
    const auto count = [&](ticket::what kind) {
        return std::count_if(one.net.written.begin(), one.net.written.end(),
                             [kind](const network::write& w) { return w.kind == kind; });
    };
    const auto goes_on = [&](std::size_t n) {
        one.net.next.push_back({.op = one.net.written[n].op});
        return one.poll();
    };
    REQUIRE(count(ticket::data) == 2);
    CHECK(goes_on(1).empty()); // the second put is under way, the first is not
    CHECK(count(ticket::question) == 0);
    for (int piece = 0; piece != 3; ++piece) {
        CHECK(count(ticket::question) == 0);
        CHECK(goes_on(0).empty());
    }
    CHECK(count(ticket::data) == 6);
    REQUIRE(count(ticket::question) == 1);
    CHECK(one.net.written.back().word == asked(6));
    one.hear(1, ticket::answer, asked(6));
    const std::vector<event> seen = one.poll();
    REQUIRE(seen.size() == 1);
    CHECK((seen[0].id == 9 && seen[0].code == errc::ok));
}

TEST_CASE("region_end: writes that overtake others do not end a flush for them") {
    lone_end one(2, 1'000'000);
    const std::vector<std::byte> bytes(10);
    const auto put = [&](std::uint64_t id) { REQUIRE(one.end->put(1, 0, bytes, none, id) == posted::complete); };
    put(1), put(2);
    REQUIRE(one.end->flush(1, 3) == posted::pending);
    CHECK((one.net.written.back().kind == ticket::question && one.net.written.back().word == asked(2)));
    put(4);
    CHECK(one.net.written.back().kind == ticket::data_too); // is not what was asked about
    REQUIRE(one.end->flush(1, 5) == posted::pending);       // waits for the first
    CHECK(one.net.written.back().kind == ticket::data_too);
    one.hear(1, ticket::answer, asked(2));
    CHECK(one.poll().front().id == 3);
    CHECK((one.net.written.back().kind == ticket::question && one.net.written.back().word == asked(1, 1)));
    put(6);
    CHECK(one.net.written.back().kind == ticket::data);
    one.hear(1, ticket::answer, asked(1, 1));
    CHECK(one.poll().front().id == 5);

    // The other side: three writes have come, but two of them are not of the kind that was asked about.
    const auto lands = [&](ticket::what kind) {
        one.net.next.push_back({.how = detail::fabric_done::way::written, .ticket = ticket::make(kind, 1)});
        one.poll();
    };
    one.hear(1, ticket::question, asked(2));
    lands(ticket::data), lands(ticket::data_too), lands(ticket::data_too);
    CHECK(one.net.written.back().kind == ticket::data);
    lands(ticket::data);
    CHECK((one.net.written.back().kind == ticket::answer && one.net.written.back().word == asked(2)));
    CHECK(one.end->landed(1) == 4);
}

TEST_CASE("region_end: what a lost peer holds is missed by nobody, nor what one holds that does not poll") {
    rank_t last = 0; // outlives the end, which still writes while it leaves
    lone_end one(4, 1'000'000);
    const std::vector<std::byte> bytes(10);
    one.net.goes_out = [&](const network::write&) { return last == 2; }; // only what goes to rank 2
    const auto put = [&](rank_t to) { return last = to, one.end->put(to, 0, bytes, none, 1); };
    int held = 0; // by who does not poll
    while (put(1) == posted::complete) ++held;
    CHECK((held > 0 && held < 100));
    for (int i = 0; i != 100; ++i) {
        CHECK(put(2) == posted::complete);
        one.poll();
    }
    one.hear(1, ticket::bye, static_cast<std::uint64_t>(0));
    CHECK(one.poll().front().what == event::kind::lost);
    for (int more = 0; more != 2 * held; ++more) (void)put(3);
    for (int i = 0; i != 100; ++i) {
        CHECK(put(2) == posted::complete);
        one.poll();
    }
}

TEST_CASE("region_end: that a last word was heard is said again where it was refused") {
    lone_end one(2, 1'000'000);
    one.net.refuses = [n = 0](rank_t) mutable { return ++n < 10; };
    one.hear(1, ticket::bye, 0);
    CHECK(one.poll().size() == 1);
    CHECK(one.net.written.empty());
    for (int i = 0; i != 20 && one.net.written.empty(); ++i) one.poll();
    REQUIRE(one.net.written.size() == 1);
    CHECK(one.net.written[0].kind == ticket::bye_heard);
}

TEST_CASE("region_end: what the device has taken and not sent is not handed over, unless its target is lost") {
    const std::vector<std::byte> bytes(1500);
    std::vector<network::write> kept; // outlives the end, which still writes while it leaves
    lone_end one(3, 1'000'000, 1000);
    CHECK_FALSE(one.end->unsent());
    const auto all_of = [&] { return one.end->accepted(); };
    const auto has_left = [&](rank_t to) { return one.end->handed_over(to) == all_of(); };
    one.net.goes_out = [&](const network::write& w) { return kept.push_back(w), false; };
    REQUIRE(one.end->put(1, 0, std::span(bytes).first(10), none, 1) == posted::complete);
    const std::uint64_t first = all_of();
    REQUIRE(one.end->put(1, 0, std::span(bytes).first(700), bytes, 2) == posted::complete); // three pieces
    REQUIRE(kept.size() == 2);
    CHECK(one.end->unsent());
    CHECK((!has_left(1) && has_left(2)));
    CHECK(one.end->handed_over(1) < first);
    one.net.next.push_back({.op = kept[0].op});
    (void)one.poll();
    CHECK((one.end->handed_over(1) == first && !has_left(1)));
    for (std::size_t piece = 1; piece != 4; ++piece) {
        REQUIRE(kept.size() == piece + 1);
        CHECK(!has_left(1));
        one.net.next.push_back({.op = kept[piece].op});
        (void)one.poll();
    }
    CHECK((has_left(1) && !one.end->unsent()));
    REQUIRE(one.end->put(2, 0, std::span(bytes).first(10), none, 3) == posted::complete);
    CHECK((one.end->unsent() && !has_left(2)));
    one.hear(2, ticket::bye, 0);
    (void)one.poll();
    CHECK((has_left(2) && kept.size() >= 5)); // and a word to it that it was heard
}
