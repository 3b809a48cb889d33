// SPDX-License-Identifier: BSL-1.0
// heterogeneous: every rank has its own costs of sending, receiving and combining; the way between is alike for all.
//
//   heterogeneous{.send = t_ini}                       Banikazemi et al. 1998: a sender is busy for its
//                                                      t_ini, no more
//   heterogeneous{.send = s, .receive = r, .message_latency_ns = L}     separate costs (Banikazemi et al. 1999)
// An empty list stands for zeros. Costs are affine in the size. With message_latency_ns = 0 a
// receiver may send the message on as soon as its sender is free again, as in the paper.
//
// Sources: Banikazemi, Moorthy, Panda, Efficient Collective Communication on Heterogeneous Networks of Workstations, ICPP
// 1998; Banikazemi, Sampathkumar, Prabhu, Panda, Sadayappan, HCW 1999.
#ifndef BOUGH_MODEL_HETEROGENEOUS_HPP
#define BOUGH_MODEL_HETEROGENEOUS_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/lrc.hpp>

#include <cstdint>
#include <vector>

namespace bough::inline BOUGH_ABI::model {

struct heterogeneous {
    std::vector<cost_per_size> send{};    // by rank
    std::vector<cost_per_size> receive{}; // by rank
    std::vector<cost_per_size> combine{}; // by rank
    double message_latency_ns = 0;
    double latency_ns_per_byte = 0;

    constexpr double start_ns() const noexcept { return 0; }
    constexpr double send_ns(rank_t from, rank_t, std::uint64_t bytes) const noexcept { return of(send, from, bytes); }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept {
        return message_latency_ns + latency_ns_per_byte * static_cast<double>(bytes);
    }
    constexpr double receive_ns(rank_t, rank_t to, std::uint64_t bytes) const noexcept {
        return of(receive, to, bytes);
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const noexcept { return of(combine, rank, bytes); }
    constexpr double copy_ns(rank_t, std::uint64_t) const noexcept { return 0; }

    friend constexpr bool operator==(const heterogeneous&, const heterogeneous&) = default;

private:
    static constexpr double of(const std::vector<cost_per_size>& costs, rank_t rank, std::uint64_t bytes) noexcept {
        return rank < costs.size() ? costs[rank].at_ns(bytes) : 0;
    }
};

static_assert(CostModel<heterogeneous>);

// The same costs behind a pointer, so that an any_cost_model can hold them: a communicator's, or
// the one that choose(candidates, ...) takes. They must outlive it, and be equal on all ranks.
struct heterogeneous_view {
    const heterogeneous* costs = nullptr;

    constexpr double start_ns() const noexcept { return 0; }
    constexpr double send_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return costs->send_ns(from, to, bytes);
    }
    constexpr double latency_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return costs->latency_ns(from, to, bytes);
    }
    constexpr double receive_ns(rank_t from, rank_t to, std::uint64_t bytes) const noexcept {
        return costs->receive_ns(from, to, bytes);
    }
    constexpr double combine_ns(rank_t rank, std::uint64_t bytes) const noexcept {
        return costs->combine_ns(rank, bytes);
    }
    constexpr double copy_ns(rank_t, std::uint64_t) const noexcept { return 0; }

    friend constexpr bool operator==(const heterogeneous_view& a, const heterogeneous_view& b) noexcept {
        return a.costs == b.costs || (a.costs != nullptr && b.costs != nullptr && *a.costs == *b.costs);
    }
};

static_assert(CostModel<heterogeneous_view>);

} // namespace bough::model

#endif
