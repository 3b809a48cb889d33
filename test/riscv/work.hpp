// SPDX-License-Identifier: BSL-1.0
// What the device computes and the host repeats: digests of sums over many pairs, and an allreduce by NIC programs.
// Includes nothing but bough's bare headers, so that both can compile it.
#ifndef BOUGH_TEST_RISCV_WORK_HPP
#define BOUGH_TEST_RISCV_WORK_HPP

#include <bough/nic/machine.hpp>
#include <bough/op/limb_state.hpp>
#include <bough/op/soft_float.hpp>
#include <bough/op/soft_integer.hpp>

namespace riscv {

using u32 = __UINT32_TYPE__;
using u64 = __UINT64_TYPE__;

// Steele, Lea, Flood: SplitMix64.
constexpr u64 mixed(u64 i) {
    i += 0x9e37'79b9'7f4a'7c15u;
    i = (i ^ (i >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    i = (i ^ (i >> 27)) * 0x94d0'49bb'1331'11ebu;
    return i ^ (i >> 31);
}

struct digest {
    u64 value = 0xcbf2'9ce4'8422'2325u;
    constexpr void add(u64 x) { value = mixed(value ^ x); }
};

// The i-th operand pair of a format: near exponents, cancelling ones, edges, and any bits.
template <class F>
struct pair_of {
    typename F::word a = 0, b = 0;
    constexpr explicit pair_of(u32 i) {
        using word = typename F::word;
        const u64 x = mixed(2 * u64{i}), y = mixed(2 * u64{i} + 1);
        a = static_cast<word>(x), b = static_cast<word>(y);
        const word fraction = static_cast<word>(F::quiet_bit | (F::quiet_bit - 1));
        const u32 kind = i & 7;
        if (kind < 3) { // exponents up to 63 apart
            b = static_cast<word>((b & (fraction | F::sign_bit)) | (a & F::infinity));
            const word apart = static_cast<word>(word{1} << F::fraction_bits);
            b = static_cast<word>(b + apart * static_cast<word>(x >> 58 >> kind));
        } else if (kind == 3) {
            b = static_cast<word>((a ^ F::sign_bit) + (y & 7) - 3); // cancels
        } else if (kind == 4) {                                     // subnormal and just above
            a = static_cast<word>(a & (fraction | F::sign_bit | (F::quiet_bit << 1)));
            b = static_cast<word>(b & (fraction | F::sign_bit | (F::quiet_bit << 1)));
        } else if (kind == 5) { // about to overflow, infinities, NaN
            a = static_cast<word>(a | (F::infinity & ~(F::quiet_bit << 2)));
            b = static_cast<word>(b | (F::infinity & ~(F::quiet_bit << 1)));
        } else if (kind == 6) { // zeros, infinities
            a = static_cast<word>((y & 1 ? F::infinity : 0) | (a & F::sign_bit));
            b = static_cast<word>((x & 1 ? F::infinity : 0) | (b & F::sign_bit));
        }
    }
};

inline constexpr u32 pairs = 4096;

// A number of moderate size with all digits in use.
constexpr u64 moderate(u32 i) {
    const u64 x = mixed(0x1000 + i);
    return (x & 0x800f'ffff'ffff'ffffu) | (u64{1023 - 32 + (x >> 52 & 63)} << 52);
}

// --- An allreduce of all ranks within one processor -----------------------------------------------------------------

template <class T, u32 Elements>
struct network {
    struct frame {
        bough::nic::message head{};
        T payload[Elements]{};
    };
    frame frames[256]{};
    u32 sent = 0, taken = 0, notified = 0;
    T result[64][Elements]{};
    u32 rank = 0; // who is at work

    constexpr void send(const bough::nic::message& m, const T* payload) {
        frame& f = frames[sent++ & 255];
        f.head.stream = m.stream, f.head.epoch = m.epoch; // by fields: a store each
        f.head.from = m.from, f.head.to = m.to, f.head.inlet = m.inlet, f.head.count = m.count;
        for (u32 k = 0; k != m.count; ++k) f.payload[k] = payload[k];
    }
    constexpr void notify(u32, const T* values, u32 count) {
        ++notified;
        for (u32 k = 0; k != count; ++k) result[rank][k] = values[k];
    }
};

// Computed by here: where a rank's program lies is no work of a message.
template <class T>
T known(T x) {
    asm volatile("" : "+r"(x));
    return x;
}

// One instance: every host rings, which is a message too, and messages are delivered in the order in which they were sent.
// `around(f, bank)` calls f for each message to a bank. True: every message was taken and every rank notified once.
template <class T, u32 Elements, class Op>
bool play(const auto& programs, auto& states, u32 ranks, network<T, Elements>& net, const auto& input, const Op& op,
          auto&& around) {
    bool good = true;
    for (u32 r = 0; r != ranks; ++r) bough::nic::start(programs[r], states[r]);
    const auto bell_of = [&](u32 r) { // the host's own message
        const auto& p = programs[r];
        const bough::nic::u16 slot = p.inlets[bough::nic::bell_inlet].slot;
        const u32 count = slot == bough::nic::no_index ? 0 : p.slots[slot].count;
        const auto rank = static_cast<bough::nic::u16>(r);
        net.send({p.head.stream, 0, rank, rank, bough::nic::bell_inlet, static_cast<bough::nic::u16>(count)}, input[r]);
    };
    for (u32 r = 0; r != ranks; ++r) bell_of(r);
    while (net.taken != net.sent) {
        const auto& f = net.frames[net.taken++ & 255];
        const u32 first = f.head.to == bough::nic::everyone ? 0 : f.head.to;
        const u32 last = f.head.to == bough::nic::everyone ? ranks : first + 1;
        for (u32 r = first; r != last; ++r) {
            if (f.head.to == bough::nic::everyone && r == f.head.from) continue;
            net.rank = r;
            const auto* program = known(&programs[r]);
            auto* state = known(&states[r]);
            const auto* frame = known(&f);
            bough::nic::answer what{};
            const auto arrive = [&] {
                what = bough::nic::deliver<Elements>(*program, *state, frame->head, frame->payload, op, net);
            };
            around(arrive, state->banks[0]);
            good &= what == bough::nic::answer::taken;
        }
    }
    return good && net.notified == ranks;
}

} // namespace riscv

#endif
