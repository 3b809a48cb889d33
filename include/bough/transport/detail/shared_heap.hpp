// SPDX-License-Identifier: BSL-1.0
// The heap of a rank's segment: memory whose messages its peers read where it lies. First fit; few and large pieces.
#ifndef BOUGH_TRANSPORT_DETAIL_SHARED_HEAP_HPP
#define BOUGH_TRANSPORT_DETAIL_SHARED_HEAP_HPP

#include <bough/core/contract.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bough::detail {

class shared_heap {
public:
    static constexpr std::size_t alignment = 64;

    shared_heap() = default;
    explicit shared_heap(std::span<std::byte> memory) : memory_(memory) {
        if (!memory.empty()) free_.push_back({0, memory.size()});
    }

    // Empty: there is no piece as large.
    std::span<std::byte> allocate(std::size_t bytes) {
        if (bytes == 0 || bytes > memory_.size()) return {};
        const std::size_t length = rounded(bytes);
        for (std::size_t i = 0; i != free_.size(); ++i) {
            if (free_[i].bytes < length) continue;
            const std::size_t at = free_[i].offset;
            free_[i] = {at + length, free_[i].bytes - length};
            if (free_[i].bytes == 0) free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
            return memory_.subspan(at, bytes);
        }
        return {};
    }
    // Pre: allocated here, whole, and not yet given back.
    void deallocate(std::span<std::byte> piece) {
        BOUGH_EXPECTS(contains(piece), "piece: was not allocated by this transport");
        range freed{offset_of(piece.data()), rounded(piece.size())};
        std::size_t i = 0;
        while (i != free_.size() && free_[i].offset < freed.offset) ++i;
        free_.insert(free_.begin() + static_cast<std::ptrdiff_t>(i), freed);
        for (std::size_t k = i + 1; k-- != 0 && k + 1 >= i;) // with its neighbours on either side
            if (k + 1 < free_.size() && free_[k].offset + free_[k].bytes == free_[k + 1].offset) {
                free_[k].bytes += free_[k + 1].bytes;
                free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
            }
    }

    bool contains(std::span<const std::byte> bytes) const noexcept {
        const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
        const auto from = reinterpret_cast<std::uintptr_t>(bytes.data());
        return from >= begin && from - begin <= memory_.size() && bytes.size() <= memory_.size() - (from - begin);
    }
    std::size_t offset_of(const std::byte* at) const noexcept { return static_cast<std::size_t>(at - memory_.data()); }
    // Whether peers can see the bytes: they lie here, and on no page that has been taken out of the segment.
    bool is_shared(std::span<const std::byte> bytes) const noexcept {
        if (!contains(bytes)) return false;
        const std::size_t from = offset_of(bytes.data());
        return std::none_of(detached_.begin(), detached_.end(), [&](const range& r) {
            return from < r.offset + r.bytes && r.offset < from + bytes.size();
        });
    }
    // The pages of these bytes have been taken out of the segment.
    void detached(std::span<const std::byte> bytes, std::size_t page) {
        const std::size_t from = offset_of(bytes.data()) / page * page;
        const std::size_t end = (offset_of(bytes.data()) + bytes.size() + page - 1) / page * page;
        detached_.push_back({from, end - from});
    }

private:
    struct range {
        std::size_t offset, bytes;
    };
    static constexpr std::size_t rounded(std::size_t bytes) noexcept {
        return (bytes + alignment - 1) / alignment * alignment;
    }

    std::span<std::byte> memory_;
    std::vector<range> free_, detached_; // in order of offset
};

} // namespace bough::detail

#endif
