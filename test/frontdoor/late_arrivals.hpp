// SPDX-License-Identifier: BSL-1.0
// What the tests of ranks that come late share: operations with a result that shows the order of combining,
// at random skew.
#ifndef BOUGH_TEST_FRONTDOOR_LATE_ARRIVALS_HPP
#define BOUGH_TEST_FRONTDOOR_LATE_ARRIVALS_HPP

#include "support/affine.hpp"
#include "support/sample.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/reduce.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace test::late {

inline constexpr bough::automatic late{.late_ranks = true};

// One operation of rank r, with its data.
struct task {
    std::uint64_t k;
    bool all;
    bough::rank_t root;
    std::vector<bough_test::affine> in, out;
    bough::operation op{};

    template <class C>
    task(std::uint64_t number, C& comm)
        : k(number), all(number % 3 == 0), root(static_cast<bough::rank_t>(number % comm.size())) {
        constexpr std::array<std::size_t, 5> counts{1, 0, 5, 256, 257}; // the last one is longer than a place
        const std::size_t count = counts[static_cast<std::size_t>(number / 5 % 5)];
        for (std::size_t i = 0; i != count; ++i) in.push_back(bough_test::value_of(k, comm.rank(), i));
        out.resize(count);
        const auto choice = number % 7 == 6 ? bough::automatic{} : late;
        if (all)
            op = bough::start_allreduce(comm, in, out, bough_test::compose{}, choice);
        else
            op = bough::start_reduce(comm, in, out, bough_test::compose{}, bough::root{root}, choice);
    }
    template <class C>
    int wrong(C& comm) {
        bough::status s;
        op.wait(s);
        int bad = s ? 1 : 0;
        if (all || root == comm.rank())
            for (std::size_t i = 0; i != out.size(); ++i)
                bad += out[i] == bough_test::expected(k, comm.size(), i) ? 0 : 1;
        return bad;
    }
};

// Random skew, every root, with and without late places, up to eleven operations in flight, waited for in
// any order.
template <class C>
int exercise(C& comm, std::uint64_t rounds) {
    int wrong = 0;
    std::vector<task> flying;
    for (std::uint64_t k = 0; k != rounds; ++k) {
        const std::uint64_t dice = bough_test::mixed(k * 977 + comm.rank());
        if (dice % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice / 8 % 150));
        if (k % 11 == 10) bough::barrier(comm, late);
        flying.emplace_back(k, comm);
        while (flying.size() > 10 || (!flying.empty() && bough_test::mixed(dice) % 3 == 0)) {
            const std::size_t i = bough_test::one_of(flying.size(), bough_test::mixed(dice + flying.size()));
            wrong += flying[i].wrong(comm);
            flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    for (task& t : flying) wrong += t.wrong(comm);
    return wrong;
}

// Sums, until there is an error.
template <class C>
bough::status sum_until_an_error(C& comm) {
    for (std::uint64_t i = 0;; ++i) {
        std::uint64_t x = 1;
        bough::status s;
        bough::start_allreduce(comm, std::span(&x, 1), bough::plus{}, late).wait(s);
        if (s) return s;
        if (x != comm.size()) return {.code = bough::errc::protocol_error};
    }
}
inline bool is(const bough::status& s, bough::errc code) { return s.code == code || s.cause == code; }

} // namespace test::late

#endif
