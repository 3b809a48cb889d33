// SPDX-License-Identifier: BSL-1.0
// rank_steps: what the prover knows of each rank by itself: its steps, and what follows from them.
// rank_check: fills it, rank by rank, and checks the rules that a rank obeys by itself.
//
// A node is a step. The nodes of a rank have consecutive numbers, in program order, and the ranks
// follow each other. The last part of a message stands for the message at each end.
#ifndef BOUGH_VERIFY_PROVER_RANK_STEPS_HPP
#define BOUGH_VERIFY_PROVER_RANK_STEPS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/core/step.hpp>
#include <bough/schedule/block_places.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/packed_loads.hpp>
#include <bough/schedule/traits.hpp>
#include <bough/verify/prover/findings.hpp>
#include <bough/verify/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// How much there is of all ranks so far.
struct rank_totals {
    rank_t ranks = 0;
    std::uint32_t nodes = 0, edges = 0, buffers = 0;
    std::size_t cells = 0;
};

// Of some consecutive ranks; all numbers count from rank 0.
struct rank_steps {
    plain_list<step> steps{};          // by node
    plain_list<rank_t> rank_of{};      // by node
    plain_list<std::uint32_t> waits{}; // by node: for how many nodes of its rank it waits
    // The nodes that wait for node n are after[after_first[n]] ... after[after_first[n + 1] - 1].
    plain_list<std::uint32_t> after_first{}, after{};
    plain_list<std::uint32_t> last{};              // by node: the last part of its message; itself if it is no part
    plain_list<std::uint32_t> behind{};            // by node: the next message of its port (its last part), or no_step
    plain_list<std::uint32_t> sends{}, receives{}; // nodes: the last part of each message
    plain_list<std::uint32_t> first{};             // by rank: its first node
    plain_list<std::uint32_t> buffers{};           // by rank: where its buffers begin in origins
    plain_list<std::size_t> origins{};             // by buffer: the memory cell where its block 0 would be
};

template <class Goal>
class rank_check {
public:
    // `before`: of the ranks before these.
    constexpr rank_check(const Goal& goal, const dimensions& at, findings& found, const rank_totals& before = {})
        : goal_(goal), at_(at), found_(found), before_(before), so_far_(before) {
        met_.assign(at.size, no_rank);
    }

    // A sink for the steps of the next rank, to be pushed before next_rank().
    struct sink {
        plain_list<step>* steps;
        constexpr void push(const step* made, std::size_t count) {
            for (std::size_t i = 0; i != count; ++i) steps->push_back(made[i]);
        }
        constexpr void send(rank_t to, slice from) { steps->push_back({verb::send, false, to, from, {}, {}}); }
        constexpr void receive(rank_t from, slice into) {
            steps->push_back({verb::receive, false, from, {}, {}, into});
        }
        constexpr void send_part(rank_t to, slice from) { steps->push_back({verb::send, true, to, from, {}, {}}); }
        constexpr void receive_part(rank_t from, slice into) {
            steps->push_back({verb::receive, true, from, {}, {}, into});
        }
        constexpr void combine(slice lower, slice upper, slice out) {
            steps->push_back({verb::combine, false, no_rank, lower, upper, out});
        }
        constexpr void copy(slice from, slice to) { steps->push_back({verb::copy, false, no_rank, from, {}, to}); }
    };
    constexpr sink steps_of_next() noexcept { return {&made_.steps}; }

    // Takes the steps that were pushed since the last call as those of the next rank. False: a fault was
    // found. Pre: the rank before had no fault.
    constexpr bool next_rank(block_t scratch_limit) {
        const rank_t r = so_far_.ranks;
        const std::size_t begin = so_far_.nodes - before_.nodes;
        const std::span<const step> steps(made_.steps.data() + begin, made_.steps.size() - begin);
        touched_.clear();
        touched_.add(input.index, 0, at_.blocks);
        touched_.add(output.index, 0, at_.blocks);
        if (!check_steps(r, steps)) return false;
        const std::size_t cells = touched_.settle();
        std::uint64_t used = 0;
        if (packed_.any) {
            written_.assign(touched_.buffers(), 0);
            if (const scratch_fault bad = check_packed(steps, scratch_limit, written_.data(), packed_.loads, used);
                bad.what != fault::none)
                return found_.fail(bad.what, r, bad.step, bad.block);
        }
        written_.assign(cells, 0);
        if (const scratch_fault bad = check_scratch(steps, touched_, scratch_limit, written_.data(), used);
            bad.what != fault::none)
            return found_.fail(bad.what, r, bad.step, bad.block);
        plan_traits& traits = found_.traits();
        if (traits.scratch_max < used) traits.scratch_max = used;
        add_counts(traits, steps, r, met_.data());
        made_.buffers.push_back(so_far_.buffers);
        for (std::size_t b = 0; b != touched_.buffers(); ++b)
            made_.origins.push_back(so_far_.cells + touched_.origin(b));
        so_far_.cells += cells;
        so_far_.buffers += static_cast<std::uint32_t>(touched_.buffers());
        made_.first.push_back(so_far_.nodes);
        infer(steps, cells);
        find_ports(r, steps);
        so_far_.nodes += static_cast<std::uint32_t>(steps.size());
        ++so_far_.ranks;
        return true;
    }
    // Behind the last rank.
    constexpr void finish() {
        made_.first.push_back(so_far_.nodes);
        made_.after_first.push_back(so_far_.edges);
    }
    constexpr const rank_totals& totals() const noexcept { return so_far_; }
    constexpr const rank_steps& made() const noexcept { return made_; }

private:
    // Checks each step of rank `r` by itself, and collects what the steps touch.
    constexpr bool check_steps(rank_t r, std::span<const step> steps) {
        const step* s = steps.data();
        packed_.any = false;
        for (std::size_t left = steps.size(); left != 0; --left, ++s) {
            if (const step_fault bad = check_step(*s, left != 1 ? s + 1 : nullptr, r, at_); bad.what != fault::none)
                return found_.fail(bad.what, r, steps.size() - left, bad.block,
                                   bad.what == fault::bad_peer ? s->peer : no_rank);
            if (s->verb != verb::receive) touched_.add(s->a.buffer.index, s->a.first, s->a.first + s->a.count);
            if (s->verb == verb::combine) touched_.add(s->b.buffer.index, s->b.first, s->b.first + s->b.count);
            packed_.any = packed_.any || s->a.buffer.packed + s->b.buffer.packed + s->out.buffer.packed != 0;
            if (s->verb == verb::send) continue;
            touched_.add(s->out.buffer.index, s->out.first, s->out.first + s->out.count);
            if (s->out.buffer.index != output.index) continue;
            for (block_t b = s->out.first; b != s->out.first + s->out.count; ++b)
                if (goal_.result(at_, r, b).empty())
                    return found_.fail(fault::write_to_output, r, steps.size() - left, b);
        }
        return true;
    }

    // Infers the dependences of the steps, which touch the settled places below `end`.
    constexpr void infer(std::span<const step> steps, std::size_t end) {
        const std::size_t begin = so_far_.nodes - before_.nodes;
        const std::size_t count = steps.size();
        made_.waits.resize(begin + count, 0);
        std::uint32_t* const waits = made_.waits.data() + begin;
        fill_.assign(count, 0);
        std::uint32_t* const fill = fill_.data();
        edges_.clear();
        for_each_dependence(steps, touched_, end, [&](std::uint32_t i, std::uint32_t before) {
            edges_.push_back({before, i});
            ++waits[i], ++fill[before];
        });
        const std::size_t first_edge = so_far_.edges - before_.edges;
        std::uint32_t at = static_cast<std::uint32_t>(first_edge);
        made_.after_first.resize(begin + count, 0);
        std::uint32_t* const after_first = made_.after_first.data() + begin;
        for (std::size_t i = 0; i != count; ++i)
            after_first[i] = before_.edges + at, at += fill[i], fill[i] = at - fill[i];
        made_.after.resize(at, 0);
        std::uint32_t* const after = made_.after.data();
        const edge* const edges = edges_.data();
        for (std::size_t e = 0; e != edges_.size(); ++e)
            after[fill[edges[e].before]++] = so_far_.nodes + edges[e].later;
        so_far_.edges = before_.edges + at;
    }
    // Finds the ends of messages, and their order at the ports.
    constexpr void find_ports(rank_t r, std::span<const step> steps) {
        const std::size_t begin = so_far_.nodes - before_.nodes;
        const auto count = static_cast<std::uint32_t>(steps.size());
        const step* const all = steps.data();
        made_.rank_of.resize(begin + count, r);
        made_.last.resize(begin + count, 0);
        made_.behind.resize(begin + count, std::uint32_t{no_step});
        std::uint32_t* const last = made_.last.data() + begin;
        std::uint32_t* const behind = made_.behind.data() + begin;
        std::uint32_t sent = no_step, received = no_step; // behind step i
        for (std::uint32_t i = count; i-- != 0;) {
            const std::uint32_t n = so_far_.nodes + i;
            last[i] = all[i].more ? last[i + 1] : n;
            if (all[i].more) continue;
            if (all[i].verb == verb::send)
                behind[i] = sent, sent = n;
            else if (all[i].verb == verb::receive)
                behind[i] = received, received = n;
        }
        for (std::uint32_t i = 0; i != count; ++i)
            if (all[i].more)
                continue;
            else if (all[i].verb == verb::send)
                made_.sends.push_back(so_far_.nodes + i);
            else if (all[i].verb == verb::receive)
                made_.receives.push_back(so_far_.nodes + i);
    }

    struct edge {
        std::uint32_t before = 0, later = 0; // steps of the rank
    };
    const Goal& goal_;
    dimensions at_;
    findings& found_;
    rank_totals before_, so_far_;
    rank_steps made_;
    // Memory to work in.
    block_places<> touched_;
    struct packed_planes {
        bool any = false; // has the present rank some?
        packed_loads<> loads;
    } packed_;
    plain_list<unsigned char> written_;
    plain_list<rank_t> met_;
    plain_list<edge> edges_;
    plain_list<std::uint32_t> fill_;
};

} // namespace bough::detail

#endif
