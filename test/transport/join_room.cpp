// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/testing/thread_wire_up.hpp>
#include <bough/testing/wire_up_archetype.hpp>
#include <bough/testing/wire_up_conformance.hpp>
#include <bough/transport/join_room.hpp>

#include <array>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

using namespace bough;

namespace {

// Runs f(wire) on a thread per rank.
template <class F>
void over_wires(rank_t ranks, const F& f) {
    testing::thread_wire_up world{ranks};
    std::vector<std::thread> threads;
    for (rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            f(wire);
        });
    for (std::thread& t : threads) t.join();
}
constexpr std::uint64_t patience_ns = 10'000'000'000;
constexpr std::uint64_t long_time_ns = 300'000'000'000;

// What each rank has when all run f(room, rank).
template <class F>
std::vector<status> results_of(rank_t ranks, const F& f) {
    std::vector<status> results(ranks);
    over_wires(ranks, [&](auto& wire) {
        join_room room(wire, long_time_ns);
        results[wire.rank()] = room.run([&] { return f(room, wire.rank()); });
    });
    return results;
}
status say_byte(auto& room, std::size_t bytes = 1) {
    const std::vector<std::byte> mine(bytes);
    std::vector<std::byte> all(bytes * room.size());
    return room.exchange(mine, all, long_time_ns);
}

using detail::join_word;
join_word left_by(errc code, rank_t peer = no_rank, errc cause = errc::ok) {
    join_word w{.state = join_word::finished};
    w.set({.code = code, .cause = cause, .peer = peer});
    return w;
}
status verdict(std::vector<join_word> words, rank_t me) {
    const join_word& w = words[me];
    const status mine{.code = w.failed(), .cause = static_cast<errc>(w.cause), .peer = w.peer};
    return detail::verdict_of(words, me, w.failed() != errc::ok ? mine : status{});
}

} // namespace

TEST_CASE("join_room: a rank that nobody reaches is named, also if it is the first to give up and blames another") {
    join_word waits{.state = join_word::meeting};
    waits.peer = 1;
    const std::vector<join_word> words{waits, left_by(errc::deadline, 0), waits, waits};
    for (rank_t me = 0; me != 4; ++me) {
        const status s = verdict(words, me);
        CHECK((s.code == errc::deadline && s.peer == 1));
    }
}

// --- Builds -----------------------------------------------------------------------------------------------------------

namespace {
// The wire-up of a rank whose build has another version of the session's messages.
struct other_build_end {
    testing::thread_wire_up::end wire;
    bool is_other = false;
    int exchanges = 0;

    rank_t rank() const noexcept { return wire.rank(); }
    rank_t size() const noexcept { return wire.size(); }
    status exchange(std::span<const std::byte> mine, std::span<std::byte> all, std::uint64_t timeout_ns) {
        std::vector<std::byte> said(mine.begin(), mine.end());
        if (exchanges++ == 0 && is_other) said[6] = std::byte{200};
        return wire.exchange(said, all, timeout_ns);
    }
};
} // namespace

TEST_CASE("join_room: builds that may not talk to each other end it on every rank, before anything else is said") {
    const auto joined = [](rank_t other, const listed_groups& groups) {
        std::array<status, 4> results{};
        std::array<int, 4> did{};
        over_wires(4, [&](auto& plain) {
            other_build_end wire{plain, plain.rank() == other};
            join_room room(wire, groups, patience_ns, wire_format::tcp);
            results[plain.rank()] = room.run([&] { return did[plain.rank()]++, say_byte(room); });
            did[plain.rank()] = wire.exchanges;
        });
        for (rank_t r = 0; r != 4; ++r) CHECK(did[r] == 1);
        return results;
    };
    for (const listed_groups& groups : {listed_groups(), listed_groups({0, 1, 0, 1})}) {
        const auto results = joined(2, groups);
        for (const rank_t r : {0u, 1u, 3u}) {
            CHECK((results[r].code == errc::protocol_error && results[r].mismatch == mismatch::version));
            CHECK((results[r].peer == 2 && (results[r].theirs & 255) == 200));
        }
    }
    // Rank 0 is the other one: all the rest name it.
    const auto results = joined(0, listed_groups());
    for (const rank_t r : {1u, 2u, 3u}) CHECK((results[r].mismatch == mismatch::version && results[r].peer == 0));
}
TEST_CASE("join_room: ranks that join different transports are told so") {
    std::array<status, 2> results{};
    over_wires(2, [&](auto& wire) {
        const rank_t me = wire.rank();
        join_room room(wire, patience_ns, me == 0 ? wire_format::tcp : wire_format::shared_memory);
        results[me] = room.run([&] { return say_byte(room); });
    });
    for (rank_t me = 0; me != 2; ++me) {
        CHECK((results[me].mismatch == mismatch::version && results[me].peer == 1 - me));
        CHECK(message_of(results[me]).find("joins by version") != std::string::npos);
    }
}
TEST_CASE("join_room: asks a wire-up for nothing but the concept") {
    static_assert(WireUp<join_room<testing::wire_up_archetype>>);
    auto wire = testing::wire_up_archetype::make();
    join_room room(wire, patience_ns);
    CHECK(room.size() == 1);
    CHECK_FALSE(room.run([&] { return say_byte(room); }));
}
TEST_CASE("join_room: that of a group is a wire-up, however often others use theirs") {
    static_assert(WireUp<join_room<testing::thread_wire_up::end>>);
    const listed_groups groups({0, 1, 0, 2, 1, 0});
    std::array<testing::wire_up_rule, 6> found{};
    std::array<errc, 6> ended{};
    over_wires(6, [&](auto& wire) {
        const rank_t me = wire.rank();
        join_room part(wire, groups, patience_ns);
        found[me] =
            part.rank() == groups.place_of(6, me) && part.size() == groups.members(6, groups.group_of(6, me))
                ? testing::check_wire_up(part, {.exchanges = 7 * (1 + groups.group_of(6, me)), .break_it = false}).rule
                : testing::wire_up_rule::identity;
        ended[me] = part.finish({}, patience_ns).code;
        // The whole one is free again.
        std::array<std::byte, 6> all{};
        const std::array<std::byte, 1> mine{static_cast<std::byte>(me)};
        if (wire.exchange(mine, all, patience_ns) || all[5] != std::byte{5}) ended[me] = errc::protocol_error;
    });
    for (rank_t r = 0; r != 6; ++r) {
        CHECK(found[r] == testing::wire_up_rule::none);
        CHECK(ended[r] == errc::ok);
    }
}
TEST_CASE("join_room: a rank that gives up while its group exchanges is told to all") {
    const listed_groups groups({0, 0, 1, 1});
    std::array<status, 4> exchanged{}, ended{};
    over_wires(4, [&](auto& wire) {
        const rank_t me = wire.rank();
        join_room part(wire, groups, patience_ns);
        std::array<std::byte, 8> all{};
        if (me != 1) exchanged[me] = part.exchange(std::span(all).first(4), all, patience_ns);
        ended[me] = part.finish(me == 1 ? status{.code = errc::no_resources} : exchanged[me], patience_ns);
    });
    CHECK((exchanged[0].code == errc::peer_aborted && exchanged[0].cause == errc::no_resources));
    CHECK(exchanged[0].peer == 1);
    CHECK((!exchanged[2] && !exchanged[3]));
    CHECK(ended[1].code == errc::no_resources);
    for (const rank_t r : {2u, 3u}) CHECK(ended[r].code == errc::peer_aborted);
}

// --- Which rank is named ------------------------------------------------------------------------------------------------

TEST_CASE("join_room: the verdict is on the rank that says so itself, or else on the one with most accusers") {
    const join_word busy{}, waits{.state = join_word::meeting, .peer = 3}, ready{.state = join_word::ready};
    const auto is = [](const status& s, errc code, rank_t peer, errc cause = errc::ok) {
        return s.code == code && s.peer == peer && s.cause == cause;
    };
    CHECK_FALSE(verdict({busy, waits, ready}, 0));
    // A confession counts more than accusations.
    const std::vector<join_word> one{left_by(errc::peer_dead, 2), left_by(errc::peer_dead, 2), busy,
                                     left_by(errc::no_resources)};
    for (const rank_t r : {0u, 1u, 2u}) CHECK(is(verdict(one, r), errc::peer_aborted, 3, errc::no_resources));
    CHECK(is(verdict(one, 3), errc::no_resources, no_rank));
    // So does what a rank was told.
    CHECK(is(verdict({left_by(errc::peer_aborted, 1, errc::op_threw), left_by(errc::op_threw), busy}, 2),
             errc::peer_aborted, 1, errc::op_threw));
    // Accusers, and ranks that wait for the accused.
    const std::vector<join_word> two{left_by(errc::protocol_error, 1), left_by(errc::protocol_error, 3), waits, busy};
    CHECK(is(verdict(two, 2), errc::protocol_error, 3));
    CHECK(is(verdict(two, 1), errc::protocol_error, 3));
    CHECK(is(verdict(two, 0), errc::protocol_error, 3));
    CHECK(is(verdict(two, 3), errc::peer_aborted, 1, errc::protocol_error));
    // In a tie the lowest; and the accused that accuses others hears the same.
    const std::vector<join_word> three{left_by(errc::invalid_argument, 1), left_by(errc::invalid_argument, 0), busy};
    for (const rank_t r : {0u, 1u, 2u}) CHECK(is(verdict(three, r), errc::invalid_argument, 0));
    // Nobody is named whom nobody named.
    CHECK(is(verdict({left_by(errc::deadline), busy}, 1), errc::deadline, no_rank));
    CHECK(is(verdict({left_by(errc::deadline), left_by(errc::deadline, 3), busy, busy}, 2), errc::deadline, 3));
    // A number that no rank has.
    CHECK(is(verdict({left_by(errc::protocol_error, 77), busy}, 1), errc::protocol_error, no_rank));
}

TEST_CASE("join_room: a rank that fails is named to all, wherever the others are") {
    for (rank_t victim = 0; victim != 4; ++victim)
        for (int when = 0; when != 4; ++when) {
            const auto told = results_of(4, [&](auto& room, rank_t me) -> status {
                const status fails{.code = errc::no_resources};
                if (me == victim && when == 0) return fails;
                if (const status bad = say_byte(room, 7)) return bad;
                if (me == victim && when == 1) return fails;
                const auto meet = [&](std::uint64_t until_ns) -> status {
                    if (me == victim && when == 2) return fails;
                    if (when != 2) return {};
                    while (detail::steady_now_ns() < until_ns) std::this_thread::yield();
                    return {.code = errc::would_block, .peer = victim};
                };
                if (const status bad = room.meet(meet)) return bad;
                return me == victim ? fails : status{};
            });
            for (rank_t r = 0; r != 4; ++r) {
                CAPTURE(victim, when, r);
                CHECK(told[r].code == (r == victim ? errc::no_resources : errc::peer_aborted));
                if (r != victim) CHECK((told[r].cause == errc::no_resources && told[r].peer == victim));
            }
        }
}
TEST_CASE("join_room: what all accuse a rank of, all say; and that rank is told") {
    const auto told = results_of(4, [&](auto& room, rank_t me) -> status {
        if (me == 0 || me == 3) return {.code = errc::protocol_error, .peer = 2};
        return say_byte(room);
    });
    for (const rank_t r : {0u, 1u, 3u}) CHECK((told[r].code == errc::protocol_error && told[r].peer == 2));
    CHECK((told[2].code == errc::peer_aborted && told[2].cause == errc::protocol_error));
}
TEST_CASE("join_room: ranks that do not do the same are told of it") {
    auto told = results_of(3, [&](auto& room, rank_t me) { return say_byte(room, me == 1 ? 5 : 4); });
    for (const rank_t r : {0u, 2u}) CHECK((told[r].code == errc::call_mismatch && told[r].peer == 1));
    told = results_of(3, [&](auto& room, rank_t me) {
        return me == 1 ? room.meet([](std::uint64_t) { return status{}; }) : say_byte(room);
    });
    for (const rank_t r : {0u, 2u}) CHECK((told[r].code == errc::call_mismatch && told[r].peer == 1));
    // One that has finished says no more.
    told = results_of(3, [&](auto& room, rank_t me) { return me == 1 ? status{} : say_byte(room); });
    for (const rank_t r : {0u, 2u}) CHECK((told[r].cause == errc::cancelled && told[r].peer == 1));
}
TEST_CASE("join_room: when the time is over the rank that the others wait for is named") {
    std::vector<status> told(3);
    over_wires(3, [&](auto& wire) {
        join_room room(wire, 50'000'000);
        told[wire.rank()] = room.run([&] {
            return room.meet([&](std::uint64_t until_ns) -> status {
                while (detail::steady_now_ns() < until_ns) std::this_thread::yield();
                return {.code = errc::would_block, .peer = wire.rank() == 1 ? 0u : 1u};
            });
        });
    });
    for (const rank_t r : {0u, 2u}) CHECK((told[r].code == errc::deadline && told[r].peer == 1));
}
TEST_CASE("join_room: of what is attempted only want of resources becomes no_resources") {
    const auto code_of = [](auto thrown) { return detail::attempted([&]() -> status { throw thrown; }).code; };
    CHECK(code_of(std::bad_alloc()) == errc::no_resources);
    CHECK(code_of(std::system_error(std::make_error_code(std::errc::too_many_files_open))) == errc::no_resources);
    CHECK(code_of(error({.code = errc::protocol_error, .peer = 2})) == errc::protocol_error);
    CHECK_THROWS_AS(code_of(std::logic_error("the caller's own")), std::logic_error);
    CHECK(detail::attempted([] { return status{.code = errc::deadline}; }).code == errc::deadline);
}
TEST_CASE("join_room: an exception is told; those of this library and want of memory become the status") {
    for (int what = 0; what != 3; ++what) {
        bool thrown_on = false;
        std::vector<status> told(3);
        over_wires(3, [&](auto& wire) {
            join_room room(wire, long_time_ns);
            const auto f = [&]() -> status {
                if (wire.rank() == 2 && what == 0) throw std::runtime_error("");
                if (wire.rank() == 2 && what == 1) throw error({.code = errc::unsupported});
                if (wire.rank() == 2 && what == 2) throw std::bad_alloc();
                return say_byte(room);
            };
            try {
                told[wire.rank()] = room.run(f);
            } catch (const std::runtime_error& e) {
                thrown_on = dynamic_cast<const error*>(&e) == nullptr;
            }
        });
        constexpr std::array causes{errc::op_threw, errc::unsupported, errc::no_resources};
        const errc cause = causes[static_cast<std::size_t>(what)];
        CHECK(thrown_on == (what == 0));
        if (what != 0) CHECK(told[2].code == cause);
        for (const rank_t r : {0u, 1u})
            CHECK((told[r].code == errc::peer_aborted && told[r].cause == cause && told[r].peer == 2));
    }
}
