// SPDX-License-Identifier: BSL-1.0
// The proof of prover.hpp in parts: many constant expressions, each of which goes on where the one
// before stopped.
//
// The ranks are in bough/verify/prover/kept_ranks.hpp; here are messages, turns, rounds and results.
#ifndef BOUGH_VERIFY_PROVER_IN_PARTS_HPP
#define BOUGH_VERIFY_PROVER_IN_PARTS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/prover/kept_ranks.hpp>
#include <bough/verify/prover/parts.hpp>
#include <bough/verify/prover/port_queues.hpp>
#include <bough/verify/prover/results.hpp>
#include <bough/verify/prover/rounds.hpp>
#include <bough/verify/prover/step_graph.hpp>
#include <bough/verify/prover/symbolic_memory.hpp>
#include <bough/verify/prover/turns.hpp>
#include <bough/verify/rules.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

// --- messages ---

template <auto Make>
struct kept_pairs {
    static constexpr std::size_t nodes = all_ranks<Make>.steps.size();
    findings found = all_ranks<Make>.found;
    bool done = false;
    kept_list<std::uint32_t, all_ranks<Make>.sends.size()> sends{};
    kept_list<std::uint32_t, all_ranks<Make>.receives.size()> receives{};
    kept_list<paired_message, all_ranks<Make>.sends.size()> messages{};
    kept_list<std::uint32_t, nodes> message_of{}, waits{};

    constexpr void keep(const pairs& made) {
        sends.keep(made.sends), receives.keep(made.receives), messages.keep(made.messages);
        message_of.keep(made.message_of), waits.keep(made.waits);
    }
    constexpr void restore(pairs& made) const {
        sends.restore(made.sends), receives.restore(made.receives), messages.restore(made.messages);
        message_of.restore(made.message_of), waits.restore(made.waits);
    }
};
template <auto Make>
struct pairing_in_parts {
    static constexpr auto begin() {
        pairs made;
        all_ranks<Make>.sends.restore(made.sends);
        all_ranks<Make>.receives.restore(made.receives);
        all_ranks<Make>.waits.restore(made.waits);
        kept_pairs<Make> kept;
        pairing(graph_of(all_ranks<Make>, all_ranks<Make>.totals), made, kept.found).sort();
        kept.keep(made);
        return kept;
    }
    static constexpr auto go_on(const kept_pairs<Make>& before) {
        const step_graph graph = graph_of(all_ranks<Make>, all_ranks<Make>.totals);
        pairs made;
        before.restore(made);
        kept_pairs<Make> kept;
        kept.done = pairing(graph, made, kept.found).pair(part_limit_of<Make> / part_of_message) || kept.found.failed();
        kept.keep(made);
        return kept;
    }
};
template <auto Make>
consteval const auto& all_pairs() {
    return last_part<pairing_in_parts<Make>>();
}
template <auto Make>
consteval step_graph whole_graph() {
    step_graph graph = graph_of(all_ranks<Make>, all_ranks<Make>.totals);
    add_pairs(graph, all_pairs<Make>());
    return graph;
}

// --- turns ---

template <auto Make>
struct kept_turns {
    static constexpr std::size_t nodes = all_ranks<Make>.steps.size();
    bool done = false;
    kept_list<std::uint32_t, all_pairs<Make>().messages.size()> of{};
    kept_list<std::uint32_t, nodes> reached{}, waits{}, now{};

    constexpr void keep(const turns& made) {
        of.keep(made.of), reached.keep(made.reached), waits.keep(made.waits), now.keep(made.now);
    }
    constexpr void restore(turns& made) const {
        made.now.reserve(nodes);
        of.restore(made.of), reached.restore(made.reached), waits.restore(made.waits), now.restore(made.now);
    }
};
template <auto Make>
struct turns_in_parts {
    static constexpr auto begin() {
        const step_graph graph = whole_graph<Make>();
        turns made;
        turn_finder(graph, made).start();
        kept_turns<Make> kept;
        kept.keep(made);
        return kept;
    }
    static constexpr auto go_on(const kept_turns<Make>& before) {
        const step_graph graph = whole_graph<Make>();
        turns made;
        turn_finder finder(graph, made);
        before.restore(made);
        kept_turns<Make> kept;
        kept.done = finder.find(part_limit_of<Make> / part_of_node);
        kept.keep(made);
        return kept;
    }
};
template <auto Make>
consteval const auto& all_turns() {
    return last_part<turns_in_parts<Make>>();
}

// --- rounds ---

template <std::size_t Messages, std::size_t Ports>
struct kept_queues {
    kept_list<queued_message, Messages> messages{};
    kept_list<port_queue, Ports> queues{};
    kept_list<std::uint32_t, Ports> filled{};
    kept_list<std::uint32_t, Messages> arrived{};
    std::uint32_t arrivals = 0;

    constexpr void keep(const queue_contents& made) {
        messages.keep(made.messages), queues.keep(made.queues), filled.keep(made.filled);
        arrived.keep(made.arrived), arrivals = made.arrivals;
    }
    constexpr void restore(queue_contents& made) const {
        messages.restore(made.messages), queues.restore(made.queues), filled.restore(made.filled);
        arrived.restore(made.arrived), made.arrivals = arrivals;
    }
};
// `Ranges`: how many ranges of ranks its brackets may have. It grows as needed.
template <auto Make, std::size_t Ranges>
struct kept_run {
    static constexpr std::size_t ranges = Ranges;
    static constexpr std::size_t nodes = all_ranks<Make>.steps.size(), messages = all_pairs<Make>().messages.size();
    static constexpr std::size_t ranks = all_ranks<Make>.totals.ranks, cells = all_ranks<Make>.totals.cells;
    static constexpr std::size_t combines = std::size_t{all_ranks<Make>.found.traits().combines};
    findings found = all_ranks<Make>.found;
    bool done = false, fits = true;
    std::uint32_t round = 0;
    kept_list<std::uint32_t, nodes> waits{};
    kept_list<message_progress, messages> progress{};
    kept_list<std::uint32_t, ranks> sent_in{}, received_in{};
    kept_queues<messages, 2 * ranks> queues{};
    kept_list<symbolic_block, cells> memory{};
    kept_list<bracket_node, ranks + combines> bracket_nodes{};
    kept_list<rank_range, Ranges> bracket_ranges{};
    kept_list<std::uint32_t, std::bit_ceil(4 * combines + 64)> bracket_table{};

    constexpr void keep(const run_state& state, const symbolic_contents& contents) {
        const auto& books = contents.brackets.remembered();
        fits = books.ranges.size() <= Ranges;
        if (!fits) return;
        round = state.round;
        waits.keep(state.waits), progress.keep(state.messages);
        sent_in.keep(state.sent_in), received_in.keep(state.received_in);
        queues.keep(state.queue);
        memory.keep(contents.cells);
        bracket_nodes.keep(books.nodes), bracket_ranges.keep(books.ranges), bracket_table.keep(books.table);
    }
    constexpr void restore(run_state& state) const {
        state.round = round;
        waits.restore(state.waits), progress.restore(state.messages);
        sent_in.restore(state.sent_in), received_in.restore(state.received_in);
        queues.restore(state.queue);
    }
    constexpr void restore(symbolic_contents& contents) const {
        contents.brackets = bough::detail::brackets(static_cast<rank_t>(ranks));
        auto& books = contents.brackets.remembered();
        memory.restore(contents.cells);
        bracket_nodes.restore(books.nodes), bracket_ranges.restore(books.ranges), bracket_table.restore(books.table);
    }
};
template <auto Make, std::size_t K, std::size_t Ranges>
constexpr auto run_part();
template <auto Make, std::size_t K, std::size_t Ranges>
inline constexpr auto run_of_part = run_part<Make, K, Ranges>();
template <auto Make, std::size_t K, std::size_t Ranges>
consteval const auto& run_that_fits() {
    if constexpr (run_of_part<Make, K, Ranges>.fits)
        return run_of_part<Make, K, Ranges>;
    else
        return run_that_fits<Make, K, 4 * Ranges>();
}
template <auto Make, std::size_t K>
consteval const auto& fitting_run() {
    if constexpr (K == 0) {
        constexpr std::size_t likely = 2 * (all_ranks<Make>.totals.ranks + all_ranks<Make>.found.traits().combines);
        return run_that_fits<Make, K, likely>();
    } else {
        return run_that_fits<Make, K, std::remove_cvref_t<decltype(fitting_run<Make, K - 1>())>::ranges>();
    }
}
template <auto Make, std::size_t K, std::size_t Ranges>
constexpr auto run_part() {
    kept_run<Make, Ranges> kept;
    const auto plan = Make();
    const auto goal = plan.goal();
    const step_graph graph = whole_graph<Make>();
    const verify_options options = claimed_options(plan, {});
    run_state state;
    symbolic_contents contents;
    if constexpr (K != 0) {
        kept.found = fitting_run<Make, K - 1>().found;
        fitting_run<Make, K - 1>().restore(state);
        fitting_run<Make, K - 1>().restore(contents);
    }
    symbolic_memory<std::remove_const_t<decltype(goal)>> memory(dimensions_of(plan), graph, contents, kept.found);
    prover_rounds rounds(graph, all_turns<Make>().of.data(), state, memory, kept.found, options);
    if constexpr (K == 0) {
        memory.start(goal);
        rounds.start();
    } else {
        kept.done = rounds.run(part_limit_of<Make> / part_of_move);
        if (kept.done) rounds.finish();
    }
    kept.keep(state, contents);
    return kept;
}
template <auto Make, std::size_t K = 0>
consteval const auto& whole_run() {
    if constexpr (fitting_run<Make, K>().done)
        return fitting_run<Make, K>();
    else
        return whole_run<Make, K + 1>();
}

// --- results ---

template <block_t Blocks>
struct kept_results {
    findings found{};
    bool done = false;
    rank_t ranks = 0;
    std::uint64_t first_hash = 0, all_hashes = 0;
    bool any = false;
    kept_list<std::uint32_t, Blocks> of_block{};
};
template <auto Make>
struct results_in_parts {
    static constexpr block_t blocks = dimensions_made<Make>().blocks;
    using kept_type = kept_results<blocks>;

    static constexpr kept_type begin() {
        kept_type none;
        none.found = whole_run<Make>().found;
        return check(none);
    }
    static constexpr kept_type go_on(const kept_type& before) { return check(before); }

private:
    static constexpr kept_type check(const kept_type& before) {
        kept_type kept;
        results_so_far seen;
        kept.found = before.found;
        seen.ranks = before.ranks, seen.any = before.any;
        seen.first_hash = before.first_hash, seen.all_hashes = before.all_hashes;
        before.of_block.restore(seen.of_block);
        const auto plan = Make();
        const auto goal = plan.goal();
        const step_graph graph = whole_graph<Make>();
        const verify_options options = claimed_options(plan, {});
        symbolic_contents contents;
        whole_run<Make>().restore(contents);
        const symbolic_memory<std::remove_const_t<decltype(goal)>> memory(dimensions_of(plan), graph, contents,
                                                                          kept.found);
        constexpr auto most = static_cast<rank_t>(1 + part_limit_of<Make> / part_of_result / (1 + std::size_t{blocks}));
        kept.done = results_check(goal, dimensions_of(plan), memory, seen, kept.found, options).run(most) ||
                    kept.found.failed();
        kept.ranks = seen.ranks, kept.any = seen.any;
        kept.first_hash = seen.first_hash, kept.all_hashes = seen.all_hashes;
        kept.of_block.keep(seen.of_block);
        return kept;
    }
};

// --- all ---

// Make() makes the plan; it has no state.
template <auto Make>
consteval verdict prove_in_parts() {
    if constexpr (ranks_of_part<Make, last_ranks<Make>()>.found.failed())
        return ranks_of_part<Make, last_ranks<Make>()>.found.result();
    else if constexpr (all_pairs<Make>().found.failed())
        return all_pairs<Make>().found.result();
    else if constexpr (whole_run<Make>().found.failed())
        return whole_run<Make>().found.result();
    else
        return last_part<results_in_parts<Make>>().found.result();
}
// Is one constant expression enough?
template <auto Make>
consteval bool is_small() {
    constexpr const rank_extent& of = stage_part<extents<Make>, 0>;
    return of.last == dimensions_made<Make>().size && 2 * of.cost <= part_limit_of<Make>;
}
} // namespace bough::detail

#endif
