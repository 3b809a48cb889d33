// SPDX-License-Identifier: BSL-1.0
// What the kernel's side (nic.bpf.cpp) and the process that drives it share: the frame, and the values of the maps. It
// includes nothing but the machine.
#ifndef BOUGH_TOOLS_XDP_LAYOUT_HPP
#define BOUGH_TOOLS_XDP_LAYOUT_HPP

#include <bough/nic/machine.hpp>

namespace xdp {

using word = unsigned long long; // an element: an integer, or the bits of a double
static_assert(sizeof(word) == 8);

inline constexpr unsigned most_ranks = 16;
inline constexpr unsigned most_elements = 68; // of one message: a double as an exact sum

// nic::capabilities_of<nic::xdp> and tc say the same (nic.cpp asserts it).
inline constexpr bough::nic::limits room{64, 64, 64, 64, 4, 1024};

// A frame on the wire. Its length depends on the program that runs, not on what it carries: so any frame that comes can
// leave as any other.
struct frame {
    unsigned char to[6]; // 02:00:00:00:00:rank; 03:... for everyone
    unsigned char from[6];
    unsigned char type[2];
    unsigned char padding[2]; // the message is aligned
    bough::nic::message head;
};
static_assert(sizeof(frame) == 32);
inline constexpr unsigned char type_high = 0x88, type_low = 0xb5; // IEEE 802: for local experiments

// A rank's interface has this number, plus the rank; its other end, in the switch, the next sixteen.
inline constexpr unsigned first_interface = 100;

struct device {
    bough::nic::fixed_program<room> program;
    bough::nic::fixed_state<room, word> state;
    bough::nic::agenda todo; // of the arrival that is being served
    unsigned sent;
    word
        slack[most_elements]; // a slot that begins within the memory ends within this value: the verifier must see that
};

// What the host reads, without asking the kernel: its result, and how often it was told.
struct completion {
    word told;    // instances; written last, atomically
    word dropped; // frames that the program set free and that could not be sent
    word answers[8];
    word stamp_ns[4];              // of an instance, by its last two bits: when, by CLOCK_MONOTONIC
    word result[4][most_elements]; // and what
    word padding[2];
};
static_assert(sizeof(completion) % 8 == 0); // or the kernel's array has gaps that the host's has not

} // namespace xdp

#endif
