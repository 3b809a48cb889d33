// SPDX-License-Identifier: BSL-1.0
// What a NIC's program would take of the arithmetic: compiled without any standard header, also for BPF and RISC-V.
#include <bough/op/limb_state.hpp>
#include <bough/op/soft_float.hpp>
#include <bough/op/soft_integer.hpp>

using u16 = __UINT16_TYPE__;
using u32 = __UINT32_TYPE__;
using u64 = __UINT64_TYPE__;

static_assert(bough::f64_bits::add(0x3ff0'0000'0000'0000, 0x3ff0'0000'0000'0000) == 0x4000'0000'0000'0000,
              "1 + 1 == 2");
static_assert(bough::f16_bits::add(0x3c00, 0x1000) == 0x3c00 && bough::f16_bits::add(0x3c00, 0x1001) == 0x3c01);
static_assert(bough::limb_state<bough::f32_bits>::of(0x3fc0'0000).rounded() == 0x3fc0'0000);

extern "C" {
u64 add_f64(u64 a, u64 b) { return bough::f64_bits::add(a, b); }
u32 add_f32(u32 a, u32 b) { return bough::f32_bits::add(a, b); }
u16 add_f16(u16 a, u16 b) { return bough::f16_bits::add(a, b); }
u16 add_bf16(u16 a, u16 b) { return bough::bf16_bits::add(a, b); }
u64 minimum_f64(u64 a, u64 b) { return bough::f64_bits::minimum(a, b); }
u32 maximum_number_f32(u32 a, u32 b) { return bough::f32_bits::maximum_number(a, b); }
u64 add_f64_of_x86(u64 a, u64 b) { return bough::float_bits<u64, 11, bough::first_nan>::add(a, b); }
u64 minimum_i64(u64 a, u64 b) { return bough::i64_bits::minimum(a, b); }
void add_limbs(bough::limb_state<bough::f64_bits>& sum, const bough::limb_state<bough::f64_bits>& other) {
    sum += other;
}
void add_number(bough::limb_state<bough::f64_bits>& sum, u64 x) { sum.add(x); }
#if !defined(__bpf__) // a state is larger than a BPF stack; hosts round
u64 rounded(const bough::limb_state<bough::f64_bits>& sum) { return sum.rounded(); }
#endif
}
