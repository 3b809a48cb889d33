// SPDX-License-Identifier: BSL-1.0
// triggered: turns a program into triggered operations, for NICs that take descriptors instead of
// running a machine: libfabric deferred work, Portals 4 triggered operations, cross-channel verbs.
//
//   nic::triggered_set set = nic::triggered_of(program);
//   for (const nic::triggered& t : set.operations)
//       post(t, t.threshold(turn));
//
// An operation fires when counter t.wait of the bank has reached the threshold; then it bumps
// t.bump.
//
// Memory, slots, inlets and the messages are those of the program. An inlet is a piece of memory
// with a counter: a write to it bumps the inlet's counter at the receiver. The counters of a bank
// begin with `primed` bumps. They are the program's own, the two that `told` and `done` name, and
// one for every combine that takes two operations (a copy, then a combine with what is there).
//
// The bell is the host's write to its own inlet. Post the set of a bank's next turn only when
// ended() says that the set of the last turn has fired: the machine orders turns, but triggered
// operations do not. What comes earlier only counts.
// *Pre* ordered mode, no multicast: what nic::assemble makes for capabilities_of<libfabric_deferred>
#ifndef BOUGH_NIC_TRIGGERED_HPP
#define BOUGH_NIC_TRIGGERED_HPP

#include <bough/core/contract.hpp>
#include <bough/nic/assembled.hpp>
#include <bough/nic/machine.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

struct triggered {
    enum class kind : std::uint8_t {
        // `count` elements at `from` to the memory of inlet `inlet` of rank `peer`; count 0: a
        // credit.
        write,
        copy,    // `count` elements at `from` to `to`, in this rank's memory
        combine, // `to` = op(`to`, what is at `from`): an atomic on this rank's memory
        add,     // nothing but the bump
    };
    kind what = kind::add;
    std::uint16_t peer = no_index;
    std::uint16_t inlet = no_index;
    std::uint32_t from = 0, to = 0, count = 0; // elements of the bank's memory
    std::uint32_t wait = 0;                    // a counter
    std::uint32_t increment = 1;               // how many bumps that counter gets in a turn
    std::uint32_t bump = 0;                    // a counter; triggered_set::told if the host is to be told
    // Turns of a bank are counted from 0.
    constexpr std::uint32_t threshold(std::uint32_t turn) const noexcept { return (turn + 1) * increment; }
    friend constexpr bool operator==(const triggered&, const triggered&) = default;
};

struct triggered_set {
    std::vector<triggered> operations{};
    std::vector<std::uint32_t> primed{}; // by counter of a bank: its bumps before anything comes
    std::vector<std::uint32_t> increments{};
    std::uint32_t told = 0,
                  done = 0; // counters: one tells the host; the other counts operations that bump nothing else
    std::uint32_t result_first = 0, result_count = 0;

    // Has every operation of this turn fired and ended? value(c) returns counter c of the bank.
    template <class F>
    constexpr bool ended(std::uint32_t turn, F&& value) const {
        for (std::uint32_t c = 0; c != increments.size(); ++c)
            if (static_cast<std::int32_t>(value(c) - (turn + 1) * increments[c]) < 0) return false;
        return true;
    }
    friend constexpr bool operator==(const triggered_set&, const triggered_set&) = default;
};

// Makes the triggered operations of a program. Pre: the program is sound; no inlet accumulates and
// no step sends to everyone; op(a, b) == op(b, a) where a step's result takes the place of its
// second operand.
constexpr triggered_set triggered_of(const program& p) {
    triggered_set set;
    for (const counter& c : p.counters) {
        set.primed.push_back(c.primed);
        set.increments.push_back(c.increment);
    }
    const auto add_counter = [&](std::uint32_t increment) {
        set.primed.push_back(0);
        set.increments.push_back(increment);
        return static_cast<std::uint32_t>(set.increments.size() - 1);
    };
    set.told = add_counter(0);
    set.done = add_counter(0);
    for (const inlet& in : p.inlets)
        BOUGH_EXPECTS((in.flags & inlet_accumulates) == 0, "program: triggered operations do not accumulate");
    const auto put = [&](triggered t, std::uint32_t wait, std::uint32_t increment, std::uint32_t bump) {
        t.wait = wait, t.increment = increment, t.bump = bump;
        if (bump == set.told || bump == set.done) ++set.increments[bump];
        set.operations.push_back(t);
    };
    const auto first = [&](u16 slot) { return p.slots[slot].first; };
    for (const step& s : p.steps) {
        const std::uint32_t bump = s.bump != no_index ? s.bump : set.done;
        const std::uint32_t count = s.a == no_index ? 0 : p.slots[s.a].count;
        const std::uint32_t from = s.a == no_index ? 0 : first(s.a);
        const bool writes = (s.what == kind::combine || s.what == kind::copy) && count != 0;
        if (s.what == kind::send) {
            BOUGH_EXPECTS(s.peer != everyone, "program: triggered operations have no multicast");
            put({.what = triggered::kind::write, .peer = s.peer, .inlet = s.out, .from = from, .count = count}, s.wait,
                s.threshold, bump);
        } else if (s.what == kind::notify) {
            if (s.a != no_index) set.result_first = from, set.result_count = count;
            put({}, s.wait, s.threshold, set.told);
            if (s.bump != no_index) put({}, s.wait, s.threshold, s.bump);
        } else if (!writes) {
            put({}, s.wait, s.threshold, bump);
        } else {
            const std::uint32_t to = first(s.out);
            const triggered copied{.what = triggered::kind::copy, .from = from, .to = to, .count = count};
            if (s.what == kind::copy) {
                put(copied, s.wait, s.threshold, bump);
                continue;
            }
            const std::uint32_t other = to == first(s.b) ? from : first(s.b);
            const triggered joined{.what = triggered::kind::combine, .from = other, .to = to, .count = count};
            if (to == from || to == first(s.b)) {
                put(joined, s.wait, s.threshold, bump);
            } else {
                const std::uint32_t between = add_counter(1);
                put(copied, s.wait, s.threshold, between);
                put(joined, between, 1, bump);
            }
        }
    }
    return set;
}

} // namespace bough::nic

#endif
