// SPDX-License-Identifier: BSL-1.0
// taped_plan: a plan as what prices read of it: of each step its verb, its peer and its bytes. The steps of a
// rank are emitted once, and kept for all that read them: the bound, the price in a loop of calls, the walk.
//
//   plan_tapes memory;                                   it serves one plan after the other
//   taped_plan plan(plan_ref(algorithm, at), bytes, element_bytes, memory);
//   plan.steps_of(rank)                                  valid until steps of another rank are asked for
//   plan.few_steps_of(rank)                              the same, and they are still there after other plans
//
// *Memory*  16 bytes per step; up to 64 MiB for the plan that is read, and half a MiB for ranks of which steps
//           are still there after other plans; for a plan of pieces that fit badly twice as much. 16 bytes per
//           rank, and the steps of one rank, besides. What has no room is emitted anew.
#ifndef BOUGH_SELECT_TAPED_PLAN_HPP
#define BOUGH_SELECT_TAPED_PLAN_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/model/taped_step.hpp>
#include <bough/schedule/step_ref.hpp>
#include <bough/select/plan_ref.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

using model::taped_step;
using tape_list = plain_list<taped_step>;

// The sink that writes down the steps of one rank. It is a step_ref, so that no algorithm is compiled once more.
class tape_recorder final : public step_ref {
public:
    constexpr tape_recorder(const model::block_sizes& sizes, tape_list& to) : sizes_(sizes), to_(to) {}

private:
    constexpr void take(const step& s) override {
        const std::uint64_t bytes = sizes_.bytes_of(s.verb == verb::send ? s.a : s.out);
        if (!s.communicates()) return to_.push_back({bytes, no_rank, s.verb, 0});
        part_bytes_ += bytes;
        if (s.more) {
            if (parts_ != taped_step::most_parts) ++parts_;
            return;
        }
        to_.push_back(
            {std::exchange(part_bytes_, 0), s.peer, s.verb, std::exchange(parts_, 0) & taped_step::most_parts});
    }

    const model::block_sizes& sizes_;
    tape_list& to_;
    std::uint64_t part_bytes_ = 0;
    std::uint32_t parts_ = 0; // before the last
};

// The steps of any plan, a rank at a time. Nothing is kept.
template <Plan P>
class emitted_steps {
public:
    constexpr emitted_steps(const P& plan, const model::block_sizes& sizes) : plan_(plan), sizes_(sizes) {}

    constexpr rank_t size() const noexcept { return plan_.size(); }
    constexpr std::span<const taped_step> steps_of(rank_t rank) {
        steps_.clear();
        tape_recorder sink(sizes_, steps_);
        plan_.emit(rank, static_cast<step_ref&>(sink));
        return {steps_.data(), steps_.size()};
    }

private:
    const P& plan_;
    const model::block_sizes& sizes_;
    tape_list steps_;
};

struct kept_tape {
    const taped_step* first = nullptr; // null: it is not kept
    std::size_t count = 0;
};
struct few_tapes {
    static constexpr std::size_t most = 6;
    std::array<rank_t, most> ranks{};
    std::array<kept_tape, most> tapes{};
    std::size_t count = 0;
};

// Memory for steps that does not move. It is freed as a whole, to be used again.
template <int>
class tape_memory {
public:
    constexpr explicit tape_memory(std::size_t most) noexcept : room_(most), most_(most) {}

    // A copy; not kept if there is no room.
    kept_tape keep(const tape_list& steps) {
        if (steps.size() > room_) return {};
        room_ -= steps.size();
        while (chunks_.empty() || chunks_[now_].capacity() - chunks_[now_].size() < steps.size()) next(steps.size());
        tape_list& to = chunks_[now_];
        const taped_step* const first = to.end();
        for (const taped_step& s : steps) to.push_back(s);
        return {first, steps.size()};
    }
    void clear() noexcept {
        if (held_ > 2 * most_) chunks_ = {}, held_ = 0; // pieces of many sizes, which do not fit into each other
        for (tape_list& chunk : chunks_) chunk.clear();
        now_ = 0;
        room_ = most_;
    }

private:
    static constexpr std::size_t least_chunk = 2048; // steps

    void next(std::size_t steps) {
        if (!chunks_.empty() && ++now_ != chunks_.size()) return;
        now_ = chunks_.size();
        chunks_.emplace_back();
        chunks_.back().reserve(std::max(steps, least_chunk));
        held_ += chunks_.back().capacity();
    }

    std::vector<tape_list> chunks_;
    std::size_t now_ = 0, room_, most_;
    std::size_t held_ = 0; // steps for which there is memory
};

// What taped plans share: one of them at a time has its steps here, and all have those of a few ranks.
template <int>
class basic_plan_tapes {
    template <int>
    friend class basic_taped_plan;

    tape_memory<0> few_{std::size_t{1} << 15};
    tape_memory<0> all_{std::size_t{1} << 22};
    plain_list<kept_tape> by_rank_;
    tape_list scratch_; // the last that were emitted
    std::uint64_t owner_ = 0, plans_ = 0;
};
using plan_tapes = basic_plan_tapes<0>;

template <int>
class basic_taped_plan {
public:
    // `few`: those of the same plan and bytes, as few() was, in the same memory.
    basic_taped_plan(const plan_ref& plan, std::uint64_t bytes, std::uint64_t element_bytes, plan_tapes& memory,
                     const few_tapes& few = {})
        : plan_(plan), sizes_(bytes, plan.blocks(), element_bytes), memory_(memory), few_(few), size_(plan.size()),
          root_(plan.root()), number_(++memory.plans_) {}

    rank_t size() const noexcept { return size_; }
    rank_t root() const noexcept { return root_; }
    block_t blocks() const noexcept { return plan_.blocks(); }

    std::span<const taped_step> steps_of(rank_t rank) const {
        if (memory_.owner_ != number_) own();
        kept_tape& kept = memory_.by_rank_[rank];
        if (kept.first == nullptr) {
            emit(rank);
            kept = memory_.all_.keep(memory_.scratch_);
            if (kept.first == nullptr) return last_emitted();
        }
        return {kept.first, kept.count};
    }
    std::span<const taped_step> few_steps_of(rank_t rank) {
        for (std::size_t i = 0; i != few_.count; ++i)
            if (few_.ranks[i] == rank) return {few_.tapes[i].first, few_.tapes[i].count};
        emit(rank);
        const kept_tape kept = few_.count == few_tapes::most ? kept_tape{} : memory_.few_.keep(memory_.scratch_);
        if (kept.first == nullptr) return last_emitted();
        few_.ranks[few_.count] = rank;
        few_.tapes[few_.count++] = kept;
        return {kept.first, kept.count};
    }
    const few_tapes& few() const noexcept { return few_; }

    // If all ranks do alike, and all pairs of them are alike, one rank that sends to itself takes as long as
    // all ranks do. This is the plan of that one rank, to be read before another is.
    basic_taped_plan folded() {
        const std::span<const taped_step> steps = few_steps_of(size_ / 2); // a rank whose ranges wrap around
        tape_list& to = memory_.scratch_;
        to.reserve(1); // so that it has a place, even if it is empty
        if (steps.data() != to.data()) to.assign(steps.data(), steps.data() + steps.size());
        for (taped_step& s : to) s.peer = 0;
        basic_taped_plan made(*this);
        made.size_ = 1;
        made.root_ = 0;
        made.number_ = ++memory_.plans_;
        made.few_ = {};
        made.few_.tapes[0] = {to.data(), to.size()};
        made.few_.count = 1;
        return made;
    }

private:
    // The memory is for the steps of this plan from now on.
    void own() const {
        memory_.owner_ = 0; // nobody's, if memory runs out
        memory_.all_.clear();
        memory_.by_rank_.assign(size_, kept_tape{});
        for (std::size_t i = 0; i != few_.count; ++i) memory_.by_rank_[few_.ranks[i]] = few_.tapes[i];
        memory_.owner_ = number_;
    }
    void emit(rank_t rank) const {
        memory_.scratch_.clear();
        tape_recorder sink(sizes_, memory_.scratch_);
        plan_.emit(rank, static_cast<step_ref&>(sink));
    }
    std::span<const taped_step> last_emitted() const noexcept {
        return {memory_.scratch_.data(), memory_.scratch_.size()};
    }

    plan_ref plan_;
    model::block_sizes sizes_;
    plan_tapes& memory_;
    few_tapes few_;
    rank_t size_, root_;
    std::uint64_t number_; // among the plans of this memory
};
using taped_plan = basic_taped_plan<0>;

} // namespace bough::inline BOUGH_ABI::detail

#endif
