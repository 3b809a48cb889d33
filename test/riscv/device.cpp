// SPDX-License-Identifier: BSL-1.0
// A bare machine without floating point: no operating system, no C library, no start-up code but this. It prints digests
// that must be those of the host, and instructions counted by the processor (qemu's virt machine, -icount shift=0).
#include "nic/conformance.hpp"
#include "riscv/work.hpp"
#include "tables.hpp" // written by host.cpp
#include <bough/nic/wire.hpp>

namespace {

using namespace riscv;

void put(char c) { *reinterpret_cast<volatile unsigned char*>(0x1000'0000) = static_cast<unsigned char>(c); }
void put(const char* text) {
    for (; *text != 0; ++text) put(*text);
}
void put_hex(u64 x) {
    for (int shift = 60; shift >= 0; shift -= 4) put("0123456789abcdef"[x >> shift & 15]);
}
void put_number(u32 x) {
    if (x >= 10) put_number(x / 10);
    put(static_cast<char>('0' + x % 10));
}
void value(const char* format, const char* what, u64 x) {
    put("value "), put(format), put(" "), put(what), put(" "), put_hex(x), put("\n");
}

u32 instructions() {
    unsigned long n = 0;
    asm volatile("csrr %0, minstret" : "=r"(n) : : "memory");
    return static_cast<u32>(n);
}

// Instructions of many calls: the mean, to a tenth, and the most.
struct counts {
    u32 calls = 0, sum = 0, most = 0;
    void add(u32 n) {
        ++calls, sum += n;
        if (n > most) most = n;
    }
    void print(const char* format, const char* what) const {
        const u32 tenths = (10 * sum + calls / 2) / calls;
        put("count "), put(format), put(" "), put(what), put(" ");
        put_number(tenths / 10), put("."), put_number(tenths % 10), put(" "), put_number(most), put("\n");
    }
};

template <class W>
W hidden(W x) {
    asm volatile("" : "+r"(x));
    return x;
}
template <class W>
[[gnu::noinline]] W nothing(W a, W b) {
    asm volatile("" : : "r"(b));
    return a;
}
template <class W, W Function(W, W)>
W counted(W a, W b, u32& n) {
    const u32 before = instructions();
    const W r = hidden(Function(hidden(a), hidden(b)));
    n = instructions() - before;
    return r;
}

template <class F, typename F::word Function(typename F::word, typename F::word)>
void measure(const char* format, const char* what) {
    using word = typename F::word;
    digest d;
    counts c;
    for (u32 i = 0; i != pairs; ++i) {
        const pair_of<F> p(i);
        u32 with = 0, without = 0;
        d.add(counted<word, Function>(p.a, p.b, with));
        counted<word, nothing<word>>(p.a, p.b, without);
        c.add(with - without);
    }
    value(format, what, d.value);
    c.print(format, what);
}

template <class F>
[[gnu::noinline]] typename F::word add(typename F::word a, typename F::word b) {
    return F::add(a, b);
}
template <class F>
[[gnu::noinline]] typename F::word minimum(typename F::word a, typename F::word b) {
    return F::minimum(a, b);
}
template <class F>
[[gnu::noinline]] typename F::word maximum_number(typename F::word a, typename F::word b) {
    return F::maximum_number(a, b);
}
[[gnu::noinline]] u64 library(u64 a, u64 b) {
    return __builtin_bit_cast(u64, __builtin_bit_cast(double, a) + __builtin_bit_cast(double, b));
}
[[gnu::noinline]] u32 library(u32 a, u32 b) {
    return __builtin_bit_cast(u32, __builtin_bit_cast(float, a) + __builtin_bit_cast(float, b));
}

template <class F>
void measure_format(const char* format) {
    measure<F, add<F>>(format, "add");
    measure<F, minimum<F>>(format, "minimum");
    measure<F, maximum_number<F>>(format, "maximum_number");
}

void measure_limbs() {
    bough::limb_state<bough::f64_bits> sum;
    counts lift;
    for (u32 i = 0; i != 1000; ++i) {
        const u32 before = instructions();
        sum.add(hidden(moderate(i)));
        lift.add(instructions() - before);
    }
    counts lower;
    const u32 before = instructions();
    const u64 rounded = hidden(sum.rounded());
    lower.add(instructions() - before);
    value("limbs", "f64", rounded);
    lift.print("limbs", "add_number");
    lower.print("limbs", "rounded");
}

// Programs for 16 ranks or fewer, decoded from what a host has written.
template <bough::nic::limits Room, u32 Sets>
struct tables {
    bough::nic::fixed_program<Room> programs[Sets][16];

    bool load(const unsigned (&lengths)[Sets][16], const unsigned char* bytes) {
        for (u32 set = 0; set != Sets; ++set)
            for (u32 r = 0; r != 16; bytes += lengths[set][r++])
                if (lengths[set][r] != 0 &&
                    bough::nic::decode(bytes, lengths[set][r], programs[set][r]) != bough::nic::table_fault::none)
                    return false;
        return true;
    }
};
tables<room_1, 1> tables_1;
tables<room_8, 1> tables_8;
tables<room_68, 1> tables_68;
tables<room_conformance, conformance::case_count> tables_conformance;

void load_tables() {
    if (!tables_1.load(lengths_1, bytes_1) || !tables_8.load(lengths_8, bytes_8) ||
        !tables_68.load(lengths_68, bytes_68) || !tables_conformance.load(lengths_conformance, bytes_conformance))
        put("fault: a table does not decode\n");
    unsigned char damaged[sizeof bytes_1];
    for (u32 i = 0; i != sizeof bytes_1; ++i) damaged[i] = bytes_1[i];
    damaged[40] ^= 1;
    bough::nic::fixed_program<room_1> p;
    if (bough::nic::decode(damaged, lengths_1[0][0], p) != bough::nic::table_fault::checksum)
        put("fault: a damaged table was taken\n");
}

template <u32 Elements, bough::nic::limits Room>
struct machine_room {
    bough::nic::fixed_state<Room, u64> states[16];
    network<u64, Elements> net;
    u64 values[16][Elements];
    const u64* input[16];

    template <class Op>
    bool run(const bough::nic::fixed_program<Room> (&programs)[16], const Op& op, const char* what) {
        // Memory is zero when the machine starts, and was used before.
        net.sent = net.taken = net.notified = 0;
        for (u32 r = 0; r != 16; ++r) input[r] = values[r];
        counts all, of[4]; // messages that set off nothing; one combine; one send; one notify
        const bool good = play(programs, states, 16, net, input, op, [&](auto&& f, const auto& bank) {
            const u32 left = bank.left, turn = bank.turn, sent = net.sent, notified = net.notified;
            const u32 before = instructions();
            f();
            const u32 n = instructions() - before;
            all.add(n);
            const u32 steps = turn != bank.turn ? left : left - bank.left; // a turn ends when none is left
            if (steps < 2) of[net.sent != sent ? 2 : net.notified != notified ? 3 : steps].add(n);
        });
        all.print("message", what);
        const char* const names[] = {"nothing", "combine", "send", "notify"};
        for (u32 i = 0; i != 4; ++i)
            if (of[i].calls != 0) of[i].print(names[i], what);
        return good;
    }
    u64 digest_of_results() const {
        digest d;
        for (const auto& of_rank : net.result) {
            if (&of_rank == &net.result[16]) break;
            for (const u64 x : of_rank) d.add(x);
        }
        return d.value;
    }
};

machine_room<1, room_1> scalar;
machine_room<8, room_8> eight;
machine_room<68, room_68> limbs;

void measure_machine() {
    const auto plus = [](u64 a, u64 b) { return a + b; };
    // A call, as in a BPF program: inlined, its registers are saved and restored around every step that does not run.
    const auto soft = [](u64 a, u64 b) { return add<bough::f64_bits>(a, b); };
    bool good = true;
    for (u32 r = 0; r != 16; ++r) scalar.values[r][0] = moderate(r);
    good &= scalar.run(tables_1.programs[0], plus, "i64");
    value("allreduce", "i64", scalar.digest_of_results());
    good &= scalar.run(tables_1.programs[0], soft, "f64");
    value("allreduce", "f64", scalar.digest_of_results());
    for (u32 r = 0; r != 16; ++r)
        for (u32 k = 0; k != 8; ++k) eight.values[r][k] = moderate(16 * k + r);
    good &= eight.run(tables_8.programs[0], soft, "f64x8");
    value("allreduce", "f64x8", eight.digest_of_results());
    // The exact sum: the programs add integers, the host at the end rounds.
    using state = bough::limb_state<bough::f64_bits>;
    for (u32 r = 0; r != 16; ++r) {
        const state s = state::of(moderate(r));
        for (u32 k = 0; k != state::size; ++k) limbs.values[r][k] = s.word[k];
    }
    good &= limbs.run(tables_68.programs[0], plus, "exact");
    state sum;
    for (u32 r = 0; r != 16; ++r) {
        for (u32 k = 0; k != state::size; ++k) good &= limbs.net.result[r][k] == limbs.net.result[0][k];
    }
    for (u32 k = 0; k != state::size; ++k) sum.word[k] = limbs.net.result[0][k];
    value("allreduce", "exact", sum.rounded());
    if (!good) put("fault: a message was not taken, or ranks differ\n");
}

bough::nic::fixed_state<room_conformance, u64> conformance_states[conformance::most_ranks];

void run_conformance() {
    for (u32 i = 0; i != conformance::case_count; ++i) {
        const conformance::one_case& c = conformance::cases[i];
        conformance::network net;
        const auto op = [&](u64 a, u64 b) {
            return c.numbers == conformance::numbers::doubles ? add<bough::f64_bits>(a, b) : a + b;
        };
        if (!net.play(c, tables_conformance.programs[i], conformance_states, op))
            put("fault: "), put(c.name), put("\n");
        value("conformance", "results", net.found.results);
        value("conformance", "messages", net.found.messages);
    }
}

} // namespace

extern "C" {
// What compilers may call.
void* memcpy(void* to, const void* from, __SIZE_TYPE__ n) {
    for (__SIZE_TYPE__ i = 0; i != n; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    return to;
}
void* memset(void* to, int byte, __SIZE_TYPE__ n) {
    for (__SIZE_TYPE__ i = 0; i != n; ++i) static_cast<char*>(to)[i] = static_cast<char>(byte);
    return to;
}

[[noreturn]] void device_main() {
    measure_format<bough::f64_bits>("f64");
    measure<bough::f64_bits, library>("f64", "libgcc");
    measure_format<bough::f32_bits>("f32");
    measure<bough::f32_bits, library>("f32", "libgcc");
    measure_format<bough::f16_bits>("f16");
    measure_format<bough::bf16_bits>("bf16");
    measure_limbs();
    load_tables();
    measure_machine();
    run_conformance();
    *reinterpret_cast<volatile u32*>(0x10'0000) = 0x5555; // power off
    for (;;) {
    }
}

[[gnu::naked, noreturn, gnu::section(".text.start")]] void start() { asm volatile("la sp, stack_top\n j device_main"); }
}
