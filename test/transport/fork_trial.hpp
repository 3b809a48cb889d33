// SPDX-License-Identifier: BSL-1.0
// Trials of a group of processes in which a rank forks amid its operations, over any transport.
#ifndef BOUGH_TEST_TRANSPORT_FORK_TRIAL_HPP
#define BOUGH_TEST_TRANSPORT_FORK_TRIAL_HPP

#include "support/catch.hpp"
#include "support/child_of_fork.hpp"
#include "support/sample.hpp"
#include "transport/shared_memory_world.hpp"
#include <bough/barrier.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace bough_test {

inline constexpr std::uint64_t fork_timeout_ns = 60'000'000'000;

inline void check_all_well(processes& group, bough::rank_t ranks, const char* name, std::size_t count) {
    group.wait();
    for (bough::rank_t r = 0; r != ranks; ++r) {
        CAPTURE(name, count, r, group.exit_code(r), group.of(r).wrong, group.of(r).result.code);
        CHECK((group.exit_code(r) == 0 && group.of(r).wrong == 0));
    }
}

// All that a child can do, while the others have not begun. join(wire) -> a transport; begin(comm)
// -> what a rank has besides the communicator, and what else its children do.
template <class Join, class Begin>
void check_deeds_of_children(const char* name, const Join& join, const Begin& begin) {
    constexpr bough::rank_t ranks = 3;
    for (const std::size_t count : {std::size_t{1}, std::size_t{300'000}}) {
        processes group(ranks, [&](auto& wire, report& told) {
            in_flight mine{std::optional(bough::communicator{join(wire), {.timeout_ns = fork_timeout_ns}})};
            auto also = begin(mine);
            const report& last = *(&told + (ranks - 1 - wire.rank()));
            const auto wait = [&last] {
                while (last.phase == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
            };
            told.wrong += static_cast<std::uint64_t>(wrong_beside_children(
                mine, count, [&told] { told.phase = 1; }, wait, also.deeds_of_child()));
        });
        check_all_well(group, ranks, name, count);
    }
}
struct nothing_else {
    template <class X>
    explicit nothing_else(in_flight<X>&) {}
    deeds deeds_of_child() { return {}; }
};
template <class Join>
void check_deeds_of_children(const char* name, const Join& join) {
    check_deeds_of_children(name, join, []<class X>(in_flight<X>& mine) { return nothing_else(mine); });
}

// Forks at any moment of a traffic that goes on.
template <class Join>
void check_forks_amid_traffic(const char* name, const Join& join) {
    using namespace bough;
    for (rank_t ranks = 2; ranks != 5; ++ranks) {
        const std::size_t count = 200'000;
        processes group(ranks, [&](auto& wire, report& told) {
            communicator comm{join(wire), {.timeout_ns = fork_timeout_ns}};
            for (int trial = 0; trial != (all() ? 40 : 6); ++trial) {
                const std::uint64_t dice = mixed(seed() * 700 + static_cast<std::uint64_t>(trial));
                std::vector<std::uint64_t> x(count, 1), y(5, 1);
                operation large = start_allreduce(comm, x, plus{}), small = start_allreduce(comm, y, plus{});
                if (dice % ranks == comm.rank()) {
                    for (std::uint64_t i = 0; i != dice / 64 % 60; ++i) comm.progress();
                    const bool over[2] = {large.done(), small.done()}; // then it has its result in the child, too
                    told.check(holds_in_child(name, [&] {
                        const bool good =
                            (over[0] || says_forked_child(large)) && (over[1] || says_forked_child(small));
                        if (dice / 4096 % 2 == 0) communicator gone{std::move(comm)};
                        large = {};
                        return good;
                    }));
                }
                status s;
                large.wait(s);
                told.check(!s && std::count(x.begin(), x.end(), ranks) == std::ssize(x));
                small.wait(s);
                told.check(!s && std::count(y.begin(), y.end(), ranks) == std::ssize(y));
                if (s && !told.result) told.result = s;
            }
            status ignored;
            barrier(comm, ignored);
        });
        check_all_well(group, ranks, name, count);
    }
}

} // namespace bough_test

#endif
