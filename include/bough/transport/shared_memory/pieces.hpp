// SPDX-License-Identifier: BSL-1.0
// A rank's own segment with the heap in it. Peers read messages in pieces of this heap in place.
//
// A message can be taken back even while a peer reads it in place: its pages leave the segment.
// From then on these pages are private memory of this rank, with the same contents, while the
// reader keeps what is there now. The pages come back once their piece has been given back and the
// reader has let go of the message. Until then nothing is allocated from them.
#ifndef BOUGH_TRANSPORT_SHARED_MEMORY_PIECES_HPP
#define BOUGH_TRANSPORT_SHARED_MEMORY_PIECES_HPP

#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/stable_sort.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/segment/heap.hpp>
#include <bough/transport/segment/layout.hpp>
#include <bough/transport/segment/segment.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// A peer that reads a message in place.
struct shared_reader {
    rank_t peer = no_rank;
    std::uint32_t ticket = 0; // of the message, in the ring to that peer
};

class shared_pieces {
public:
    shared_pieces() = default;
    // `file`: the segment's file; not needed without a heap.
    shared_pieces(shared_segment&& segment, unique_fd&& file, const segment_layout& layout)
        : segment_(std::move(segment)), heap_at_(static_cast<std::size_t>(layout.heap_at())),
          common_at_(static_cast<std::size_t>(layout.common_at())) {
        if (layout.heap_bytes == 0) return;
        file_ = std::move(file);
        heap_ = shared_heap({segment_.data() + heap_at_, static_cast<std::size_t>(layout.heap_bytes)}, page);
    }

    std::byte* data() const noexcept { return segment_.data(); }
    // How many bytes the segment has, without the common memory.
    std::size_t size() const noexcept { return common_at_; }
    // A part of the common memory. Empty: the system has none left.
    std::span<std::byte> common(std::uint64_t offset, std::uint64_t bytes) noexcept {
        if (!segment_.reserve(common_at_ + offset, bytes)) return {};
        return {segment_.data() + common_at_ + offset, static_cast<std::size_t>(bytes)};
    }

    // Empty: no free piece is large enough. `has_let_go(reader)`: whether the reader will never
    // look at its message again.
    template <class F>
    std::span<std::byte> allocate(std::size_t bytes, const F& has_let_go) {
        if (!out_.empty()) bring_back(has_let_go);
        return heap_.allocate(bytes);
    }
    // Pre: allocated here, whole, and not yet given back.
    void deallocate(std::span<std::byte> piece) {
        const std::size_t first = entry_of(piece.data());
        std::size_t last = first;
        for (; last != out_.size() && out_[last].page < end_page(piece); ++last) out_[last].given_back = true;
        heap_.deallocate(piece, [&](std::size_t from, std::size_t end, const auto& free) {
            for (std::size_t i = first; i != last; ++i) {
                if (out_[i].page * page > from) free(from, out_[i].page * page);
                from = std::max(from, (out_[i].page + 1) * page);
            }
            if (from < end) free(from, end);
        });
    }

    // Whether peers can see the bytes: they lie in the heap, and all their pages are in the
    // segment.
    bool is_shared(std::span<const std::byte> bytes) const noexcept {
        if (!heap_.contains(bytes)) return false;
        if (out_.empty()) return true;
        const std::size_t first = entry_of(bytes.data());
        return first == out_.size() || out_[first].page >= end_page(bytes);
    }
    std::size_t offset_of(const std::byte* at) const noexcept { return heap_.offset_of(at); }

    // Takes the pages of a message out of the segment. Pre: the bytes lie in the heap. False:
    // memory is short.
    bool take_out(std::span<const std::byte> bytes, const shared_reader& reader) noexcept {
        const std::size_t first = heap_.offset_of(bytes.data()) / page, end = end_page(bytes);
        const std::size_t most = out_.size() + end - first;
        bool has_room = false;
        ignore_exceptions([&] { out_.reserve(most), heap_.expect_parts(most), has_room = true; });
        if (!has_room || !segment_.detach(heap_at_ + first * page, (end - first) * page)) return false;
        for (std::size_t p = first; p != end; ++p) out_.push_back({p, reader, false});
        bough::detail::stable_sort(out_.begin(), out_.end(), before);
        return true;
    }

private:
    static constexpr auto page = static_cast<std::size_t>(segment_layout::page);
    struct page_out {
        std::size_t page; // number in the heap; a page may have several entries, one for each reader
        shared_reader reader;
        bool given_back; // the piece on it has been given back
    };
    static bool before(const page_out& a, const page_out& b) noexcept { return a.page < b.page; }

    std::size_t end_page(std::span<const std::byte> bytes) const noexcept {
        return (heap_.offset_of(bytes.data()) + bytes.size() + page - 1) / page;
    }
    // The number of the first entry whose page is that of `at` or a later one.
    std::size_t entry_of(const std::byte* at) const noexcept {
        const page_out first{heap_.offset_of(at) / page, {}, false};
        return static_cast<std::size_t>(std::lower_bound(out_.begin(), out_.end(), first, before) - out_.begin());
    }

    template <class F>
    void bring_back(const F& has_let_go) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0, end = 0; i != out_.size(); i = end) {
            bool all = true;
            for (end = i; end != out_.size() && out_[end].page == out_[i].page; ++end)
                all = all && out_[end].given_back && has_let_go(out_[end].reader);
            const std::size_t from = out_[i].page * page;
            if (all && segment_.attach(file_.get(), heap_at_ + from, page))
                heap_.free(from, from + page);
            else
                while (i != end) out_[kept++] = out_[i++];
        }
        out_.erase(out_.begin() + static_cast<std::ptrdiff_t>(kept), out_.end());
    }

    shared_segment segment_;
    unique_fd file_;
    std::size_t heap_at_ = 0, common_at_ = 0;
    shared_heap heap_;
    std::vector<page_out> out_; // sorted by page
};

} // namespace bough::detail

#endif
