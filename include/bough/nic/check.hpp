// SPDX-License-Identifier: BSL-1.0
// check: proves that a set of programs, wherever they come from, obeys the rules of the machine.
// It works at compile time, too.
//
//   static_assert(nic::check(programs));
//   if (const auto v = nic::check(programs); !v) std::puts(nic::describe(v.fault));
//
// It looks at the tables only, not at the plan. So it derives a second time, independently, what
// nic::assemble takes care of. The rules are:
//   one counter, one condition   a step waits for all bumps that its counter gets in an instance,
//                                not for some of them
//   forward                      a bump serves later steps only, and the steps of one counter stand
//                                side by side
//   one notice                   every host is told once per instance
//   one sender                   every inlet gets one message per instance; it comes from the rank
//                                that the inlet names and has the inlet's length
//   no race                      if two steps or messages touch the same elements and one of them
//                                writes, counters order them
//   host's result                nothing writes what the host was given before the host rings
//                                again, and no message lands there that can be sent before that
//                                ring
//   progress                     no rank waits for itself through others. And only steps `count`
//                                may be ready before anything comes: no arrival would run another
//                                step
//   room                         no message can come before its slot and its counter have served
//                                the turn before. A credit ensures this, or the order of all ranks'
//                                steps does (bough/nic/detail/network.hpp)
// Time: O(steps x ranks / 64 + steps of a rank squared). Memory: O(steps x ranks): three bits for
// each pair of a rank and a step, inlet or credit of any rank. A binomial tree has about seven of
// these per rank: 700 MB for 16384 ranks.
#ifndef BOUGH_NIC_CHECK_HPP
#define BOUGH_NIC_CHECK_HPP

#include <bough/core/rank.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/detail/network.hpp>
#include <bough/nic/program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

// What is wrong with a set of programs.
enum class program_fault : std::uint8_t {
    none,
    table,    // a table by itself is broken: `table` says how
    checksum, // a table was changed
    set,      // there are no programs, or they differ in ranks, banks or stream, or are out of order
    // A step waits for some of its counter's bumps only, or a counter gets more or fewer than it
    // says.
    two_conditions,
    backwards,    // a step bumps a counter for which it waits itself, or an earlier step does
    first_step,   // the steps that wait for a counter are not those that it names
    lost_message, // a send names an inlet that is not there, or not its own, or of another length
    no_sender,    // nobody sends to an inlet
    two_senders,  // more than one rank or step sends to an inlet
    unheard,      // nothing waits for an inlet: an instance could end without it
    notice,       // a host is told more than once in an instance, or never
    race,         // two steps, or a message and a step, touch the same elements in no certain order
    host_race,    // a step or a message may write the host's result before the host rings again
    stuck,        // a step waits for ever, or for credits alone
    no_room,      // a message may come before its slot or counter is free
};

constexpr const char* describe(program_fault f) noexcept {
    switch (f) {
    case program_fault::none: return "the programs obey the rules";
    case program_fault::table: return "a table by itself is broken";
    case program_fault::checksum: return "a table does not have the checksum that it says";
    case program_fault::set: return "the programs are not one set";
    case program_fault::two_conditions:
        return "a counter has another number of bumps than those who wait for it expect";
    case program_fault::backwards: return "a step bumps a counter that an earlier step waits for";
    case program_fault::first_step:
        return "the steps that wait for a counter are not those that it names, side by side";
    case program_fault::lost_message: return "a send names an inlet that does not take it";
    case program_fault::no_sender: return "nobody sends to an inlet";
    case program_fault::two_senders: return "an inlet gets more than one message in an instance";
    case program_fault::unheard: return "nothing waits for an inlet";
    case program_fault::notice: return "a host is told more than once in an instance, or never";
    case program_fault::race: return "two touch the same elements in no certain order";
    case program_fault::host_race: return "the host's result may be overwritten before it rings again";
    case program_fault::stuck: return "a step waits for ever";
    case program_fault::no_room: return "a message may come before its slot or counter is free";
    }
    return "";
}

// The first fault, and where it is.
struct program_verdict {
    program_fault fault = program_fault::none;
    table_fault table = table_fault::none;
    rank_t rank = no_rank;
    std::uint32_t step = 0xffff'ffffu;  // of that rank
    std::uint32_t inlet = 0xffff'ffffu; // of that rank
    constexpr explicit operator bool() const noexcept { return fault == program_fault::none; }
    friend constexpr bool operator==(const program_verdict&, const program_verdict&) = default;
};

namespace detail {

template <int>
class basic_program_checker {
public:
    constexpr explicit basic_program_checker(std::span<const program> programs) : all_(programs) {}

    constexpr program_verdict run() {
        if (all_.empty()) {
            found_.fault = program_fault::set;
            return found_;
        }
        for (rank_t r = 0; r != all_.size(); ++r)
            if (!one_set(r)) return found_;
        senders_.resize(all_.size());
        for (rank_t r = 0; r != all_.size(); ++r) senders_[r].resize(all_[r].inlets.size(), sender{});
        for (rank_t r = 0; r != all_.size(); ++r)
            if (!counters(r) || !messages(r)) return found_;
        for (rank_t r = 0; r != all_.size(); ++r)
            if (!inlets(r) || !races(r)) return found_;
        if (!progress()) return found_;
        for (rank_t r = 0; r != all_.size(); ++r)
            if (!room(r)) return found_;
        return found_;
    }

private:
    struct sender {
        rank_t rank = no_rank;
        std::uint32_t step = no_step;
    };
    constexpr bool fault(program_fault f, rank_t r, std::uint32_t s = no_step, std::uint32_t i = no_step) {
        found_ = {f, table_fault::none, r, s, i};
        return false;
    }
    static constexpr bool used(const program& p, std::size_t i) { return p.inlets[i].from != no_index; }
    static constexpr bool is_credit(const inlet& in) { return (in.flags & inlet_credit) != 0; }

    constexpr bool one_set(rank_t r) {
        const program& p = all_[r];
        if (p.steps.size() != p.head.steps || p.slots.size() != p.head.slots || p.counters.size() != p.head.counters ||
            p.inlets.size() != p.head.inlets)
            return fault(program_fault::table, r);
        if (const table_fault t = sound(p); t != table_fault::none) {
            fault(program_fault::table, r);
            found_.table = t;
            return false;
        }
        if (checksum_of(p) != p.head.checksum) return fault(program_fault::checksum, r);
        const header& first = all_[0].head;
        if (p.head.rank != r || p.head.ranks != all_.size() || p.head.bank_bits != first.bank_bits ||
            p.head.stream != first.stream)
            return fault(program_fault::set, r);
        return true;
    }

    // Checks the counters of rank r, and fills before_: which nodes of the rank come before which.
    // The nodes are the inlets, then the steps.
    constexpr bool counters(rank_t r) {
        const program& p = all_[r];
        const std::size_t inlet_count = p.inlets.size(), nodes = inlet_count + p.steps.size();
        std::vector<std::vector<std::uint32_t>> sources;
        sources.resize(p.counters.size());
        std::vector<std::uint32_t> credits;
        credits.resize(p.counters.size(), 0);
        for (std::uint32_t i = 0; i != inlet_count; ++i) {
            if (!used(p, i)) continue;
            sources[p.inlets[i].counter].push_back(i);
            credits[p.inlets[i].counter] += is_credit(p.inlets[i]) ? 1u : 0u;
        }
        std::vector<std::uint32_t> first;
        first.resize(p.counters.size(), static_cast<std::uint32_t>(p.steps.size()));
        std::vector<std::uint32_t> waiting;
        waiting.resize(p.counters.size(), 0);
        for (std::uint32_t s = static_cast<std::uint32_t>(p.steps.size()); s-- != 0;)
            first[p.steps[s].wait] = s, ++waiting[p.steps[s].wait];
        before_.emplace_back(nodes, nodes);
        bit_rows& before = before_.back();
        for (std::uint32_t s = 0; s != p.steps.size(); ++s) {
            const step& x = p.steps[s];
            if (x.threshold != p.counters[x.wait].increment) return fault(program_fault::two_conditions, r, s);
            if (x.bump != no_index) {
                if (first[x.bump] <= s) return fault(program_fault::backwards, r, s);
                sources[x.bump].push_back(static_cast<std::uint32_t>(inlet_count) + s);
            }
            for (const std::uint32_t b : sources[x.wait]) {
                before.merge(inlet_count + s, b);
                before.set(inlet_count + s, b);
            }
        }
        for (std::size_t c = 0; c != p.counters.size(); ++c) {
            if (first[c] == p.steps.size()) continue; // no step waits for it
            if (sources[c].size() != p.counters[c].increment || credits[c] != p.counters[c].primed)
                return fault(program_fault::two_conditions, r, first[c]);
        }
        for (std::size_t c = 0; c != p.counters.size(); ++c)
            if (p.counters[c].first_step != first[c] || p.counters[c].steps != waiting[c])
                return fault(program_fault::first_step, r, first[c]);
        for (std::uint32_t s = 0; s != p.steps.size(); ++s)
            if (s - first[p.steps[s].wait] >= waiting[p.steps[s].wait]) return fault(program_fault::first_step, r, s);
        return starts(r) && tells_once(r);
    }
    // Credits that are there from the start may make steps `count` ready, and these further ones.
    // Any other step that is ready at the start would never run.
    constexpr bool starts(rank_t r) {
        const program& p = all_[r];
        std::vector<std::uint32_t> bumped;
        bumped.reserve(p.counters.size());
        for (const counter& c : p.counters) bumped.push_back(c.primed);
        for (std::uint32_t s = 0; s != p.steps.size(); ++s) {
            const step& x = p.steps[s];
            if (bumped[x.wait] != p.counters[x.wait].increment) continue;
            if (x.what != kind::count) return fault(program_fault::stuck, r, s);
            ++bumped[x.bump];
        }
        return true;
    }
    constexpr bool tells_once(rank_t r) {
        const std::vector<step>& steps = all_[r].steps;
        std::uint32_t notices = 0;
        for (std::uint32_t s = 0; s != steps.size(); ++s)
            if (steps[s].what == kind::notify && ++notices == 2) return fault(program_fault::notice, r, s);
        return notices == 1 || fault(program_fault::notice, r);
    }
    // Is node a of rank r always over before step s begins?
    constexpr bool precedes(rank_t r, std::size_t a, std::size_t s) const {
        return before_[r].test(all_[r].inlets.size() + s, a);
    }
    constexpr bool step_precedes(rank_t r, std::size_t a, std::size_t s) const {
        return precedes(r, all_[r].inlets.size() + a, s);
    }

    constexpr bool messages(rank_t r) {
        const program& p = all_[r];
        for (std::uint32_t s = 0; s != p.steps.size(); ++s) {
            const step& x = p.steps[s];
            if (x.what != kind::send) continue;
            const rank_t first = x.peer == everyone ? 0 : x.peer;
            const rank_t last = x.peer == everyone ? static_cast<rank_t>(all_.size()) : rank_t{x.peer} + 1;
            for (rank_t to = first; to != last; ++to) {
                if (x.peer == everyone && to == r) continue;
                const program& q = all_[to];
                if (x.out >= q.inlets.size() || x.out == bell_inlet) return fault(program_fault::lost_message, r, s);
                const inlet& in = q.inlets[x.out];
                const u32 takes = in.slot == no_index ? 0 : q.slots[in.slot].count;
                const u32 brings = x.a == no_index ? 0 : p.slots[x.a].count;
                if (in.from != r || takes != brings || is_credit(in) != (x.a == no_index))
                    return fault(program_fault::lost_message, r, s);
                if (senders_[to][x.out].rank != no_rank) return fault(program_fault::two_senders, to, no_step, x.out);
                senders_[to][x.out] = {r, s};
            }
        }
        return true;
    }
    constexpr bool inlets(rank_t r) {
        const program& p = all_[r];
        for (std::uint32_t i = 0; i != p.inlets.size(); ++i) {
            if (!used(p, i)) continue;
            if (i != bell_inlet && senders_[r][i].rank == no_rank)
                return fault(program_fault::no_sender, r, no_step, i);
            if (p.counters[p.inlets[i].counter].first_step == p.steps.size())
                return fault(program_fault::unheard, r, no_step, i);
        }
        return true;
    }

    static constexpr bool overlap(const program& p, u16 a, u16 b) {
        if (a == no_index || b == no_index) return false;
        const slot &x = p.slots[a], &y = p.slots[b];
        return x.count != 0 && y.count != 0 && x.first < y.first + y.count && y.first < x.first + x.count;
    }
    static constexpr u16 written(const step& s) {
        return s.what == kind::combine || s.what == kind::copy ? s.out : no_index;
    }
    static constexpr bool touches(const program& p, const step& s, u16 other) {
        return overlap(p, s.a, other) || overlap(p, s.b, other) || overlap(p, written(s), other);
    }
    constexpr bool races(rank_t r) {
        const program& p = all_[r];
        for (std::uint32_t s = 0; s != p.steps.size(); ++s) {
            const step& x = p.steps[s];
            for (std::uint32_t i = 0; i != p.inlets.size(); ++i)
                if (used(p, i) && touches(p, x, p.inlets[i].slot) && !precedes(r, i, s))
                    return fault(program_fault::race, r, s, i);
            if (written(x) == no_index) continue;
            for (std::uint32_t t = 0; t != p.steps.size(); ++t) {
                const step& y = p.steps[t];
                if (t != s && touches(p, y, written(x)) && !step_precedes(r, s, t) && !step_precedes(r, t, s))
                    return fault(program_fault::race, r, s);
                if (y.what == kind::notify && overlap(p, y.a, written(x)) && !precedes(r, bell_inlet, s))
                    return fault(program_fault::host_race, r, s);
            }
        }
        for (std::uint32_t i = 0; i != p.inlets.size(); ++i)
            for (std::uint32_t j = i + 1; j < p.inlets.size(); ++j) {
                const inlet &x = p.inlets[i], &y = p.inlets[j];
                const bool both = (x.flags & y.flags & inlet_accumulates) != 0 && x.slot == y.slot;
                if (used(p, i) && used(p, j) && overlap(p, x.slot, y.slot) && !both)
                    return fault(program_fault::race, r, no_step, j);
            }
        return true;
    }

    // Finds the order of all steps of one instance, and which ranks must run something before and
    // after each step. False if a step can never run.
    constexpr bool progress() {
        std::uint32_t count = 0;
        for (const program& p : all_) {
            base_.push_back(count);
            count += static_cast<std::uint32_t>(p.inlets.size() + p.steps.size());
        }
        std::vector<std::vector<std::uint32_t>> after;
        after.resize(count);
        std::vector<rank_t> does;
        does.resize(count, rank_t{no_rank});
        for (rank_t r = 0; r != all_.size(); ++r) {
            const program& p = all_[r];
            std::vector<std::vector<std::uint32_t>> waiting;
            waiting.resize(p.counters.size());
            for (std::uint32_t s = 0; s != p.steps.size(); ++s) waiting[p.steps[s].wait].push_back(step_node(r, s));
            for (std::uint32_t i = 0; i != p.inlets.size(); ++i) {
                if (!used(p, i)) continue;
                after[base_[r] + i] = waiting[p.inlets[i].counter];
                // A credit comes from the instance before.
                if (i != bell_inlet && !is_credit(p.inlets[i]))
                    after[step_node(senders_[r][i].rank, senders_[r][i].step)].push_back(base_[r] + i);
            }
            does[base_[r] + bell_inlet] = r;
            for (std::uint32_t s = 0; s != p.steps.size(); ++s) {
                does[step_node(r, s)] = r;
                if (p.steps[s].bump == no_index) continue;
                for (const std::uint32_t w : waiting[p.steps[s].bump]) after[step_node(r, s)].push_back(w);
            }
        }
        reach_ = reach_of(after, does, base_); // the bell is a rank's first node
        for (rank_t r = 0; r != all_.size(); ++r)
            for (std::uint32_t s = 0; s != all_[r].steps.size(); ++s)
                if (reach_.left[step_node(r, s)] != 0) return fault(program_fault::stuck, r, s);
        return true;
    }
    constexpr std::uint32_t step_node(rank_t r, std::uint32_t s) const {
        return base_[r] + static_cast<std::uint32_t>(all_[r].inlets.size()) + s;
    }

    constexpr bool room(rank_t r) {
        const program& p = all_[r];
        // May a message come one turn early, while the host reads?
        for (std::uint32_t s = 0; s != p.steps.size(); ++s)
            for (std::uint32_t i = bell_inlet + 1; i < p.inlets.size() && p.steps[s].what == kind::notify; ++i)
                if (used(p, i) && overlap(p, p.steps[s].a, p.inlets[i].slot) &&
                    !reach_.rung.test(step_node(senders_[r][i].rank, senders_[r][i].step), r))
                    return fault(program_fault::host_race, r, s, i);
        for (std::uint32_t i = 1; i != p.inlets.size(); ++i) {
            if (!used(p, i)) continue;
            const inlet& in = p.inlets[i];
            const sender& from = senders_[r][i];
            for (std::uint32_t s = 0; s != p.steps.size(); ++s) {
                const bool user = p.steps[s].wait == in.counter || touches(p, p.steps[s], in.slot);
                if (!user) continue;
                const bool safe =
                    is_credit(in) ? answered(r, s, from)
                                  : reach_.ran.meet(step_node(from.rank, from.step), reach_.runs, step_node(r, s)) ||
                                        credited(r, s, from);
                if (!safe) return fault(program_fault::no_room, r, s, i);
            }
        }
        return true;
    }
    // Does the sender wait for a credit that rank r sends after step s?
    constexpr bool credited(rank_t r, std::uint32_t s, const sender& from) const {
        const program& q = all_[from.rank];
        for (std::uint32_t k = 1; k != q.inlets.size(); ++k) {
            if (!used(q, k) || !is_credit(q.inlets[k]) || q.inlets[k].from != r || !precedes(from.rank, k, from.step))
                continue;
            if (step_precedes(r, s, senders_[from.rank][k].step)) return true;
        }
        return false;
    }
    // Is the next credit sent only after a message of rank r that step s sends, or a step after s?
    constexpr bool answered(rank_t r, std::uint32_t s, const sender& grant) const {
        const program& q = all_[grant.rank];
        for (std::uint32_t k = 1; k != q.inlets.size(); ++k) {
            if (!used(q, k) || is_credit(q.inlets[k]) || q.inlets[k].from != r || !precedes(grant.rank, k, grant.step))
                continue;
            const std::uint32_t sent = senders_[grant.rank][k].step;
            if (sent == s || step_precedes(r, s, sent)) return true;
        }
        return false;
    }

    std::span<const program> all_;
    program_verdict found_{};
    std::vector<std::vector<sender>> senders_{};
    std::vector<bit_rows> before_{};
    std::vector<std::uint32_t> base_{};
    reach reach_{};
};
using program_checker = basic_program_checker<0>;

} // namespace detail

template <int = 0>
constexpr program_verdict check(std::span<const program> programs) {
    return detail::program_checker(programs).run();
}

} // namespace bough::nic

#endif
