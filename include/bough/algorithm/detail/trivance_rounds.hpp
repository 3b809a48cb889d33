// SPDX-License-Identifier: BSL-1.0
// The rounds of Trivance: in each, a rank meets the two ranks at distance 3^k along a dimension of a torus.
//
// The vector has a part for each dimension that is longer than one. Part c begins with the c-th of them
// and goes on round the dimensions, so in each round every part uses cables of its own where the extents
// are equal.
#ifndef BOUGH_ALGORITHM_DETAIL_TRIVANCE_ROUNDS_HPP
#define BOUGH_ALGORITHM_DETAIL_TRIVANCE_ROUNDS_HPP

#include <bough/algorithm/detail/torus.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/grid_extents.hpp>

#include <array>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

class trivance_rounds {
public:
    static constexpr std::uint32_t most = 21; // of 2^32 ranks in one ring

    // A round of a part: which dimension, and how far.
    struct round {
        std::uint32_t dimension = 0;
        rank_t distance = 0;
    };

    // Pre: extents.serve(size). The rounds are those of an allreduce if check(extents, size) is ok.
    constexpr trivance_rounds(const grid_extents& extents, rank_t size) : grid_(extents.of(size)) {
        for (std::uint32_t d = 0; d != grid_.dimensions; ++d)
            if (grid_.extent[d] > 1) long_[parts_++] = d;
        for (std::uint32_t i = 0; i != parts_; ++i)
            for (std::uint64_t reach = 1; reach < grid_.extent[long_[i]]; reach *= 3) ++rounds_;
    }
    static constexpr status check(const grid_extents& extents, rank_t size) noexcept {
        if (const status bad = check_extents(extents, size)) return bad;
        const grid_extents grid = extents.of(size);
        for (std::uint32_t d = 0; d != grid.dimensions; ++d) {
            rank_t rest = grid.extent[d];
            while (rest % 3 == 0) rest /= 3;
            if (rest != 1) return invalid_argument("extents: trivance needs powers of three");
        }
        return {};
    }

    constexpr std::uint32_t parts() const noexcept { return parts_; }
    constexpr std::uint32_t rounds() const noexcept { return rounds_; } // of each part
    constexpr const grid_extents& grid() const noexcept { return grid_; }

    // All rounds of a part, in order.
    constexpr std::array<round, most> of(std::uint32_t part) const noexcept {
        std::array<round, most> made{};
        std::uint32_t count = 0;
        for (std::uint32_t i = 0; i != parts_; ++i) {
            const std::uint32_t d = long_[(part + i) % parts_];
            for (std::uint64_t reach = 1; reach < grid_.extent[d]; reach *= 3)
                made[count++] = {d, static_cast<rank_t>(reach)};
        }
        return made;
    }
    // The rank that lies the round's distance before, or behind.
    constexpr rank_t peer(rank_t rank, const round& r, bool before) const noexcept {
        const rank_t length = grid_.extent[r.dimension], here = grid_.coordinate(rank, r.dimension);
        const rank_t by = before ? length - r.distance : r.distance;
        return grid_.moved(rank, r.dimension, here < length - by ? here + by : here - (length - by));
    }

private:
    grid_extents grid_;
    std::array<std::uint32_t, grid_extents::most> long_{}; // the dimensions longer than one
    std::uint32_t parts_ = 0;
    std::uint32_t rounds_ = 0;
};

// Round i of a part, and which blocks a rank answers for when it is over.
struct trivance_share {
    const trivance_rounds& torus;
    block_t first; // of the part
    trivance_rounds::round is{};
    std::array<rank_t, grid_extents::most> modulus{}; // of coordinates

    constexpr trivance_share(const trivance_rounds& t, std::uint32_t part, std::uint32_t i)
        : torus(t), first(part * size_of(t)) {
        const auto all = t.of(part);
        for (rank_t& m : modulus) m = 1;
        for (std::uint32_t k = 0; k <= i; ++k) modulus[all[k].dimension] *= 3;
        is = all[i];
    }
    static constexpr rank_t size_of(const trivance_rounds& t) noexcept { return t.grid().weight(t.grid().dimensions); }
    // Calls f(slice, is_last) for the blocks of `owner`, in ascending order, runs at a time.
    template <class F>
    constexpr void blocks_of(rank_t owner, buffer in, const F& f) const {
        const rank_t size = size_of(torus);
        slice run{in, 0, 0};
        for (rank_t b = 0; b != size; ++b) {
            bool is_its = true;
            for (std::uint32_t d = 0, here = b, there = owner; d != torus.grid().dimensions && is_its; ++d) {
                const rank_t length = torus.grid().extent[d];
                is_its = here % length % modulus[d] == there % length % modulus[d];
                here /= length, there /= length;
            }
            if (!is_its) continue;
            if (run.count != 0 && run.last() == first + b) {
                ++run.count;
                continue;
            }
            if (run.count != 0) f(run, false);
            run = {in, first + b, 1};
        }
        f(run, true);
    }
    // The blocks of `owner` as one message.
    constexpr void send(rank_t to, rank_t owner, buffer from, StepSink auto& out) const {
        blocks_of(owner, from, [&](const slice& s, bool last) {
            if (last)
                out.send(to, s);
            else
                out.send_part(to, s);
        });
    }
    constexpr void receive(rank_t from, rank_t owner, buffer into, StepSink auto& out) const {
        blocks_of(owner, into, [&](const slice& s, bool last) {
            if (last)
                out.receive(from, s);
            else
                out.receive_part(from, s);
        });
    }
};

} // namespace bough::detail

#endif
