// SPDX-License-Identifier: BSL-1.0
// triggered: a program as triggered operations, for NICs that take descriptors instead of running a machine: libfabric deferred
// work, Portals 4 triggered operations, cross-channel verbs.
//
//   nic::triggered_set set = nic::triggered_of(program);
//   for (const nic::triggered& t : set.operations)
//       post(t, t.threshold(turn));          fires when counter t.wait of the bank has come so far; then t.bump is bumped
//
// Memory, slots and inlets are those of the program; so is what travels. An inlet is a piece of memory with a counter: what is
// written there bumps the inlet's counter of the receiver. A bank has `counters` counters, which begin with `primed` bumps:
// the program's own, and one more for every combine that takes two operations (copy, then combine with what is there).
//
// The bell is the host's write to its own inlet. The set of the next turn of a bank may be posted when that of the last has
// fired, as ended() says: the machine orders turns, and triggered operations do not. What comes earlier only counts.
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
        write,   // `count` elements at `from` to the memory of inlet `inlet` of rank `peer`; count 0: a credit
        copy,    // `count` elements at `from` to `to`, in the own memory
        combine, // `to` = op(`to`, what is at `from`): an atomic on the own memory
        add,     // nothing but the bump
    };
    kind what = kind::add;
    std::uint16_t peer = no_index;
    std::uint16_t inlet = no_index;
    std::uint32_t from = 0, to = 0, count = 0; // elements of the bank's memory
    std::uint32_t wait = 0;                    // a counter
    std::uint32_t increment = 1;               // what it gets in a turn
    std::uint32_t bump = 0;                    // a counter; triggered_set::told, if the host is to be told
    // Turns of a bank are counted from 0.
    constexpr std::uint32_t threshold(std::uint32_t turn) const noexcept { return (turn + 1) * increment; }
    friend constexpr bool operator==(const triggered&, const triggered&) = default;
};

struct triggered_set {
    std::vector<triggered> operations{};
    std::vector<std::uint32_t> primed{}; // of each counter of a bank, before anything comes
    std::vector<std::uint32_t> increments{};
    std::uint32_t told = 0, done = 0; // counters: the host is told; operations that bump no other
    std::uint32_t result_first = 0, result_count = 0;

    // Has everything of this turn fired and ended? value(c): how far counter c of the bank has come.
    template <class F>
    constexpr bool ended(std::uint32_t turn, F&& value) const {
        for (std::uint32_t c = 0; c != increments.size(); ++c)
            if (static_cast<std::int32_t>(value(c) - (turn + 1) * increments[c]) < 0) return false;
        return true;
    }
    friend constexpr bool operator==(const triggered_set&, const triggered_set&) = default;
};

// Pre: the program is sound; no inlet accumulates and no step sends to everyone; op(a, b) == op(b, a) where a step's result
// takes the place of its second operand.
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
