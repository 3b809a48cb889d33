// SPDX-License-Identifier: BSL-1.0
// The heap of a rank's segment. It allocates the memory in which peers can read messages in place.
// It searches first fit, and is made for few and large pieces.
//
// Pieces are aligned to cache lines. A piece of a page or more has its pages to itself, so that
// these pages can be taken out of the segment without any effect on neighbouring pieces.
#ifndef BOUGH_TRANSPORT_SEGMENT_HEAP_HPP
#define BOUGH_TRANSPORT_SEGMENT_HEAP_HPP

#include <bough/core/contract.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

class shared_heap {
public:
    static constexpr std::size_t alignment = 64;

    shared_heap() = default;
    // `page`: a multiple of `alignment`. Pieces of a page or more take whole pages.
    explicit shared_heap(std::span<std::byte> memory, std::size_t page = alignment) : memory_(memory), page_(page) {
        if (!memory.empty()) free_.push_back({0, memory.size()});
    }

    // Empty: no free piece is large enough. To give the piece back takes no memory.
    std::span<std::byte> allocate(std::size_t bytes) {
        if (bytes == 0 || bytes > memory_.size()) return {};
        make_room();
        for (std::size_t i = 0; i != free_.size(); ++i) {
            const range whole = free_[i];
            const std::size_t from = up(whole.from, unit_of(bytes)), end = end_of(from, bytes);
            if (from >= whole.end || end > whole.end) continue;
            free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
            if (end != whole.end) free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(i), {end, whole.end});
            if (from != whole.from) free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(i), {whole.from, from});
            ++pieces_;
            return memory_.subspan(from, bytes);
        }
        return {};
    }
    // So many parts of pieces may be given back each for itself.
    void expect_parts(std::size_t parts) {
        parts_ = std::max(parts_, parts);
        make_room();
    }
    // Pre: allocated here, whole, and not yet given back.
    void deallocate(std::span<std::byte> piece) {
        deallocate(piece, [](std::size_t from, std::size_t end, const auto& give) { give(from, end); });
    }
    // The same, but `parts(from, end, give)` calls give(from, end) for those parts that are free at
    // once; the caller gives back the other parts later by free().
    template <class F>
    void deallocate(std::span<std::byte> piece, const F& parts) {
        BOUGH_EXPECTS(contains(piece), "piece: was not allocated by this transport");
        const std::size_t from = offset_of(piece.data());
        --pieces_;
        parts(from, end_of(from, piece.size()), [this](std::size_t a, std::size_t b) { free(a, b); });
    }
    // Gives [from, end) back. An end beyond the heap is cut off.
    void free(std::size_t from, std::size_t end) noexcept {
        end = std::min(end, memory_.size());
        std::size_t i = 0;
        while (i != free_.size() && free_[i].from < from) ++i;
        free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(i), {from, end});
        for (std::size_t k = i + 1; k-- != 0 && k + 1 >= i;) // joins it with its neighbours on both sides
            if (k + 1 < free_.size() && free_[k].end == free_[k + 1].from) {
                free_[k].end = free_[k + 1].end;
                free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
            }
    }

    bool contains(std::span<const std::byte> bytes) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
        const auto from = reinterpret_cast<std::uintptr_t>(bytes.data());
        return from >= begin && from - begin <= memory_.size() && bytes.size() <= memory_.size() - (from - begin);
    }
    std::size_t offset_of(const std::byte* at) const noexcept { return static_cast<std::size_t>(at - memory_.data()); }

private:
    struct range {
        std::size_t from, end;
    };
    // What is free lies between pieces, or between parts of them.
    void make_room() {
        const std::size_t most = pieces_ + parts_ + 2;
        if (free_.capacity() < most) free_.reserve(2 * most);
    }
    static constexpr std::size_t up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }
    std::size_t unit_of(std::size_t bytes) const noexcept { return bytes >= page_ ? page_ : alignment; }
    // Where a piece ends: rounded up, but the last piece may end where the memory ends.
    std::size_t end_of(std::size_t from, std::size_t bytes) const noexcept {
        const std::size_t rounded = from + up(bytes, unit_of(bytes));
        return from + bytes <= memory_.size() ? std::min(rounded, memory_.size()) : rounded;
    }

    std::span<std::byte> memory_;
    std::size_t page_ = alignment;
    std::vector<range> free_; // sorted by place
    std::size_t pieces_ = 0, parts_ = 0;
};

} // namespace bough::detail

#endif
