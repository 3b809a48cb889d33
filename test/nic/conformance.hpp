// SPDX-License-Identifier: BSL-1.0
// One list of cases for every target that runs NIC programs: what hosts bring, and digests of all results and of all messages
// that NICs send, whatever their order. Each target must come to these very numbers:
//
//   constant evaluation, simulated NICs, hosts     test/nic/conformance.cpp
//   processes over shared memory                   test/nic/processes.cpp
//   XDP and tc in the Linux kernel                 tools/xdp (`bough-xdp`)
//   RISC-V, 64 and 32 bit, without FPU             test/riscv
//   libfabric deferred work                        test/fabric/deferred_work.cpp (reductions and allreduces along trees)
//
// Includes nothing but the machine, so that kernels and bare processors can compile it.
#ifndef BOUGH_TEST_NIC_CONFORMANCE_HPP
#define BOUGH_TEST_NIC_CONFORMANCE_HPP

#include <bough/nic/machine.hpp>

namespace conformance {

using u32 = __UINT32_TYPE__;
using u64 = __UINT64_TYPE__;
namespace nic = bough::nic;

enum class goal { reduce, allreduce };
enum class numbers { integers, doubles };

struct one_case {
    const char* name;
    conformance::goal goal; // along an f-nomial tree
    u32 ranks, degree, elements;
    conformance::numbers numbers;
    bool multicast, accumulate;
    bool credits;          // else hosts keep pace: nobody enters an instance before all have ended the last
    u64 results, messages; // digests, of all instances together
};
inline constexpr u32 instances = 2, banks = 2;
inline constexpr one_case cases[] = {
    {"reduce 16 i64", goal::reduce, 16, 4, 1, numbers::integers, false, false, false, 0xd4f955798de26e21,
     0x7f4dce90edd4f0e7},
    {"reduce 11 f64x8", goal::reduce, 11, 3, 8, numbers::doubles, false, false, false, 0x4a72f8afc69f86ce,
     0xf6100b5f8def10af},
    {"reduce 16 f64, credits", goal::reduce, 16, 4, 1, numbers::doubles, false, false, true, 0x1c76019f4f36bf67,
     0xfd6a3c4b4d6284c5},
    {"multicast 16 f64", goal::reduce, 16, 4, 1, numbers::doubles, true, false, true, 0xf630dbfc3169d02d,
     0x6f1e881e2f1f94a7},
    {"multicast 13 i64x8", goal::reduce, 13, 2, 8, numbers::integers, true, false, true, 0xf7c0e54b2a48aae9,
     0x83664cbe2746ae70},
    {"accumulate 16 i64", goal::reduce, 16, 4, 1, numbers::integers, true, true, true, 0x4138894e3d0fa227,
     0xf13ca8f0ae6147e6},
    {"barrier 9", goal::reduce, 9, 3, 0, numbers::integers, true, false, true, 0x66ccc3e06d0444bd, 0x1a82ebffa4d7750a},
    {"allreduce 16 f64", goal::allreduce, 16, 4, 1, numbers::doubles, false, false, true, 0xf630dbfc3169d02d,
     0x55adacc7be704eb5},
    {"allreduce 7 i64x8", goal::allreduce, 7, 3, 8, numbers::integers, false, false, true, 0x68dc18352f2d35d6,
     0x16bd32e11bfac23f},
};
inline constexpr u32 case_count = sizeof cases / sizeof cases[0];
inline constexpr u32 most_ranks = 16, most_elements = 8;

// Does one arrival set at most one message free on every rank?
constexpr bool sends_once(const one_case& c) { return c.multicast || !(c.credits || c.goal == goal::allreduce); }

// Steele, Lea, Flood: SplitMix64.
constexpr u64 mixed(u64 i) {
    i += 0x9e37'79b9'7f4a'7c15u;
    i = (i ^ (i >> 30)) * 0xbf58'476d'1ce4'e5b9u;
    i = (i ^ (i >> 27)) * 0x94d0'49bb'1331'11ebu;
    return i ^ (i >> 31);
}

// What a host brings: any integer; or a double with all digits in use, magnitude 2^-32 to 2^31, either sign: its bits.
constexpr u64 input(const one_case& c, u32 instance, u32 rank, u32 element) {
    const u64 x = mixed(instance * 1'000'003u + rank * 1009u + element);
    if (c.numbers == numbers::integers) return x;
    return (x & 0x800f'ffff'ffff'ffffu) | (u64{1023 - 32 + (x >> 52 & 63)} << 52);
}

// What one result, and one message, adds to a digest. `word(k)`: the bits of element k.
template <class Word>
constexpr u64 of_result(u32 instance, u32 rank, u32 count, Word&& word) {
    u64 h = mixed(u64{instance} << 32 | rank);
    for (u32 k = 0; k != count; ++k) h = mixed(h ^ word(k));
    return h;
}
constexpr u64 of_head(const nic::message& m) {
    return mixed(mixed(u64{m.epoch} << 32 | u64{m.from} << 16 | m.to) ^ (u64{m.inlet} << 16 | m.count));
}
template <class Word>
constexpr u64 of_message(const nic::message& m, Word&& word) {
    u64 h = of_head(m);
    for (u32 k = 0; k != m.count; ++k) h = mixed(h ^ word(k));
    return h;
}

struct digests {
    u64 results = 0, messages = 0;
    friend constexpr bool operator==(const digests&, const digests&) = default;
};

// --- A network within one processor, without any library -------------------------------------------------------------

class network {
public:
    u32 rank = 0; // who is at work
    digests found{};
    bool good = true;

    constexpr void send(const nic::message& m, const u64* payload) {
        found.messages += of_message(m, [&](u32 k) { return payload[k]; });
        good = good && sent_ - taken_ != room;
        frame& f = frames_[sent_++ & (room - 1)];
        f.head = m;
        for (u32 k = 0; k != m.count; ++k) f.payload[k] = payload[k];
    }
    constexpr void notify(u32 epoch, const u64* result, u32 count) {
        found.results += of_result(epoch, rank, count, [&](u32 k) { return result[k]; });
        ++told_;
    }
    // Every instance: all hosts ring, then messages come in the order in which they were sent. True: every message was
    // taken and every host told.
    template <class Op>
    constexpr bool play(const one_case& c, const auto& programs, auto& states, const Op& op) {
        for (u32 r = 0; r != c.ranks; ++r) nic::start(programs[r], states[r]);
        for (u32 e = 0; e != instances; ++e) {
            for (rank = 0; rank != c.ranks; ++rank) {
                u64 mine[most_elements]{};
                for (u32 k = 0; k != c.elements; ++k) mine[k] = input(c, e, rank, k);
                taken(nic::ring(programs[rank], states[rank], e, mine, op, *this));
            }
            while (taken_ != sent_) {
                const frame f = frames_[taken_++ & (room - 1)];
                const bool all = f.head.to == nic::everyone;
                for (rank = all ? 0 : f.head.to; rank != (all ? c.ranks : f.head.to + 1u); ++rank)
                    if (!all || rank != f.head.from)
                        taken(nic::deliver(programs[rank], states[rank], f.head, f.payload, op, *this));
            }
        }
        return good && told_ == c.ranks * instances;
    }

private:
    constexpr void taken(nic::answer a) { good = good && a == nic::answer::taken; }
    static constexpr u32 room = 64;
    struct frame {
        nic::message head{};
        u64 payload[most_elements]{};
    };
    frame frames_[room]{};
    u32 sent_ = 0, taken_ = 0, told_ = 0;
};

} // namespace conformance

#endif
