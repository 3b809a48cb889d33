// SPDX-License-Identifier: BSL-1.0
// A taped plan tells of each rank the messages and the work that its schedule has, and has the steps of a rank
// emitted once.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/per_level.hpp>
#include <bough/algorithm/reduce/circulant.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/schedule/schedule.hpp>
#include <bough/select/plan_ref.hpp>
#include <bough/select/taped_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using detail::plan_tapes;
using detail::taped_plan;
using model::taped_step;

namespace {

constexpr slice one_block{bough::output, 0, 1};

// Each rank sends `count` messages, the n-th to rank n. It knows how often each rank's steps were emitted.
struct counted_plan {
    rank_t ranks = 4;
    std::uint32_t count = 3;
    mutable std::vector<int> emitted = std::vector<int>(ranks, 0);

    static constexpr int goal() noexcept { return 0; }
    rank_t size() const noexcept { return ranks; }
    static constexpr rank_t root() noexcept { return 1; }
    static constexpr block_t blocks() noexcept { return 1; }
    static constexpr block_t scratch(rank_t) noexcept { return 0; }
    void emit(rank_t rank, StepSink auto& out) const {
        ++emitted[rank];
        for (std::uint32_t i = 0; i != count; ++i) out.send(i, one_block);
    }
};

bool has_sends(std::span<const taped_step> steps, std::uint32_t count, std::uint64_t bytes) {
    if (steps.size() != count) return false;
    for (std::uint32_t i = 0; i != count; ++i)
        if (steps[i].verb != verb::send || steps[i].peer != i || steps[i].bytes != bytes || steps[i].parts != 0)
            return false;
    return true;
}

// The steps of a schedule, with the parts of a message put together.
template <class P>
void check_steps(const P& plan, std::uint64_t bytes, std::uint64_t element_bytes) {
    const model::block_sizes sizes(bytes, plan.blocks(), element_bytes);
    plan_tapes memory;
    const taped_plan taped(plan_ref(plan), bytes, element_bytes, memory);
    for (rank_t r = 0; r != plan.size(); ++r) {
        const std::span<const taped_step> steps = taped.steps_of(r);
        std::size_t at = 0;
        std::uint64_t moved = 0;
        std::uint32_t parts = 0;
        for (const step& s : plan.schedule_of(r)) {
            moved += sizes.bytes_of(s.verb == verb::send ? s.a : s.out);
            if (s.more) {
                ++parts;
                continue;
            }
            REQUIRE(at < steps.size());
            CHECK((steps[at].verb == s.verb && steps[at].peer == s.peer && steps[at].bytes == moved &&
                   steps[at].parts == parts));
            moved = parts = 0;
            ++at;
        }
        CHECK(at == steps.size());
    }
}

} // namespace

TEST_CASE("taped_plan: has the steps of each rank's schedule") {
    for (const rank_t p : {1u, 2u, 7u, 16u})
        for (const std::uint64_t elements : {0u, 1u, 100u}) {
            CAPTURE(p, elements);
            check_steps(plan_allreduce(per_level_allreduce{}, {.size = p}), elements * 8, 8);
            check_steps(plan_allreduce(ring{}, {.size = p}), elements * 8, 8);
            check_steps(plan_reduce(circulant_reduce{}, {.size = p, .root = p / 2, .blocks = 3}), elements, 1);
        }
}

TEST_CASE("taped_plan: the steps of a rank are emitted once, and anew after another plan was read") {
    const counted_plan a{.ranks = 4, .count = 3}, b{.ranks = 5, .count = 2};
    plan_tapes memory;
    taped_plan first(plan_ref(a), 8, 1, memory);
    CHECK((first.size() == 4 && first.root() == 1 && first.blocks() == 1));
    CHECK(has_sends(first.few_steps_of(2), 3, 8));
    CHECK(has_sends(first.few_steps_of(2), 3, 8));
    CHECK(a.emitted == std::vector<int>{0, 0, 1, 0});
    for (int i = 0; i != 2; ++i)
        for (const rank_t r : {3u, 2u, 0u}) CHECK(has_sends(first.steps_of(r), 3, 8));
    CHECK(a.emitted == std::vector<int>{1, 0, 1, 1});

    taped_plan second(plan_ref(b), 16, 1, memory);
    for (rank_t r = 0; r != 5; ++r) CHECK(has_sends(second.steps_of(r), 2, 16));
    CHECK(b.emitted == std::vector<int>(5, 1));

    // The same plan later, with what it had of a few ranks.
    const taped_plan again(plan_ref(a), 8, 1, memory, first.few());
    for (const rank_t r : {0u, 2u}) CHECK(has_sends(again.steps_of(r), 3, 8));
    CHECK(a.emitted == std::vector<int>{2, 0, 1, 1});
    CHECK(has_sends(first.steps_of(0), 3, 8));
    CHECK(a.emitted == std::vector<int>{3, 0, 1, 1});
}

TEST_CASE("taped_plan: more steps than there is room for are emitted each time") {
    const std::uint32_t most_few = std::uint32_t{1} << 15, most = std::uint32_t{1} << 22;
    const counted_plan few_fit{.ranks = 3, .count = most_few}, one_fits{.ranks = 3, .count = most};
    const counted_plan too_long{.ranks = 3, .count = most + 1}, halves{.ranks = 3, .count = most / 2 - 1};
    plan_tapes memory;
    taped_plan few(plan_ref(few_fit), 8, 1, memory);
    for (int i = 0; i != 2; ++i)
        for (rank_t r = 0; r != 3; ++r) CHECK(has_sends(few.few_steps_of(r), most_few, 8));
    CHECK(few_fit.emitted == std::vector<int>{1, 2, 2});
    CHECK(few.few().count == 1);

    const auto read_twice = [&](const counted_plan& plan, std::uint32_t count) {
        const taped_plan taped(plan_ref(plan), 8, 1, memory);
        for (int i = 0; i != 2; ++i)
            for (rank_t r = 0; r != 3; ++r) CHECK(has_sends(taped.steps_of(r), count, 8));
        return plan.emitted;
    };
    CHECK(read_twice(one_fits, most) == std::vector<int>{1, 2, 2});
    CHECK(read_twice(too_long, most + 1) == std::vector<int>{2, 2, 2});
    CHECK(read_twice(halves, most / 2 - 1) == std::vector<int>{1, 1, 2});
    CHECK(read_twice(counted_plan{.ranks = 3, .count = 0}, 0) == std::vector<int>{1, 1, 1});
}

TEST_CASE("taped_plan: no more than six ranks are kept beside other plans") {
    const counted_plan plan{.ranks = 7, .count = 2};
    plan_tapes memory;
    taped_plan taped(plan_ref(plan), 8, 1, memory);
    for (int i = 0; i != 2; ++i)
        for (rank_t r = 0; r != 7; ++r) CHECK(has_sends(taped.few_steps_of(r), 2, 8));
    CHECK(plan.emitted == std::vector<int>{1, 1, 1, 1, 1, 1, 2});
}

TEST_CASE("taped_plan: folded, one rank sends to itself") {
    const counted_plan plan{.ranks = 4, .count = 3}, none{.ranks = 4, .count = 0};
    plan_tapes memory;
    for (const bool known : {false, true}) {
        taped_plan taped(plan_ref(plan), 8, 1, memory);
        if (known) (void)taped.few_steps_of(2);
        const taped_plan folded = taped.folded();
        CHECK((folded.size() == 1 && folded.root() == 0));
        const std::span<const taped_step> steps = folded.steps_of(0);
        REQUIRE(steps.size() == 3);
        for (const taped_step& s : steps) CHECK((s.verb == verb::send && s.peer == 0 && s.bytes == 8));
        CHECK(has_sends(taped.steps_of(2), 3, 8)); // its own are as they were
    }
    CHECK(plan.emitted == std::vector<int>{0, 0, 2, 0});
    taped_plan empty(plan_ref(none), 8, 1, memory);
    CHECK(empty.folded().steps_of(0).empty());
    CHECK(none.emitted == std::vector<int>{0, 0, 1, 0});
}

TEST_CASE("taped_plan: a message of more parts than a step can tell has the most that it can") {
    struct in_parts {
        static constexpr int goal() noexcept { return 0; }
        static constexpr rank_t size() noexcept { return 1; }
        static constexpr rank_t root() noexcept { return 0; }
        static constexpr block_t blocks() noexcept { return 1; }
        static constexpr block_t scratch(rank_t) noexcept { return 0; }
        static void emit(rank_t, detail::step_ref& out) {
            for (std::uint32_t i = 0; i != taped_step::most_parts + 5; ++i) out.send_part(0, one_block);
            out.send(0, one_block);
            out.send(0, one_block);
        }
    };
    model::block_sizes sizes(1, 1, 1);
    detail::tape_list steps;
    detail::tape_recorder sink(sizes, steps);
    in_parts::emit(0, sink);
    REQUIRE(steps.size() == 2);
    CHECK((steps[0].parts == taped_step::most_parts && steps[0].bytes == taped_step::most_parts + 6));
    CHECK((steps[1].parts == 0 && steps[1].bytes == 1));
}
