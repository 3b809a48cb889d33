// SPDX-License-Identifier: BSL-1.0
// assemble: a plan as NIC programs, one per rank.
//
//   constexpr auto plan = bough::plan_allreduce(bough::fnomial{.degree = 4}, {.size = 16});
//   const auto made = nic::assemble(plan, rank, nic::needs_of<bough::plus, long>, nic::capabilities_of<nic::host>);
//   if (made) run(made.program); else std::puts(nic::describe(made.why.reason));
//
// Any plan will do: only its steps and their dependence are used. Every message becomes an inlet
// with a slot of its own, every combine or copy becomes a step, and what a step must wait for
// becomes a counter. Making one rank's program takes the whole plan, for two reasons: a message
// names an inlet of its receiver, and all ranks must agree whether the target refuses. So
// assemble_all gives all programs for the price of one.
//
// *Ordered* (default): every message has its own slot, and the operands are those of the plan. The
//   result has the same bits as on the host.
// *Accumulate*: messages that the plan folds into one another share a slot and are combined as they
//   land. This takes the fewest steps and slots. It needs an op that is exact and commutes.
// *Multicast*: a plan for a reduce becomes an allreduce: the root sends its result to everyone at
//   once.
// *Credits* are added to the programs where a host that runs ahead could overwrite something
//   (bough/nic/detail/network.hpp). Without them the caller promises that no host enters instance
//   e + banks before every rank has ended instance e.
//
// If a message of the plan has several parts, each part is a message here. The bell, by which the host
// enters an instance (bough/nic/machine.hpp), brings the rank's whole input. The vector is cut into
// blocks as everywhere: the first (elements mod blocks) blocks are longer by one element.
// *Errors*   a program that the target cannot run is refused, to all ranks alike, with the reason
//            and the figures; the plan is not verified here
// *Time*     O(steps x ranks / 64), and O(steps of one rank squared / 64) for each rank
// *Memory*   O(steps x ranks), as bough/nic/check.hpp: 700 MB for a binomial tree of 16384 ranks
#ifndef BOUGH_NIC_ASSEMBLE_HPP
#define BOUGH_NIC_ASSEMBLE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/capabilities.hpp>
#include <bough/nic/detail/emit.hpp>
#include <bough/nic/detail/network.hpp>
#include <bough/nic/detail/rename.hpp>
#include <bough/schedule/claims.hpp>
#include <bough/schedule/goal.hpp>
#include <bough/schedule/schedule.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

// What the programs are for, beside the plan.
struct assemble_options {
    std::uint32_t elements = 1; // of the whole vector
    std::uint32_t banks = 1;    // how many instances may be under way: a power of two
    bool accumulate = false;
    bool multicast = false;
    bool credits = true;
    std::uint32_t stream = 0; // tells programs apart that share a port
    friend constexpr bool operator==(const assemble_options&, const assemble_options&) = default;
};

// The program of one rank, or why there is none.
struct assembled {
    nic::program program{};
    refusal why{};
    constexpr explicit operator bool() const noexcept { return !why; } // true: it is a program
};
// The programs of all ranks, or why there are none.
struct assembled_all {
    std::vector<nic::program> programs{}; // by rank
    refusal why{};
    constexpr explicit operator bool() const noexcept { return !why; }
};

namespace detail {

// Calls f with the goal of the programs. With a multicast, a reduce becomes an allreduce.
template <class Goal>
constexpr auto spread(const Goal& g, bool multicast, auto&& f) {
    if constexpr (std::same_as<Goal, goal::reduce>)
        if (multicast) return f(goal::allreduce{});
    return f(g);
}

// Refuses what can be refused without a look at the steps.
template <Plan P>
constexpr refusal refuse_plan(const P& plan, const needs& op, const capabilities& target,
                              const assemble_options& options) {
    using goal_type = std::remove_cvref_t<decltype(plan.goal())>;
    const auto no = [](reason why, std::uint64_t needed = 0, std::uint64_t limit = 0) {
        return refusal{why, no_rank, needed, limit};
    };
    if (plan.size() > target.ranks || plan.size() >= no_index) return no(reason::ranks, plan.size(), target.ranks);
    if (options.banks == 0 || (options.banks & (options.banks - 1)) != 0 || options.banks > target.banks ||
        options.banks > 1u << most_bank_bits)
        return no(reason::banks, options.banks, target.banks);
    if (options.multicast) {
        if (!target.multicast) return no(reason::multicast);
        if (!std::same_as<goal_type, goal::reduce>) return no(reason::multicast_plan);
    }
    if (options.elements != 0 && target.element_bytes != 0 && op.element_bytes != target.element_bytes)
        return {reason::element_size, no_rank, op.element_bytes, target.element_bytes};
    if (options.accumulate && (!target.accumulates || !op.commutative || !op.exact)) return no(reason::accumulate);
    if constexpr (goal_type::combines && !allows_repeats_v<goal_type> && requires { plan.algorithm(), plan.at(); }) {
        const claims said = claims_of(plan.algorithm(), plan.at());
        if (options.elements != 0 && !op.commutative && !said.keeps_rank_order) return no(reason::commutative);
        if (options.elements != 0 && !op.exact && said.needs_exact) return no(reason::exact);
    }
    return {};
}

template <Plan P>
class assembler {
public:
    // The parameters have names that no user's global is likely to have: compilers would warn of
    // shadowing in here.
    constexpr assembler(const P& the_plan, const needs& the_op, const capabilities& the_target,
                        const assemble_options& the_options)
        : plan_(the_plan), op_(the_op), target_(the_target), options_(the_options),
          offsets_(the_options.elements, the_plan.blocks()) {
        why_ = refuse_plan(plan_, op_, target_, options_);
        if (why_) return;
        // Try first to give every host its result where it landed, if the goal combines: then hosts
        // contribute, so there is mostly no next result before a host has rung again. Hosts for
        // which this does not hold get a copy in the second attempt.
        bool good = connect([](rank_t) { return goal_type::combines; });
        std::vector<std::uint8_t> keep;
        for (rank_t r = 0; good && r != plan_.size(); ++r)
            keep.push_back(network_.ranks[r].direct && network_.may_keep(r) ? 1 : 0);
        for (rank_t r = 0; good && r != plan_.size(); ++r) {
            if (!network_.ranks[r].direct || keep[r] != 0) continue;
            good = connect([&](rank_t s) { return keep[s] != 0; });
            break;
        }
        if (!good) {
            why_.reason = reason::wrong_plan;
            return;
        }
        if (options_.credits) network_.add_credits();
        for (const rank_nodes& r : network_.ranks) inlets_.push_back(inlets_of(r, options_.multicast));
    }
    // Makes the programs of all ranks, so that all ranks are told the same: a rank alone cannot
    // know that another rank's program is refused.
    constexpr assembled_all run() {
        assembled_all all;
        for (rank_t r = 0; r != plan_.size() && !why_; ++r) all.programs.push_back(program_of(r));
        if (why_) all.programs.clear();
        all.why = why_;
        return all;
    }

private:
    using goal_type = std::remove_cvref_t<decltype(std::declval<const P&>().goal())>;
    static constexpr bool in_place = goal_type::in_place;

    constexpr program program_of(rank_t rank) {
        const rank_nodes& r = network_.ranks[rank];
        std::vector<std::uint32_t> remote;
        for (const node& n : r.nodes) {
            remote.push_back(0);
            if (n.arrival || n.notice || n.s.verb != verb::send) continue;
            remote.back() = n.multicast ? multicast_inlet : inlets_[n.s.peer][n.partner];
        }
        header head;
        while (1u << head.bank_bits != options_.banks) ++head.bank_bits;
        head.rank = static_cast<u16>(rank);
        head.ranks = static_cast<u16>(plan_.size());
        head.stream = options_.stream;
        emitter emit(r, in_place, options_.multicast, offsets_);
        program made = emit.run(head, remote);
        why_ = refuse(rank, emit.needs());
        made.head.checksum =
            why_ ? 0 : checksum_of(made); // a refused program may have other sizes than its header says
        return made;
    }

    // `direct(r)`: may rank r's host be given a message where it landed? Returns false if the plan
    // is wrong.
    template <class F>
    constexpr bool connect(F&& direct) {
        network_ = {};
        for (rank_t r = 0; r != plan_.size(); ++r) add_rank(r, direct(r));
        return network_.match() && network_.order();
    }

    constexpr void add_rank(rank_t rank, bool direct) {
        const dimensions at{plan_.size(), plan_.root(), plan_.blocks()};
        schedule steps;
        plan_.emit(rank, steps);
        const bool multicasts = options_.multicast && plan_.size() > 1;
        const auto last = static_cast<std::uint32_t>(steps.steps.size()); // the multicast, if there is one
        if (multicasts) {
            if (rank == plan_.root())
                steps.send(no_rank, {output, 0, at.blocks});
            else
                steps.receive(plan_.root(), {output, 0, at.blocks});
        }
        const auto&& g = plan_.goal();
        const slice result =
            spread(g, options_.multicast, [&](const auto& goal) { return results_of(goal, at, rank); }).of(output);
        renamed r = rename(steps.steps, at, rank, in_place, result, options_.accumulate, direct);
        rank_nodes made;
        made.bell = held_by(g, at, rank).of(input);
        made.direct = r.direct;
        const auto n = static_cast<std::uint32_t>(r.steps.size());
        std::vector<std::uint8_t> read;
        read.resize(n, 0);
        for (const auto& before : r.before)
            for (const std::uint32_t b : before) read[b] = 1;
        for (std::uint32_t i = 0; i != n; ++i) {
            node x;
            x.s = r.steps[i];
            x.arrival = x.s.verb == verb::receive;
            x.lands_with = r.lands_with[i];
            x.before = std::move(r.before[i]);
            x.multicast = multicasts && r.source[i] == last;
            x.notice = i + 1 == n;
            // The host is told when its result is there, or when all is done if it gets none.
            if (x.notice) {
                x.before.push_back(r.direct ? last_behind_bell(made.nodes, read) : 0);
                for (std::uint32_t b = 1; b != i; ++b)
                    if (read[b] == 0 && (made.nodes[b].arrival || result.count == 0)) x.before.push_back(b);
            }
            if (!x.arrival && x.before.empty()) x.before.push_back(0);
            made.nodes.push_back(std::move(x));
        }
        network_.ranks.push_back(std::move(made));
    }

    // The node that stands for "the host has rung" in the notice's condition: the last send that
    // follows the bell and that no other node waits for. Waiting for that send instead of the bell
    // saves the step that would count the bell twice. 0, the bell itself, if there is no such send.
    static constexpr std::uint32_t last_behind_bell(const std::vector<node>& nodes,
                                                    const std::vector<std::uint8_t>& read) {
        std::vector<std::uint8_t> behind;
        std::uint32_t last = 0;
        for (std::uint32_t i = 0; i != nodes.size(); ++i) {
            bool follows = i == 0;
            for (const std::uint32_t b : nodes[i].before) follows = follows || behind[b] != 0;
            behind.push_back(follows ? 1 : 0);
            if (follows && nodes[i].s.verb == verb::send && read[i] == 0) last = i;
        }
        return last;
    }

    constexpr refusal refuse(rank_t rank, const emitted_needs& e) const {
        const auto over = [&](reason why, std::uint64_t needed, std::uint64_t limit) {
            return refusal{needed > limit ? why : reason::none, rank, needed, limit};
        };
        const auto at_most_16_bits = [](std::uint64_t limit) { return std::min<std::uint64_t>(limit, no_index - 1); };
        for (const refusal& no :
             {over(reason::steps, e.steps, at_most_16_bits(target_.steps)),
              over(reason::slots, e.slots, at_most_16_bits(target_.slots)),
              over(reason::counters, e.counters, at_most_16_bits(target_.counters)),
              over(reason::inlets, e.inlets, at_most_16_bits(target_.inlets)),
              over(reason::elements, e.longest, 0xffff),
              over(reason::message, e.longest * op_.element_bytes, target_.message_bytes),
              over(reason::bank, e.elements, target_.elements_per_bank),
              over(reason::memory, e.elements * op_.element_bytes * options_.banks, target_.memory_bytes),
              over(reason::sends, e.most_sends, target_.sends_per_arrival)})
            if (no) return no;
        if (!e.combines || options_.elements == 0) return {};
        if (!target_.elements.contains(op_.element)) return {reason::element, rank, 0, 0};
        if (!target_.ops.contains(op_.op)) return {reason::op, rank, 0, 0};
        if (!target_.floating_point && !op_.integer_only) return {reason::floating_point, rank, 0, 0};
        return {};
    }

    const P& plan_;
    needs op_;
    const capabilities& target_;
    assemble_options options_;
    element_offsets offsets_;
    program_network network_{};
    std::vector<std::vector<std::uint32_t>> inlets_{};
    refusal why_{};
};

} // namespace detail

// Makes all programs of a plan, or gives the first refusal.
template <Plan P>
constexpr assembled_all assemble_all(const P& plan, const needs& op, const capabilities& target,
                                     const assemble_options& options = {}) {
    return detail::assembler<P>(plan, op, target, options).run();
}

// Makes the program of one rank. It is refused if the program of any rank is, so that either every
// rank falls back to the host or none does. Pre: rank < plan.size().
template <Plan P>
constexpr assembled assemble(const P& plan, rank_t rank, const needs& op, const capabilities& target,
                             const assemble_options& options = {}) {
    BOUGH_EXPECTS(rank < plan.size(), "rank: not a rank of the plan");
    assembled_all all = assemble_all(plan, op, target, options);
    if (!all) return {{}, all.why};
    return {std::move(all.programs[rank]), {}};
}

} // namespace bough::nic

#endif
