// SPDX-License-Identifier: BSL-1.0
// contiguous_call: runs a front door on a vector that must not be cut. The whole vector becomes one
// element of so many bytes.
//
//   contiguous_call<Comm> whole(comm);
//   return detail::run_automatic<goal::allreduce>(whole, bytes, automatic{}); // a typed_call<std::byte>
// It wraps the communicator or initiator on which the front door would run
// (bough/call/runs_calls.hpp).
#ifndef BOUGH_CALL_CONTIGUOUS_CALL_HPP
#define BOUGH_CALL_CONTIGUOUS_CALL_HPP

#include <bough/call/front_door.hpp>

#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <RunsPlans Comm>
class contiguous_call {
public:
    explicit contiguous_call(Comm& comm) noexcept : comm_(comm) {}

    Comm& comm() noexcept { return comm_; }
    decltype(auto) options() const noexcept { return comm_.options(); }
    status refuse(const status& why) { return comm_.refuse(why); }
    // These choices are kept apart from those for vectors of as many bytes that may be cut.
    template <class P, class F>
    const P* remember_plan(choice_key key, F&& choose) {
        key.size_class = static_cast<std::uint8_t>(key.size_class | 0x80u);
        return comm_.template remember_plan<P>(key, std::forward<F>(choose));
    }
    rank_t rank() const noexcept { return comm_.rank(); }
    rank_t size() const noexcept { return comm_.size(); }
    template <class P>
    const P* find_bound(const P& plan) const {
        return comm_.find_bound(plan);
    }
    template <class P>
    status run(const P& plan, call c, const call_signature& signature) {
        if (c.count != 0) {
            c.element_bytes = static_cast<std::uint32_t>(c.count * c.element_bytes);
            c.count = 1;
        }
        return comm_.run(plan, c, signature);
    }

    // Plans are priced for one element, so all blocks of a plan but one are empty.
    problem problem_of(std::uint8_t size_class, bool exact_op) const noexcept {
        problem what = detail::problem_of(comm_, size_class, exact_op);
        if (what.bytes != 0) what.element_bytes = what.bytes;
        return what;
    }

private:
    Comm& comm_;
};

} // namespace bough::detail

#endif
