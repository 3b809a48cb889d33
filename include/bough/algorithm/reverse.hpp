// SPDX-License-Identifier: BSL-1.0
// Reverse: runs a collective backwards. A broadcast becomes a reduce, and an allgather becomes a
// reduce_scatter: one generator, two collectives. verify proves both.
//
// A step read backwards: what was sent comes back and is combined; what was received is sent.
//   plan_reduce(reverse(tree_broadcast{fnomial{.degree = 3}}), {.size = 9})
//   plan_reduce_scatter(reverse(neighbour_exchange{}, 1), {.size = 8})
//
// Ranks       those of the original
// Op          the operand of the lower rank stands left; whether rank order results depends on the
//             original (verify tells)
// Rounds      those of the original; Traffic: the same; Combines: one block for each block that the
//             original sends
// Scratch     to accumulate in, except for the blocks whose result a rank gets; and to land in: for
//             each message that the original sends of a block a plane, or `landing` planes by turns
// Pre         in the original a rank receives each block exactly once, but none that it has at the
//             start (true for any correct original without waste); the only copies are from input
//             to output, of a block that is there at the start
// Errors      those of the original's check()
// Source      duality of broadcast and reduction: Banikazemi et al. 1998, Rabenseifner 2004, Traeff 2022
#ifndef BOUGH_ALGORITHM_REVERSE_HPP
#define BOUGH_ALGORITHM_REVERSE_HPP

#include <bough/algorithm/detail/scratch_use.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <Algorithm Original>
struct reversed {
    // Is the original an allgather? If it serves both, or does not say, it is taken for a
    // broadcast.
    static constexpr bool scatters = serves_v<Original, goal::allgather> && !serves_v<Original, goal::broadcast>;
    static_assert(scatters || serves_v<Original, goal::broadcast>,
                  "bough: reverse takes a broadcast or an allgather; for gather and scatter see mirror");
    using serves = std::conditional_t<scatters, goals<goal::reduce_scatter>, goals<goal::reduce>>;

    Original original{};
    // Planes that the messages of a block land in, by turns; 0: one for each message, so that all
    // may come at once.
    std::uint32_t landing = 0;

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        schedule forward;
        original.emit(at, rank, forward);
        const auto gets = [&](block_t b) { return scatters ? owner_of(at, b) == rank : rank == at.root; };
        const auto acc = [&](block_t b) { return gets(b) ? output : bough::scratch(0); };
        const std::uint32_t first_plane = !scatters && rank == at.root ? 0 : 1;
        std::vector<std::uint32_t> landed(at.blocks, 0); // how many messages of a block have come
        // Calls f(run, fresh) for the maximal runs of blocks that accumulate in one buffer and into
        // which nothing (fresh) or something has come.
        const auto for_each_run = [&](const slice& s, auto&& f) {
            for (block_t first = s.first; first != s.last();) {
                block_t last = first + 1;
                while (last != s.last() && (landed[last] == 0) == (landed[first] == 0) && acc(last) == acc(first))
                    ++last;
                f(slice{acc(first), first, last - first}, landed[first] == 0);
                first = last;
            }
        };
        const auto is_fresh = [&](const slice& s) {
            for (block_t b = s.first; b != s.last(); ++b)
                if (landed[b] != 0) return false;
            return true;
        };
        const auto plane_of = [&](const slice& s) {
            std::uint32_t plane = 0;
            for (block_t b = s.first; b != s.last(); ++b) plane = std::max(plane, landed[b]);
            return plane;
        };
        const auto landing_of = [&](const slice& s) {
            const std::uint32_t plane = plane_of(s);
            return s.in(bough::scratch(first_plane + (landing == 0 ? plane : plane % landing)));
        };
        for (std::size_t end = forward.size(), first = end; end != 0; end = first) {
            first = end - 1;
            // The parts of a message are [first, end).
            while (first != 0 && forward[first - 1].more) --first;
            const step& s = forward[first];
            if (s.verb == verb::receive) {
                for (std::size_t i = first; i != end; ++i)
                    if (!is_fresh(forward[i].out))
                        for_each_run(forward[i].out, [&](const slice& run, bool fresh) {
                            if (fresh) out.copy(run.in(input), run);
                        });
                for (std::size_t i = first; i != end; ++i) {
                    const slice& part = forward[i].out;
                    const slice from = part.in(is_fresh(part) ? input : acc(part.first));
                    forward[i].more ? out.send_part(s.peer, from) : out.send(s.peer, from);
                }
            } else if (s.verb == verb::send) {
                for (std::size_t i = first; i != end; ++i) {
                    const slice come = landing_of(forward[i].a);
                    forward[i].more ? out.receive_part(s.peer, come) : out.receive(s.peer, come);
                }
                for (std::size_t i = first; i != end; ++i) {
                    const slice& part = forward[i].a;
                    const slice come = landing_of(part);
                    for_each_run(part, [&](const slice& run, bool fresh) {
                        const slice have = run.in(fresh ? input : acc(run.first));
                        if (s.peer < rank)
                            out.combine(run.in(come.buffer), have, run);
                        else
                            out.combine(have, run.in(come.buffer), run);
                    });
                    const std::uint32_t plane = plane_of(part);
                    for (block_t b = part.first; b != part.last(); ++b) landed[b] = plane + 1;
                }
            } else {
                BOUGH_EXPECTS(
                    s.verb == verb::copy && s.a.buffer == input && s.out.buffer == output,
                    "reverse: only an allgather or broadcast that lands blocks in the output can be reversed");
            }
        }
        if (at.size == 1 && at.blocks != 0) out.copy({input, 0, at.blocks}, {output, 0, at.blocks});
    }
    constexpr block_t natural_blocks(rank_t size) const { return original.natural_blocks(size); }
    template <int = 0>
    constexpr block_t scratch(const dimensions& at, rank_t rank) const {
        return detail::written_scratch(*this, at, rank);
    }
    constexpr status check(const dimensions& at) const { return original.check(at); }
    static constexpr bool accumulates_in_plane_0 = scatters;
    static constexpr bool any_size = [] {
        if constexpr (requires { Original::any_size; })
            return Original::any_size;
        else
            return true;
    }();
    constexpr label text() const {
        label made = label("reverse(").append(label_of(original).c_str());
        if (landing != 0) made.append(", ").append(std::uint64_t{landing});
        return made.append(")");
    }
    friend constexpr bool operator==(const reversed&, const reversed&) = default;
};

template <Algorithm Original>
constexpr reversed<Original> reverse(const Original& original, std::uint32_t landing = 0) {
    return {original, landing};
}

} // namespace bough

#endif
