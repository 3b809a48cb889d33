// SPDX-License-Identifier: BSL-1.0
// A rank that dies or fails while it joins a transport is named to all others, rightly, and nobody waits for it.
#include "support/struck.hpp"
#include "transport/certificates.hpp"
#include <bough/remote/shared_memory.hpp>
#include <bough/transport/composite_tcp.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>
#include <bough/transport/tcp/tls.hpp>

#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <unistd.h>

using namespace bough;
using bough_test::blow_report;
using bough_test::check_every_blow;
using bough_test::join_struck;
using bough_test::shared_report;

namespace {

std::string node_of(rank_t r) { return r < 2 ? "left" : "right"; }

// Joins five ranks; the others than the victim, and it, say what they should.
template <class Join, class Others, class Victim>
void check_told(const Join& join, const Others& right, const Victim& right_of_victim) {
    for (const rank_t victim : {0u, 2u, 4u}) {
        const shared_report report;
        join_struck(5, {}, *report.operator->(),
                    [&](auto& wire, status& s) { return join(wire, s, wire.rank() == victim); });
        for (rank_t r = 0; r != 5; ++r) {
            const blow_report::one& one = report->ranks[r];
            CAPTURE(victim, r, message_of(one.result));
            CHECK((one.ended || r == victim));
            CHECK_FALSE(one.joined);
            if (r == victim)
                CHECK(right_of_victim(one.result));
            else
                CHECK((one.result.peer == victim && right(one.result)));
        }
    }
}
template <class Join>
void check_confessed(errc code, const Join& join) {
    check_told(
        join, [=](const status& s) { return s.code == errc::peer_aborted && s.cause == code; },
        [=](const status& s) { return s.code == code; });
}
template <class Join>
void check_accused(errc code, const Join& join) {
    check_told(
        join, [=](const status& s) { return s.code == code; }, [=](const status& s) { return s.code == code; });
}

} // namespace

TEST_CASE("joining: a blow at any moment of it, over shared memory") {
    check_every_blow("shared_memory", 5,
                     [](auto& wire, status& s) { return shared_memory::join(wire, {}, s).has_value(); });
    check_every_blow("shared_memory_regions", 5,
                     [](auto& wire, status& s) { return shared_memory_regions::join(wire, {}, s).has_value(); });
}
TEST_CASE("joining: a blow at any moment of it, over tcp") {
    check_every_blow("tcp, near sockets", 5, [](auto& wire, status& s) { return tcp::join(wire, {}, s).has_value(); });
    check_every_blow("tcp", 5,
                     [](auto& wire, status& s) { return tcp::join(wire, {.near_sockets = false}, s).has_value(); });
    check_every_blow("tcp, on demand", 5,
                     [](auto& wire, status& s) { return tcp::join(wire, {.eager_mesh = 2}, s).has_value(); });
}
TEST_CASE("joining: a blow at any moment of it, over TLS") {
    const test_tcp::authority ours;
    const tls_options tls = ours.issue();
    check_every_blow("tcp_tls", 4,
                     [&](auto& wire, status& s) { return tcp_tls::join(wire, {.tls = tls}, s).has_value(); });
}
TEST_CASE("joining: a blow at any moment of it, over composites") {
    check_every_blow("composite", 5, [](auto& wire, status& s) {
        return join_composite(wire, {.node = node_of(wire.rank())}, s).has_value();
    });
}

TEST_CASE("joining: options that differ, or that no rank may have, are told of") {
    check_confessed(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return shared_memory::join(wire, {.slots = other ? 3u : 16u}, s).has_value();
    });
    check_accused(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return shared_memory::join(wire, {.slots = other ? 32u : 16u}, s).has_value();
    });
    check_accused(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return shared_memory::join(wire, {.cores = other ? 3u : 2u}, s).has_value();
    });
    check_accused(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return shared_memory_regions::join(wire, {.region_bytes = other ? 8192u : 4096u}, s).has_value();
    });
    check_confessed(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return tcp::join(wire, {.bind = other ? "nowhere" : ""}, s).has_value();
    });
    check_accused(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return tcp::join(wire, {.eager_mesh = other ? 2u : 128u}, s).has_value();
    });
    check_confessed(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        return join_composite(wire, {.node = other ? std::string(1000, 'x') : node_of(wire.rank())}, s).has_value();
    });
    check_confessed(errc::invalid_argument, [](auto& wire, status& s, bool other) {
        const shared_memory_options inside{.slots = other ? 3u : 16u};
        return join_composite(wire, {.node = node_of(wire.rank()), .inside = inside}, s).has_value();
    });
}

TEST_CASE("joining: a rank whose certificate, or whose authorities, the others do not share is named") {
    const test_tcp::authority ours, others("somebody else's");
    const tls_options right = ours.issue(), wrong = others.issue();
    const std::uint64_t begin = detail::steady_now_ns();
    check_told([&](auto& wire, status& s,
                   bool other) { return tcp_tls::join(wire, {.tls = other ? wrong : right}, s).has_value(); },
               [](const status& s) { return s.code == errc::protocol_error || s.cause == errc::invalid_argument; },
               [](const status& s) { return static_cast<bool>(s); });
    check_accused(errc::invalid_argument, [&](auto& wire, status& s, bool other) {
        if (other) return tcp::join(wire, {}, s).has_value();
        return tcp_tls::join(wire, {.tls = right}, s).has_value();
    });
    CHECK(detail::steady_now_ns() - begin < 15'000'000'000);
}

TEST_CASE("joining: a rank that returns, or leaves by an exception, without joining is named") {
    for (const bool throws : {false, true})
        check_told(
            [=](auto& wire, status& s, bool other) {
                if (other && throws) throw std::runtime_error("this rank does not want to");
                return !other && tcp::join(wire, {}, s).has_value();
            },
            [](const status& s) { return s.code == errc::peer_dead; }, [](const status&) { return true; });
}

TEST_CASE("joining: a rank that does not come is named when the time is over, by all") {
    const shared_report report;
    join_struck(4, {}, *report.operator->(), [&](auto& wire, status& s) {
        if (wire.rank() != 1) {
            const std::uint64_t timeout_ns = (1 + wire.rank()) * 100'000'000;
            return tcp::join(wire, {.timeout_ns = timeout_ns}, s).has_value();
        }
        for (const rank_t r : {0u, 2u, 3u}) // it lives, and has better things to do
            while (!static_cast<volatile bool&>(report->ranks[r].ended)) ::usleep(1000);
        return false;
    });
    for (const rank_t r : {0u, 2u, 3u}) {
        const status& s = report->ranks[r].result;
        CAPTURE(r, message_of(s));
        CHECK((s.code == errc::deadline && s.peer == 1));
    }
}

namespace {

// What a function of the caller's does instead of making its part of a composite.
enum class deed : std::uint8_t { throws, throws_ours, throws_bad_alloc, makes_nothing };

void do_deed(deed what) {
    switch (what) {
    case deed::throws: throw std::runtime_error("a function of the user's");
    case deed::throws_ours: throw error(invalid_argument("of the user's"));
    case deed::throws_bad_alloc: throw std::bad_alloc();
    case deed::makes_nothing: break;
    }
}

} // namespace

TEST_CASE("joining: an exception of a function that makes a part of a composite is told, and the job goes on") {
    struct expected {
        deed what;
        errc code;
    };
    for (const expected& row : {expected{deed::throws, errc::op_threw},
                                {deed::throws_ours, errc::invalid_argument},
                                {deed::throws_bad_alloc, errc::no_resources},
                                {deed::makes_nothing, errc::cancelled}})
        for (const bool between : {false, true})
            for (const bool late : {false, true}) { // when the ranks have exchanged all that they need
                const deed what = row.what;         // no bindings: clang 14 does not let lambdas capture those
                const errc code = row.code;
                const auto step = [=](auto& wire, auto& part, bool here, auto join) {
                    if (here && !late) do_deed(what);
                    auto made = join(part);
                    if (here && late) do_deed(what);
                    if (here) made.reset();
                    (void)wire;
                    return made;
                };
                CAPTURE(static_cast<int>(what), between, late);
                check_told(
                    [=](auto& wire, status& s, bool other) {
                        bool thrown = false;
                        try {
                            (void)join_composite(
                                wire, {.node = node_of(wire.rank())}, s,
                                [&](auto& part, status& r) {
                                    return step(wire, part, other && !between,
                                                [&](auto& w) { return shared_memory::join(w, {}, r); });
                                },
                                [&](auto& all, status& r) {
                                    return step(wire, all, other && between,
                                                [&](auto& w) { return tcp::join(w, {}, r); });
                                });
                        } catch (const std::runtime_error&) {
                            thrown = true;
                        }
                        if (thrown != (other && what == deed::throws)) s = {};
                        if (thrown) s = {.code = code};
                        // The wire-up lives, and is at one again.
                        std::array<std::byte, 1> mine{static_cast<std::byte>(wire.rank())};
                        std::array<std::byte, 5> all{};
                        if (wire.exchange(mine, all, 10'000'000'000) || all[4] != std::byte{4}) s = {};
                        return false;
                    },
                    [=](const status& s) { return s.code == errc::peer_aborted && s.cause == code; },
                    [=](const status& s) { return s.code == code; });
            }
}
