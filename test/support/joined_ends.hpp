// SPDX-License-Identifier: BSL-1.0
// All ends of a group in one process, for tests that drive them from one thread. A thread of its own joins each.
//
//   std::vector<tcp> ends = bough_test::joined_ends<tcp>(3, [&](rank_t, auto& wire, status& result) {
//       return tcp::join(wire, options, result);
//   });
#ifndef BOUGH_TEST_SUPPORT_JOINED_ENDS_HPP
#define BOUGH_TEST_SUPPORT_JOINED_ENDS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/testing/thread_wire_up.hpp>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace bough_test {

// join(rank, wire, result) -> optional<End>. `why`, if given: how each rank's join ended, and ends that were not made are
// missing. Without it they are thrown.
template <class End, class Join>
std::vector<End> joined_ends(bough::rank_t ranks, const Join& join, std::vector<bough::status>* why = nullptr) {
    const bough::testing::thread_wire_up world{ranks};
    std::vector<std::optional<End>> made(ranks);
    std::vector<bough::status> results(ranks);
    std::vector<std::thread> threads;
    for (bough::rank_t r = 0; r != ranks; ++r)
        threads.emplace_back([&, r] {
            auto wire = world.of(r);
            if (std::optional<End> end = join(r, wire, results[r])) made[r].emplace(std::move(*end));
        });
    for (std::thread& t : threads) t.join();
    std::vector<End> ends;
    for (bough::rank_t r = 0; r != ranks; ++r) {
        if (made[r]) ends.push_back(std::move(*made[r]));
        if (!made[r] && why == nullptr) throw bough::error(results[r]);
    }
    if (why != nullptr) *why = std::move(results);
    return ends;
}

} // namespace bough_test

#endif
