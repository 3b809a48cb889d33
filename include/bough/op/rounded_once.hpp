// SPDX-License-Identifier: BSL-1.0
// rounded_once: an op on narrow numbers that is computed in a wider type and rounded once, at the end.
//
//   allreduce(comm, std::span(x), rounded_once{});                         x of bf16: sums in float
//   allreduce(comm, std::span(x), rounded_once<>{.after = 1.0f / comm.size()});          the average
//   reduce(comm, std::span(y), rounded_once<plus, double>{}, root{0});     y of float: sums in double
//
// Every value becomes a State, states travel and are combined by O, and each result is rounded to the
// type of the data, to nearest, ties to even. A chain of p values rounded at every combine is off by up
// to p - 1 halves of a unit in the last place of T; here the sum is off by one half, and by what State
// loses. `before` multiplies each value when it becomes a state, `after` each result before it is
// rounded: averages need no pass of their own.
//
// In allreduce, reduce and reduce_scatter, long vectors travel as they are: each rank gets all contributions
// to its block of the vector, combines them at once, and sends the rounded result (by_owner). automatic{}
// takes that where it costs less than messages of states (problem::narrowing); by_owner{} always does. A
// group of two ranks combines each element once, so if nothing is scaled it runs O on T itself. Otherwise,
// and in scans, messages have the bytes of State: twice those of bf16.
//
// Agreement    `before` and `after` are equal on all ranks
// Determinism  by owners, the bits depend on the ranks alone: from the lowest to the highest. Otherwise as O
//              on State: the bits depend on the plan
#ifndef BOUGH_OP_ROUNDED_ONCE_HPP
#define BOUGH_OP_ROUNDED_ONCE_HPP

#include <bough/concepts/op.hpp>
#include <bough/core/config.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/canonical.hpp>
#include <bough/op/combine.hpp>
#include <bough/op/detail/small_float_many.hpp>
#include <bough/op/identity.hpp>
#include <bough/op/mix_hash.hpp>
#include <bough/op/small_float.hpp>
#include <bough/op/traits.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class T, class State>
concept narrower = (narrow_float<T> && std::floating_point<State>) ||
                   (std::floating_point<T> && std::floating_point<State> && sizeof(T) < sizeof(State));

// Is there a kernel that adds up many (bough/op/detail/small_float_many.hpp)?
template <class O, class State, class T>
concept has_sums = narrow_float<T> && std::same_as<O, plus> && std::same_as<State, float> &&
    (is_half<typename T::format> || is_brain<typename T::format>);

// A result that is rounded when its type is known.
template <std::floating_point State>
struct to_be_rounded {
    State value;
    template <narrower<State> T>
    constexpr operator T() const noexcept {
        if constexpr (narrow_float<T>)
            return T(static_cast<float>(value));
        else
            return static_cast<T>(value);
    }
};

} // namespace detail

template <class O = plus, std::floating_point State = float>
struct rounded_once {
    // From double to 16 bits it would be rounded by way of float, so twice.
    template <detail::narrower<State> T>
    requires(std::floating_point<T> || std::same_as<State, float>) using state_type = State;

    [[no_unique_address]] O op{};
    State before = 1, after = 1;

    template <std::same_as<State> S>
    constexpr S operator()(const S& a, const S& b) const noexcept(noexcept(op(a, b))) {
        return op(a, b);
    }
    template <detail::narrower<State> T>
    constexpr State lift(const T& x) const noexcept {
        return static_cast<State>(x) * before;
    }
    constexpr detail::to_be_rounded<State> lower(const State& x) const noexcept { return {x * after}; }

    // The same for many; front doors prefer these.
    template <class T>
    requires detail::narrower<std::remove_const_t<T>, State>
    void lift_all(std::span<T> values, std::span<State> states) const noexcept {
        if constexpr (detail::narrow_float<std::remove_const_t<T>>) {
            convert(std::span<const std::remove_const_t<T>>(values), states, before);
        } else {
            for (std::size_t i = 0; i != values.size(); ++i) states[i] = lift(values[i]);
        }
    }
    template <detail::narrower<State> T>
    void lower_all(std::span<const State> states, std::span<T> values) const noexcept {
        if constexpr (detail::narrow_float<T>) {
            convert(states, values, after);
        } else {
            for (std::size_t i = 0; i != values.size(); ++i) values[i] = lower(states[i]);
        }
    }
    // From what all ranks contribute, `count` values at any address each, to the rounded result: what
    // lift_all, combines from left to right and lower_all would give. `out` may be one of the operands.
    // Blocks of states stay in the nearest cache.
    template <detail::narrower<State> T>
    void combine_many(const std::byte* const* operands, std::size_t size, std::byte* out, std::size_t count) const {
        if constexpr (detail::has_sums<O, State, T>) {
            auto* const sum = detail::summer_for<typename T::format, O>(detail::best_vector_unit());
            if (before == 1 && sum != nullptr) return sum(operands, size, out, count, after);
        }
        constexpr std::size_t most = 4096 / sizeof(State);
        alignas(64) State sums[most], next[most];
        for (std::size_t done = 0; done != count;) {
            const std::size_t n = count - done < most ? count - done : most;
            lift_bytes<T>(operands[0] + done * sizeof(T), sums, n);
            for (std::size_t k = 1; k != size; ++k) {
                lift_bytes<T>(operands[k] + done * sizeof(T), next, n);
                bough::combine<State>(op, sums, next, sums, n);
            }
            lower_bytes<T>(sums, out + done * sizeof(T), n);
            done += n;
        }
    }
    // Where one rank scales the values of others, ranks whose `before` or `after` differ make different calls.
    constexpr std::uint64_t hash_of_values() const noexcept {
        const auto bits = [](State x) { return std::bit_cast<std::uint64_t>(static_cast<double>(x)); };
        return detail::mix_hash(bits(before), bits(after));
    }
    // Gives `op` on T itself the same results in a group of this size?
    constexpr bool rounds_once_anyway(std::uint32_t ranks) const noexcept {
        return ranks == 2 && before == 1 && after == 1;
    }

    template <std::same_as<State> S>
    requires has_identity_v<O, S>
    static constexpr S identity() noexcept { return O::template identity<S>(); }
    friend constexpr bool operator==(const rounded_once&, const rounded_once&) = default;

private:
    template <class T>
    void lift_bytes(const std::byte* from, State* to, std::size_t count) const noexcept {
        if constexpr (detail::narrow_float<T>) {
            detail::decoder_for<typename T::format>(detail::best_vector_unit())(from, reinterpret_cast<std::byte*>(to),
                                                                                count, before);
        } else {
            const auto* x = reinterpret_cast<const typename detail::at_any_address<T>::type*>(from);
            for (std::size_t i = 0; i != count; ++i) to[i] = lift(T{x[i]});
        }
    }
    template <class T>
    void lower_bytes(const State* from, std::byte* to, std::size_t count) const noexcept {
        if constexpr (detail::narrow_float<T>) {
            detail::encoder_for<typename T::format>(detail::best_vector_unit())(
                reinterpret_cast<const std::byte*>(from), to, count, after);
        } else {
            auto* x = reinterpret_cast<typename detail::at_any_address<T>::type*>(to);
            for (std::size_t i = 0; i != count; ++i) x[i] = static_cast<T>(lower(from[i]));
        }
    }
};

template <class O, class State>
inline constexpr bool is_commutative_v<rounded_once<O, State>> = is_commutative_v<O>;
template <class O, class State>
inline constexpr bool is_exact_v<rounded_once<O, State>, State> = is_exact_v<O, State>;
template <class O, class State>
inline constexpr bool is_idempotent_v<rounded_once<O, State>> = is_idempotent_v<O>;

namespace detail {
template <class O, class State>
struct named_op<rounded_once<O, State>> {
    static std::uint64_t identity() noexcept { return rounded_once_identity(op_identity<O>(), sizeof(State)); }
};
} // namespace detail

} // namespace bough

#endif
