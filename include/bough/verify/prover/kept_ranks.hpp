// SPDX-License-Identifier: BSL-1.0
// kept_ranks: the ranks of a proof in parts (bough/verify/prover/parts.hpp). A part has as many ranks
// as one constant expression can check; then all of them are joined.
#ifndef BOUGH_VERIFY_PROVER_KEPT_RANKS_HPP
#define BOUGH_VERIFY_PROVER_KEPT_RANKS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/parts.hpp>
#include <bough/verify/prover/rank_steps.hpp>
#include <bough/verify/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// How much the ranks [first, last) do, at most.
struct rank_extent {
    rank_t first = 0, last = 0;
    std::size_t steps = 0, sends = 0, receives = 0, blocks = 0, buffers = 0;
    std::size_t cost = 0;
};
// A sink that counts it.
struct extent_sink {
    rank_extent* so_far;
    std::size_t buffers = 2; // of the present rank
    constexpr void send(rank_t, slice from) { ++so_far->sends, add(from); }
    constexpr void send_part(rank_t, slice from) { add(from); }
    constexpr void receive(rank_t, slice into) { ++so_far->receives, add(into); }
    constexpr void receive_part(rank_t, slice into) { add(into); }
    constexpr void combine(slice lower, slice upper, slice out) { add(lower), see(upper), see(out); }
    constexpr void copy(slice from, slice to) { add(from), see(to); }
    constexpr void see(const slice& s) {
        so_far->blocks += s.count;
        if (buffers <= s.buffer.index) buffers = std::size_t{s.buffer.index} + 1;
    }
    constexpr void add(const slice& s) { ++so_far->steps, see(s); }
};
template <auto Make>
constexpr rank_extent measure_ranks(rank_t from) {
    const auto plan = Make();
    rank_extent made{.first = from, .last = from};
    for (; made.last != plan.size() && made.cost < part_limit_of<Make>; ++made.last) {
        extent_sink sink{&made};
        plan.emit(made.last, sink);
        made.buffers += sink.buffers;
        made.cost = made.steps * part_of_step + made.blocks * part_of_block +
                    std::size_t{made.last + 1 - made.first} * plan.blocks() * 8;
    }
    return made;
}
template <auto Make>
struct extents {
    static constexpr rank_extent begin() { return measure_ranks<Make>(0); }
    static constexpr rank_extent go_on(const rank_extent& before) { return measure_ranks<Make>(before.last); }
};

// rank_steps as a constant.
template <rank_extent Of>
struct kept_ranks {
    findings found{};
    rank_totals totals{};
    kept_list<step, Of.steps> steps{};
    kept_list<rank_t, Of.steps> rank_of{};
    kept_list<std::uint32_t, Of.steps> waits{}, last{}, behind{};
    kept_list<std::uint32_t, Of.steps + 1> after_first{};
    kept_list<std::uint32_t, 2 * Of.blocks> after{}; // a read waits for its writer, which may wait for it
    kept_list<std::uint32_t, Of.sends> sends{};
    kept_list<std::uint32_t, Of.receives> receives{};
    kept_list<std::uint32_t, std::size_t{Of.last - Of.first} + 1> first{};
    kept_list<std::uint32_t, Of.last - Of.first> buffers{};
    kept_list<std::size_t, Of.buffers> origins{};

    // `made`: rank_steps, or those of consecutive ranks as a constant.
    template <class Ranks>
    constexpr void append(const Ranks& made) {
        const auto add = [](auto& to, const auto& from) { to.append(from.data(), from.size()); };
        add(steps, made.steps), add(rank_of, made.rank_of), add(waits, made.waits), add(last, made.last);
        add(behind, made.behind), add(after_first, made.after_first), add(after, made.after);
        add(sends, made.sends), add(receives, made.receives), add(first, made.first);
        add(buffers, made.buffers), add(origins, made.origins);
    }
};
template <auto Make, std::size_t K>
constexpr auto check_part();
template <auto Make, std::size_t K>
inline constexpr auto ranks_of_part = check_part<Make, K>();
template <auto Make, std::size_t K>
constexpr auto check_part() {
    constexpr rank_extent of = stage_part<extents<Make>, K>;
    kept_ranks<of> made;
    rank_totals before;
    if constexpr (K != 0) {
        made.found = ranks_of_part<Make, K - 1>.found;
        before = ranks_of_part<Make, K - 1>.totals;
    }
    const auto plan = Make();
    const auto goal = plan.goal();
    rank_check ranks(goal, dimensions_of(plan), made.found, before);
    for (rank_t r = of.first; r != of.last; ++r) {
        plan.emit(r, ranks.steps_of_next());
        if (!ranks.next_rank(plan.scratch(r))) return made;
    }
    if (of.last == plan.size()) ranks.finish();
    made.totals = ranks.totals();
    made.append(ranks.made());
    return made;
}
// The number of the last part, which has the last rank or a fault.
template <auto Make, std::size_t K = 0>
consteval std::size_t last_ranks() {
    if constexpr (stage_part<extents<Make>, K>.last == dimensions_made<Make>().size ||
                  ranks_of_part<Make, K>.found.failed())
        return K;
    else
        return last_ranks<Make, K + 1>();
}

// The ranks of all parts.
template <auto Make, std::size_t... K>
constexpr rank_extent extent_of_all(std::index_sequence<K...>) {
    rank_extent all;
    for (const rank_extent& of : {stage_part<extents<Make>, K>...}) {
        all.last = of.last;
        all.steps += of.steps, all.sends += of.sends, all.receives += of.receives;
        all.blocks += of.blocks, all.buffers += of.buffers;
    }
    return all;
}
template <auto Make>
using parts_of_ranks = std::make_index_sequence<last_ranks<Make>() + 1>;
template <auto Make, std::size_t... K>
constexpr auto join_ranks(std::index_sequence<K...>) {
    constexpr rank_extent of = extent_of_all<Make>(std::index_sequence<K...>{});
    kept_ranks<of> all;
    (all.append(ranks_of_part<Make, K>), ...);
    all.found = ranks_of_part<Make, sizeof...(K) - 1>.found;
    all.totals = ranks_of_part<Make, sizeof...(K) - 1>.totals;
    return all;
}
template <auto Make>
inline constexpr auto all_ranks = join_ranks<Make>(parts_of_ranks<Make>{});

} // namespace bough::detail

#endif
