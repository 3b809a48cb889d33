// SPDX-License-Identifier: BSL-1.0
// Calls with names that ranks start, and wait for, in orders of their own; for tests over each transport.
#ifndef BOUGH_TEST_FRONTDOOR_NAMED_CALLS_HPP
#define BOUGH_TEST_FRONTDOOR_NAMED_CALLS_HPP

#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/thread_wire_up.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace test::named_calls {

using number = std::uint64_t;

// One call of a rank: its data, and what must come of them.
struct call_of_rank {
    std::size_t which = 0;
    std::vector<number> data{};
    bough::operation handle{};

    std::string name() const { return "gradient/" + std::to_string(which); }
    std::size_t length() const {
        return which % 7 == 6 ? 40'000 : which * which % 90 + 1;
    } // long ones among short ones
    bough::rank_t its_root(bough::rank_t p) const { return static_cast<bough::rank_t>(which) % p; }

    template <class Comm>
    void start(Comm& comm, number round) {
        const bough::rank_t r = comm.rank(), p = comm.size();
        data.assign(length(), (which + round) * 10 + r);
        const std::string text = name();
        const bough::named its{text}; // copied: it is gone when the operation ends
        switch (which % 4) {
        case 0: handle = bough::start_broadcast(comm, data, bough::root{its_root(p)}, its); break;
        case 1: handle = bough::start_reduce(comm, data, bough::plus{}, bough::root{its_root(p)}, its); break;
        default: handle = bough::start_allreduce(comm, data, bough::plus{}, its); break;
        }
    }
    bool is_right(bough::rank_t r, bough::rank_t p, number round) const {
        const number mine = (which + round) * 10;
        const number sum = mine * p + number{p} * (p - 1) / 2;
        number due = sum;
        if (which % 4 == 0) due = mine + its_root(p);
        if (which % 4 == 1 && r != its_root(p)) due = mine + r;
        return std::count(data.begin(), data.end(), due) == static_cast<std::ptrdiff_t>(data.size());
    }
};
inline std::vector<std::size_t> any_order(std::size_t count, std::mt19937_64& random) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    return order;
}

// Rounds of calls, each started and waited for in orders of this rank alone. How many results are wrong.
template <class Comm>
int train(Comm& comm, std::size_t count, number rounds, number seed) {
    std::mt19937_64 random(seed * 100 + comm.rank());
    int wrong = 0;
    for (number round = 0; round != rounds; ++round) {
        std::vector<call_of_rank> calls(count);
        for (const std::size_t i : any_order(count, random)) {
            calls[i].which = i;
            calls[i].start(comm, round);
            if (random() % 3 == 0) comm.progress();
        }
        for (const std::size_t i : any_order(count, random)) {
            bough::status s;
            calls[i].handle.wait(s);
            wrong += s || !calls[i].is_right(comm.rank(), comm.size(), round);
        }
    }
    return wrong;
}
// The same over a transport that is joined by threads.
template <class Join>
void train_over(const Join& join) {
    for (bough::rank_t p = 2; p != 6; ++p) {
        bough::testing::thread_wire_up world{p};
        std::atomic<int> wrong{0}, ended{0};
        std::vector<std::thread> threads;
        for (bough::rank_t r = 0; r != p; ++r)
            threads.emplace_back([&, r] {
                auto wire = world.of(r);
                bough::communicator comm{join(wire)};
                auto named_calls = bough::duplicate(comm);
                wrong += train(named_calls, 30, 3, bough_test::seed() + p);
                bough::barrier(comm);
                ++ended;
            });
        for (std::thread& t : threads) t.join();
        CAPTURE(p);
        CHECK(wrong == 0);
        CHECK(ended == static_cast<int>(p));
    }
}

} // namespace test::named_calls

#endif
