// SPDX-License-Identifier: BSL-1.0
// Partial calls (bough/call/partial.hpp) on elements whose type and op are known at run time only.
#ifndef BOUGH_CALL_RUN_TIME_PARTIAL_HPP
#define BOUGH_CALL_RUN_TIME_PARTIAL_HPP

#include <bough/call/elements.hpp>
#include <bough/call/partial.hpp>
#include <bough/call/run_time_call.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/status.hpp>
#include <bough/op/run_time_op.hpp>
#include <bough/op/run_time_type.hpp>

#include <cstddef>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Elements that do not lie as they travel are packed into a message, which is input and output in one: a late
// rank reads the result into it, and the caller's input stays as it is.
struct run_time_partial_forms {
    template <class On, RunTimeData In, RunTimeOp O>
    static status call(On& on, const In& in, const elements& out, const O& op, const partial& how) {
        static_assert(is_communicator_v<On>, "bough: a partial call blocks: it has no name, and is neither started, "
                                             "bound, nor awaited");
        if constexpr (is_communicator_v<On>) {
            const const_elements from = in, to = out;
            return run_whole(on, {from, to}, op, {.size = on.size()}, [&](const typed_call<std::byte>& typed) {
                const bool are_one = from.data == to.data && from.count != 0 && lie_alike(from.type, to.type);
                if (const status bad = check_two_vectors(are_one)) return on.refuse(bad);
                call_signature signature = typed.signature;
                signature.kind = goal::allreduce::kind;
                const std::span<std::byte> result(typed.out, typed.count * typed.element_bytes);
                return detail::run_partial<std::byte>(on, result, signature, how, [&](auto& among) {
                    typed_call<std::byte> call = typed;
                    call.at.size = among.size();
                    return detail::run_automatic<goal::allreduce>(among, call, automatic{});
                });
            });
        }
    }
};

} // namespace bough::inline BOUGH_ABI::detail

#endif
