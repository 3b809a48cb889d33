// SPDX-License-Identifier: BSL-1.0
// layout_key: that of a call on which its layout depends. Calls with equal keys have all places at
// the same offsets.
#ifndef BOUGH_ENGINE_PREPARED_LAYOUT_KEY_HPP
#define BOUGH_ENGINE_PREPARED_LAYOUT_KEY_HPP

#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>
#include <bough/core/slice.hpp>
#include <bough/engine/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace bough::inline BOUGH_ABI::detail {

template <int>
class basic_layout_key {
public:
    bool is_of(const call& c) const noexcept {
        if (c.count != numbers_.count || c.element_bytes != numbers_.element_bytes ||
            c.input_block != numbers_.input_block || c.output_block != numbers_.output_block || c.row != numbers_.row ||
            c.repeat != numbers_.repeat)
            return false;
        return (!has_offsets_ && !has_offsets(c)) || has_same_offsets(c);
    }

    // Takes on the key of a call. If memory runs out, it is that of no call.
    void assign(const call& c) {
        forget();
        if (has_offsets_ || has_offsets(c)) assign_offsets(c);
        numbers_ = {c.count, c.element_bytes, c.input_block, c.output_block, c.row, c.repeat};
    }
    void forget() noexcept { numbers_.count = none; }
    bool is_of_none() const noexcept { return numbers_.count == none; }
    void swap_with(basic_layout_key& other) noexcept {
        std::swap(numbers_, other.numbers_);
        if (has_offsets_ || other.has_offsets_) swap_offsets(other);
    }

    // How much memory this object has besides itself.
    std::size_t list_bytes() const noexcept {
        return (offsets_.capacity() + row_offsets_.capacity() + column_offsets_.capacity()) * sizeof(std::uint64_t) +
               placed_.capacity() * sizeof(placed_block);
    }

private:
    // Does the call say where blocks begin, or which of them lie in its output? Most do not.
    static bool has_offsets(const call& c) noexcept {
        return (c.offsets.size() | c.row_offsets.size() | c.column_offsets.size() | c.placed.size()) != 0;
    }
    BOUGH_COLD void assign_offsets(const call& c) {
        has_offsets_ = true; // also if memory runs out
        offsets_.assign(c.offsets.begin(), c.offsets.end());
        row_offsets_.assign(c.row_offsets.begin(), c.row_offsets.end());
        column_offsets_.assign(c.column_offsets.begin(), c.column_offsets.end());
        placed_.assign(c.placed.begin(), c.placed.end());
        has_offsets_ = has_offsets(c);
    }
    BOUGH_COLD void swap_offsets(basic_layout_key& other) noexcept {
        std::swap(offsets_, other.offsets_);
        std::swap(row_offsets_, other.row_offsets_);
        std::swap(column_offsets_, other.column_offsets_);
        std::swap(placed_, other.placed_);
        std::swap(has_offsets_, other.has_offsets_);
    }
    BOUGH_COLD bool has_same_offsets(const call& c) const noexcept {
        const auto same = [](const auto& a, const auto& b) {
            return a.size() == b.size() && (a.empty() || std::equal(a.begin(), a.end(), b.begin()));
        };
        return same(offsets_, c.offsets) && same(row_offsets_, c.row_offsets) &&
               same(column_offsets_, c.column_offsets) && same(placed_, c.placed);
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0}; // the count of no call
    struct {
        std::uint64_t count = none;
        std::uint32_t element_bytes = 0;
        block_t input_block = 0, output_block = 0;
        block_t row = 0, repeat = 0;
    } numbers_;
    bool has_offsets_ = false;
    detail::plain_list<std::uint64_t> offsets_, row_offsets_, column_offsets_;
    detail::plain_list<placed_block> placed_;
};
using layout_key = basic_layout_key<0>;

} // namespace bough::detail

#endif
