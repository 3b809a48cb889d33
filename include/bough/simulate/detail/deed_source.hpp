// SPDX-License-Identifier: BSL-1.0
// deed_source: makes the deeds of ranks from a plan, and keeps what that needs.
#ifndef BOUGH_SIMULATE_DETAIL_DEED_SOURCE_HPP
#define BOUGH_SIMULATE_DETAIL_DEED_SOURCE_HPP

#include <bough/concepts/plan.hpp>
#include <bough/core/rank.hpp>
#include <bough/model/block_sizes.hpp>
#include <bough/simulate/detail/agenda.hpp>
#include <bough/simulate/detail/deeds.hpp>
#include <bough/simulate/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <Plan P>
class deed_source {
public:
    constexpr deed_source(const P& plan, const sim_options& options)
        : plan_(plan), sizes_(options.bytes, plan.blocks(), options.element_bytes),
          window_(static_cast<std::uint32_t>(std::clamp<std::size_t>(
              options.memory_bytes / (sizeof(packed_deed) * plan.size()), 64, std::size_t{1} << 30))) {}

    // Program order: the deeds from number `from` on, as many as there is memory for.
    constexpr void fill(agenda& todo, rank_t rank, std::uint32_t from) {
        todo.fill(plan_, rank, sizes_, packer_, from, window_);
    }
    // Order of dependence: all deeds.
    constexpr void link(agenda& todo, rank_t rank) { todo.link(plan_, rank, sizes_, packer_, scratch_); }

    // Does is_it(rank, deed) hold for any deed of any rank?
    template <class Is>
    constexpr bool any(Is is_it) const {
        bool found = false;
        for (rank_t r = 0; r != plan_.size() && !found; ++r)
            plan_.emit(r, deed_sink(sizes_, plan_.size(), [&](const deed& d) { found = found || is_it(r, d); }));
        return found;
    }

    constexpr deed unpack(const packed_deed& packed) const noexcept { return packer_.unpack(packed); }

private:
    const P& plan_;
    model::block_sizes sizes_;
    std::uint32_t window_; // how many deeds of a rank are kept at a time
    deed_packer packer_;
    link_scratch scratch_;
};

} // namespace bough::detail

#endif
