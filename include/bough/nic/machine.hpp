// SPDX-License-Identifier: BSL-1.0
// The NIC's machine: the form of a program, and the functions that run it. It is freestanding to
// the last: it includes nothing but macros (core/config.hpp).
//
//   nic::fixed_state<limits, long> state;                    memory of one rank: no heap
//   nic::start(program, state);
//   nic::deliver(program, state, message, payload, op, port);   one message has come, or the host has rung
//
// A program is a table. Every *step* waits until one *counter* is full, acts on *slots* (ranges of
// elements in the bank's memory), and may bump one counter. A message names an *inlet* of its
// receiver; the inlet says in which slot the payload lands and which counter it bumps. The host's
// own contribution is one more message, the *bell*, on inlet 0. Steps that wait for the same
// counter stand side by side, and bumps only go forward. So an arrival that fills a counter runs
// that counter's steps, then those of the counters that these have filled, and no other step is
// looked at. There is no heap, recursion, exception, division or floating point; everything is
// constexpr.
//
// The program is run again and again: *instance* (epoch) e runs in bank e mod banks. Counters are
// never reset: in turn n of a bank, counted from 0, a counter is full when it has been bumped
// (n + 1) * increment times, modulo 2^32. A sender that could run ahead waits for a credit: a
// message without payload, which the receiver sends when it has read the slot.
//
// `Program` is anything with head, steps, slots, counters and inlets (fixed_program below;
// bough/nic/assembled.hpp has one on the heap). `State` has banks. `op(lower, upper)` gives an
// element. `Port` is a BankPort (below).
#ifndef BOUGH_NIC_MACHINE_HPP
#define BOUGH_NIC_MACHINE_HPP

#include <bough/core/config.hpp>

// BPF passes five arguments at most, so everything is inlined into one function there.
#if defined(__BPF__)
#define BOUGH_NIC_INLINE [[gnu::always_inline]]
#else
#define BOUGH_NIC_INLINE
#endif
// On a NIC a call would cost more than the function that is called. Inlining puts the whole machine
// into the NIC's loop over frames, which then saves no registers for each frame. Hosts do not
// inline, because it compiles quicker.
#if defined(__BPF__) || (defined(__GNUC__) && !__STDC_HOSTED__)
#define BOUGH_NIC_HOT [[gnu::always_inline]]
#else
#define BOUGH_NIC_HOT
#endif

namespace bough::inline BOUGH_ABI::nic {

using u8 = unsigned char; // there is no <cstdint>
using u16 = unsigned short;
using u32 = unsigned int;
using index_t = decltype(sizeof 0); // the width of an address, so that indexing needs no widening
static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4,
              "bough: the machine needs 8, 16 and 32 bit integers");

inline constexpr u32 program_magic = 0x4e48'4742u; // "BGHN"
inline constexpr u8 program_version = 2;
inline constexpr u16 no_index = 0xffffu; // no slot, no counter
inline constexpr u16 everyone = 0xffffu; // the peer of a multicast
inline constexpr u16 bell_inlet = 0;
inline constexpr u16 multicast_inlet = 1; // the same on every rank, if the program is one with a multicast

enum class kind : u8 { // what a step does
    unused,
    combine, // out = op(a, b), element by element
    copy,    // out = a
    send,    // slot a to inlet `out` of `peer`; without a slot: a credit
    count,   // does nothing but bump: it hands one event on to a second counter
    notify,  // tells the host; slot a holds its result
};

struct step {
    kind what = kind::unused;
    u8 flags = 0; // 0
    u16 peer = no_index;
    u16 a = no_index;
    u16 b = no_index;
    u16 out = no_index;
    u16 wait = no_index;
    u16 threshold = 0; // equals the counter's increment: one counter, one condition
    u16 bump = no_index;
    friend constexpr bool operator==(const step&, const step&) = default;
};
static_assert(sizeof(step) == 16);

struct slot {
    u32 first = 0; // in elements of the bank's memory
    u32 count = 0;
    friend constexpr bool operator==(const slot&, const slot&) = default;
};

struct counter {
    u16 increment = 0;  // bumps per instance
    u16 primed = 0;     // of these, how many are credits that are there from the start
    u16 first_step = 0; // the first step that waits for it
    u16 steps = 0;      // how many steps wait for it: they stand side by side
    friend constexpr bool operator==(const counter&, const counter&) = default;
};

// The payload is combined with what came before it in this instance.
inline constexpr u16 inlet_accumulates = 1;
inline constexpr u16 inlet_credit = 2; // no payload; stamped with the epoch that it allows

struct inlet {
    u16 from = no_index; // the only rank that may send here; no_index: nobody
    u16 slot = no_index;
    u16 counter = no_index;
    u16 flags = 0;
    friend constexpr bool operator==(const inlet&, const inlet&) = default;
};

struct header { // what a program is, and how long its tables are
    u32 magic = program_magic;
    u8 version = program_version;
    u8 bank_bits = 0; // 2^bank_bits instances may be under way
    u16 flags = 0;    // 0
    u16 rank = 0;
    u16 ranks = 1;
    u16 steps = 0;
    u16 slots = 0;
    u16 counters = 0;
    u16 inlets = 0;
    u32 elements = 0; // of one bank's memory
    u32 stream = 0;   // tells this program's messages from those of other programs on the same port
    u32 checksum = 0; // of the encoded program (bough/nic/program.hpp)
    friend constexpr bool operator==(const header&, const header&) = default;
};
static_assert(sizeof(header) == 32);

// What travels before the payload.
struct message {
    u32 stream = 0;
    u32 epoch = 0;
    u16 from = 0;
    u16 to = 0; // or everyone
    u16 inlet = 0;
    u16 count = 0; // elements
    friend constexpr bool operator==(const message&, const message&) = default;
};
static_assert(sizeof(message) == 16);

// --- Memory of fixed size -------------------------------------------------------------------------------------------

// An array that no index can leave: an index beyond the end is mapped to one within. So no table,
// however broken, makes the machine touch foreign memory, and a kernel's verifier can see that.
// Sizes that are powers of two cost least.
template <class T, u32 Extent>
struct bounded {
    T data[Extent == 0 ? 1 : Extent]{};
    static constexpr u32 capacity = Extent == 0 ? 1 : Extent;
    static constexpr index_t within(index_t i) noexcept {
        if constexpr ((capacity & (capacity - 1)) == 0) return i & (capacity - 1);
        return i < capacity ? i : 0;
    }
    constexpr T& operator[](index_t i) noexcept { return data[within(i)]; }
    constexpr const T& operator[](index_t i) const noexcept { return data[within(i)]; }
    friend constexpr bool operator==(const bounded&, const bounded&) = default;
};

// How large programs and their states may be.
struct limits {
    u32 steps = 0, slots = 0, counters = 0, inlets = 0, banks = 1, elements = 0;
    friend constexpr bool operator==(const limits&, const limits&) = default;
};

template <limits L>
struct fixed_program {
    header head{};
    bounded<step, L.steps> steps{};
    bounded<slot, L.slots> slots{};
    bounded<counter, L.counters> counters{};
    bounded<inlet, L.inlets> inlets{};
    friend constexpr bool operator==(const fixed_program&, const fixed_program&) = default;
};

// The state of a program that runs. No limit may be below what the program needs.
template <limits L, class T>
struct fixed_bank {
    u32 epoch = 0; // of the instance that runs here
    u32 turn = 0;  // how many instances have ended here
    u32 left = 0;  // steps of this turn still to run
    u32 early = 0; // counters that are full for the next turn already
    bounded<u32, L.counters> counters{};
    bounded<u16, L.counters> next{};   // for a full counter: the counter that filled after it
    bounded<u32, L.inlets> expected{}; // the epoch that each inlet takes next
    bounded<u32, L.slots> filled{};    // for an accumulating slot: the epoch whose first message it has
    bounded<T, L.elements> memory{};
    friend constexpr bool operator==(const fixed_bank&, const fixed_bank&) = default;
};

template <limits L, class T>
struct fixed_state {
    bounded<fixed_bank<L, T>, L.banks> banks{};
    friend constexpr bool operator==(const fixed_state&, const fixed_state&) = default;
};

// --- Running --------------------------------------------------------------------------------------------------------

// What became of a message.
enum class answer : u8 {
    taken,
    duplicate, // it came before, and was ignored
    busy,      // it is a bell, and the bank's last instance has not ended
    overrun,   // its place is not free: the sender ignored its credits. Nothing was written
    foreign,   // it belongs to another program, or goes to another rank
    malformed, // there is no such inlet, or the inlet takes another sender or length
};

// How often a counter was bumped since the bank's turn began.
template <class Program>
BOUGH_NIC_HOT constexpr u32 bumps(const Program& p, const auto& bank, u16 counter) noexcept {
    return bank.counters[counter] - bank.turn * u32{p.counters[counter].increment};
}

// Has step i run in this turn? Between two arrivals, every step whose counter is full has run.
template <class Program>
BOUGH_NIC_INLINE constexpr bool is_done(const Program& p, const auto& bank, u32 i) noexcept {
    return bumps(p, bank, p.steps[i].wait) >= p.steps[i].threshold;
}

// What is still to be run: the steps of one full counter, then those of the counters that have
// filled meanwhile, in the order in which they filled. A counter fills once in a turn, so
// `bank.next` has room for the list.
struct agenda {
    index_t step = 0, end = 0;             // the steps left of the counter at work
    u16 first = no_index, last = no_index; // the list of full counters; no_index: it is empty
};

BOUGH_NIC_HOT constexpr void begin_steps(const counter& full, auto& bank, agenda& todo) noexcept { // of a full counter
    todo.step = full.first_step;
    todo.end = index_t{full.first_step} + full.steps;
    bank.left -= full.steps;
}

BOUGH_NIC_HOT constexpr void add_full(auto& bank, agenda& todo, u16 counter) noexcept { // its steps come last
    if (todo.first == no_index)
        todo.first = counter;
    else
        bank.next[todo.last] = counter;
    todo.last = counter;
}

// What carries away what the steps of a bank send. A port that wants to know what was done also has
// combined(count) and copied(count), in elements.
template <class P, class Bank>
concept BankPort = requires(P& port, const message& m, u32 epoch, u32 count, Bank& bank) {
    port.send(m, &bank.memory[0]);              // m.count elements, to be copied before it returns
    port.notify(epoch, &bank.memory[0], count); // the result of an instance
};
// The same for the banks of a state.
template <class P, class State>
concept StatePort = BankPort<P, decltype(State::banks[0])>;

// Runs one step, whose counter is full, and its bump. `Elements` is the length of every slot that
// is not empty; 0: the slot table says the lengths.
template <u32 Elements = 0, class Program, class Bank, class Op, BankPort<Bank> Port>
BOUGH_NIC_HOT constexpr void perform(const Program& p, Bank& bank, agenda& todo, const step& s, const Op& op,
                                     Port& port) {
    const auto elements = [](const slot& x) { return Elements == 0 || x.count == 0 ? x.count : Elements; };
    if (s.what == kind::send) {
        index_t a = 0;
        u32 count = 0, epoch = bank.epoch;
        if (s.a != no_index)
            a = p.slots[s.a].first, count = elements(p.slots[s.a]);
        else
            epoch += 1u << p.head.bank_bits; // a credit allows the next instance in this bank
        port.send(message{p.head.stream, epoch, p.head.rank, s.peer, s.out, static_cast<u16>(count)}, &bank.memory[a]);
    } else if (s.what == kind::combine) {
        const slot& x = p.slots[s.a];
        const index_t a = x.first, b = p.slots[s.b].first, out = p.slots[s.out].first;
        const u32 count = elements(x);
        for (u32 k = 0; k != count; ++k) bank.memory[out + k] = op(bank.memory[a + k], bank.memory[b + k]);
        if constexpr (requires { port.combined(count); }) port.combined(count);
    } else if (s.what == kind::copy) {
        const slot& x = p.slots[s.a];
        const index_t a = x.first, out = p.slots[s.out].first;
        const u32 count = elements(x);
        for (u32 k = 0; k != count; ++k) bank.memory[out + k] = bank.memory[a + k];
        if constexpr (requires { port.copied(count); }) port.copied(count);
    } else if (s.what == kind::notify) {
        index_t a = 0;
        u32 count = 0;
        if (s.a != no_index) a = p.slots[s.a].first, count = elements(p.slots[s.a]);
        port.notify(bank.epoch, &bank.memory[a], count);
    }
    if (s.bump != no_index) {
        ++bank.counters[s.bump];
        if (bumps(p, bank, s.bump) == p.counters[s.bump].increment) {
            if (todo.step == todo.end && todo.first == no_index)
                begin_steps(p.counters[s.bump], bank, todo);
            else
                add_full(bank, todo, s.bump);
        }
    }
}

// Runs the next step of the agenda. False if there is none.
template <u32 Elements = 0, class Program, class Bank, class Op, BankPort<Bank> Port>
BOUGH_NIC_HOT constexpr bool run_step(const Program& p, Bank& bank, agenda& todo, const Op& op, Port& port) {
    if (todo.step == todo.end) {
        const u16 full = todo.first;
        if (full == no_index) return false;
        todo.first = bank.next[full];
        bank.next[full] = no_index;
        begin_steps(p.counters[full], bank, todo);
        if (todo.step == todo.end) return true;
    }
    const step& s = p.steps[todo.step++];
    perform<Elements>(p, bank, todo, s, op, port);
    return true;
}

// Begins the bank's next turn if all steps of this one have run. Call it when the agenda is empty.
// True if early messages have already filled counters for the next turn: add_early finds them.
template <class Program>
BOUGH_NIC_HOT constexpr bool next_turn(const Program& p, auto& bank) {
    if (bank.left != 0) return false;
    bank.epoch += 1u << p.head.bank_bits;
    ++bank.turn;
    bank.left = p.head.steps;
    const bool early = bank.early != 0;
    bank.early = 0;
    return early;
}
// Puts counter c on the agenda if it is full in a turn that has just begun.
template <class Program>
BOUGH_NIC_HOT constexpr void add_early(const Program& p, auto& bank, agenda& todo, u16 c) {
    if (bumps(p, bank, c) >= p.counters[c].increment) add_full(bank, todo, c);
}

// Sets a state to what it is before anything has come. All ranks must begin with the same epoch.
// `turn` is where the monotone counters begin; other values than 0 are for tests.
template <class Program>
BOUGH_NIC_INLINE constexpr void start(const Program& p, auto& state, u32 first_epoch = 0, u32 turn = 0) {
    const u32 banks = 1u << p.head.bank_bits;
    for (u32 b = 0; b != banks; ++b) {
        auto& bank = state.banks[b];
        bank.epoch = first_epoch + ((b - first_epoch) & (banks - 1));
        bank.turn = turn;
        bank.left = p.head.steps;
        bank.early = 0;
        for (u32 c = 0; c != p.head.counters; ++c) bank.next[c] = no_index;
        for (u32 c = 0; c != p.head.counters; ++c)
            bank.counters[c] = turn * u32{p.counters[c].increment} + p.counters[c].primed;
        for (u32 i = 0; i != p.head.inlets; ++i)
            bank.expected[i] = bank.epoch + ((p.inlets[i].flags & inlet_credit) != 0 ? banks : 0);
        for (u32 i = 0; i != p.head.slots; ++i) bank.filled[i] = bank.epoch - banks;
        // Some credits that are there from the start are handed on to several counters by steps
        // `count`. These run now. No other step can have all it waits for before anything comes.
        for (u32 i = 0; i != p.head.steps; ++i) {
            const step& s = p.steps[i];
            if (s.what != kind::count || !is_done(p, bank, i)) continue;
            --bank.left;
            ++bank.counters[s.bump];
        }
    }
}

// Takes one message and, if it fills a counter, puts that counter on the agenda. Pre: as deliver.
template <u32 Elements = 0, class Program, class State, class T, class Op, StatePort<State> Port>
BOUGH_NIC_HOT constexpr answer take(const Program& p, State& state, const message& m, const T* payload, agenda& todo,
                                    const Op& op, Port& port) {
    if (m.stream != p.head.stream || (m.to != p.head.rank && m.to != everyone)) return answer::foreign;
    if (m.inlet >= p.head.inlets || m.from == no_index) return answer::malformed;
    const inlet& in = p.inlets[m.inlet];
    index_t first = 0;
    u32 count = 0;
    if (in.slot != no_index) first = p.slots[in.slot].first, count = p.slots[in.slot].count;
    if (in.from != m.from || m.count != count) return answer::malformed;
    const u32 banks = 1u << p.head.bank_bits;
    auto& bank = state.banks[m.epoch & (banks - 1)];
    u32& expected = bank.expected[m.inlet];
    if (m.epoch != expected) {
        if ((m.epoch - expected) >> 31 != 0) return answer::duplicate;
        return m.inlet == bell_inlet ? answer::busy : answer::overrun;
    }
    const counter& bumped = p.counters[in.counter];
    const u32 increment = bumped.increment;
    const u32 total = bank.counters[in.counter] + 1;
    const u32 now = total - bank.turn * increment;
    // A message may come one turn of the bank early, and no more, if the counter that it bumps has
    // served this turn. A bell may never come early.
    const bool early = m.epoch != bank.epoch;
    if (early) {
        if (m.inlet == bell_inlet) return answer::busy;
        if (now <= increment || m.epoch - bank.epoch != banks) return answer::overrun;
    }
    expected += banks;
    bank.counters[in.counter] = total;
    if (count != 0) {
        if constexpr (Elements != 0) count = Elements;
        bool is_first = true;
        if (in.flags != 0) { // an inlet with a slot is no credit, so it accumulates
            is_first = bank.filled[in.slot] != m.epoch;
            bank.filled[in.slot] = m.epoch;
        }
        if (is_first) {
            for (u32 k = 0; k != count; ++k) bank.memory[first + k] = payload[k];
        } else {
            for (u32 k = 0; k != count; ++k) bank.memory[first + k] = op(bank.memory[first + k], payload[k]);
            if constexpr (requires { port.combined(count); }) port.combined(count);
        }
    }
    if (!early) {
        if (now == increment) begin_steps(bumped, bank, todo);
    } else {
        if (now == 2 * increment) ++bank.early;
    }
    return answer::taken;
}

// Takes one message and runs all steps that it sets free. A message that comes twice, too early, or
// from the wrong rank changes nothing. Pre: payload points to m.count elements, or m.count is 0.
// Time: a few comparisons, and the steps that it sets free. If a bank's turn ends and something has
// come early for the next, one look at each counter is added.
// Where a loop's body must be a function (BPF), write this with take, run_step, next_turn and
// add_early.
template <u32 Elements = 0, class Program, class State, class T, class Op, StatePort<State> Port>
BOUGH_NIC_HOT constexpr answer deliver(const Program& p, State& state, const message& m, const T* payload, const Op& op,
                                       Port& port) {
    agenda todo;
    const answer what = take<Elements>(p, state, m, payload, todo, op, port);
    if (todo.step == todo.end) return what;
    auto& bank = state.banks[m.epoch & ((1u << p.head.bank_bits) - 1)];
    for (;;) {
        while (run_step<Elements>(p, bank, todo, op, port)) continue;
        // This succeeds at most once: the turn that begins here cannot end before the host rings
        // for it, which it does only after deliver has returned.
        if (!next_turn(p, bank)) return what;
        for (u32 c = 0; c != p.head.counters; ++c) add_early(p, bank, todo, static_cast<u16>(c));
    }
}

// The host enters an instance with its contribution, or with nothing if the bell has no slot.
// Pre: input points to as many elements as the bell's slot has.
template <u32 Elements = 0, class Program, class State, class T, class Op, StatePort<State> Port>
BOUGH_NIC_INLINE constexpr answer ring(const Program& p, State& state, u32 epoch, const T* input, const Op& op,
                                       Port& port) {
    const u16 slot_number = p.inlets[bell_inlet].slot;
    const u32 count = slot_number == no_index ? 0 : p.slots[slot_number].count;
    return deliver<Elements>(
        p, state, message{p.head.stream, epoch, p.head.rank, p.head.rank, bell_inlet, static_cast<u16>(count)}, input,
        op, port);
}

} // namespace bough::nic

#undef BOUGH_NIC_INLINE
#undef BOUGH_NIC_HOT

#endif
