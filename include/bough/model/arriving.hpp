// SPDX-License-Identifier: BSL-1.0
// arriving: any cost model, with ranks that come at different times. A price under it includes the
// wait for late ranks.
//
//   const std::vector<std::uint64_t> at_ns{0, 20'000, 0, 0};
//   walk(plan, arriving{lrc{...}, at_ns}, 8).makespan_ns       rank 1 begins 20 us after the others; from time 0
//
// Rank i begins at at_ns[i] + start_ns(), in the walk and in the simulator. A model of your own has
// such times if it has the member arrival_ns(rank).
//
// The times are part of the model, so a choice by the model is a choice by them: all ranks must
// agree on them, as on every cost. They are not copied, and must live as long as the model.
// Pre: there are as many times as the plan has ranks.
#ifndef BOUGH_MODEL_ARRIVING_HPP
#define BOUGH_MODEL_ARRIVING_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::model {

template <CostModel M>
class arriving : public M {
public:
    static constexpr bool homogeneous = false;
    constexpr arriving(const M& model, std::span<const std::uint64_t> at_ns) : M(model), at_ns_(at_ns) {}

    constexpr double arrival_ns(rank_t rank) const {
        BOUGH_EXPECTS(rank < at_ns_.size(), "arriving: needs a time for each rank");
        return static_cast<double>(at_ns_[rank]);
    }

private:
    std::span<const std::uint64_t> at_ns_;
};

// When `rank` comes under this model: 0 if the model has no such times.
template <CostModel M>
constexpr double arrival_ns(const M& model, rank_t rank) {
    if constexpr (requires { model.arrival_ns(rank); })
        return model.arrival_ns(rank);
    else
        return 0;
}

} // namespace bough::model

#endif
