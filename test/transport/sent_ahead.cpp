// SPDX-License-Identifier: BSL-1.0
// What ranks send ahead for newer operations does not stop older ones: over rings of shared memory, in which bytes run out
// as well as messages, over blocks of remote writes, and over tcp, where nothing is in place.
#include "support/any_order.hpp"
#include "support/catch.hpp"
#include "support/sample.hpp"
#include "support/two_late.hpp"
#include "transport/shared_memory_world.hpp"
#include "transport/tcp_ranks.hpp"
#include <bough/remote/in_process.hpp>
#include <bough/transport/composite_tcp.hpp>
#include <bough/transport/one_sided.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// What each rank reports.
template <class T, class F>
std::vector<status> ends_of_all(std::vector<T> transports, const F& program) {
    std::vector<status> ends(transports.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r != transports.size(); ++r)
        threads.emplace_back([&, r, mine = std::move(transports[r])]() mutable { ends[r] = program(std::move(mine)); });
    for (std::thread& t : threads) t.join();
    return ends;
}

struct load {
    int messages;
    std::size_t bytes;
};

template <class Make>
void check_sent_ahead(const Make& make, const std::vector<load>& loads = {
                                            {1, 8}, {20, 8}, {8, 16'384}, {4, 32'768}, {2, 65'536}, {3, 1'000'000}}) {
    for (const load l : loads) {
        CAPTURE(l.messages, l.bytes);
        for (const status& s : ends_of_all(make(3), [&](auto t) {
                 return bough_test::early_messages_in_the_way(std::move(t), l.messages, l.bytes);
             }))
            CHECK(s.code == errc::ok);
        for (const status& s : ends_of_all(make(4), [&](auto t) {
                 return bough_test::held_messages_in_the_way(std::move(t), l.messages, l.bytes);
             }))
            CHECK(s.code == errc::ok);
    }
}

template <class Make>
void check_left_behind(const Make& make) {
    struct load {
        int longs;
        std::size_t bytes;
        int shorts;
    };
    for (const load l : {load{120, 16'384, 30}, {0, 8, 3'000}, {63, 16'384, 1'000}, {200, 100'000, 3}})
        for (const bool first : {false, true}) {
            CAPTURE(l.longs, l.bytes, l.shorts, first);
            std::atomic<bool> is_due{false};
            for (const status& s : ends_of_all(make(3), [&](auto t) {
                     return bough_test::broadcasts_left_behind(std::move(t), l.longs, l.bytes, l.shorts, first, is_due);
                 }))
                CHECK(s.code == errc::ok);
        }
}

} // namespace

TEST_CASE("shared_memory: broadcasts that have ended at their root leave room to an older operation") {
    check_left_behind([](rank_t ranks) { return bough_test::shared_ends(ranks); });
}

TEST_CASE("tcp: broadcasts that have ended at their root leave room to an older operation") {
    check_left_behind([](rank_t ranks) { return test_tcp::ends_of(ranks); });
    check_left_behind(
        [](rank_t ranks) { return test_tcp::ends_of(ranks, {.unexpected_bytes_per_peer = std::uint64_t{256} << 10}); });
}

namespace {

template <class Make>
void check_any_order(const Make& make) {
    for (std::uint32_t n = 0; n != 6; ++n) {
        const std::uint32_t seed = static_cast<std::uint32_t>(bough_test::seed()) * 100 + n;
        const rank_t ranks = 2 + 2 * (n % 3);
        CAPTURE(seed, ranks);
        for (const status& s :
             ends_of_all(make(ranks), [&](auto t) { return bough_test::any_order(std::move(t), seed); }))
            CHECK(s.code == errc::ok);
    }
}

} // namespace

TEST_CASE("shared_memory: operations of several communicators may be started in any order") {
    check_any_order([](rank_t ranks) { return bough_test::shared_ends(ranks); });
    for (const std::uint32_t slots : {16u, 1u})
        check_any_order(
            [&](rank_t ranks) { return bough_test::shared_ends(ranks, {.slots = slots, .eager_bytes = 24}); });
}

TEST_CASE("tcp: operations of several communicators may be started in any order") {
    check_any_order([](rank_t ranks) { return test_tcp::ends_of(ranks); });
    check_any_order(
        [](rank_t ranks) { return test_tcp::ends_of(ranks, {.unexpected_bytes_per_peer = std::uint64_t{256} << 10}); });
}

TEST_CASE("composite: operations of several communicators may be started in any order") {
    check_any_order([](rank_t ranks) {
        return bough_test::joined_ends<shared_memory_tcp>(ranks, [](rank_t r, auto& wire, status& result) {
            return join_composite(wire, {.node = std::to_string(r / 2)}, result);
        });
    });
}

TEST_CASE("one_sided: operations of several communicators may be started in any order") {
    const one_sided_options options{.blocks = 8, .block_bytes = 512};
    check_any_order([&](rank_t ranks) {
        in_process_regions world(ranks, {.region_bytes = one_sided_bytes(ranks, options)});
        std::vector<one_sided<in_process_regions::endpoint>> ends;
        for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(world.connect(r), options);
        return ends;
    });
}

TEST_CASE("shared_memory, tcp: two communicators may be used in another order on another rank") {
    const auto program = [](auto t) { return bough_test::another_order(std::move(t)); };
    for (const status& s : ends_of_all(bough_test::shared_ends(3), program)) CHECK(s.code == errc::ok);
    for (const status& s : ends_of_all(test_tcp::ends_of(3), program)) CHECK(s.code == errc::ok);
}

TEST_CASE("composite: broadcasts that have ended at their root leave room to an older operation") {
    // Ranks 0 and 1 on one node, or on two.
    for (const rank_t per_node : {rank_t{2}, rank_t{1}})
        check_left_behind([&](rank_t ranks) {
            return bough_test::joined_ends<shared_memory_tcp>(ranks, [&](rank_t r, auto& wire, status& result) {
                return join_composite(wire, {.node = std::to_string(r / per_node)}, result);
            });
        });
}

TEST_CASE("shared_memory: what is sent ahead leaves its room to older operations") {
    check_sent_ahead([](rank_t ranks) { return bough_test::shared_ends(ranks); });
}

TEST_CASE(
    "shared_memory: messages that stay with their sender leave slots to older operations, however few there are") {
    // The first as by default with 64 ranks.
    for (const shared_memory_options& o : {shared_memory_options{.slots = 16, .eager_bytes = 16'384},
                                           {.slots = 256, .eager_bytes = 512},
                                           {.slots = 2, .eager_bytes = 24},
                                           {.slots = 1, .eager_bytes = 24}}) {
        CAPTURE(o.slots, o.eager_bytes);
        check_sent_ahead([&](rank_t ranks) { return bough_test::shared_ends(ranks, o); },
                         {{30, 16'400}, {300, 520}, {3, 32}, {3, 8}});
    }
}

TEST_CASE("shared_memory: a long message of a newer operation does not stop an older one of many messages") {
    for (const status& s : ends_of_all(bough_test::shared_ends(2), [](auto t) {
             communicator comm{std::move(t), {.timeout_ns = 20'000'000'000}};
             std::vector<char> x(std::size_t{2} << 20), y(300'000); // y stays with its sender
             const auto in_blocks = plan_broadcast(chain{}, {.size = 2, .blocks = 512});
             operation older = start_broadcast(comm, std::span(x), root{0}, in_blocks), newer;
             status first, second;
             if (comm.rank() == 0) newer = start_broadcast(comm, std::span(y), root{0}, chain{});
             older.wait(first);
             if (comm.rank() == 1) newer = start_broadcast(comm, std::span(y), root{0}, chain{});
             newer.wait(second);
             return first ? first : second;
         }))
        CHECK(s.code == errc::ok);
}

// The reduction is done in memory that all see: nothing of it is held up by what stays with its sender.
TEST_CASE("shared_memory: a long message does not wait for an operation that late ranks hold up") {
    std::atomic<bool> has_come{false};
    const auto program = [&](auto t) {
        communicator comm{std::move(t), {.timeout_ns = 20'000'000'000}};
        std::vector<double> x(1, 1.0);
        std::vector<char> y(20'000, static_cast<char>(comm.rank() == 0));
        if (comm.rank() == 2) has_come.wait(false);
        operation late = start_reduce(comm, std::span(x), plus{}, root{0}, automatic{.late_ranks = true});
        operation whole = start_broadcast(comm, std::span(y), root{0}, flat{});
        status first, second;
        if (comm.rank() == 1) {
            whole.wait(first);
            has_come = true;
            has_come.notify_one();
        }
        late.wait(second);
        if (comm.rank() != 1) whole.wait(first);
        if (!first && y.back() != 1) first.code = errc::protocol_error;
        return first ? first : second;
    };
    for (const status& s : ends_of_all(bough_test::shared_ends(3, {.eager_bytes = 512}), program))
        CHECK(s.code == errc::ok);
}

TEST_CASE("shared_memory: long messages of two communicators do not wait for each other") {
    const auto program = [](auto t) {
        communicator one{std::move(t), {.timeout_ns = 20'000'000'000}};
        communicator two = duplicate(one);
        std::vector<double> x(2'500, 1.0), y(2'500, 2.0);
        const auto sum = [](auto& comm, auto& z) { return start_allreduce(comm, std::span(z), plus{}, chain{}); };
        // Rank 0 starts them in another order than the others.
        operation first = one.rank() == 0 ? sum(one, x) : sum(two, y);
        operation second = one.rank() == 0 ? sum(two, y) : sum(one, x);
        status a, b;
        first.wait(a);
        second.wait(b);
        if (!a && (x.back() != 3 || y.back() != 6)) a.code = errc::protocol_error;
        return a ? a : b;
    };
    for (const status& s : ends_of_all(bough_test::shared_ends(3, {.eager_bytes = 512}), program))
        CHECK(s.code == errc::ok);
}

// Blocks of remote writes; long messages stay with their sender, too.
TEST_CASE("one_sided: messages that stay with their sender leave blocks to older operations") {
    for (const std::uint32_t blocks : {16u, 2u}) {
        CAPTURE(blocks);
        const one_sided_options options{.blocks = blocks, .block_bytes = 512};
        check_sent_ahead(
            [&](rank_t ranks) {
                in_process_regions world(ranks, {.region_bytes = one_sided_bytes(ranks, options)});
                std::vector<one_sided<in_process_regions::endpoint>> ends;
                for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(world.connect(r), options);
                return ends;
            },
            {{30, 600}, {1, 100'000}, {20, 8}});
    }
}

TEST_CASE("tcp: what is sent ahead leaves its room to older operations") {
    check_sent_ahead([](rank_t ranks) { return test_tcp::ends_of(ranks); });
}

namespace {

template <class Make>
void check_copies_of_others(const Make& make) {
    for (const rank_t ranks : {rank_t{6}, rank_t{13}}) {
        CAPTURE(ranks);
        const early_limits limits{
            .bytes_per_peer = 1 << 17, .bytes = std::uint64_t{ranks} << 15, .kept_bytes = 1 << 12};
        std::atomic<int> stage{0};
        for (const status& s : ends_of_all(make(ranks), [&](auto t) {
                 return bough_test::copies_of_others_in_the_way(std::move(t), limits, 80, stage, 3'000);
             }))
            CHECK(s.code == errc::ok);
    }
}

} // namespace

TEST_CASE("shared_memory, one_sided, tcp: copies of other ranks leave room to a rank that is waited for") {
    check_copies_of_others([](rank_t ranks) { return bough_test::shared_ends(ranks); });
    check_copies_of_others(
        [](rank_t ranks) { return bough_test::shared_ends(ranks, {.slots = 2, .eager_bytes = 24}); });
    check_copies_of_others([](rank_t ranks) {
        const one_sided_options options{.blocks = 4, .block_bytes = 2'048};
        in_process_regions world(ranks, {.region_bytes = one_sided_bytes(ranks, options)});
        std::vector<one_sided<in_process_regions::endpoint>> ends;
        for (rank_t r = 0; r != ranks; ++r) ends.emplace_back(world.connect(r), options);
        return ends;
    });
    check_copies_of_others(
        [](rank_t ranks) { return test_tcp::ends_of(ranks, {.unexpected_bytes_per_peer = std::uint64_t{256} << 10}); });
}
