// SPDX-License-Identifier: BSL-1.0
// two_level: the costs of ranks of which some are near each other. Ranks of one group (a node)
// exchange messages at the costs of one model, all others at those of another model.
//
//   const std::vector<rank_t> node = {0, 0, 0, 1, 1, 1};            // by rank
//   model::two_level costs{near, far, node.data()};
//
// Both models take all pairs of ranks for equal (`homogeneous`), so neither needs to know which ranks
// it is asked about. Combining and copying cost what they cost in a group. Each rank sends to other
// groups at the full speed of `far`, also while other ranks of its group do.
// Models  CostModel; PortedCostModel if one of the two is: a message of the other one holds no port
#ifndef BOUGH_MODEL_TWO_LEVEL_HPP
#define BOUGH_MODEL_TWO_LEVEL_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/rendezvous.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

template <CostModel Near, CostModel Far>
struct two_level {
    static_assert(Near::homogeneous && Far::homogeneous, "bough: both models must take all pairs of ranks for equal");

    Near near{};
    Far far{};
    const rank_t* group_of = nullptr; // by rank: the number of its group; outlives the model

    // All that tells pairs of ranks apart: which ranks lie in one group.
    constexpr const rank_t* groups_of_ranks() const noexcept { return group_of; }
    constexpr bool is_near(rank_t a, rank_t b) const noexcept { return group_of[a] == group_of[b]; }
    constexpr double start_ns() const noexcept {
        return near.start_ns() < far.start_ns() ? far.start_ns() : near.start_ns();
    }
    constexpr double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return is_near(from, to) ? near.send_ns(from, to, bytes) : far.send_ns(from, to, bytes);
    }
    constexpr double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return is_near(from, to) ? near.latency_ns(from, to, bytes) : far.latency_ns(from, to, bytes);
    }
    constexpr double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return is_near(from, to) ? near.receive_ns(from, to, bytes) : far.receive_ns(from, to, bytes);
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const noexcept {
        return near.combine_ns(rank, bytes);
    }
    constexpr double copy_ns(rank_t rank, std::uint64_t bytes) const noexcept { return near.copy_ns(rank, bytes); }
    constexpr double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool duplex) const noexcept
        requires(PortedCostModel<Near> || PortedCostModel<Far>) {
        return is_near(from, to) ? port_of(near, from, to, bytes, duplex) : port_of(far, from, to, bytes, duplex);
    }
    constexpr bool lands_early() const noexcept requires(PortedCostModel<Near> || PortedCostModel<Far>) {
        bool early = true;
        if constexpr (PortedCostModel<Near>) early = early && near.lands_early();
        if constexpr (PortedCostModel<Far>) early = early && far.lands_early();
        return early;
    }
    constexpr std::uint64_t eager_bytes(rank_t from, rank_t to) const
        requires(has_rendezvous_v<Near> || has_rendezvous_v<Far>) {
        return is_near(from, to) ? bough::model::eager_bytes(near, from, to) : bough::model::eager_bytes(far, from, to);
    }
    friend constexpr bool operator==(const two_level&, const two_level&) = default;

private:
    template <class M>
    static constexpr double port_of(const M& model, rank_t from, rank_t to, std::uint64_t bytes, bool duplex) noexcept {
        if constexpr (PortedCostModel<M>)
            return model.port_ns(from, to, bytes, duplex);
        else
            return 0;
    }
};
template <class Near, class Far>
two_level(Near, Far, const rank_t*) -> two_level<Near, Far>;

} // namespace bough::model

#endif
