// SPDX-License-Identifier: BSL-1.0
// rdma: the model of Gupta et al. of remote writes through a NIC, as a cost model for any plan.
//
//   Tm mpi_ns  Td descriptor_ns  Ts dma_startup_ns  Tn nic_ns   of each message; Tm + Td + Ts + Tn on the sender's side
//   Tt transmit_ns_per_byte                                     of each byte, through the receiver's port one after another
//   To operation_ns_per_byte                                    combining a byte
//   Tc copy_ns_per_byte      into and out of registered memory: copies_ns(bytes), once per operation,
//                            on top of a run
//   Ta acknowledgement_ns    before a port carries the next message, if the network acknowledges
//                            each block
//
// In the best case (`best`) of k messages to one rank, the message that is needed first comes
// first, and DMA overlaps NIC processing. The messages take
//   Tm + Td + Ts + Tn    and then    Tn + min(Tt, Ts) + k max(Tt, Ts) + To
// These are the paper's three best cases (6.2.1, 6.2.2: Tt >= Ts + Tn, Ts < Tt, Tt <= Ts) in one.
// In the worst case nothing overlaps, and the message that is needed first comes last: Tt + k (Tn +
// Ts + To) if Tt < Ts + Tn, else Ts + Tn + k (Tt + To). Then To is part of passing the port, and a
// combine costs nothing more.
//
// The paper's figures: Tt 10 ns per byte, Ts 2000, Tc 2.7 per byte, Tn 1520, Td 600, Tm 1300; not given: Ta, To.
// Source: Gupta, Balaji, Nieplocha, Panda, Efficient Collective Operations using Remote Memory Operations on VIA-based
// Clusters, IPDPS 2003, sections 6 and 7.
#ifndef BOUGH_MODEL_RDMA_HPP
#define BOUGH_MODEL_RDMA_HPP

#include <bough/concepts/cost_model.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>

namespace bough::inline BOUGH_ABI::model {

struct rdma {
    double mpi_ns = 0;
    double descriptor_ns = 0;
    double dma_startup_ns = 0;
    double nic_ns = 0;
    double transmit_ns_per_byte = 0;
    double operation_ns_per_byte = 0;
    double copy_ns_per_byte = 0;
    double acknowledgement_ns = 0;
    bool worst = false;

    static constexpr bool homogeneous = true; // all rank pairs are alike
    constexpr double start_ns() const noexcept { return 0; }
    constexpr double send_ns(rank_t, rank_t, std::uint64_t) const noexcept {
        return mpi_ns + descriptor_ns + dma_startup_ns + nic_ns;
    }
    constexpr double latency_ns(rank_t, rank_t, std::uint64_t bytes) const noexcept {
        const double transmit = transmit_ns(bytes);
        if (worst) return transmits_long(bytes) ? dma_startup_ns + nic_ns : transmit;
        return nic_ns + (transmit < dma_startup_ns ? transmit : dma_startup_ns);
    }
    constexpr double receive_ns(rank_t, rank_t, std::uint64_t) const noexcept { return 0; }
    constexpr double combine_ns(rank_t, std::uint64_t bytes) const noexcept { return worst ? 0 : operation_ns(bytes); }
    constexpr double copy_ns(rank_t, std::uint64_t bytes) const noexcept {
        return copy_ns_per_byte * static_cast<double>(bytes);
    }
    constexpr double port_ns(rank_t, rank_t, std::uint64_t bytes, bool) const noexcept {
        const double transmit = transmit_ns(bytes);
        if (worst)
            return acknowledgement_ns + operation_ns(bytes) +
                   (transmits_long(bytes) ? transmit : dma_startup_ns + nic_ns);
        return acknowledgement_ns + (transmit > dma_startup_ns ? transmit : dma_startup_ns);
    }
    constexpr bool lands_early() const noexcept { return true; }

    constexpr double transmit_ns(std::uint64_t bytes) const noexcept {
        return transmit_ns_per_byte * static_cast<double>(bytes);
    }
    constexpr double operation_ns(std::uint64_t bytes) const noexcept {
        return operation_ns_per_byte * static_cast<double>(bytes);
    }
    constexpr double copies_ns(std::uint64_t bytes) const noexcept {
        return 2 * copy_ns_per_byte * static_cast<double>(bytes);
    }
    friend constexpr bool operator==(const rdma&, const rdma&) = default;

private:
    constexpr bool transmits_long(std::uint64_t bytes) const noexcept {
        return transmit_ns(bytes) >= dma_startup_ns + nic_ns;
    }
};

static_assert(PortedCostModel<rdma>);

} // namespace bough::model

#endif
