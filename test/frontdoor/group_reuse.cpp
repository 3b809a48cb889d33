// SPDX-License-Identifier: BSL-1.0
// Communicators from a list of ranks, communicators for ever, and what a failure of one leaves of the
// others.
//   BOUGH_TEST_ALL=1   1,000,000 duplicates instead of 2,000
#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct wrongs {
    void expect(bool holds) {
        if (!holds) ++count;
    }
    std::atomic<int> count{0};
};

template <class X>
bool adds_up(communicator<X>& comm) {
    rank_t sum = 1;
    status s;
    allreduce(comm, std::span(&sum, 1), plus{}, s);
    return !s && sum == comm.size();
}
using list = std::vector<rank_t>;

} // namespace

TEST_CASE("group: numbers are used again when all ranks have let go, so communicators are made for ever") {
    const std::uint32_t many = bough_test::all() ? 1'000'000 : 2000;
    std::atomic<std::uint32_t> highest{0};
    wrongs seen;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        std::optional<communicator<in_process::endpoint>> kept;
        for (std::uint32_t i = 0; i != many; ++i) {
            auto made = duplicate(comm);
            for (std::uint32_t h = highest; h < made.context() && !highest.compare_exchange_weak(h, made.context());) {
            }
            if (i % 64 != 0) continue;
            // One in use, whose number is not taken, and half of the group in another one.
            seen.expect(adds_up(made) && (!kept || adds_up(*kept)));
            kept.emplace(std::move(made));
            auto part = split(comm, comm.rank() % 2);
            seen.expect(adds_up(part) && part.context() != kept->context());
        }
    });
    CHECK(seen.count == 0);
    CHECK(highest < 40); // few are in use at a time
}

TEST_CASE("group: what comes late for a communicator is not taken for its successor's") {
    wrongs seen;
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        for (int i = 0; i != 300; ++i) {
            auto made = duplicate(comm);
            std::vector<int> x(i % 3 == 0 ? 20'000 : 3, 1);
            {
                operation op = start_allreduce(made, x, plus{});
                if (i % 2 == static_cast<int>(comm.rank())) op.cancel(); // the other one may be late, or have finished
                status s;
                op.wait(s);
                seen.expect(!s || s.code == errc::cancelled || s.cause == errc::cancelled);
            }
        }
        auto last = duplicate(comm);
        seen.expect(adds_up(last) && last.context() < 20 && !comm.poison());
    });
    CHECK(seen.count == 0);
}

TEST_CASE("group: a communicator that is poisoned does not take its siblings with it") {
    wrongs seen;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        auto other = duplicate(comm);
        std::vector<int> x(4 + (comm.rank() == 1 ? 1 : 0), 1);
        status s;
        allreduce(other, x, plus{}, s);
        seen.expect(s.code == errc::call_mismatch || s.cause == errc::call_mismatch);
        allreduce(other, x, plus{}, s);
        seen.expect(s.code == errc::group_poisoned);
        const status why = other.poison(); // a rank that was asked before it made its call knows no values
        seen.expect(why.code == errc::call_mismatch || why.cause == errc::call_mismatch);
        seen.expect(!comm.poison() && adds_up(comm));
        seen.expect(agree(other, 7) == 7); // works on what is poisoned, too
        auto third = duplicate(comm);
        seen.expect(adds_up(third));
        seen.expect(adds_up(comm)); // all are through it: the next call of `third` breaks what is in flight there
        seen.expect(!duplicate(other, s) && s.code == errc::group_poisoned);
        // A call that one rank refuses.
        std::vector<int> shorter(1);
        if (comm.rank() == 2)
            allreduce(third, x, shorter, plus{}, s);
        else
            allreduce(third, std::span(x).first(4), plus{}, s);
        seen.expect(s.code == errc::invalid_argument || s.cause == errc::invalid_argument);
        seen.expect(adds_up(comm));
    });
    CHECK(seen.count == 0);
}

TEST_CASE("group: after a call that is given up, agree, shrink and new communicators work") {
    wrongs seen;
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        int x = 1;
        {
            operation op = start_allreduce(comm, std::span(&x, 1), plus{});
            if (comm.rank() == 1) op.cancel();
            status s;
            op.wait(s);
        }
        seen.expect(agree(comm, 6) == 6);
        auto made = duplicate(comm);
        seen.expect(adds_up(made) && adds_up(comm));
        auto rest = shrink(comm);
        seen.expect(rest.size() == 3 && adds_up(rest));
    });
    CHECK(seen.count == 0);
}

TEST_CASE("group: repeated short calls go on after one that was given up") {
    wrongs seen;
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        for (int i = 0; i != 400; ++i) {
            seen.expect(adds_up(comm)); // the same call again and again
            if (i % 4 != 0) continue;
            rank_t x = 1;
            operation op = start_allreduce(comm, std::span(&x, 1), plus{});
            if (comm.rank() == static_cast<rank_t>(i / 4 % 2)) op.cancel();
            status s;
            op.wait(s);
            seen.expect(!s || s.code == errc::cancelled || (s.cause == errc::cancelled && s.peer < 2));
        }
        // A bound one, too.
        rank_t y = 0;
        persistent_operation sum = bind_allreduce(comm, std::span(&y, 1), plus{});
        for (int i = 0; i != 100; ++i) {
            y = 1;
            sum.start();
            if (i % 3 == 0 && comm.rank() == 0) sum.cancel();
            status s;
            sum.wait(s);
            seen.expect(s ? i % 3 == 0 : y == 2);
        }
    });
    CHECK(seen.count == 0);
}

TEST_CASE("create_group: the ranks of a list make a communicator, and the others need not know") {
    wrongs seen;
    in_process{5}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const list some{4, 0, 2}, two{2, 4}, all{0, 1, 2, 3, 4}, me{comm.rank()};
        for (int i = 0; i != 50; ++i) {
            const auto here = std::find(some.begin(), some.end(), comm.rank());
            if (here != some.end()) {
                auto made = create_group(comm, some);
                seen.expect(made.size() == 3 && made.rank() == static_cast<rank_t>(here - some.begin()));
                seen.expect(made.world_rank(0) == 4 && adds_up(made));
                if (comm.rank() != 0) {
                    auto pair = create_group(made, list{0, 2}); // ranks of `made`: 4 and 2
                    seen.expect(adds_up(pair) && pair.world_rank(1) == 2);
                }
            }
            auto alone = create_group(comm, me);
            seen.expect(alone.size() == 1 && adds_up(alone));
            if (i % 10 == 0) {
                auto every = create_group(comm, all);
                seen.expect(adds_up(every) && every.rank() == comm.rank());
            }
        }
        seen.expect(adds_up(comm));
    });
    CHECK(seen.count == 0);
}

TEST_CASE("create_group: a list that cannot be one is refused at once") {
    wrongs seen;
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const auto refuses = [&](const list& members, const char* why) {
            status s;
            seen.expect(!create_group(comm, members, s) && s.code == errc::invalid_argument &&
                        std::string(s.argument) == why);
        };
        refuses({}, "list: is empty");
        refuses({0, 1, 2}, "list: has a rank that the communicator has not");
        refuses({0, 1, 0}, "list: has a rank twice");
        refuses({1 - comm.rank()}, "list: lacks the rank that calls");
        std::error_code ec;
        seen.expect(!create_group(comm, list{}, ec) && ec == errc::invalid_argument);
        seen.expect(adds_up(comm));
    });
    CHECK(seen.count == 0);
}

TEST_CASE("create_group: lists that differ are an error on every rank, and the communicator stays whole") {
    struct lists {
        std::array<list, 3> of; // each rank's
    };
    const std::array<lists, 5> cases{{
        {{{{0, 1, 2}, {0, 1}, {0, 1, 2}}}},    // one fewer, the same leader
        {{{{0, 1, 2}, {0, 2, 1}, {0, 1, 2}}}}, // another order
        {{{{0, 1, 2}, {0, 1, 2}, {2, 0, 1}}}}, // another leader, which the first one's list has
        {{{{0, 1}, {1, 0}, {}}}},              // each leads
        {{{{0, 1, 2}, {1, 2}, {0, 1, 2}}}},    // a leader that the other one's list has not
    }};
    for (const lists& l : cases) {
        CAPTURE(&l - cases.data());
        wrongs seen;
        std::atomic<int> mismatches{0}, told{0};
        in_process{3}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            const list& mine = l.of[comm.rank()];
            status s;
            barrier(comm); // a rank whose thread has not begun yet would be late
            comm.set_timeout_ns(1'500'000'000);
            if (!mine.empty()) {
                seen.expect(!create_group(comm, mine, s));
                mismatches += s.code == errc::call_mismatch && s.mismatch == mismatch::members && s.peer < 3 &&
                              s.peer != comm.rank();
                const errc cause = s.code == errc::peer_aborted ? s.cause : s.code;
                told += cause == errc::call_mismatch || cause == errc::deadline;
            }
            comm.set_timeout_ns(20'000'000'000);
            seen.expect(adds_up(comm)); // all have come to it
            auto made = create_group(comm, list{2, 0, 1});
            seen.expect(adds_up(made));
        });
        CHECK(seen.count == 0);
        CHECK(mismatches >= 1);
        CHECK(told == (l.of[2].empty() ? 2 : 3));
    }
}

TEST_CASE("create_group: a rank that does not come is named by all, and it can be tried again") {
    wrongs seen;
    std::atomic<int> waiting{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        for (const rank_t lazy : {3u, 1u}) { // a member, and the first of the list
            seen.expect(adds_up(comm));
            comm.set_timeout_ns(2'000'000'000);
            const list members{1, 3, 0};
            status s;
            if (comm.rank() != lazy && comm.rank() != 2) {
                seen.expect(!create_group(comm, members, s));
                seen.expect(names_missing(s) && s.peer == lazy && s.missing == 1);
                seen.expect(message_of(s) ==
                            "rank " + std::to_string(lazy) +
                                " is missing in create_group: the operation did not end by its deadline");
            }
            ++waiting;
            while (waiting < (lazy == 3 ? 4 : 8)) comm.progress(), std::this_thread::yield();
            comm.set_timeout_ns(20'000'000'000);
            if (comm.rank() != 2) {
                auto made = create_group(comm, members);
                seen.expect(adds_up(made));
            }
        }
    });
    CHECK(seen.count == 0);
}

TEST_CASE("create_group: what is left of a meeting that was given up harms none that comes") {
    wrongs seen;
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const list mine{1, 0}, both{0, 1};
        status s;
        int pause_ms = 400; // of each turn of rank 0, which reads one message, and then not the next one
        const waiting_hook away{[](void* ms, std::uint32_t) {
                                    std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int*>(ms)));
                                    return true;
                                },
                                &pause_ms};
        barrier(comm);
        if (comm.rank() == 1) {
            comm.set_timeout_ns(100'000'000);
            seen.expect(!create_group(comm, mine, s) && (s.code == errc::deadline || s.code == errc::call_mismatch));
        } else {
            std::this_thread::sleep_for(std::chrono::milliseconds(85));
            comm.set_while_waiting(away);
        }
        comm.set_timeout_ns(20'000'000'000);
        auto made = create_group(comm, both, s);
        seen.expect(!s && made);
    });
    CHECK(seen.count == 0);
}

TEST_CASE("create_group: a member that dies is an error on the others") {
    wrongs seen;
    std::atomic<int> ended{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        if (comm.rank() == 1) return;
        for (const list& members : {list{0, 1, 2}, list{1, 0, 2}}) {
            status s;
            seen.expect(!create_group(comm, members, s));
            seen.expect(s.peer == 1 && (s.code == errc::peer_dead || s.cause == errc::peer_dead));
        }
        for (++ended; ended != 2;)
            comm.progress(), std::this_thread::yield(); // else the other one may meet two dead ranks
    });
    CHECK(seen.count == 0);
}

TEST_CASE("a rank without memory for a communicator refuses its first call: no other one with its number hears of it") {
    in_process world{4};
    const communicator_options patient{.timeout_ns = 20'000'000'000};
    communicator zero{world.connect(0)}, one{world.connect(1)}, two{world.connect(2)}, three{world.connect(3)};
    const auto all_progress = [&] {
        for (int turn = 0; turn != 20; ++turn)
            for (auto* comm : {&zero, &one, &two, &three}) comm->progress();
    };
    constexpr std::uint16_t number = 1; // of both halves
    const list low{0, 1}, high{2, 3};
    auto& poor = *zero.shared_session();
    poor.with_lock([&] {
        CHECK(poor.contexts().claim(number));
        poor.contexts().open(number, low); // else the session does not know whom to tell
    });
    std::optional<communicator<in_process::endpoint>> its{std::in_place, one.shared_session(), low, number, patient};
    communicator other{two.shared_session(), high, number, patient};
    communicator same{three.shared_session(), high, number, patient};
    {
        operation begun = start_barrier(*its);
        all_progress();
        poor.refuse({.operation = 1, .context = number}, errc::no_resources, low);
        all_progress();
        status s;
        begun.wait(s);
        CHECK(s.cause == errc::no_resources);
    }
    CHECK_FALSE(other.poison());
    CHECK_FALSE(same.poison());

    poor.let_go_of_communicator(number, false);
    its.reset();
    all_progress();
    for (auto* comm : {&zero, &one})
        CHECK(comm->shared_session()->with_lock([&] { return comm->shared_session()->contexts().claim(number); }));
}
