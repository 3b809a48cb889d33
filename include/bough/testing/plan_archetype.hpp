// SPDX-License-Identifier: BSL-1.0
// The Algorithm and the Plan with the least rights: code that compiles with them asks for nothing
// but the concept.
//
// Both broadcast from the root over a star. Neither can be default-constructed or printed. The plan
// cannot be compared or copied either, and it has a goal of its own.
#ifndef BOUGH_TESTING_PLAN_ARCHETYPE_HPP
#define BOUGH_TESTING_PLAN_ARCHETYPE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/status.hpp>
#include <bough/schedule/goal.hpp>

namespace bough::inline BOUGH_ABI::testing {

// The least Algorithm: a broadcast in which the root sends everything to each rank in turn.
class algorithm_archetype {
public:
    static constexpr algorithm_archetype make() noexcept { return algorithm_archetype(0); }

    constexpr void emit(const dimensions& at, rank_t rank, StepSink auto& out) const {
        const slice whole{rank == at.root ? input : output, 0, at.blocks};
        if (rank != at.root) {
            out.receive(at.root, whole);
            return;
        }
        for (rank_t to = 0; to != at.size; ++to)
            if (to != at.root) out.send(to, whole);
    }
    constexpr block_t natural_blocks(rank_t) const { return 1; }
    constexpr block_t scratch(const dimensions&, rank_t) const { return 0; }
    constexpr status check(const dimensions&) const { return {}; }
    friend constexpr bool operator==(const algorithm_archetype&, const algorithm_archetype&) { return true; }

    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

private:
    constexpr explicit algorithm_archetype(int) noexcept {}
};

class plan_archetype {
public:
    // A goal as a user may write one: it promises what broadcast does, and has only the members
    // that verify needs.
    struct goal_archetype {
        static constexpr bool in_place = true;
        static constexpr bool holds(const dimensions& at, rank_t rank, block_t block) {
            return bough::goal::broadcast::holds(at, rank, block);
        }
        static constexpr contributions result(const dimensions& at, rank_t rank, block_t block) {
            return bough::goal::broadcast::result(at, rank, block);
        }
    };

    constexpr explicit plan_archetype(dimensions at) noexcept : at_(at) {}
    plan_archetype(const plan_archetype&) = delete;
    plan_archetype& operator=(const plan_archetype&) = delete;

    constexpr goal_archetype goal() const { return {}; }
    constexpr rank_t size() const { return at_.size; }
    constexpr rank_t root() const { return at_.root; }
    constexpr block_t blocks() const { return at_.blocks; }
    constexpr block_t scratch(rank_t rank) const { return algorithm_archetype::make().scratch(at_, rank); }
    constexpr void emit(rank_t rank, StepSink auto&& out) const { algorithm_archetype::make().emit(at_, rank, out); }

    void operator&() const = delete;
    template <class Other>
    void operator,(const Other&) const = delete;

private:
    dimensions at_;
};

static_assert(Algorithm<algorithm_archetype> && Plan<plan_archetype>);

} // namespace bough::testing

#endif
