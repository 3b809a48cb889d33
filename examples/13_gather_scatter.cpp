// SPDX-License-Identifier: BSL-1.0
// Deal out work, collect results: scatter and gather, with blocks of equal and of different length.
#include <bough/gather.hpp>
#include <bough/multicast.hpp>
#include <bough/scatter.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

constexpr bough::root boss{2};

int main() {
    bough::in_process{5}.run([](auto transport) {
        bough::communicator comm{std::move(transport)};
        const bool is_boss = comm.rank() == boss.rank;

        // Two numbers for each rank. The other ranks' first argument is not looked at.
        std::vector<int> work(is_boss ? 10 : 0), mine(2);
        std::iota(work.begin(), work.end(), 1);
        bough::scatter(comm, std::span(work), std::span(mine), boss);
        for (int& x : mine) x *= x;
        bough::gather(comm, std::span(mine), std::span(work), boss);
        if (is_boss) std::printf("squares: %d %d ... %d\n", work[0], work[1], work[9]);

        // Rank r has r results. Everybody knows how many the others have.
        const std::vector<std::size_t> counts{0, 1, 2, 3, 4};
        std::vector<char> letters(counts[comm.rank()], static_cast<char>('a' + comm.rank()));
        std::vector<char> all(is_boss ? 10 : 0);
        bough::gatherv(comm, std::span(letters), std::span(all), counts, boss);
        if (is_boss) std::printf("letters: %.10s\n", all.data());

        // In place: the root's data is the whole vector, the others' is their block.
        if (!is_boss) all.assign(counts[comm.rank()], '-');
        bough::scatterv(comm, std::span(all), counts, boss);
        if (comm.rank() == 3) std::printf("back at rank 3: %.3s\n", all.data());

        // Some ranks only: 0 and 4 get what the root has.
        std::vector<bough::rank_t> members{0, 4};
        int word = is_boss ? 42 : 0;
        bough::multicast(comm, std::span(&word, 1), members, boss);
        mine = {static_cast<int>(comm.rank()), word};
        std::vector<int> seen(is_boss ? 10 : 0);
        bough::gather(comm, std::span(mine), std::span(seen), boss);
        for (std::size_t i = 0; i != seen.size(); i += 2) std::printf("rank %d: %d\n", seen[i], seen[i + 1]);
    });
}
