// SPDX-License-Identifier: BSL-1.0
// What the parts of a proof in parts have in common.
//
// Compilers limit what one constant expression may take: clang 2^20 statements (-fconstexpr-steps),
// g++ 2^25 operations (-fconstexpr-ops-limit). There is no such limit for all of them together. So a
// proof of many ranks is many constants. Each leaves its books behind in arrays, since a constant
// cannot own memory, and the next one goes on from there. `Make()` makes the plan anew in each. What
// computes such a constant is constexpr, not consteval: clang 14 would evaluate that twice.
#ifndef BOUGH_VERIFY_PROVER_PARTS_HPP
#define BOUGH_VERIFY_PROVER_PARTS_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/verify/rules.hpp>

#include <cstddef>

namespace bough::inline BOUGH_ABI::detail {

// What one part may do, in the statements that clang counts. It leaves room, since the estimates below
// can be too low. g++ counts about 15 operations for one.
#ifdef __clang__
inline constexpr std::size_t part_limit = 600'000;
#else
inline constexpr std::size_t part_limit = 1'000'000;
#endif
// About as many are needed for
inline constexpr std::size_t part_of_step = 250, part_of_block = 60; // what a rank does by itself
inline constexpr std::size_t part_of_message = 50, part_of_node = 50;
inline constexpr std::size_t part_of_move = 100, part_of_result = 40;

// A list that a constant can hold.
template <class E, std::size_t Most>
class kept_list {
public:
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr const E* data() const noexcept { return all_; }
    constexpr void append(const E* from, std::size_t count) {
        copy_elements(all_ + size_, from, count);
        size_ += count;
    }
    constexpr void keep(const plain_list<E>& list) { append(list.data(), list.size()); }
    constexpr void restore(plain_list<E>& list) const { list.assign(all_, all_ + size_); }

private:
    std::size_t size_ = 0;
    E all_[Most + 1]{};
};

// A variable, since clang 14 does not free what a temporary plan owns in each place.
template <auto Make>
consteval dimensions dimensions_made() {
    const auto plan = Make();
    return dimensions_of(plan);
}
// A test may want smaller parts: Make.part_limit.
template <auto Make>
inline constexpr std::size_t part_limit_of = [] {
    if constexpr (requires { Make.part_limit; })
        return std::size_t{Make.part_limit};
    else
        return part_limit;
}();

// A stage of the proof is a chain of constants. Stage::begin() makes the first one, and
// Stage::go_on(before) the next one.
template <class Stage, std::size_t K>
constexpr auto make_part();
template <class Stage, std::size_t K>
inline constexpr auto stage_part = make_part<Stage, K>();
template <class Stage, std::size_t K>
constexpr auto make_part() {
    if constexpr (K == 0)
        return Stage::begin();
    else
        return Stage::go_on(stage_part<Stage, K - 1>);
}
// The first one that is `done`.
template <class Stage, std::size_t K = 0>
consteval const auto& last_part() {
    if constexpr (stage_part<Stage, K>.done)
        return stage_part<Stage, K>;
    else
        return last_part<Stage, K + 1>();
}

} // namespace bough::detail

#endif
