// SPDX-License-Identifier: BSL-1.0
// Groups of verbs for tests, over the card that is here. tools/test-verbs makes one of software.
#ifndef BOUGH_TEST_VERBS_RANKS_HPP
#define BOUGH_TEST_VERBS_RANKS_HPP

#include "support/catch.hpp"
#include "support/joined_ends.hpp"
#include <bough/launch.hpp>
#include <bough/transport/verbs.hpp>
#include <bough/transport/verbs/regions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace test_verbs {

static_assert(bough::detail::RdmaDevice<bough::detail::verbs_device>);

using bough::rank_t;

// Where there has to be a card, its absence is a failure.
inline bool has_card() {
    const bough::status why = bough::detail::verbs_device{}.open({});
    if (!why) return true;
    if (std::getenv("BOUGH_TEST_NEEDS_CARD") != nullptr)
        FAIL("no RDMA card: " << why.argument);
    else
        WARN("skipped: there is no RDMA card here; tools/test-verbs makes one");
    return false;
}
// For ends that one thread drives: they cannot answer each other while one is destroyed.
inline bough::verbs_options in_one_thread() {
    bough::verbs_options o;
    o.linger_ns = 30'000'000;
    return o;
}

// All ends of a group, for tests that drive them from one thread. `why`, if given: how each rank's join ended.
inline std::vector<bough::verbs> ends_of(const std::vector<bough::verbs_options>& options,
                                         std::vector<bough::status>* why = nullptr) {
    return bough_test::joined_ends<bough::verbs>(
        static_cast<rank_t>(options.size()),
        [&](rank_t r, auto& wire, bough::status& result) { return bough::verbs::join(wire, options[r], result); }, why);
}

inline std::vector<bough::verbs_regions> regions_of(const std::vector<bough::verbs_regions_options>& options,
                                                    std::vector<bough::status>* why = nullptr) {
    return bough_test::joined_ends<bough::verbs_regions>(
        static_cast<rank_t>(options.size()),
        [&](rank_t r, auto& wire, bough::status& result) {
            return bough::verbs_regions::join(wire, options[r], result);
        },
        why);
}

// Polls one end until it reports `lost` of a rank; false: it never did within ten seconds.
template <class End>
bool hears_of_loss(End& end, rank_t of) {
    const std::uint64_t last = end.now_ns() + 10'000'000'000;
    std::array<bough::event, 4> events;
    while (end.now_ns() < last) {
        const std::size_t found = end.poll(events);
        for (std::size_t i = 0; i != found; ++i)
            if (events[i].what == bough::event::kind::lost && events[i].peer == of) return true;
        if (found == 0) std::this_thread::yield();
    }
    return false;
}

// Whether rank 0 hears of the end of rank 1, which leaves without a word and which nobody can watch. join(wire) -> End.
template <class Join>
bough::launch_report end_of_a_stranger(const Join& join) {
    return bough::launch(2, [&](bough::job world) {
        if (world.rank() == 0) {
            auto end = join(world);
            return hears_of_loss(end, 1) ? 0 : 1;
        }
        // In a space of process numbers of its own it is as far away as on another machine.
        const pid_t child = ::unshare(CLONE_NEWPID) == 0 ? ::fork() : 0;
        if (child == 0) {
            const auto end = join(world);
            ::_exit(0);
        }
        ::waitpid(child, nullptr, 0);
        return 0;
    });
}

// Of a rank that may not register memory its peer is told. join(wire, status) -> whether it has joined.
template <class Join>
bough::launch_report little_memory(const Join& join) {
    return bough::launch(2, [&](bough::job world) {
        if (world.rank() == 1) {
            const rlimit little{64 << 10, 64 << 10};
            if (::setrlimit(RLIMIT_MEMLOCK, &little) != 0 || ::setuid(65534) != 0) return 5; // root has no limit
        }
        bough::status why;
        if (join(world, why)) return 2;
        if (world.rank() == 1) return why.code == bough::errc::no_resources ? 0 : 3;
        return why.code == bough::errc::peer_aborted && why.cause == bough::errc::no_resources && why.peer == 1 ? 0 : 4;
    });
}

} // namespace test_verbs

#endif
