// SPDX-License-Identifier: BSL-1.0
// Operations in flight of which the newer ones must not stop the older ones, however few slots there are.
#include "support/any_order.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "support/two_late.hpp"
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

TEST_CASE("start: early messages leave their slots to an older operation") {
    for (const std::uint32_t slots : {1u, 2u, 4u, 8u})
        for (const std::uint32_t ahead : {1u, slots, slots + 3}) {
            CAPTURE(slots, ahead);
            std::vector<status> ends(3);
            in_process{3, {.slots = slots}}.run([&](auto t) {
                status& mine = ends[t.rank()];
                mine = bough_test::early_messages_in_the_way(std::move(t), static_cast<int>(ahead), 8);
            });
            for (const status& s : ends) CHECK(s.code == errc::ok);
        }
}

TEST_CASE("start: messages that newer operations hold leave their slots to an older one") {
    for (const std::uint32_t slots : {1u, 2u, 4u, 8u})
        for (const std::uint32_t ahead : {1u, slots, slots + 3}) {
            CAPTURE(slots, ahead);
            std::vector<status> ends(4);
            in_process{4, {.slots = slots}}.run([&](auto t) {
                status& mine = ends[t.rank()];
                mine = bough_test::held_messages_in_the_way(std::move(t), static_cast<int>(ahead), 8);
            });
            for (const status& s : ends) CHECK(s.code == errc::ok);
        }
}

TEST_CASE("start: copies of other ranks leave room to a rank that an older operation waits for") {
    for (const rank_t ranks : {rank_t{6}, rank_t{24}}) {
        CAPTURE(ranks);
        const early_limits limits{
            .bytes_per_peer = 1 << 17, .bytes = std::uint64_t{ranks} << 15, .kept_bytes = 1 << 12};
        std::vector<status> ends(ranks);
        std::atomic<int> stage{0};
        in_process{ranks, {.slots = 4}}.run([&](auto t) {
            status& mine = ends[t.rank()];
            mine = bough_test::copies_of_others_in_the_way(std::move(t), limits, 80, stage);
        });
        for (const status& s : ends) CHECK(s.code == errc::ok);
    }
}

TEST_CASE("start: broadcasts that have ended at their root leave room to an older operation") {
    struct load {
        int longs, shorts;
    };
    for (const load l : {load{120, 30}, {0, 3'000}, {63, 337}})
        for (const bool first : {false, true}) {
            CAPTURE(l.longs, l.shorts, first);
            std::vector<status> ends(3);
            std::atomic<bool> is_due{false};
            in_process{3}.run([&](auto t) {
                status& mine = ends[t.rank()];
                mine = bough_test::broadcasts_left_behind(std::move(t), l.longs, 16'384, l.shorts, first, is_due);
            });
            for (const status& s : ends) CHECK(s.code == errc::ok);
        }
}

TEST_CASE(
    "start: two communicators may be used in another order on another rank, within the limits of early messages") {
    std::vector<status> ends(3);
    in_process{3}.run([&](auto t) {
        status& mine = ends[t.rank()];
        mine = bough_test::another_order(std::move(t));
    });
    for (const status& s : ends) CHECK(s.code == errc::ok);
}

TEST_CASE("start: operations of several communicators may be started in any order, however long they are") {
    for (std::uint32_t n = 0; n != 12; ++n) {
        const std::uint32_t seed = static_cast<std::uint32_t>(bough_test::seed()) * 100 + n;
        const rank_t ranks = 2 + 2 * (n % 3);
        CAPTURE(seed, ranks);
        std::vector<status> ends(ranks);
        in_process{ranks, {.slots = n % 4 == 3 ? 1u : 0u}}.run([&](auto t) {
            status& mine = ends[t.rank()];
            mine = bough_test::any_order(std::move(t), seed);
        });
        for (const status& s : ends) CHECK(s.code == errc::ok);
    }
}

// The first operations ever: nobody knows that there will be others.
TEST_CASE("start: what a root has started on one communicator does not stop what its peers wait for on another") {
    for (const int count : {1, 70, 3'000}) {
        const std::size_t length = count == 1 ? 2'000'000 : count == 70 ? 20'000 : 1;
        CAPTURE(count, length);
        std::vector<status> ends(2);
        in_process{2}.run([&](auto t) {
            communicator all{std::move(t), {.timeout_ns = 20'000'000'000}};
            communicator two = duplicate(all);
            status& mine = ends[all.rank()];
            std::vector<std::int64_t> x(length, all.rank() == 0 ? 7 : 0);
            int y = 1;
            std::vector<operation> more;
            const auto start = [&] {
                for (int i = 0; i != count; ++i) more.push_back(start_broadcast(two, std::span(x), root{0}));
            };
            if (all.rank() == 0) start();
            operation one = start_allreduce(all, std::span(&y, 1), plus{});
            one.wait(mine);
            if (all.rank() == 1) start();
            for (operation& op : more) {
                status s;
                op.wait(s);
                if (!mine) mine = s;
            }
            if (!mine && (y != 2 || x.back() != 7)) mine.code = errc::protocol_error;
        });
        for (const status& s : ends) CHECK(s.code == errc::ok);
    }
}

TEST_CASE("start: an operation that waits until a peer has started it hears that the peer is gone") {
    for (const bool is_gone_before : {false, true}) {
        CAPTURE(is_gone_before);
        std::atomic<bool> is_due{is_gone_before};
        status mine;
        in_process{2}.run([&](auto t) {
            communicator all{std::move(t), {.timeout_ns = 20'000'000'000}};
            communicator two = duplicate(all);
            if (all.rank() == 1) return is_due.wait(false); // its end leaves with its communicators
            std::vector<char> x(std::size_t{16} << 20);
            operation op;
            if (!is_gone_before) {
                op = start_broadcast(two, std::span(x), root{0}, flat{});
                for (int i = 0; i != 100; ++i) op.poll();
                is_due = true;
                is_due.notify_all();
            } else {
                while (!two.shared_session()->is_lost(1)) two.progress();
                op = start_broadcast(two, std::span(x), root{0}, flat{});
            }
            op.wait(mine);
        });
        CHECK(mine); // long before its deadline
        CHECK(mine.code != errc::deadline);
        CHECK(mine.peer == 1);
    }
}

TEST_CASE("start: thousands of operations may wait behind one whose peer is late") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto t) {
        communicator comm{std::move(t), {.timeout_ns = 20'000'000'000}};
        std::vector<char> bytes(6000, 'x');
        int x = 1;
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400)); // so questions are asked
        operation first = start_allreduce(comm, x, plus{}, fnomial{.degree = 2});
        std::vector<operation> all;
        const auto start = [&] {
            for (char& b : bytes) all.push_back(start_broadcast(comm, std::span(&b, 1), root{0}));
        };
        if (comm.rank() == 0) start();
        status s;
        first.wait(s);
        wrong += bool(s) || x != 2;
        if (comm.rank() == 1) start();
        for (operation& op : all) {
            op.wait(s);
            wrong += bool(s);
        }
    });
    CHECK(wrong == 0);
}

// Its messages to ranks that are no members go when nobody but it has been in flight, and the books know no peer yet.
TEST_CASE("start: an operation that was alone goes on when a group has been made meanwhile") {
    for (const std::size_t length : {1u, 3'000u}) {
        CAPTURE(length);
        std::vector<status> ends(6);
        in_process{6}.run([&](auto t) {
            communicator all{std::move(t), {.timeout_ns = 20'000'000'000}};
            const rank_t members[] = {0, 1};
            std::vector<std::int64_t> x(length, 1);
            operation one;
            const auto start = [&] { one = start_allreduce(all, std::span(x), plus{}, flat{}); };
            std::optional<decltype(all)> two;
            if (all.rank() < 2) {
                start();
                two = create_group(all, members);
            } else {
                start();
            }
            status& mine = ends[all.rank()];
            one.wait(mine);
            if (!mine && x.back() != 6) mine.code = errc::protocol_error;
        });
        for (const status& s : ends) CHECK(s.code == errc::ok);
    }
}

TEST_CASE("start: early messages leave their slots to what ranks say when they agree, or make a group") {
    for (const bool agrees : {false, true})
        for (const std::size_t length : {1u, 3'000u}) {
            CAPTURE(agrees, length);
            std::vector<status> ends(2);
            in_process{2, {.slots = 2}}.run([&](auto t) {
                communicator all{std::move(t), {.timeout_ns = 20'000'000'000}};
                communicator other = duplicate(all);
                const rank_t members[] = {0, 1};
                status& mine = ends[all.rank()];
                std::vector<std::int64_t> x(length, all.rank() == 0 ? 7 : 0);
                std::vector<operation> ahead;
                const auto start = [&] {
                    for (int i = 0; i != 3; ++i) ahead.push_back(start_broadcast(all, std::span(x), root{0}));
                };
                if (all.rank() == 0) start();
                if (agrees)
                    (void)agree(other, 1, mine);
                else
                    (void)create_group(other, members, mine);
                if (all.rank() == 1) start();
                for (operation& op : ahead) {
                    status s;
                    op.wait(s);
                    if (!mine) mine = s;
                }
                if (!mine && x.back() != 7) mine.code = errc::protocol_error;
            });
            for (const status& s : ends) CHECK(s.code == errc::ok);
        }
}
