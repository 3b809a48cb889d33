// SPDX-License-Identifier: BSL-1.0
// What the tests of partial calls share: a loop in which ranks come late at random, and what its results
// must be.
#ifndef BOUGH_TEST_CALL_PARTIAL_HPP
#define BOUGH_TEST_CALL_PARTIAL_HPP

#include "support/affine.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/call/partial.hpp>
#include <bough/error.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace test::partial_calls {

// Call k of p ranks: the same on all of them.
struct task {
    std::uint64_t dice;
    std::size_t count; // elements
    bough::partial how;

    task(std::uint64_t k, bough::rank_t p) : dice(bough_test::mixed(bough_test::seed() * 1'000'003 + k)) {
        constexpr std::array<std::size_t, 5> counts{1, 0, 5, 300, 20'000};
        count = counts[dice % 64 == 0 ? 4 : dice % 4];
        how.within = std::chrono::microseconds(dice / 64 % 4 * 100);
        how.at_least = static_cast<bough::rank_t>(dice / 256 % (p + 1));
        how.behind = static_cast<std::uint32_t>(dice / 4096 % 4);
        how.decider = static_cast<bough::rank_t>(dice / 65536 % p);
    }
    bool is_late(bough::rank_t r) const { return bough_test::mixed(dice + r) % 8 < 2; }
};

// What one rank had from a call: a hash of the result, and who has contributed.
struct outcome {
    std::uint64_t hash = 0, who = 0;
    bool operator==(const outcome&) const = default;
};

inline bough_test::affine expected(std::uint64_t k, std::uint64_t who, std::size_t i) {
    bough_test::affine x;
    bool any = false;
    for (bough::rank_t r = 0; r != 64; ++r) {
        if ((who >> r & 1) == 0) continue;
        x = any ? bough_test::compose{}(x, bough_test::value_of(k, r, i)) : bough_test::value_of(k, r, i);
        any = true;
    }
    return x;
}

// Calls from `first` on, with random late ranks. Calls keep(k, outcome) for each. Returns what was wrong.
template <class C, class F>
int exercise(C& comm, std::uint64_t first, std::uint64_t calls, const F& keep) {
    using bough_test::affine;
    int wrong = 0;
    const bough::rank_t p = comm.size(), me = comm.rank();
    bough::contributors came;
    for (std::uint64_t k = first; k != first + calls; ++k) {
        task now(k, p);
        std::vector<affine> in, out(now.count);
        for (std::size_t i = 0; i != now.count; ++i) in.push_back(bough_test::value_of(k, me, i));
        const std::vector<affine> before = in;
        if (now.is_late(me)) std::this_thread::sleep_for(std::chrono::microseconds(now.dice / 7 % 700));
        now.how.contributed = &came;
        bough::status s;
        bough::allreduce(comm, in, out, bough_test::compose{}, now.how, s);
        if (s) return 1000 + static_cast<int>(s.code);
        outcome had;
        for (bough::rank_t r = 0; r != p; ++r) had.who |= std::uint64_t{came.has(r)} << r;
        wrong += in != before;
        wrong += came.size() != p || !came.has(now.how.decider) || came.count() < now.how.at_least;
        wrong += now.how.behind == 0 && came.count() != p;
        for (std::size_t i = 0; i != now.count; ++i) {
            wrong += out[i] != expected(k, had.who, i);
            had.hash = bough_test::mixed(had.hash ^ out[i].a) + out[i].b;
        }
        keep(k, had);
    }
    return wrong;
}

} // namespace test::partial_calls

#endif
