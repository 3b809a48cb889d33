// SPDX-License-Identifier: BSL-1.0
// Holds NIC programs and their states of any size, on the heap, and turns a program into a
// constant.
//
//   nic::program p = ...;                     from nic::assemble
//   nic::state<double> s = nic::make_state<double>(p);
//   constexpr auto fixed = nic::fix<nic::limits_of(programs)>(p);   no heap: for a target's machine
#ifndef BOUGH_NIC_ASSEMBLED_HPP
#define BOUGH_NIC_ASSEMBLED_HPP

#include <bough/core/contract.hpp>
#include <bough/nic/machine.hpp>
#include <bough/nic/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::nic {

// One rank's program, as a value.
struct program {
    header head{};
    std::vector<step> steps{};
    std::vector<slot> slots{};
    std::vector<counter> counters{};
    std::vector<inlet> inlets{};
    friend constexpr bool operator==(const program&, const program&) = default;
};

// Reads the bytes of a program. If they are none, the fault says why, and `p` is unspecified.
inline table_fault decode(std::span<const std::uint8_t> bytes, program& p) {
    return decode(bytes, p, [&p](const header& h) {
        p.steps.resize(h.steps);
        p.slots.resize(h.slots);
        p.counters.resize(h.counters);
        p.inlets.resize(h.inlets);
        return true;
    });
}
// The bytes of a program, as decode reads them.
inline std::vector<std::uint8_t> encoded(const program& p) {
    std::vector<std::uint8_t> bytes(encoded_bytes(p.head));
    encode(p, bytes);
    return bytes;
}

// The state of a program that runs, of any size. machine.hpp says what the members are
// (fixed_bank).
template <class T>
struct bank {
    u32 epoch = 0, turn = 0, left = 0, early = 0;
    std::vector<u32> counters{}, expected{}, filled{};
    std::vector<u16> next{};
    std::vector<T> memory{};
    friend constexpr bool operator==(const bank&, const bank&) = default;
};
template <class T>
struct state {
    std::vector<bank<T>> banks{};
    friend constexpr bool operator==(const state&, const state&) = default;
};

namespace detail {
template <class V>
constexpr void grow_to(V& v, std::size_t size) {
    v.resize(size, typename V::value_type{});
}
} // namespace detail

// Makes the memory that a program needs, and starts it. T must be default constructible.
template <class T>
constexpr state<T> make_state(const program& p, u32 first_epoch = 0, u32 turn = 0) {
    state<T> made;
    made.banks.resize(std::size_t{1} << p.head.bank_bits);
    for (bank<T>& b : made.banks) {
        detail::grow_to(b.counters, p.counters.size());
        detail::grow_to(b.expected, p.inlets.size());
        detail::grow_to(b.filled, p.slots.size());
        detail::grow_to(b.next, p.counters.size());
        detail::grow_to(b.memory, std::size_t{p.head.elements} + 1); // never empty, so that it has an address
    }
    start(p, made, first_epoch, turn);
    return made;
}

// The smallest limits that all of these programs fit.
constexpr limits limits_of(std::span<const program> programs) {
    limits l;
    for (const program& p : programs) {
        l.steps = std::max(l.steps, u32{p.head.steps});
        l.slots = std::max(l.slots, u32{p.head.slots});
        l.counters = std::max(l.counters, u32{p.head.counters});
        l.inlets = std::max(l.inlets, u32{p.head.inlets});
        l.banks = std::max(l.banks, u32{1} << p.head.bank_bits);
        l.elements = std::max(l.elements, p.head.elements);
    }
    return l;
}

// Copies a program into arrays of fixed size. Pre: p fits L, and its tables have the sizes that its
// header says.
template <limits L>
constexpr fixed_program<L> fix(const program& p) {
    BOUGH_EXPECTS(fits(p.head, L), "limits: the program does not fit them");
    BOUGH_EXPECTS(p.steps.size() == p.head.steps && p.slots.size() == p.head.slots &&
                      p.counters.size() == p.head.counters && p.inlets.size() == p.head.inlets,
                  "program: its tables are not of the sizes that its header says");
    fixed_program<L> f;
    f.head = p.head;
    for (u32 i = 0; i != p.head.steps; ++i) f.steps[i] = p.steps[i];
    for (u32 i = 0; i != p.head.slots; ++i) f.slots[i] = p.slots[i];
    for (u32 i = 0; i != p.head.counters; ++i) f.counters[i] = p.counters[i];
    for (u32 i = 0; i != p.head.inlets; ++i) f.inlets[i] = p.inlets[i];
    return f;
}

} // namespace bough::nic

#endif
