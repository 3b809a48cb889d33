// SPDX-License-Identifier: BSL-1.0
// Reverse: run a broadcast backwards and get a reduce. One generator, two collectives; verify proves both.
//
// A broadcast step read backwards: what was sent comes back and is combined; what was received is sent.
//   plan_reduce(reverse(tree_broadcast{fnomial{.degree = 3}}), {.size = 9})
//
// Ranks       those of the broadcast
// Op          the operand of the lower rank stands left; whether rank order results depends on the broadcast (verify tells)
// Rounds      those of the broadcast; Traffic: the same; Combines: one block for each block that the broadcast sends
// Scratch     one plane per message that the broadcast sends for a block, and one to accumulate in
// Pre         every rank but the root receives each block exactly once (true for any correct broadcast without waste)
// Errors      those of the broadcast's check()
// Source      duality of broadcast and reduction: Banikazemi et al. 1998, Rabenseifner 2004, Traeff 2022
#ifndef BOUGH_ALGORITHM_REVERSE_HPP
#define BOUGH_ALGORITHM_REVERSE_HPP

#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <vector>

namespace bough {

template <Algorithm Broadcast>
struct reversed {
    using serves = goals<goal::reduce>;
    Broadcast broadcast{};

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        schedule forward;
        broadcast.emit(at, rank, forward);
        const bool is_root = rank == at.root;
        const buffer acc = is_root ? output : bough::scratch(0);
        std::vector<std::uint32_t> landed(at.blocks, 0); // how many children of a block have come
        // Calls f(run, fresh) for the maximal runs of blocks of which nothing (fresh) or something has come.
        const auto for_each_run = [&](const slice& s, auto&& f) {
            for (block_t first = s.first; first != s.last();) {
                block_t last = first + 1;
                while (last != s.last() && (landed[last] == 0) == (landed[first] == 0)) ++last;
                f(slice{acc, first, last - first}, landed[first] == 0);
                first = last;
            }
        };
        for (std::size_t i = forward.size(); i-- != 0;) {
            const step& s = forward[i];
            if (s.verb == verb::receive) {
                bool fresh = true;
                for (block_t b = s.out.first; b != s.out.last(); ++b) fresh &= landed[b] == 0;
                if (!fresh)
                    for_each_run(s.out, [&](const slice& run, bool is_fresh) {
                        if (is_fresh) out.copy(run.in(input), run);
                    });
                out.send(s.peer, s.out.in(fresh ? input : acc));
            } else if (s.verb == verb::send) {
                std::uint32_t plane = 0;
                for (block_t b = s.a.first; b != s.a.last(); ++b) plane = std::max(plane, landed[b]);
                const slice come = s.a.in(bough::scratch((is_root ? 0 : 1) + plane));
                out.receive(s.peer, come);
                for_each_run(s.a, [&](const slice& run, bool is_fresh) {
                    const slice have = run.in(is_fresh ? input : acc);
                    if (s.peer < rank)
                        out.combine(run.in(come.buffer), have, run);
                    else
                        out.combine(have, run.in(come.buffer), run);
                });
                for (block_t b = s.a.first; b != s.a.last(); ++b) landed[b] = plane + 1;
            }
        }
        if (at.size == 1 && at.blocks != 0) out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
    }
    constexpr block_t natural_blocks(rank_t size) const { return broadcast.natural_blocks(size); }
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        step_counts counts;
        broadcast.emit(at, rank, counts);
        const auto landing = static_cast<block_t>(counts.blocks_sent);
        return landing == 0 ? 0 : landing + (rank == at.root ? 0 : at.blocks);
    }
    constexpr status check(const dimensions& at) const { return broadcast.check(at); }
    friend constexpr bool operator==(const reversed&, const reversed&) = default;
};

template <Algorithm Broadcast>
constexpr reversed<Broadcast> reverse(const Broadcast& broadcast) {
    return {broadcast};
}

} // namespace bough

#endif
