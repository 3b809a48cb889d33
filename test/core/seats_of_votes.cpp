// SPDX-License-Identifier: BSL-1.0
// The tree in which the ranks of an MPI program vote on a communicator: every rank knows its neighbours, and
// only these.
#include "../../tools/mpi/seat.hpp"

#include "support/catch.hpp"
#include <bough/core/rank.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

using bough::no_rank;
using bough::rank_t;
using under_mpi::seat;

namespace {

std::vector<seat> seats_of(const std::vector<rank_t>& members, std::uint32_t number) {
    std::vector<seat> all;
    const auto size = static_cast<rank_t>(members.size());
    for (rank_t r = 0; r != size; ++r) {
        all.emplace_back(r, size, number);
        for (const rank_t m : members) all.back().add(m);
    }
    return all;
}
std::vector<rank_t> every(rank_t step, rank_t size) {
    std::vector<rank_t> members(size);
    for (rank_t r = 0; r != size; ++r) members[r] = step * r + step / 2;
    return members;
}

// A vote goes up in it, and its outcome down. How many ranks a vote passes at most.
std::size_t check_votes(const std::vector<rank_t>& members) {
    const std::vector<seat> all = seats_of(members, 3);
    const auto at = [&](rank_t its) {
        return static_cast<std::size_t>(std::find(members.begin(), members.end(), its) - members.begin());
    };
    std::size_t longest = 0, below_any = 0;
    for (std::size_t r = 0; r != members.size(); ++r) {
        const seat& mine = all[r];
        CHECK((mine.above() == no_rank) == (r == 0));
        CHECK(mine.below().size() <= seat::most_below);
        below_any += mine.below().size();
        for (std::size_t i = 0; i != mine.below().size(); ++i) {
            const std::size_t its = at(mine.below()[i]);
            REQUIRE(its < members.size());
            CHECK(all[its].above() == members[r]);
            CHECK(mine.waits_below(i) == !all[its].below().empty());
        }
        std::size_t steps = 0;
        for (std::size_t s = r; all[s].above() != no_rank && steps <= members.size(); ++steps) {
            const std::size_t next = at(all[s].above());
            REQUIRE(next < s); // so it ends
            const auto& below = all[next].below();
            CHECK(std::find(below.begin(), below.end(), members[s]) != below.end());
            s = next;
        }
        longest = std::max(longest, steps);
        // The rank above waits for another one than this: one below it, or the one above it.
        if (r != 0) {
            const seat& its = all[at(mine.above())];
            CHECK(mine.waits_above() == (its.below().size() > 1 || its.above() != no_rank));
        }
    }
    CHECK(below_any == members.size() - 1);
    return longest;
}

} // namespace

TEST_CASE("votes of an MPI program go up and down one tree of all ranks") {
    const auto wanted = [](rank_t size) { return size == 1 ? 0u : size <= 17 ? 1u : size <= 273 ? 2u : 3u; };
    for (const rank_t size : {1u, 2u, 3u, 4u, 16u, 17u, 18u, 33u, 34u, 272u, 273u, 274u, 300u}) {
        CAPTURE(size);
        std::vector<rank_t> members = every(1, size);
        CHECK(check_votes(members) == wanted(size));
        std::reverse(members.begin(), members.end());
        CHECK(check_votes(members) == wanted(size));
        CHECK(check_votes(every(3, size)) == wanted(size));
    }
}

TEST_CASE("votes on several communicators at a time have keys of their own") {
    std::set<std::uint64_t> keys;
    std::size_t made = 0;
    const auto add = [&](const std::vector<rank_t>& members, std::uint32_t number) {
        const std::vector<seat> all = seats_of(members, number);
        for (const seat& s : all) CHECK(s.key() == all[0].key()); // the same on all members
        keys.insert(all[0].key());
        ++made;
    };
    for (std::uint32_t number = 0; number != 40; ++number)
        for (rank_t size = 1; size != 20; ++size) {
            std::vector<rank_t> members = every(1, size);
            add(members, number);
            add(every(2, size), number);
            if (size == 1) continue;
            std::reverse(members.begin(), members.end()); // the same ranks in another order
            add(members, number);
        }
    CHECK(keys.size() == made);
}
