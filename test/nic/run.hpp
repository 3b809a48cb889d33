// SPDX-License-Identifier: BSL-1.0
// For the tests of NIC programs: ops that show every bracket, and programs that are run and compared with the plan.
#ifndef BOUGH_TEST_NIC_RUN_HPP
#define BOUGH_TEST_NIC_RUN_HPP

#include "support/play.hpp"
#include <bough/model/lrc.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/simulated.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test {

using value = std::uint64_t;

// Neither commutative nor associative: equal results mean equal brackets.
struct bracket_op {
    constexpr value operator()(value lower, value upper) const {
        return lower * 0x9e37'79b9'7f4a'7c15u + (upper ^ upper >> 29) * 0xbf58'476d'1ce4'e5b9u + 1;
    }
};
// Associative, not commutative: x -> a x + b, modulo 2^32, as a pair in one number.
struct affine_op {
    constexpr value operator()(value lower, value upper) const {
        const auto a1 = static_cast<std::uint32_t>(lower >> 32), b1 = static_cast<std::uint32_t>(lower);
        const auto a2 = static_cast<std::uint32_t>(upper >> 32), b2 = static_cast<std::uint32_t>(upper);
        return value{a2 * a1} << 32 | static_cast<std::uint32_t>(a2 * b1 + b2);
    }
};
// Exact and commutative.
struct sum_op {
    constexpr value operator()(value a, value b) const { return a + b; }
};

// An op that may be combined as the plan says, whatever it is: tests compare with the same bracket.
inline constexpr bough::nic::needs any_order{
    .element = bough::nic::element::uint64, .element_bytes = sizeof(value), .commutative = true, .exact = true};

constexpr value input_value(std::uint32_t instance, bough::rank_t rank, std::size_t element) {
    return bough::mix_bits(instance * 1'000'003u + rank * 1009u + element);
}

// Where in the vector a rank's input and result lie, in elements.
struct places {
    std::vector<std::size_t> input{}, result{}, result_count{};
};
template <class Plan>
places places_of(const Plan& plan, const auto& goal, std::uint32_t elements) {
    const bough::dimensions at{plan.size(), plan.root(), plan.blocks()};
    const bough::nic::detail::element_offsets offsets(elements, at.blocks);
    places all;
    for (bough::rank_t r = 0; r != at.size; ++r) {
        const auto held = bough::nic::detail::held_by(plan.goal(), at, r);
        const auto result = bough::nic::detail::results_of(goal, at, r);
        all.input.push_back(offsets.of(held.first));
        all.result.push_back(offsets.of(result.first));
        all.result_count.push_back(offsets.in(result.first, result.last));
    }
    return all;
}

// Hosts that bring input_value and keep what they are given: got[instance][rank].
struct hosts {
    const places& at;
    std::vector<std::vector<std::vector<value>>> got;
    std::uint64_t told_twice = 0;
    hosts(const places& p, std::uint32_t instances) : at(p) {
        got.assign(instances, std::vector<std::vector<value>>(p.input.size()));
    }
    void input(bough::rank_t r, std::uint32_t instance, std::span<value> mine) {
        for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = input_value(instance, r, at.input[r] + i);
    }
    void complete(bough::rank_t r, std::uint32_t instance, std::span<const value> result) {
        if (!got.at(instance).at(r).empty()) ++told_twice;
        got.at(instance).at(r).assign(result.begin(), result.end());
    }
};

// The whole vector of every rank after the plan, by the plan's own steps on one value per block at a time: elements of a block
// do not mix, so the i-th of every block are played by themselves.
template <class Op>
std::vector<std::vector<value>> played(const std::vector<std::vector<bough::step>>& steps, std::uint32_t instance,
                                       std::uint32_t elements, std::uint32_t blocks, const Op& op) {
    const bough::nic::detail::element_offsets offsets(elements, blocks);
    std::vector<std::vector<value>> out(steps.size(), std::vector<value>(elements));
    for (std::uint32_t layer = 0; layer < offsets.in(0, 1); ++layer) { // the first block is a longest one
        std::vector<std::vector<value>> in(steps.size());
        for (bough::rank_t r = 0; r != steps.size(); ++r)
            for (std::uint32_t b = 0; b != blocks; ++b)
                in[r].push_back(input_value(instance, r, offsets.of(b) + layer));
        const auto one = play(steps, in, op);
        for (std::size_t r = 0; r != steps.size(); ++r)
            for (std::uint32_t b = 0; b != blocks; ++b)
                if (layer < offsets.in(b, b + 1)) out[r][offsets.of(b) + layer] = one[r][b];
    }
    return out;
}

} // namespace test

#endif
