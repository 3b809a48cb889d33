// SPDX-License-Identifier: BSL-1.0
// The lanes of the bucket algorithm: collectives that run at once on a torus, each of them along the
// rings of one dimension after the other.
//
// Lane c has a direction of a dimension to begin with; c counts directions from the last dimension
// down. In each stage the lane goes on with the dimension below, and with the last one after the
// first. So in a stage every lane sends over links of its own.
//
// A lane's blocks are in buckets. After i stages of a reduce_scatter a rank answers for the blocks of
// the ranks whose coordinates in the lane's first i dimensions are its own. In the next stage these
// are one bucket for each coordinate in the stage's dimension; each bucket goes once round the ring
// and ends at its coordinate. An allgather takes the stages in reverse order.
//
// On a torus of unlike extents some lanes end a stage before others. They wait, since in the next stage
// their short buckets would queue behind the long ones of the lane that is still there, in each round.
// Within a stage a rank turns to the lane that has moved the fewest blocks.
#ifndef BOUGH_ALGORITHM_DETAIL_BUCKET_LANES_HPP
#define BOUGH_ALGORITHM_DETAIL_BUCKET_LANES_HPP

#include <bough/algorithm/detail/torus.hpp>
#include <bough/concepts/step_sink.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/schedule/grid_extents.hpp>

#include <array>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// Where the blocks of a lane lie in the vector.
enum class bucket_layout : std::uint8_t {
    by_owner, // the blocks of a rank, one of each lane, lie side by side
    by_lane   // the blocks of a lane lie side by side, and those of each bucket
};

// Of one rank.
class bucket_lanes {
public:
    // Pre: extents.serve(size); ports: from 1 to those of the torus.
    constexpr bucket_lanes(const grid_extents& extents, rank_t size, rank_t rank, rank_t ports, bucket_layout layout)
        : grid_(extents.of(size)), size_(size), rank_(rank), ports_(ports), layout_(layout) {
        for (std::uint32_t d = grid_.dimensions; d-- != 0;)
            if (grid_.extent[d] > 1) long_[stages_++] = d;
        for (std::uint32_t i = 0, number = 0; i != stages_; ++i)
            for (rank_t k = 0; k != ports_of_dimension(grid_, long_[i]) && number != ports; ++k)
                lane_[number++] = {.first = i, .backwards = k != 0};
    }

    // Partial results are in `partial`; if it is not the output, the rank's own blocks are in the
    // output nevertheless.
    constexpr void reduce_scatter(buffer partial, buffer landing, StepSink auto& out) const {
        for (std::uint32_t stage = 0; stage != stages_; ++stage) run({true, stage, partial, landing}, out);
    }
    // Pre: the rank's own blocks are in the output.
    constexpr void allgather(StepSink auto& out) const {
        for (std::uint32_t stage = stages_; stage-- != 0;) run({false, stage, output, output}, out);
    }

private:
    static constexpr rank_t most = 2 * grid_extents::most;
    struct lane {
        std::uint32_t first = 0; // the dimension that it begins in, by its place in long_
        bool backwards = false;
    };
    struct stage_of {
        bool scatters;
        std::uint32_t number;
        buffer partial, landing;
    };

    constexpr void run(const stage_of& now, StepSink auto& out) const {
        std::array<rank_t, most> done{};         // rounds of each lane
        std::array<std::uint64_t, most> moved{}; // blocks, when its round is over
        const auto begin_round = [&](rank_t c) {
            moved[c] += blocks_of(c, now.number);
            send(c, now, done[c], out);
        };
        const auto is_under_way = [&](rank_t c) { return done[c] != length_of(c, now.number) - 1; };
        for (rank_t c = 0; c != ports_; ++c) begin_round(c);
        for (;;) {
            rank_t next = ports_;
            for (rank_t c = 0; c != ports_; ++c)
                if (is_under_way(c) && (next == ports_ || moved[c] < moved[next])) next = c;
            if (next == ports_) return;
            receive(next, now, done[next]++, out);
            if (is_under_way(next)) begin_round(next);
        }
    }

    constexpr std::uint32_t dimension_of(rank_t c, std::uint32_t stage) const noexcept {
        return long_[(lane_[c].first + stage) % stages_];
    }
    constexpr rank_t length_of(rank_t c, std::uint32_t stage) const noexcept {
        return grid_.extent[dimension_of(c, stage)];
    }
    // Of a bucket.
    constexpr rank_t blocks_of(rank_t c, std::uint32_t stage) const noexcept {
        rank_t count = 1;
        for (std::uint32_t i = stage + 1; i < stages_; ++i) count *= length_of(c, i);
        return count;
    }
    // The coordinate that lies so many steps behind the rank's, seen in the direction of the lane.
    // Pre: steps <= the length of the ring.
    constexpr rank_t behind(rank_t c, std::uint32_t stage, rank_t steps) const noexcept {
        const rank_t length = length_of(c, stage), here = grid_.coordinate(rank_, dimension_of(c, stage));
        const rank_t by = lane_[c].backwards ? steps : length - steps;
        return here < length - by ? here + by : here - (length - by);
    }
    constexpr rank_t peer_behind(rank_t c, std::uint32_t stage, rank_t steps) const noexcept {
        return grid_.moved(rank_, dimension_of(c, stage), behind(c, stage, steps));
    }

    // Calls f(slice, more) for the blocks of a bucket.
    template <class F>
    constexpr void for_bucket(rank_t c, std::uint32_t stage, rank_t bucket, buffer in, const F& f) const {
        const rank_t count = blocks_of(c, stage);
        if (layout_ == bucket_layout::by_lane) {
            block_t number = 0;
            for (std::uint32_t i = 0; i != stage; ++i)
                number = number * length_of(c, i) + grid_.coordinate(rank_, dimension_of(c, i));
            return f(slice{in, c * size_ + (number * length_of(c, stage) + bucket) * count, count}, false);
        }
        std::array<bool, grid_extents::most> is_free{}; // a dimension in which the owners differ
        for (std::uint32_t i = stage + 1; i < stages_; ++i) is_free[dimension_of(c, i)] = true;
        slice run{in, 0, 0};
        for (rank_t k = 0; k != count; ++k) {
            rank_t owner = grid_.moved(rank_, dimension_of(c, stage), bucket), rest = k;
            for (std::uint32_t d = 0; d != grid_.dimensions; ++d) {
                if (!is_free[d]) continue;
                owner = grid_.moved(owner, d, rest % grid_.extent[d]);
                rest /= grid_.extent[d];
            }
            const block_t block = owner * ports_ + c;
            if (run.count != 0 && block != run.last()) {
                f(run, true);
                run.count = 0;
            }
            if (run.count == 0) run.first = block;
            ++run.count;
        }
        f(run, false);
    }

    constexpr void send(rank_t c, const stage_of& now, rank_t round, StepSink auto& out) const {
        const bool is_input = now.scatters && now.number == 0 && round == 0;
        const rank_t to = peer_behind(c, now.number, length_of(c, now.number) - 1);
        const rank_t bucket = behind(c, now.number, round + (now.scatters ? 1 : 0));
        for_bucket(c, now.number, bucket, is_input ? input : now.partial,
                   [&](const slice& s, bool more) { more ? out.send_part(to, s) : out.send(to, s); });
    }
    constexpr void receive(rank_t c, const stage_of& now, rank_t round, StepSink auto& out) const {
        const rank_t from = peer_behind(c, now.number, 1);
        const rank_t bucket = behind(c, now.number, round + (now.scatters ? 2 : 1));
        for_bucket(c, now.number, bucket, now.landing,
                   [&](const slice& s, bool more) { more ? out.receive_part(from, s) : out.receive(from, s); });
        if (!now.scatters) return;
        const bool is_own = now.number + 1 == stages_ && round + 2 == length_of(c, now.number);
        const buffer have = now.number == 0 ? input : now.partial, result = is_own ? output : now.partial;
        for_bucket(c, now.number, bucket, now.landing, [&](const slice& came, bool) {
            const slice mine = came.in(have);
            out.combine(from < rank_ ? came : mine, from < rank_ ? mine : came, came.in(result));
        });
    }

    grid_extents grid_;
    rank_t size_, rank_, ports_;
    bucket_layout layout_;
    std::uint32_t stages_ = 0;
    std::array<std::uint32_t, grid_extents::most> long_{}; // the dimensions longer than one, the last one first
    std::array<lane, most> lane_{};
};

} // namespace bough::detail

#endif
