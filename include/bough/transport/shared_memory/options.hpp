// SPDX-License-Identifier: BSL-1.0
// The options of bough::shared_memory, and the layout of a segment that follows from them.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_OPTIONS_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_OPTIONS_HPP

#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/slots.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace bough::inline BOUGH_ABI {

struct shared_memory_options {
    // Messages in flight from one rank to another; a power of two, 1 to 256. 0: 256; with more than 8
    // ranks 128, with more than 16 ranks 64, with more than 32 ranks 16, since every pair of ranks has a
    // ring. Where ranks share a core, a rank that only sends gives the core away when they are full. Of
    // payloads that are not copied into the ring, up to 64 are in flight; behind one that its receiver has
    // not taken, 63 other messages.
    std::uint32_t slots = 0;
    // Longer payloads stay with their sender until they are read. At most 16 MiB; a ring takes three
    // times as much: room for two of the longest, and for pieces of longer ones. 0: 256 KiB; with
    // more than 5 ranks less, so that this room takes 3 MiB in all, but never less than 2 KiB.
    std::uint32_t eager_bytes = 0;
    std::uint64_t heap_bytes = 0; // for allocate(); may differ between ranks
    std::uint32_t cores = 0;      // cores that the ranks share; 0: all on which any of them may run
    // How long payloads in private memory are read, where the kernel lets a rank read its peers'
    // memory. true: through the kernel. false: in pieces, which their sender copies into the ring.
    // Empty: the way that is faster for their length, as measured at the join. May differ between ranks.
    std::optional<bool> direct_reads = {};
    // Memory of each rank that all ranks see, for ranks that come late (automatic::late_ranks). It gets
    // memory when it is first used. 0: none. Equal on all ranks, at most 2^40.
    std::uint64_t common_bytes = 4u << 20;
    std::uint64_t join_timeout_ns = 30'000'000'000; // how long joining may take
};

namespace detail {

inline status check(const shared_memory_options& o) noexcept {
    if (o.slots != 0 && (o.slots > most_slots || !std::has_single_bit(o.slots)))
        return invalid_argument("slots: must be a power of two, 1 to 256");
    if (o.eager_bytes > 1u << 24) return invalid_argument("eager_bytes: must be at most 16 MiB");
    if (o.common_bytes > std::uint64_t{1} << 40) return invalid_argument("common_bytes: must be at most 2^40");
    if (o.heap_bytes > std::uint64_t{1} << 60) return {.code = errc::no_resources};
    return {};
}
inline segment_layout layout_of(rank_t ranks, const shared_memory_options& o) noexcept {
    const std::uint32_t share = std::bit_floor((1u << 21) / std::clamp(ranks - 1, 4u, 511u));
    const std::uint32_t area = o.eager_bytes == 0 ? share : (std::max(o.eager_bytes, 512u) + 63) / 64 * 128;
    const std::uint32_t piece = (area / (2 * stage_pieces) + 63) / 64 * 64;
    return {.ranks = ranks,
            .slots = o.slots != 0  ? o.slots
                     : ranks <= 8  ? most_slots
                     : ranks <= 16 ? 128
                     : ranks <= 32 ? 64
                                   : 16,
            .area_bytes = area,
            .piece_bytes = piece,
            .heap_bytes = o.heap_bytes,
            .common_bytes = o.common_bytes};
}

} // namespace detail

} // namespace bough

#endif
