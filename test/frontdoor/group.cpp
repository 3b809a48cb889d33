// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/group.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using bough::rank_t;

// Counts what went wrong on the threads of the ranks, where Catch's macros must not be used.
struct faults {
    std::atomic<int> count{0};
    void expect(bool ok) {
        if (!ok) ++count;
    }
};

template <class X>
rank_t sum_of_ones(bough::communicator<X>& comm) {
    rank_t x = 1;
    bough::allreduce(comm, std::span(&x, 1), bough::plus{});
    return x;
}

} // namespace

TEST_CASE("duplicate: calls on one communicator never meet calls on the other", "[frontdoor][group]") {
    for (rank_t p = 1; p <= 5; ++p) {
        faults seen;
        bough::in_process{p}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            auto twin = bough::duplicate(comm);
            seen.expect(twin.rank() == comm.rank() && twin.size() == comm.size());
            seen.expect(twin.context() != comm.context());
            // Rank 0 broadcasts on both; the others take the two in the other order.
            int a = comm.rank() == 0 ? 1 : 0;
            int b = comm.rank() == 0 ? 2 : 0;
            const auto first = [&] { bough::broadcast(comm, std::span(&a, 1), bough::root{0}, bough::fnomial{64}); };
            const auto second = [&] { bough::broadcast(twin, std::span(&b, 1), bough::root{0}, bough::fnomial{64}); };
            comm.rank() == 0 ? (first(), second()) : (second(), first());
            seen.expect(a == 1 && b == 2);
        });
        CHECK(seen.count == 0);
    }
}

TEST_CASE("duplicate: a sender far ahead on one communicator does not stop the other", "[frontdoor][group]") {
    constexpr int ahead = 200; // many more than a ring has slots
    faults seen;
    bough::in_process{2}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        auto twin = bough::duplicate(comm);
        const auto on_twin = [&] {
            for (int i = 0; i != ahead; ++i) {
                int x = comm.rank() == 0 ? i : -1;
                bough::broadcast(twin, std::span(&x, 1), bough::root{0});
                seen.expect(x == i);
            }
        };
        const auto on_comm = [&] {
            int x = comm.rank() == 0 ? 77 : -1;
            bough::broadcast(comm, std::span(&x, 1), bough::root{0});
            seen.expect(x == 77);
        };
        comm.rank() == 0 ? (on_twin(), on_comm()) : (on_comm(), on_twin());
    });
    CHECK(seen.count == 0);
}

TEST_CASE("split: colors part the group, keys order it, ranks keep it stable", "[frontdoor][group]") {
    for (rank_t p = 1; p <= 7; ++p)
        for (rank_t colors = 1; colors <= 3; ++colors) {
            faults seen;
            bough::in_process{p}.run([&](auto transport) {
                bough::communicator comm{std::move(transport)};
                const rank_t me = comm.rank();
                auto part = bough::split(comm, me % colors, p - me); // backwards
                std::vector<rank_t> expected;
                for (rank_t r = p; r-- != 0;)
                    if (r % colors == me % colors) expected.push_back(r);
                seen.expect(part.size() == expected.size());
                seen.expect(expected[part.rank()] == me);
                for (rank_t r = 0; r != part.size(); ++r) seen.expect(part.world_rank(r) == expected[r]);
                seen.expect(sum_of_ones(part) == expected.size());
                // In rank order of the part, for an op that does not commute.
                const auto keep_left = [](std::uint32_t a, std::uint32_t) { return a; };
                std::uint32_t left = me;
                bough::allreduce(part, std::span(&left, 1), keep_left);
                seen.expect(left == expected[0]);
                // A part of a part.
                auto alone = bough::split(part, part.rank());
                seen.expect(alone.size() == 1 && sum_of_ones(alone) == 1);
                seen.expect(sum_of_ones(comm) == p);
            });
            CHECK(seen.count == 0);
        }
}

TEST_CASE("agree: the bitwise and of all words, the same on every rank", "[frontdoor][group]") {
    for (rank_t p = 1; p <= 6; ++p) {
        faults seen;
        bough::in_process{p}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            for (std::uint64_t i = 0; i != 10; ++i) {
                const std::uint64_t mine = ~(std::uint64_t{1} << ((comm.rank() + i) % 64));
                std::uint64_t expected = ~std::uint64_t{0};
                for (rank_t r = 0; r != p; ++r) expected &= ~(std::uint64_t{1} << ((r + i) % 64));
                seen.expect(bough::agree(comm, mine) == expected);
            }
        });
        CHECK(seen.count == 0);
    }
}

// Who has failed is listed by the numbers of the part; in the transport they are others.
TEST_CASE("agree: in a part of the group, also when one of its ranks is gone", "[frontdoor][group]") {
    for (const bool one_goes : {false, true}) {
        faults seen;
        bough::in_process{6}.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            std::optional part = bough::split(comm, comm.rank() / 3); // 0 to 2, 3 to 5
            if (one_goes && comm.rank() == 4) return;
            if (comm.rank() < 3) return void(bough::barrier(*part));
            const auto begin = std::chrono::steady_clock::now();
            const std::uint64_t all = bough::agree(*part, comm.rank() == 3 ? 6 : 7);
            seen.expect(all == 6);
            seen.expect(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
        });
        CHECK(seen.count == 0);
    }
}

TEST_CASE("shrink: the survivors go on, whoever dies", "[frontdoor][group]") {
    for (rank_t p = 2; p <= 6; ++p)
        for (rank_t dead = 0; dead != p; ++dead) {
            faults seen;
            bough::in_process{p}.run([&](auto transport) {
                bough::communicator comm{std::move(transport)};
                if (comm.rank() == dead) return;
                std::error_code ec;
                int x = 1;
                while (!ec) bough::allreduce(comm, std::span(&x, 1), bough::plus{}, ec);
                seen.expect(ec == bough::errc::peer_dead || ec == bough::errc::peer_aborted ||
                            ec == bough::errc::group_poisoned);
                auto rest = bough::shrink(comm);
                seen.expect(rest.size() == p - 1 && sum_of_ones(rest) == p - 1);
                seen.expect(rest.world_rank(rest.rank()) == rest.rank() + (rest.rank() >= dead ? 1 : 0));
                // What is older than the shrink stays broken, and does not disturb what is new.
                bough::barrier(comm, ec);
                seen.expect(ec == bough::errc::group_poisoned);
                auto again = bough::split(rest, rest.rank() % 2);
                seen.expect(sum_of_ones(again) == again.size());
            });
            CHECK(seen.count == 0);
        }
}

TEST_CASE("shrink: twice, with another death in between", "[frontdoor][group]") {
    faults seen;
    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        if (comm.rank() == 4) return;
        auto four = bough::shrink(comm);
        seen.expect(sum_of_ones(four) == 4);
        if (four.rank() == 0) return;
        auto three = bough::shrink(four);
        seen.expect(three.size() == 3 && sum_of_ones(three) == 3);
    });
    CHECK(seen.count == 0);
}

TEST_CASE("shrink and agree: a majority goes on, and nobody else does", "[frontdoor][group]") {
    for (rank_t p = 2; p <= 6; ++p)
        for (rank_t left = 1; left <= p; ++left) { // the ranks from 0 on stay
            faults seen;
            bough::in_process{p}.run([&](auto transport) {
                bough::communicator comm{std::move(transport), {.agreement = bough::agreement_rule::majority}};
                if (comm.rank() >= left) return;
                bough::status s;
                int x = 1;
                while (left != p && !s) bough::allreduce(comm, std::span(&x, 1), bough::plus{}, s);
                const auto all = bough::agree(comm, comm.rank() == 0 ? 6 : 7, s);
                if (2 * left > p) {
                    seen.expect(!s && all == std::uint64_t{6});
                    auto rest = bough::shrink(comm, s);
                    seen.expect(rest && !s && sum_of_ones(*rest) == left && rest->epoch() == 2);
                    seen.expect(rest && rest->options().agreement == bough::agreement_rule::majority);
                } else {
                    const auto is_refused = [&] {
                        return s.code == bough::errc::no_majority && s.mine >= 1 && s.mine <= left && s.theirs == p;
                    };
                    seen.expect(!all && is_refused());
                    seen.expect(!bough::shrink(comm, s) && is_refused());
                    seen.expect(bough::message_of(s).find(" of " + std::to_string(p) + " ranks are known to agree: a " +
                                                          "majority of the ranks is needed") != std::string::npos);
                    seen.expect(comm.epoch() == 1 && comm.shared_session()->epoch() == 1);
                }
            });
            CAPTURE(p, left);
            CHECK(seen.count == 0);
        }
}

TEST_CASE("shrink: a majority is one of the ranks that the communicator has now", "[frontdoor][group]") {
    faults seen;
    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{std::move(transport), {.agreement = bough::agreement_rule::majority}};
        if (comm.rank() >= 3) return;
        auto three = bough::shrink(comm); // 3 of 5
        seen.expect(three.size() == 3 && sum_of_ones(three) == 3);
        if (three.rank() == 0) return;
        auto two = bough::shrink(three); // 2 of 3
        seen.expect(two.size() == 2 && sum_of_ones(two) == 2);
        if (two.rank() == 0) return;
        bough::status s;
        seen.expect(!bough::shrink(two, s) &&
                    s == bough::status{.code = bough::errc::no_majority, .mine = 1, .theirs = 2});
    });
    CHECK(seen.count == 0);
}

TEST_CASE("shrink: a group that nothing has happened to stays whole", "[frontdoor][group]") {
    faults seen;
    bough::in_process{3}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        auto same = bough::shrink(comm);
        seen.expect(same.size() == 3 && sum_of_ones(same) == 3);
    });
    CHECK(seen.count == 0);
}

TEST_CASE("shrink: calls on what is older fail on their own and leave the new group alone", "[frontdoor][group]") {
    faults seen;
    bough::in_process{2}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        auto twin = bough::duplicate(comm);
        auto rest = bough::shrink(comm);
        std::vector<int> in(3), out(2);
        // Refused on one rank, on a communicator of the old epoch whose number the new one has again.
        for (int i = 0; i != 5 && comm.rank() == 0; ++i) {
            std::error_code ec;
            bough::allreduce(twin, std::span(in), std::span(out), bough::plus{}, ec);
            seen.expect(bool(ec));
        }
        for (int i = 0; i != 5; ++i) seen.expect(sum_of_ones(rest) == 2);
        bool refused = false;
        try {
            (void)bough::agree(comm, 1);
        } catch (const bough::error& e) {
            refused = e.code() == bough::errc::group_poisoned;
        }
        seen.expect(refused);
    });
    CHECK(seen.count == 0);
}

TEST_CASE("groups: with a status nothing is thrown, and what is empty has an error", "[frontdoor][group]") {
    faults seen;
    bough::in_process{3}.run([&](auto transport) {
        bough::communicator comm{std::move(transport)};
        bough::status s;
        std::error_code ec;
        auto twin = bough::duplicate(comm, ec);
        seen.expect(twin && !ec && sum_of_ones(*twin) == 3);
        auto part = bough::split(comm, comm.rank() == 0, s);
        seen.expect(part && !s && part->size() == (comm.rank() == 0 ? 1 : 2));
        auto backwards = bough::split(comm, 1, 3 - comm.rank(), ec);
        seen.expect(backwards && !ec && backwards->rank() == 2 - comm.rank());
        const auto all = bough::agree(comm, comm.rank() == 1 ? 6 : 7, s);
        seen.expect(all == std::uint64_t{6} && !s);
        auto rest = bough::shrink(*twin, s);
        seen.expect(rest && !s && sum_of_ones(*rest) == 3);
        // Of an epoch that is over.
        seen.expect(!bough::duplicate(comm, s) && s.code == bough::errc::group_poisoned);
        seen.expect(!bough::split(comm, 1, ec) && ec == bough::errc::group_poisoned);
        seen.expect(!bough::agree(comm, 1, s) && s.code == bough::errc::group_poisoned);
        seen.expect(!bough::shrink(comm, ec) && ec == bough::errc::group_poisoned);
    });
    CHECK(seen.count == 0);
}

TEST_CASE("tables that differ in the middle are a mismatch on every rank", "[frontdoor][mismatch]") {
    const std::vector<rank_t> ours{bough::no_rank, 0, 0, 1, 0};
    const std::vector<rank_t> theirs{bough::no_rank, 0, 0, 2, 0};
    std::atomic<int> failed{0};
    faults seen;
    bough::in_process{5}.run([&](auto transport) {
        bough::communicator comm{std::move(transport), {.timeout_ns = 5'000'000'000}};
        const auto tree = bough::table::from_parents(comm.rank() == 1 ? theirs : ours);
        // Late, so that nothing but the plan's number tells the others: rank 1 waits for nobody, and the root for rank 1.
        if (comm.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::error_code ec;
        while (!ec) { // who has rightly returned learns of it at one of its next calls
            int x = 1;
            bough::reduce(comm, std::span(&x, 1), bough::plus{}, bough::root{0}, tree, ec);
            if (!ec && comm.rank() == 0) seen.expect(x == 5);
        }
        seen.expect(ec != bough::errc::invalid_argument);
        if (ec) ++failed;
    });
    CHECK(seen.count == 0);
    CHECK(failed == 5);
}

TEST_CASE("in_process: every run has a group of its own", "[frontdoor][group]") {
    bough::in_process world{3};
    for (int i = 0; i != 3; ++i) {
        faults seen;
        world.run([&](auto transport) {
            bough::communicator comm{std::move(transport)};
            seen.expect(sum_of_ones(comm) == 3);
        });
        CHECK(seen.count == 0);
    }
}

namespace {

// What its waits are told of the time until when they may sleep, ns from then on.
struct noting : bough::forwarding_transport<bough::in_process::endpoint> {
    using forwarding_transport::forwarding_transport;
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        ++*waits;
        const std::uint64_t now = inner_.now_ns();
        *longest = std::max(*longest, deadline_ns == 0 ? ~std::uint64_t{0} : deadline_ns > now ? deadline_ns - now : 0);
        inner_.wait(idle, deadline_ns);
    }
    std::shared_ptr<std::uint64_t> waits = std::make_shared<std::uint64_t>(0),
                                   longest = std::make_shared<std::uint64_t>(0);
};

} // namespace

TEST_CASE("agree: no wait for a rank that is silent is longer than the round", "[frontdoor][group]") {
    constexpr std::uint64_t timeout_ns = 10'000'000, round_ns = 2 * timeout_ns;
    bough::in_process world{2};
    noting end(world.connect(0));
    const auto waits = end.waits, longest = end.longest;
    bough::communicator comm{std::move(end), {.timeout_ns = timeout_ns}};
    const auto silent = world.connect(1);
    bough::status s;
    const auto word = bough::agree(comm, 5, s);
    CHECK((word && *word == 5 && !s));
    CHECK(*waits > 0);
    CHECK(*longest <= round_ns);
}
