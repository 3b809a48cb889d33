// SPDX-License-Identifier: BSL-1.0
// What rounded_once promises where the values themselves travel: a sum in rank order, rounded once.
#ifndef BOUGH_TEST_SUPPORT_ROUNDED_HPP
#define BOUGH_TEST_SUPPORT_ROUNDED_HPP

#include <bough/core/rank.hpp>
#include <bough/op/lift.hpp>
#include <bough/op/rounded_once.hpp>
#include <bough/op/small_float.hpp>

#include <cstddef>
#include <cstring>
#include <vector>

namespace bough_test {

// What rank r contributes: sums of these depend on their order, and on how often they are rounded.
template <class T>
std::vector<T> contribution_of(bough::rank_t r, std::size_t count) {
    std::vector<T> made(count);
    for (std::size_t i = 0; i != count; ++i) {
        const std::size_t mixed = (i * 2654435761u + r * 40503u + (i ^ r) * 97u) % 4093;
        const float value = static_cast<float>(mixed + 1) / ((mixed & 1) != 0 ? 4096.f : 64.f);
        made[i] = T((mixed & 4) != 0 ? -value : value);
    }
    return made;
}

// The result of all ranks: lifted, combined from the lowest rank to the highest, and lowered.
template <class T, class O>
std::vector<T> in_rank_order(bough::rank_t ranks, std::size_t count, const O& op) {
    std::vector<bough::state_of<O, T>> sums(count);
    for (bough::rank_t r = 0; r != ranks; ++r) {
        const std::vector<T> values = contribution_of<T>(r, count);
        for (std::size_t i = 0; i != count; ++i)
            sums[i] = r == 0 ? op.lift(values[i]) : op(sums[i], op.lift(values[i]));
    }
    std::vector<T> made(count);
    for (std::size_t i = 0; i != count; ++i) made[i] = op.lower(sums[i]);
    return made;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

} // namespace bough_test

#endif
