// SPDX-License-Identifier: BSL-1.0
// work_of_rank: how long the steps of one rank keep its core and its ports busy, whatever they wait for.
#ifndef BOUGH_SELECT_ANY_COST_MODEL_WORK_OF_RANK_HPP
#define BOUGH_SELECT_ANY_COST_MODEL_WORK_OF_RANK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/model/taped_step.hpp>

#include <algorithm>
#include <span>

namespace bough::inline BOUGH_ABI::detail {

// Adds up how long the steps of one rank take. `M`: shared_cores of a model, whose wake_ns each message costs
// its sender besides.
template <CostModel M>
class work_of_rank {
public:
    constexpr work_of_rank(const M& model, rank_t rank, std::span<const model::taped_step> steps) {
        for (const auto& s : steps) switch (s.verb) {
            case verb::send:
                ns_ += model.send_ns(rank, s.peer, s.bytes) + model.wake_ns;
                if constexpr (PortedCostModel<M>) out_ns_ += model.port_ns(rank, s.peer, s.bytes, false);
                break;
            case verb::receive:
                ns_ += model.receive_ns(s.peer, rank, s.bytes);
                if constexpr (PortedCostModel<M>) in_ns_ += model.port_ns(s.peer, rank, s.bytes, false);
                break;
            case verb::combine: ns_ += model.combine_ns(rank, s.bytes); break;
            case verb::copy: ns_ += model.copy_ns(rank, s.bytes); break;
            }
    }

    constexpr double ns() const noexcept { return ns_; } // of its core
    constexpr double busy_ns() const noexcept { return std::max(ns_, std::max(out_ns_, in_ns_)); }

private:
    double ns_ = 0, out_ns_ = 0, in_ns_ = 0;
};

} // namespace bough::inline BOUGH_ABI::detail

#endif
