// SPDX-License-Identifier: BSL-1.0
// The equations of Gupta et al.: a broadcast in blocks, a degree-k reduction, and the degree and
// block size that they recommend.
//
//   const auto m = bough::model::giganet_2003;
//   broadcast_ns(m, 16, 4608, 3072);                    // 16 ranks, 4.5 KiB in blocks of 3 KiB
//   best_degree(m, 512, 64, rdma_case::middle);         // 3
//   benefit(broadcast_ns(m, 512, 4, 3072), extrapolated_ns(55'000, 16, 512)); // of messages that take 55 us over 16 ranks
//
// For one block, and for trees whose steps are full, they equal a walk of the schedule
// (bough/model/walk.hpp). The pseudo-code of Fig. 22 multiplies by the number of all nodes, but the
// text has the number of senders; this header follows the text.
//
// *Source* Gupta, Balaji, Nieplocha, Panda, IPDPS 2003, sections 6.1 (broadcast), 6.2 (reduce), 7 (parameters).
#ifndef BOUGH_MODEL_RDMA_FORMULA_HPP
#define BOUGH_MODEL_RDMA_FORMULA_HPP

#include <bough/core/contract.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/rdma.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

namespace bough::inline BOUGH_ABI::model {

// The paper's network, section 7. The paper gives no Ta and To. 2.06 us, and 5 ns per 4-byte
// integer, are ours: with them the paper's choices come out.
inline constexpr rdma giganet_2003{.mpi_ns = 1300,
                                   .descriptor_ns = 600,
                                   .dma_startup_ns = 2000,
                                   .nic_ns = 1520,
                                   .transmit_ns_per_byte = 10,
                                   .operation_ns_per_byte = 5.0 / 4,
                                   .copy_ns_per_byte = 2.7,
                                   .acknowledgement_ns = 2060};

// 6.1: Tc of the first block + (Tm + Td + 2 (Ts + Tn) + Tt of all bytes + Ta per block) ceil(log2 p) + Tc of the last block,
// over a binomial tree. One rank alone: 0. Pre: ranks >= 1, block_bytes >= 1.
constexpr double broadcast_ns(const rdma& m, rank_t ranks, std::uint64_t bytes, std::uint64_t block_bytes) {
    BOUGH_EXPECTS(ranks >= 1, "size: a group needs at least one rank");
    BOUGH_EXPECTS(block_bytes >= 1, "block_bytes: a block holds at least a byte");
    if (ranks == 1) return 0;
    const std::uint64_t blocks = bytes == 0 ? 1 : bytes / block_bytes + (bytes % block_bytes != 0);
    const std::uint64_t first = std::min(bytes, block_bytes), last = bytes - (blocks - 1) * block_bytes;
    const double step = m.send_ns(0, 1, bytes) + m.dma_startup_ns + m.nic_ns + m.transmit_ns(bytes) +
                        static_cast<double>(blocks) * m.acknowledgement_ns;
    return (m.copies_ns(first) + m.copies_ns(last)) / 2 + step * static_cast<int>(std::bit_width(ranks - 1));
}

// 6.2: a reduction over the tree of degree k, without copies and acknowledgements, in the best
// case, or with m.worst in the worst. Any number of ranks will do: a step takes in what is left, at
// most k.
// Pre: ranks >= 1, k >= 1.
constexpr double degree_k_reduce_ns(const rdma& m, rank_t ranks, rank_t k, std::uint64_t bytes) {
    BOUGH_EXPECTS(ranks >= 1, "size: a group needs at least one rank");
    BOUGH_EXPECTS(k >= 1, "k: at least 1");
    const double tt = m.transmit_ns(bytes), to = m.operation_ns(bytes), ts = m.dma_startup_ns, tn = m.nic_ns;
    const auto step = [&](double senders) {
        const double sender = m.send_ns(0, 1, bytes);
        if (m.worst) return sender + (tt < tn + ts ? tt + (tn + ts + to) * senders : ts + tn + (tt + to) * senders);
        return sender + (tt <= ts ? tn + tt + ts * senders + to : tt * senders + tn + ts + to);
    };
    double ns = 0;
    for (std::uint64_t left = ranks; left > 1; left = (left + k) / (std::uint64_t{k} + 1))
        ns += step(static_cast<double>(std::min<std::uint64_t>(left, std::uint64_t{k} + 1) - 1));
    return ns;
}

// Which case to compute: the best, the worst, or the middle between them, for a network that is
// neither lucky nor unlucky.
enum class rdma_case : std::uint8_t { best, middle, worst };

constexpr double degree_k_reduce_ns(rdma m, rank_t ranks, rank_t k, std::uint64_t bytes, rdma_case which) {
    m.worst = false;
    const double best = degree_k_reduce_ns(m, ranks, k, bytes);
    m.worst = true;
    const double worst = degree_k_reduce_ns(m, ranks, k, bytes);
    return which == rdma_case::best ? best : which == rdma_case::worst ? worst : (best + worst) / 2;
}

// The k among 1, 3, 7, ... below the number of ranks with the least price(k), in ns; the smallest
// if several are equal.
template <class Price>
constexpr rank_t best_degree_by(rank_t ranks, const Price& price) {
    rank_t found = 1;
    double least = price(rank_t{1});
    for (std::uint64_t k = 3; k < ranks; k = 2 * k + 1)
        if (const double ns = price(static_cast<rank_t>(k)); ns < least * (1 - 1e-12))
            least = ns, found = static_cast<rank_t>(k);
    return found;
}
// The best k of Fig. 40. The broadcast and the copies of an allreduce are the same for every k, so
// this is the best k of an allreduce, too.
constexpr rank_t best_degree(const rdma& m, rank_t ranks, std::uint64_t bytes, rdma_case which) {
    return best_degree_by(ranks, [&](rank_t k) { return degree_k_reduce_ns(m, ranks, k, bytes, which); });
}

// An allreduce: the reduction of 6.2, then the broadcast of 6.1. Pre: those of both.
constexpr double allreduce_ns(const rdma& m, rank_t ranks, rank_t k, std::uint64_t bytes, std::uint64_t block_bytes,
                              rdma_case which) {
    return degree_k_reduce_ns(m, ranks, k, bytes, which) + broadcast_ns(m, ranks, bytes, block_bytes);
}

// 7.1, 7.2: how long a binomial broadcast, reduction or allreduce by messages takes over `ranks`
// ranks, if it takes `ns` over `of` ranks. Each of its ceil(log2 ranks) steps takes as long as one
// of the ceil(log2 of) steps did. Pre: ranks >= 1, of >= 2.
constexpr double extrapolated_ns(double ns, rank_t of, rank_t ranks) {
    BOUGH_EXPECTS(ranks >= 1, "size: a group needs at least one rank");
    BOUGH_EXPECTS(of >= 2, "of: one rank alone sends no message");
    return ns * static_cast<int>(std::bit_width(ranks - 1)) / static_cast<int>(std::bit_width(of - 1));
}
// The share of the messages' time that remote writes save; negative if they take longer.
// Pre: messages_ns > 0.
constexpr double benefit(double writes_ns, double messages_ns) {
    BOUGH_EXPECTS(messages_ns > 0, "messages_ns: nothing to save from");
    return 1 - writes_ns / messages_ns;
}

// The block size, among those given, with the fastest broadcast; the first if several are equal.
// Pre: at least one is given.
constexpr std::uint64_t best_block(const rdma& m, rank_t ranks, std::uint64_t bytes,
                                   std::span<const std::uint64_t> blocks) {
    BOUGH_EXPECTS(!blocks.empty(), "blocks: nothing to choose from");
    std::uint64_t found = blocks[0];
    for (const std::uint64_t block : blocks)
        if (broadcast_ns(m, ranks, bytes, block) < broadcast_ns(m, ranks, bytes, found)) found = block;
    return found;
}

} // namespace bough::model

#endif
