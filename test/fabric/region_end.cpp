// SPDX-License-Identifier: BSL-1.0
// One rank's end of remote writes over a device that does what the test says: what networks do rarely.
#include "support/catch.hpp"
#include <bough/transport/fabric/options.hpp>
#include <bough/transport/fabric/region_end.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

using namespace bough;
using ticket = detail::fabric_ticket;

namespace {

// What the test and the device share.
struct network {
    struct write {
        ticket::what kind;
        std::uint64_t at; // in the target's memory
        detail::fabric_op* op;
    };
    std::vector<write> written; // by the end, so far
    // Whether the device has done with a write at once; or the test says when.
    std::function<bool(const write&)> goes_out = [](const write&) { return true; };
    std::function<void()> asked = [] {};  // when the device is about to be
    std::deque<detail::fabric_done> next; // what it says then
};

struct scripted_device {
    using options_type = fabric_options;
    using memory = std::unique_ptr<int>;
    static constexpr bool probes = false, written_uses_receive = false;
    static constexpr std::uint64_t writes_from = 0, receives = 0, is_written = 0;

    network& net;
    std::size_t longest;

    std::size_t most_sends() const { return 64; }
    std::size_t most_bytes() const { return longest; }
    bool register_memory(std::span<const std::byte>, std::uint64_t, memory&) { return true; }
    static void* descriptor(const memory&) { return nullptr; }
    static std::uint64_t remote_address(const std::byte*) { return 0; }
    static std::uint64_t remote_key(const memory&) { return 0; }
    detail::fabric_result write(rank_t, const detail::fabric_piece& piece, std::uint64_t at, std::uint64_t,
                                std::uint32_t what) {
        net.written.push_back({ticket::kind_of(what), at, piece.op});
        if (net.goes_out(net.written.back())) net.next.push_back({.op = piece.op});
        return detail::fabric_result::ok;
    }
    std::size_t poll(std::span<detail::fabric_done> done) {
        net.asked();
        const std::size_t n = std::min(done.size(), net.next.size());
        std::copy_n(net.next.begin(), n, done.begin());
        net.next.erase(net.next.begin(), net.next.begin() + static_cast<std::ptrdiff_t>(n));
        return n;
    }
    void disconnect(rank_t) {}
    void close_endpoint() {}
    void abandon() {}
};

// Rank 0 of a few. The others say what the test says.
struct lone_end {
    network net;
    std::optional<detail::fabric_region_end<scripted_device>> end;
    std::byte* lines = nullptr;

    explicit lone_end(rank_t ranks, std::uint64_t linger_ns, std::size_t longest = 1u << 20) {
        fabric_options options;
        options.linger_ns = linger_ns;
        options.eager_bytes = 64;
        detail::fabric_group group;
        group.size = ranks;
        end.emplace(std::make_unique<scripted_device>(scripted_device{net, longest}), options, group, 4096);
        detail::fabric_region_card card;
        REQUIRE_FALSE(end->prepare(card));
        lines = end->region().data() - std::size_t{64} * ranks;
        for (rank_t r = 1; r != ranks; ++r) hear(r, ticket::hello, 1);
        REQUIRE_FALSE(end->greet(std::vector(ranks, card), detail::steady_now_ns() + 10'000'000'000));
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
    one.hear(1, ticket::answer, 1);                                                       // late
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
        if (w.kind == ticket::bye) one.hear(1, ticket::bye_heard, 1), one.hear(1, ticket::answer, 1);
        return true;
    };
    CHECK(one.leave() < long_time_ns);
}

TEST_CASE("region_end: an answer and the word that a last word was heard have places of their own") {
    lone_end one(2, 1'000'000);
    one.net.next.push_back({.how = detail::fabric_done::way::written, .ticket = ticket::make(ticket::data, 1)});
    one.hear(1, ticket::question, 1);
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
    one.hear(1, ticket::answer, 2);
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
