// SPDX-License-Identifier: BSL-1.0
// explain_wire_up: what a type lacks to be a WireUp, in a sentence.
//
//   static_assert(bough::explain_wire_up<my_launcher>());   // true, or an error that says what to write
#ifndef BOUGH_CONCEPTS_EXPLAIN_WIRE_UP_HPP
#define BOUGH_CONCEPTS_EXPLAIN_WIRE_UP_HPP

#include <bough/concepts/wire_up.hpp>

namespace bough::inline BOUGH_ABI {

namespace detail {
template <class>
inline constexpr bool no_wire_up = false; // dependent, so that only the branch that is taken fails
} // namespace detail

template <class W>
consteval bool explain_wire_up() {
    if constexpr (!detail::HasRank<W>)
        static_assert(detail::no_wire_up<W>,
                      "bough: a WireUp needs `rank_t rank() const`: which rank of the job this process is");
    if constexpr (!detail::HasSize<W>)
        static_assert(detail::no_wire_up<W>, "bough: a WireUp needs `rank_t size() const`: how many ranks the job has");
    if constexpr (!detail::Exchanges<W>)
        static_assert(
            detail::no_wire_up<W>,
            "bough: a WireUp needs `status exchange(std::span<const std::byte> mine, std::span<std::byte> all, "
            "std::uint64_t timeout_ns)`: every rank's bytes, in order of rank");
    return WireUp<W>;
}

} // namespace bough

#endif
