// SPDX-License-Identifier: BSL-1.0
// linger: waits a little for an operation before the program goes on without it.
//
//   const bough::linger little{comm, bytes};     // once: the communicator's model says how long
//   bough::operation op = bough::start_reduce(comm, x, bough::plus{}, bough::root{0});
//   if (!little(op)) compute();                  // a rank is late: do not wait for it
//   op.wait();
// If all ranks come at about the same time, the operation ends during this wait, and no
// notification is needed; that would cost more than the wait. If a rank is late, no more than this
// wait is lost. The default is twice the time that the model expects for a reduction of so many
// bytes over a binomial tree; measure() makes the model that of this machine.
//
// Source: Wagner et al. 2003, section IV-C: a delay before leaving, calculated from the number of
// processes.
#ifndef BOUGH_PROGRESS_LINGER_HPP
#define BOUGH_PROGRESS_LINGER_HPP

#include <bough/algorithm/reduce/tree.hpp>
#include <bough/call/front_door.hpp>
#include <bough/communicator.hpp>
#include <bough/operation.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/tree/binomial.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>

namespace bough::inline BOUGH_ABI {

class linger {
public:
    explicit constexpr linger(std::uint64_t ns) noexcept : ns_(ns) {}
    template <class T>
    linger(communicator<T>& comm, std::uint64_t bytes) : ns_(expected_ns(comm, bytes)) {}

    constexpr std::uint64_t ns() const noexcept { return ns_; }
    // True: the operation has ended.
    template <std::derived_from<detail::operation_handle> Operation>
    bool operator()(Operation& started) const {
        return started.poll() || (ns_ != 0 && started.wait_for_ns(ns_));
    }

private:
    template <class T>
    static std::uint64_t expected_ns(communicator<T>& comm, std::uint64_t bytes) {
        constexpr rank_t walked = 1024; // for more ranks the time grows with the depth of the tree
        const rank_t p = comm.size();
        const rank_t few = std::min(p, walked);
        const auto plan = plan_reduce(binomial{}, {.size = few});
        const double ns =
            comm.options().costs.price_ns(plan_ref(plan), {.bytes = bytes, .cores = cores_of(comm.transport())});
        const auto depth = [](rank_t ranks) { return static_cast<double>(std::bit_width(ranks - 1)); };
        const double twice_ns = 2 * ns * (p > few ? depth(p) / depth(few) : 1);
        return twice_ns < 1e18 ? static_cast<std::uint64_t>(twice_ns) : 0; // no price, no lingering
    }

    std::uint64_t ns_;
};

} // namespace bough

#endif
