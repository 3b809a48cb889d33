// SPDX-License-Identifier: BSL-1.0
// Freeze: carry the result of a computation on the constexpr heap over into a fixed array, a
// structural value.
//
//   constexpr auto steps = bough::freeze<[] { return plan.schedule_of(3).steps; }>();   // std::array<step, N>
//
// `Make` is a stateless callable that returns a sequence with size() and operator[]; it runs twice.
#ifndef BOUGH_CORE_FREEZE_HPP
#define BOUGH_CORE_FREEZE_HPP

#include <bough/core/config.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

template <auto Make>
consteval auto freeze() {
    constexpr std::size_t size = Make().size();
    const auto values = Make();
    using value_type = std::remove_cvref_t<decltype(values[0])>;
    std::array<value_type, size> frozen{};
    for (std::size_t i = 0; i != size; ++i) frozen[i] = values[i];
    return frozen;
}

} // namespace bough

#endif
