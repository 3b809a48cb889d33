// SPDX-License-Identifier: BSL-1.0
// What lies beneath bough::shared_memory, for tests that drive it by themselves: the links of each rank of a group, with
// the rank's segment.
#ifndef BOUGH_TEST_TRANSPORT_SHARED_MEMORY_PARTS_HPP
#define BOUGH_TEST_TRANSPORT_SHARED_MEMORY_PARTS_HPP

#include "support/joined_ends.hpp"
#include <bough/transport/join_room.hpp>
#include <bough/transport/segment/join.hpp>
#include <bough/transport/shared_memory/links.hpp>
#include <bough/transport/shared_memory/options.hpp>
#include <bough/transport/shared_memory/pieces.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace bough_test {

struct linked_rank {
    bough::detail::shared_pieces mine;
    bough::detail::shared_links links;
};

inline std::vector<linked_rank> linked_ranks(bough::rank_t ranks, const bough::shared_memory_options& options) {
    namespace detail = bough::detail;
    return joined_ends<linked_rank>(ranks, [&](bough::rank_t rank, auto& wire, bough::status& result) {
        std::optional<linked_rank> made;
        bough::join_room room(wire, options.join_timeout_ns);
        result = room.run([&]() -> bough::status {
            const detail::segment_layout layout = detail::layout_of(ranks, options);
            detail::shared_join joined(rank, layout, options.cores, options.direct_reads);
            if (const bough::status bad = joined.run(room)) return bad;
            detail::shared_pieces mine(std::move(joined.mine), std::move(joined.file), layout);
            bool whole = true;
            detail::shared_links links(joined, rank, layout, mine.data(), layout.area_bytes / 2, whole);
            made.emplace(linked_rank{std::move(mine), std::move(links)});
            return whole ? bough::status{} : bough::status{.code = bough::errc::no_resources};
        });
        return made;
    });
}

} // namespace bough_test

#endif
