// SPDX-License-Identifier: BSL-1.0
// scratch_planes: the scratch memory of a prepared operation.
//
// Each plane begins at a cache line. A plane is one of two kinds. Into the first kind steps write
// blocks; it has memory only for those that a step uses. The second kind holds slices, one behind the
// other: a message in parts, or the loads of a packed plane in turn. It has memory for the longest.
#ifndef BOUGH_ENGINE_PREPARED_SCRATCH_PLANES_HPP
#define BOUGH_ENGINE_PREPARED_SCRATCH_PLANES_HPP

#include <bough/core/memory_size.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/slice.hpp>
#include <bough/engine/bound.hpp>
#include <bough/engine/bound_view.hpp>
#include <bough/engine/prepared/block_offsets.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_scratch_planes {
public:
    explicit basic_scratch_planes(const bound_schedule& bound)
        : piece_of_(bound.places.size(), 0), begin_(bound.planes.size(), 0) {
        for_each_used(bound, [this](std::size_t, const piece& used) { pieces_.push_back(used); });
        std::sort(pieces_.begin(), pieces_.end());
        std::size_t kept = 0;
        for (const piece& p : pieces_)
            if (kept != 0 && pieces_[kept - 1].plane == p.plane && p.first <= pieces_[kept - 1].last)
                pieces_[kept - 1].last = std::max(pieces_[kept - 1].last, p.last);
            else
                pieces_[kept++] = p;
        pieces_.resize(kept);
        for_each_used(bound, [this](std::size_t place, const piece& used) {
            const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), used);
            piece_of_[place] = static_cast<std::uint32_t>(after - pieces_.begin() - 1);
        });
    }

    // Lays out all planes for blocks of these lengths. Takes more memory if the planes need more
    // than ever before. Planes that no memory can hold are refused like those that it does not hold now.
    void lay_out(const bound_schedule& bound, const block_offsets& blocks) {
        begin_.assign(begin_.size(), 0); // first the bytes of the longest place with parts
        for (std::size_t i = 0; i < bound.places.size(); i += 1 + bound.places[i].parts) {
            std::uint64_t all = 0;
            for (std::uint32_t part = 1; part <= bound.places[i].parts; ++part)
                all = capped_sum(all, blocks.length(bound.places[i + part]));
            const std::size_t bytes = memory_size(all);
            if (bytes != 0) begin_[bound.places[i].buffer - 2] = std::max(begin_[bound.places[i].buffer - 2], bytes);
        }
        std::uint64_t total = 0;
        auto next = pieces_.begin();
        for (std::size_t k = 0; k != begin_.size(); ++k) {
            std::uint64_t bytes = std::exchange(begin_[k], memory_size(total));
            for (; next != pieces_.end() && next->plane == k; ++next) {
                next->offset = memory_size(bytes);
                bytes = capped_sum(bytes, blocks.length(next->first, next->last));
            }
            total = capped_sum(total, capped_sum(bytes, line - 1) / line * line);
        }
        const std::size_t needed = memory_size(capped_sum(total, line));
        if (total != 0 && needed > bytes_) {
            memory_.reset(new std::byte[needed]); // not cleared: unused pages are never touched
            bytes_ = needed;
        }
    }

    // After lay_out(): where plane `k` begins.
    std::byte* plane(std::size_t k) const noexcept {
        const std::size_t beyond_line = reinterpret_cast<std::uintptr_t>(memory_.get()) % line;
        return memory_.get() + (line - beyond_line) % line + begin_[k];
    }
    // After lay_out(): where place `i` lies in its plane. Pre: it is in a plane that holds blocks.
    std::uint64_t offset(std::size_t i, const bound_place& p, const block_offsets& blocks) const noexcept {
        if (p.count == 0) return 0;
        const piece& in = pieces_[piece_of_[i]];
        return in.offset + blocks.length(in.first, p.first);
    }

    // How much memory the planes have.
    std::size_t bytes() const noexcept { return bytes_; }
    // How much memory this object has besides.
    std::size_t index_bytes() const noexcept {
        return pieces_.capacity() * sizeof(piece) + piece_of_.capacity() * sizeof(std::uint32_t) +
               begin_.capacity() * sizeof(std::size_t);
    }

private:
    static constexpr std::size_t line = 64;

    // Neighbouring blocks of a plane that are used, [first, last). The pieces of a plane lie one
    // behind the other.
    struct piece {
        std::uint32_t plane;
        block_t first, last;
        std::size_t offset; // in the plane
        friend constexpr bool operator<(const piece& a, const piece& b) noexcept {
            return a.plane != b.plane ? a.plane < b.plane : a.first < b.first;
        }
    };

    // Calls f(place, piece) for each place that lies in a plane of blocks.
    template <class F>
    static void for_each_used(const bound_schedule& bound, F&& f) {
        for (std::size_t i = 0; i < bound.places.size(); i += 1 + bound.places[i].parts)
            if (const bound_place& p = bound.places[i]; p.buffer >= 2 && p.parts == 0 && p.count != 0)
                f(i, piece{p.buffer - 2, p.first, p.first + p.count, 0});
    }

    detail::plain_list<piece> pieces_;           // sorted
    detail::plain_list<std::uint32_t> piece_of_; // by place
    detail::plain_list<std::size_t> begin_;      // by plane, in the memory
    std::unique_ptr<std::byte[]> memory_;
    std::size_t bytes_ = 0;
};
using scratch_planes = basic_scratch_planes<0>;

} // namespace bough::detail

#endif
