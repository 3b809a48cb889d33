// SPDX-License-Identifier: BSL-1.0
// repeat_call: a blocking call with automatic choice that equals one made lately runs its plan at once. It
// needs no choice, no search and no signature (bough/communicator/repeated_calls.hpp).
#ifndef BOUGH_CALL_REPEAT_CALL_HPP
#define BOUGH_CALL_REPEAT_CALL_HPP

#include <bough/call/front_door.hpp>
#include <bough/call/runs_calls.hpp>
#include <bough/core/config.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

template <class T>
bool has_equal_blocks(const typed_call<T>& typed) noexcept {
    return (typed.offsets.size() | typed.row_offsets.size() | typed.column_offsets.size()) == 0;
}

// The door of a collective for an element type and a type of op.
template <class Goal, class T, class O>
inline constexpr char door_tag = 0;

// Runs a blocking call with automatic choice that equals one made lately, and sets `result`. False:
// there is none. `op`: null for a collective that has none. Pre: the arguments have been checked, and all
// blocks have one length.
template <class Goal, class O, class T, RunsPlans Comm, class Choice>
BOUGH_ALWAYS_INLINE bool repeat_call(Comm& comm, const T* in, T* out, std::size_t count, rank_t root,
                                     [[maybe_unused]] const O* op, const Choice& choice, status& result) {
    if constexpr (std::same_as<Choice, automatic> && RepeatsCalls<Comm> && travels_as_bytes_v<T>) {
        repeated_call* const known = comm.find_repeated({&door_tag<Goal, T, O>, count, root});
        if (known == nullptr || !detail::is_default(choice)) return false;
        if constexpr (HoldsNumbers<O>)
            if (known->what.signature.op != detail::signed_op<T>(*op)) return false;
        known->what.made.input = reinterpret_cast<const std::byte*>(in);
        known->what.made.output = reinterpret_cast<std::byte*>(out);
        if constexpr (!std::is_void_v<O>) known->what.made.combine_state = detail::op_state_of(*op);
        result = comm.run_repeated(*known);
        return true;
    }
    return false;
}

// As run_automatic(), and remembers a blocking call that has run well, for repeat_call().
template <class Goal, class O, RunsPlans Comm, class T>
status run_and_remember(Comm& comm, const typed_call<T>& typed, const automatic& wanted) {
    if constexpr (RepeatsCalls<Comm> && travels_as_bytes_v<T>) {
        const status result = detail::run_automatic<Goal>(comm, typed, wanted);
        if (!result && wanted == automatic{} && detail::has_equal_blocks(typed) &&
            !detail::is_followed<Goal>(comm, typed))
            comm.keep_repeated({&door_tag<Goal, T, O>, typed.count, typed.at.root}, detail::call_of(typed));
        return result;
    } else {
        return detail::run_automatic<Goal>(comm, typed, wanted);
    }
}

} // namespace bough::detail

#endif
