// SPDX-License-Identifier: BSL-1.0
// grid_extents: the extents of a grid of ranks, such as {8, 8}: rank r is at r modulo the first
// extent in the first dimension, and so on, as network::torus numbers its hosts.
//
//   constexpr grid_extents grid{4, 3};
//   grid.coordinate(7, 0) == 3, grid.coordinate(7, 1) == 1
#ifndef BOUGH_SCHEDULE_GRID_EXTENTS_HPP
#define BOUGH_SCHEDULE_GRID_EXTENTS_HPP

#include <bough/core/contract.hpp>
#include <bough/core/label.hpp>
#include <bough/core/rank.hpp>

#include <cstdint>
#include <initializer_list>

namespace bough::inline BOUGH_ABI {

// A structural value. No extents: one dimension, as long as there are ranks.
struct grid_extents {
    static constexpr std::uint32_t most = 6; // dimensions

    rank_t extent[most]{}; // 0 from `dimensions` on
    std::uint32_t dimensions = 0;

    constexpr grid_extents() = default;
    // Pre: at most 6 extents. One of 0 serves no ranks: check() of whatever has the extents says so.
    constexpr grid_extents(std::initializer_list<rank_t> extents) {
        for (const rank_t e : extents) add(e);
    }
    constexpr void add(rank_t e) {
        BOUGH_EXPECTS(dimensions != most, "extents: at most 6 dimensions");
        extent[dimensions++] = e;
    }
    // The extents for so many ranks: these, or one if there are none.
    constexpr grid_extents of(rank_t size) const {
        grid_extents made = *this;
        if (dimensions == 0) made.add(size);
        return made;
    }
    // Is one of them 0?
    constexpr bool has_none() const noexcept {
        for (std::uint32_t d = 0; d != dimensions; ++d)
            if (extent[d] == 0) return true;
        return false;
    }
    // Is their product the number of ranks? The functions below that divide by extents need it to be.
    constexpr bool serve(rank_t size) const noexcept {
        if (has_none()) return false;
        std::uint64_t product = 1;
        for (std::uint32_t d = 0; d != dimensions && product <= size; ++d) product *= extent[d];
        return dimensions == 0 || product == size;
    }
    // How many ranks further the neighbour in a dimension is.
    constexpr rank_t weight(std::uint32_t dimension) const noexcept {
        rank_t made = 1;
        for (std::uint32_t d = 0; d != dimension; ++d) made *= extent[d];
        return made;
    }
    constexpr rank_t coordinate(rank_t rank, std::uint32_t dimension) const noexcept {
        return rank / weight(dimension) % extent[dimension];
    }
    // The rank at this coordinate instead.
    constexpr rank_t moved(rank_t rank, std::uint32_t dimension, rank_t coordinate_now) const noexcept {
        const rank_t step = weight(dimension);
        return rank - coordinate(rank, dimension) * step + coordinate_now * step;
    }
    // {8, 8}
    constexpr label text() const {
        label made("{");
        for (std::uint32_t d = 0; d != dimensions; ++d)
            made.append(d == 0 ? "" : ", ").append(std::uint64_t{extent[d]});
        return made.append("}");
    }
    friend constexpr bool operator==(const grid_extents&, const grid_extents&) = default;
};

} // namespace bough

#endif
