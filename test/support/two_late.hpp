// SPDX-License-Identifier: BSL-1.0
// Programs in which some ranks run ahead with operations in flight while others block in an older
// one: what is sent ahead must not keep the slots that the older one needs. Each returns how the
// first failed operation of this rank ended.
#ifndef BOUGH_TEST_SUPPORT_TWO_LATE_HPP
#define BOUGH_TEST_SUPPORT_TWO_LATE_HPP

#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/table.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>
#include <thread>
#include <vector>

namespace bough_test {

inline void be_late() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

template <class List>
bough::status first_failure(bough::operation& one, List& more) {
    bough::status first;
    one.wait(first);
    for (bough::operation& o : more) {
        bough::status s;
        o.wait(s);
        if (!first) first = s;
    }
    return first;
}

// Three ranks reduce along a chain. Rank 2 is late; meanwhile rank 1 sends `ahead` broadcasts to
// rank 0, which has not started them and waits for rank 1 in the reduction.
template <class T>
bough::status early_messages_in_the_way(T transport, int ahead, std::size_t bytes) {
    using namespace bough;
    communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
    std::vector<double> x(8, 1.0);
    std::vector<std::vector<char>> y(static_cast<std::size_t>(ahead), std::vector<char>(bytes, 1));
    status s;
    if (comm.rank() == 2) be_late();
    if (comm.rank() == 0) {
        reduce(comm, std::span(x), plus{}, root{0}, chain{}, s);
        for (auto& v : y)
            if (!s) broadcast(comm, std::span(v), root{1}, flat{}, s);
        return s;
    }
    operation one = start_reduce(comm, std::span(x), plus{}, root{0}, chain{});
    std::vector<operation> more;
    for (auto& v : y) more.push_back(start_broadcast(comm, std::span(v), root{1}, flat{}));
    return first_failure(one, more);
}

// Four ranks: ranks 1 and 2 block in an allreduce, for which rank 2 is late. Rank 0 holds what rank
// 3 sends ahead for `ahead` reductions, each of which waits for ranks 1 and 2.
template <class T>
bough::status held_messages_in_the_way(T transport, int ahead, std::size_t bytes) {
    using namespace bough;
    static constexpr tree_edge edges[] = {{0, 1}, {0, 3}, {3, 2}};
    communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
    std::vector<double> x(8, 1.0);
    std::vector<std::vector<double>> y(static_cast<std::size_t>(ahead), std::vector<double>(bytes / 8, 1.0));
    const table older(4, 0, edges);
    status s;
    if (comm.rank() == 2) be_late();
    if (comm.rank() == 1 || comm.rank() == 2) {
        allreduce(comm, std::span(x), plus{}, older, s);
        for (auto& v : y)
            if (!s) reduce(comm, std::span(v), plus{}, root{0}, flat{}, s);
        return s;
    }
    operation one = start_allreduce(comm, std::span(x), plus{}, older);
    std::vector<operation> more;
    for (auto& v : y) more.push_back(start_reduce(comm, std::span(v), plus{}, root{0}, flat{}));
    return first_failure(one, more);
}

// Three ranks: all are in an allreduce, for which rank 2 is late. Rank 0 has `longs` broadcasts of
// `bytes` and `shorts` of 8 bytes behind it, to rank 1 alone, which end at their root at once. Rank
// 1 starts them after the allreduce, or before it ends (`first`). `is_due`: rank 0 has posted what
// it can.
template <class T>
bough::status broadcasts_left_behind(T transport, int longs, std::size_t bytes, int shorts, bool first,
                                     std::atomic<bool>& is_due) {
    using namespace bough;
    communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
    communicator two = split(comm, comm.rank() == 2 ? 1 : 0);
    int x = 1;
    std::vector<char> y(bytes, static_cast<char>(comm.rank()));
    status s;
    if (comm.rank() == 2) {
        while (!is_due) be_late();
        be_late();
        allreduce(comm, std::span(&x, 1), plus{}, flat{}, s);
        return s;
    }
    operation one = start_allreduce(comm, std::span(&x, 1), plus{}, flat{});
    if (comm.rank() == 1 && !first) one.wait(s);
    std::vector<operation> more;
    for (int i = 0; i != longs + shorts; ++i)
        more.push_back(start_broadcast(two, std::span(y).first(i < longs ? bytes : 8), root{0}));
    if (first) {
        is_due = true;
        s = first_failure(more.back(), more);
    } else if (comm.rank() == 0) {
        for (int turn = 0; turn != 5'000; ++turn) (void)one.poll();
        is_due = true;
    }
    const status t = first_failure(one, more);
    if (!s) s = t;
    if (!s && (x != 3 || y.front() != 0 || (longs != 0 && y.back() != 0))) s.code = errc::protocol_error;
    return s;
}

// Three ranks and two communicators of ranks 0 and 1, which rank 1 uses in the other order, with as
// much early as it may keep: rank 0 has 20 broadcasts on the first, a call for which rank 2 waits
// for rank 1, and 100 broadcasts on the second.
template <class T>
bough::status another_order(T transport) {
    using namespace bough;
    communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
    const rank_t me = comm.rank();
    communicator first = split(comm, me == 2 ? 1 : 0), second = split(comm, me == 2 ? 1 : 0);
    communicator far = split(comm, me == 1 ? 1 : 0), late = split(comm, me == 0 ? 1 : 0);
    int x = 1;
    std::vector<char> y(16'384, static_cast<char>(me));
    status s;
    std::vector<operation> older, newer;
    const auto start = [&](auto& on, int count, std::vector<operation>& all) {
        for (int i = 0; i != count; ++i) all.push_back(start_broadcast(on, std::span(y), root{0}));
    };
    if (me == 2) {
        broadcast(late, std::span(&x, 1), root{0}, s);
        if (!s) allreduce(far, std::span(&x, 1), plus{}, s);
        return s;
    }
    operation between;
    if (me == 0) {
        start(first, 20, older);
        between = start_allreduce(far, std::span(&x, 1), plus{});
    }
    start(second, 100, newer);
    s = first_failure(newer.back(), newer);
    if (me == 1) {
        if (!s) broadcast(late, std::span(&x, 1), root{0}, s);
        start(first, 20, older);
    }
    const status t = first_failure(between, older);
    return s ? s : t;
}

// All ranks reduce to rank 0 along a tree in which rank 1, which is late, is a child of rank 2, and then
// `more` times to rank 0 directly. The leaves have ended the first reduction, and send rank 0 more than all
// copies may take. So there is no room left when rank 2, for which rank 0 waits, runs ahead. `stage`: 1, the
// room is full, or rank 0 has polled `turns` times (what tcp keeps needs no copies); 2, rank 2 has sent what
// it can.
template <class T>
bough::status copies_of_others_in_the_way(T transport, const bough::early_limits& limits, int more,
                                          std::atomic<int>& stage, int turns = std::numeric_limits<int>::max()) {
    using namespace bough;
    communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000, .early = limits}};
    const rank_t me = comm.rank();
    std::vector<tree_edge> edges{{0, 2}, {2, 1}};
    for (rank_t r = 3; r < comm.size(); ++r) edges.push_back({0, r});
    const table older(comm.size(), 0, edges);
    std::vector<std::uint32_t> x(1, me);
    std::vector<std::vector<std::uint32_t>> y(static_cast<std::size_t>(more), std::vector<std::uint32_t>(250, me));
    status s;
    while (stage < (me == 2 ? 1 : me == 1 ? 2 : 0)) std::this_thread::yield();
    operation one = start_reduce(comm, std::span(x), plus{}, root{0}, older);
    std::vector<operation> others;
    const auto start = [&] {
        for (auto& v : y) others.push_back(start_reduce(comm, std::span(v), plus{}, root{0}, flat{}));
    };
    if (me == 0) {
        const auto is_full = [&] { return comm.shared_session()->early_bytes() + 2'000 >= limits.bytes; };
        for (int turn = 0; turn != turns && !one.poll() && !is_full(); ++turn) std::this_thread::yield();
        stage = one.done() ? 2 : 1;
        one.wait(s);
        if (!s) start();
    } else {
        start();
        if (me == 2) stage = 2;
    }
    const status t = first_failure(one, others);
    if (!s) s = t;
    const std::uint32_t sum = comm.size() * (comm.size() - 1) / 2;
    if (!s && me == 0 && (x.front() != sum || y.back().back() != sum)) s.code = errc::protocol_error;
    return s;
}

} // namespace bough_test

#endif
