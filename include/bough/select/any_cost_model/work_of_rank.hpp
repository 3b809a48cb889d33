// SPDX-License-Identifier: BSL-1.0
// work_of_rank: how long the steps of one rank keep its core and its ports busy, whatever they wait for.
#ifndef BOUGH_SELECT_ANY_COST_MODEL_WORK_OF_RANK_HPP
#define BOUGH_SELECT_ANY_COST_MODEL_WORK_OF_RANK_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/slice.hpp>
#include <bough/model/block_sizes.hpp>

#include <algorithm>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

// The sink that adds up how long the steps of one rank take. `M`: shared_cores of a model, whose wake_ns
// each message costs its sender besides.
template <CostModel M>
class work_of_rank {
public:
    template <Plan P>
    constexpr work_of_rank(const M& model, const model::block_sizes& sizes, const P& plan, rank_t rank)
        : model_(model), sizes_(sizes), rank_(rank) {
        plan.emit(rank, *this);
    }

    constexpr double ns() const noexcept { return ns_; } // of its core
    constexpr double busy_ns() const noexcept { return std::max(ns_, std::max(out_ns_, in_ns_)); }

    constexpr void send_part(rank_t, slice from) { part_bytes_ += sizes_.bytes_of(from); }
    constexpr void receive_part(rank_t, slice into) { part_bytes_ += sizes_.bytes_of(into); }
    constexpr void send(rank_t to, slice from) {
        const std::uint64_t bytes = message(from);
        ns_ += model_.send_ns(rank_, to, bytes) + model_.wake_ns;
        if constexpr (PortedCostModel<M>) out_ns_ += model_.port_ns(rank_, to, bytes, false);
    }
    constexpr void receive(rank_t from, slice into) {
        const std::uint64_t bytes = message(into);
        ns_ += model_.receive_ns(from, rank_, bytes);
        if constexpr (PortedCostModel<M>) in_ns_ += model_.port_ns(from, rank_, bytes, false);
    }
    constexpr void combine(slice, slice, slice out) { ns_ += model_.combine_ns(rank_, sizes_.bytes_of(out)); }
    constexpr void copy(slice, slice to) { ns_ += model_.copy_ns(rank_, sizes_.bytes_of(to)); }

private:
    constexpr std::uint64_t message(const slice& s) {
        const std::uint64_t bytes = part_bytes_ + sizes_.bytes_of(s);
        part_bytes_ = 0;
        return bytes;
    }

    const M& model_;
    const model::block_sizes& sizes_;
    rank_t rank_;
    std::uint64_t part_bytes_ = 0;
    double ns_ = 0, out_ns_ = 0, in_ns_ = 0;
};

} // namespace bough::inline BOUGH_ABI::detail

#endif
