// SPDX-License-Identifier: BSL-1.0
// The programs of test/nic/conformance.hpp, for whoever has a heap.
#ifndef BOUGH_TEST_NIC_CONFORMANCE_PROGRAMS_HPP
#define BOUGH_TEST_NIC_CONFORMANCE_PROGRAMS_HPP

#include "nic/conformance.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/soft_ops.hpp>
#include <bough/tree/fnomial.hpp>

#include <bit>
#include <cstdint>

namespace conformance {

// For a target without floating point, the sum of doubles is that by integers: the programs are the same.
constexpr nic::needs needs_of(const one_case& c, bool by_integers) {
    if (c.numbers == numbers::integers) return nic::needs_of<bough::plus, std::uint64_t>;
    return by_integers ? nic::needs_of<bough::soft_plus<bough::f64_bits>, double> : nic::needs_of<bough::plus, double>;
}
constexpr nic::assembled_all programs_of(const one_case& c, const nic::capabilities& target) {
    const nic::assemble_options options{.elements = c.elements,
                                        .banks = banks,
                                        .accumulate = c.accumulate,
                                        .multicast = c.multicast,
                                        .credits = c.credits};
    const nic::needs op = needs_of(c, !target.floating_point);
    const bough::fnomial tree{.degree = c.degree};
    if (c.goal == goal::reduce)
        return nic::assemble_all(bough::plan_reduce(tree, {.size = c.ranks}), op, target, options);
    return nic::assemble_all(bough::plan_allreduce(tree, {.size = c.ranks}), op, target, options);
}

// In the processor, with its floating-point unit, if this is not constant evaluation.
struct combine {
    conformance::numbers numbers;
    constexpr std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
        if (numbers == numbers::integers) return a + b;
        return std::bit_cast<std::uint64_t>(bough::plus{}(std::bit_cast<double>(a), std::bit_cast<double>(b)));
    }
};

} // namespace conformance

#endif
