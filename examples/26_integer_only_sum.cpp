// SPDX-License-Identifier: BSL-1.0
// Sums of floating numbers by integer instructions alone, as a NIC without a floating-point unit makes them.
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/op/limb_sum.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/transport/in_process.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

using namespace bough;

// The compiler has no floating-point unit either: 1 + 1 == 2, in halves and in bfloat16.
static_assert(f16_bits::add(0x3c00, 0x3c00) == 0x4000 && bf16_bits::add(0x3f80, 0x3f80) == 0x4000);

int main() {
    in_process{5}.run([](auto transport) {
        communicator comm{std::move(transport)};
        const double mine[] = {0.1 * (comm.rank() + 1), comm.rank() == 0 ? 1e16 : comm.rank() == 2 ? -1e16 : 1.0};

        // The same bits as the unit's, from additions of integers. The algorithm is named, as the rounding
        // depends on it, and automatic choice depends on the machine.
        double unit[] = {mine[0], mine[1]}, soft[] = {mine[0], mine[1]};
        allreduce(comm, std::span(unit), plus{}, recursive_doubling{});
        allreduce(comm, std::span(soft), soft_plus<f64_bits>{}, recursive_doubling{});

        // Halves have no type in C++20; they travel as what they are, 16 bits.
        std::uint16_t half = static_cast<std::uint16_t>(0x3c00 + comm.rank()); // 1 and a few ulps
        allreduce(comm, std::span(&half, 1), soft_plus<f16_bits>{}, recursive_doubling{});

        // Exact: 68 integers a number, added word by word. Any NIC can do that, in any order.
        double exact[] = {mine[0], mine[1]};
        allreduce(comm, std::span(exact), limb_sum{});

        if (comm.rank() != 3) return;
        std::printf("plus       %.17g  %.17g\n", unit[0], unit[1]);
        std::printf("soft_plus  %.17g  %.17g  %s\n", soft[0], soft[1],
                    std::memcmp(unit, soft, sizeof unit) == 0 ? "the same bits" : "other bits");
        std::printf("limb_sum   %.17g  %.17g\n", exact[0], exact[1]);
        std::printf("halves     %04x\n", half);
    });

    // What a NIC does to the words of such a sum, and the host's one rounding at the end.
    auto sum = limb_sum{}.lift(1e300);
    for (const double x : {1.0, -1e300}) {
        const auto message = limb_sum{}.lift(x);
        for (unsigned i = 0; i != sum.size; ++i) sum.word[i] += message.word[i];
    }
    std::printf("1e300 + 1 - 1e300 = %g, in %zu bytes\n", limb_sum{}.lower(sum), sizeof sum);
}
