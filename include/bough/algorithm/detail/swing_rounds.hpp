// SPDX-License-Identifier: BSL-1.0
// The rounds of Swing: who meets whom on a torus, and which blocks pass between them.
//
// An allgather over a ring, backwards in time, says by which ranks a block goes. At first the block's
// own rank has the block. In step s, from the last step down to 0, each rank that has the block gives it
// to the rank that it meets in this step, unless the other one has it already. So each rank gets each
// block once, in the step in which the rank `joins` the block. A reduce_scatter sends partial results
// the other way.
//
// A rank x of a ring of even length meets x + rho(s) if x is even, else x - rho(s), with rho = 1, -1, 3,
// -5, 11, ... If the length is odd, or some rank is met by nobody, x takes from x + 2^s in a
// reduce_scatter and sends to x - 2^s (lowest bit first). On a torus steps go round the dimensions; a
// rank joins a block when its last coordinate does.
#ifndef BOUGH_ALGORITHM_DETAIL_SWING_ROUNDS_HPP
#define BOUGH_ALGORITHM_DETAIL_SWING_ROUNDS_HPP

#include <bough/algorithm/detail/torus.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/grid_extents.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// One ring.
class swing_ring {
public:
    constexpr explicit swing_ring(rank_t length) : length_(length), joins_(length, 0) {
        for (std::uint64_t reach = 1; reach < length; reach *= 2) ++steps_;
        swings_ = length % 2 == 0 && joins_by_swinging();
        if (swings_) return;
        for (rank_t o = 1; o != length; ++o) {
            joins_[o] = 0;
            while ((o >> joins_[o] & 1u) == 0) ++joins_[o];
        }
        joins_[0] = static_cast<std::uint8_t>(steps_);
    }
    constexpr std::uint32_t steps() const noexcept { return steps_; }
    // Whom x gives partial results in step s, and from whom it gets some.
    constexpr rank_t to(rank_t x, std::uint32_t s, bool mirrored) const noexcept {
        return swings_ ? swung(x, s, mirrored) : ahead(x, std::uint64_t{1} << s, mirrored);
    }
    constexpr rank_t from(rank_t x, std::uint32_t s, bool mirrored) const noexcept {
        return swings_ ? swung(x, s, mirrored) : ahead(x, std::uint64_t{1} << s, !mirrored);
    }
    // The step in which x joins the block of `owner`; steps() if it is its own.
    constexpr std::uint32_t joins(rank_t x, rank_t owner, bool mirrored) const noexcept {
        const rank_t offset = x < owner ? x + length_ - owner : x - owner;
        const bool turned = mirrored != (swings_ && owner % 2 != 0);
        return joins_[turned && offset != 0 ? length_ - offset : offset];
    }

private:
    // 1, -1, 3, -5, 11, ...: its magnitude, (2^(s+1) - (-1)^(s+1)) / 3; it is negative for odd s.
    static constexpr std::uint64_t rho(std::uint32_t s) noexcept {
        const std::uint64_t power = std::uint64_t{2} << s;
        return (s % 2 == 0 ? power + 1 : power - 1) / 3;
    }
    constexpr rank_t swung(rank_t x, std::uint32_t s, bool mirrored) const noexcept {
        return ahead(x, rho(s), (x % 2 == 0) == ((s % 2 == 0) != mirrored));
    }
    constexpr rank_t ahead(rank_t x, std::uint64_t reach, bool forwards) const noexcept {
        const std::uint64_t around = reach % length_;
        return static_cast<rank_t>((x + (forwards ? around : length_ - around)) % length_);
    }
    // Fills the table for the block of rank 0. False if some rank does not get it.
    constexpr bool joins_by_swinging() {
        plain_list<unsigned char> has(length_, 0);
        has[0] = 1;
        joins_[0] = static_cast<std::uint8_t>(steps_);
        rank_t count = 1;
        for (std::uint32_t s = steps_; s-- != 0;)
            for (rank_t x = 0; x != length_; ++x) {
                const rank_t other = swung(x, s, false);
                if (has[x] == 0 || (has[x] == 2 && joins_[x] == s) || has[other] != 0) continue;
                has[other] = 2;
                joins_[other] = static_cast<std::uint8_t>(s);
                ++count;
            }
        return count == length_;
    }

    rank_t length_;
    std::uint32_t steps_ = 0;
    bool swings_ = false;
    plain_list<std::uint8_t> joins_; // by offset from an even owner
};

// All rings of a torus, and the collectives that run at once on them. Collective c goes in one
// direction of one dimension first; c counts the directions that have links of their own.
class swing_rounds {
public:
    constexpr explicit swing_rounds(const grid_extents& grid) : grid_(grid) {
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) ring_[d] = swing_ring(grid.extent[d]);
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) steps_ += ring_[d].steps();
    }
    constexpr std::uint32_t steps() const noexcept { return steps_; }

    // One collective.
    class lane {
    public:
        constexpr lane(const swing_rounds& all, rank_t number) : all_(all) {
            const grid_extents& grid = all.grid_;
            std::uint32_t first = 0;
            for (; first != grid.dimensions; ++first) {
                const rank_t ports = ports_of_dimension(grid, first);
                if (number < ports) break;
                number -= ports;
            }
            mirrored_ = number != 0;
            std::uint32_t done[grid_extents::most]{};
            for (std::uint32_t step = 0, d = first % std::max(grid.dimensions, 1u); step != all.steps_;
                 d = (d + 1) % grid.dimensions) {
                if (done[d] == all.ring_[d].steps()) continue;
                dimension_[step] = static_cast<std::uint8_t>(d);
                step_of_[d][done[d]] = static_cast<std::uint8_t>(step);
                within_[step++] = static_cast<std::uint8_t>(done[d]++);
            }
        }
        constexpr rank_t to(rank_t rank, std::uint32_t step) const noexcept {
            const std::uint32_t d = dimension_[step];
            const rank_t x = all_.grid_.coordinate(rank, d);
            return all_.grid_.moved(rank, d, all_.ring_[d].to(x, within_[step], mirrored_));
        }
        constexpr rank_t from(rank_t rank, std::uint32_t step) const noexcept {
            const std::uint32_t d = dimension_[step];
            const rank_t x = all_.grid_.coordinate(rank, d);
            return all_.grid_.moved(rank, d, all_.ring_[d].from(x, within_[step], mirrored_));
        }
        // The step in which `rank` joins the block of `owner`; steps() if it is its own.
        constexpr std::uint32_t joins(rank_t rank, rank_t owner) const noexcept {
            std::uint32_t first = all_.steps_;
            for (std::uint32_t d = 0; d != all_.grid_.dimensions; ++d) {
                const rank_t e = all_.grid_.extent[d];
                const std::uint32_t s = all_.ring_[d].joins(rank % e, owner % e, mirrored_);
                if (s != all_.ring_[d].steps()) first = std::min<std::uint32_t>(first, step_of_[d][s]);
                rank /= e;
                owner /= e;
            }
            return first;
        }
        // The owners whose blocks `rank` joins in this step, as runs: f(first, count, more).
        template <class F>
        constexpr void for_each_run(rank_t rank, std::uint32_t step, rank_t size, F&& f) const {
            rank_t begun = 0, count = 0;
            for (rank_t owner = 0; owner != size; ++owner) {
                if (joins(rank, owner) != step) continue;
                if (count != 0 && begun + count == owner) {
                    ++count;
                    continue;
                }
                if (count != 0) f(begun, count, true);
                begun = owner;
                count = 1;
            }
            if (count != 0) f(begun, count, false);
        }

    private:
        static constexpr std::uint32_t most_steps = 64;
        const swing_rounds& all_;
        bool mirrored_ = false;
        std::uint8_t dimension_[most_steps]{}, within_[most_steps]{}; // of each step
        std::uint8_t step_of_[grid_extents::most][32]{};              // of each step of a dimension
    };

    // The steps of a reduce_scatter, of all collectives at once. Partial results are in `partial`; if
    // it is not the output, the rank's own blocks are in the output nevertheless. Block c * size + r
    // is that of rank r in collective c.
    template <class Sink>
    constexpr void reduce_scatter(rank_t size, rank_t rank, rank_t ports, buffer partial, std::uint32_t plane,
                                  Sink& out) const {
        plain_list<unsigned char> begun(std::size_t{size} * ports, 0); // the block is in `partial`
        const auto at = [&](rank_t c, rank_t first, rank_t count, buffer b) {
            return slice{b, c * size + first, count};
        };
        for (std::uint32_t step = 0; step != steps_; ++step) {
            const buffer landed = bough::scratch(plane + step % 2);
            for (rank_t c = 0; c != ports; ++c) {
                const lane now(*this, c);
                // Blocks that nobody sent this rank yet, but others of the same message: those are
                // moved beside the others, so that all ranks cut messages alike.
                if (step != 0)
                    now.for_each_run(rank, step, size, [&](rank_t first, rank_t count, bool) {
                        for (rank_t b = first; b != first + count; ++b)
                            if (begun[std::size_t{c} * size + b]++ == 0)
                                out.copy(at(c, b, 1, input), at(c, b, 1, partial));
                    });
                const rank_t to = now.to(rank, step);
                now.for_each_run(rank, step, size, [&](rank_t first, rank_t count, bool more) {
                    const slice s = at(c, first, count, step == 0 ? input : partial);
                    more ? out.send_part(to, s) : out.send(to, s);
                });
            }
            for (rank_t c = 0; c != ports; ++c) {
                const lane now(*this, c);
                const rank_t from = now.from(rank, step);
                now.for_each_run(from, step, size, [&](rank_t first, rank_t count, bool more) {
                    more ? out.receive_part(from, at(c, first, count, landed))
                         : out.receive(from, at(c, first, count, landed));
                });
            }
            for (rank_t c = 0; c != ports; ++c) {
                const lane now(*this, c);
                const rank_t from = now.from(rank, step);
                now.for_each_run(from, step, size, [&](rank_t first, rank_t count, bool) {
                    // One combine for what lies side by side and comes from one buffer.
                    for (rank_t b = first, end = b; b != first + count; b = end) {
                        const auto place = [&](rank_t x) { return x == rank ? output : partial; };
                        const bool old = begun[std::size_t{c} * size + b] != 0;
                        for (; end != first + count && place(end) == place(b) &&
                               (begun[std::size_t{c} * size + end] != 0) == old;
                             ++end) {
                        }
                        const slice came = at(c, b, end - b, landed);
                        const slice have = at(c, b, end - b, old ? place(b) : input);
                        out.combine(from < rank ? came : have, from < rank ? have : came, at(c, b, end - b, place(b)));
                        for (rank_t x = b; x != end; ++x) begun[std::size_t{c} * size + x] = 1;
                    }
                });
            }
        }
    }

    // The steps of an allgather. Pre: the rank's own blocks are in the output.
    template <class Sink>
    constexpr void allgather(rank_t size, rank_t rank, rank_t ports, Sink& out) const {
        for (std::uint32_t step = steps_; step-- != 0;) {
            for (rank_t c = 0; c != ports; ++c) {
                const lane now(*this, c);
                const rank_t to = now.from(rank, step);
                now.for_each_run(to, step, size, [&](rank_t first, rank_t count, bool more) {
                    const slice s{output, c * size + first, count};
                    more ? out.send_part(to, s) : out.send(to, s);
                });
            }
            for (rank_t c = 0; c != ports; ++c) {
                const lane now(*this, c);
                const rank_t from = now.to(rank, step);
                now.for_each_run(rank, step, size, [&](rank_t first, rank_t count, bool more) {
                    const slice s{output, c * size + first, count};
                    more ? out.receive_part(from, s) : out.receive(from, s);
                });
            }
        }
    }

private:
    grid_extents grid_;
    swing_ring ring_[grid_extents::most]{swing_ring(1), swing_ring(1), swing_ring(1),
                                         swing_ring(1), swing_ring(1), swing_ring(1)};
    std::uint32_t steps_ = 0;
};

} // namespace bough::detail

#endif
