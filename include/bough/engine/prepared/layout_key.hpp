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
        if (c.count != count_ || c.element_bytes != element_bytes_ || c.input_block != input_block_ ||
            c.output_block != output_block_ || c.row != row_ || c.repeat != repeat_)
            return false;
        return (!has_offsets_ && !has_offsets(c)) || has_same_offsets(c);
    }

    // Takes on the key of a call. If memory runs out, it is that of no call.
    void assign(const call& c) {
        forget();
        element_bytes_ = c.element_bytes;
        input_block_ = c.input_block;
        output_block_ = c.output_block;
        row_ = c.row;
        repeat_ = c.repeat;
        if (has_offsets_ || has_offsets(c)) assign_offsets(c);
        count_ = c.count;
    }
    void forget() noexcept { count_ = none; }

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
        offsets_.assign(c.offsets.begin(), c.offsets.end());
        row_offsets_.assign(c.row_offsets.begin(), c.row_offsets.end());
        column_offsets_.assign(c.column_offsets.begin(), c.column_offsets.end());
        placed_.assign(c.placed.begin(), c.placed.end());
        has_offsets_ = has_offsets(c);
    }
    BOUGH_COLD bool has_same_offsets(const call& c) const noexcept {
        const auto same = [](const auto& a, const auto& b) {
            return a.size() == b.size() && (a.empty() || std::equal(a.begin(), a.end(), b.begin()));
        };
        return same(offsets_, c.offsets) && same(row_offsets_, c.row_offsets) &&
               same(column_offsets_, c.column_offsets) && same(placed_, c.placed);
    }

    static constexpr std::uint64_t none = ~std::uint64_t{0}; // the count of no call
    std::uint64_t count_ = none;
    std::uint32_t element_bytes_ = 0;
    block_t input_block_ = 0, output_block_ = 0;
    block_t row_ = 0, repeat_ = 0;
    bool has_offsets_ = false;
    detail::plain_list<std::uint64_t> offsets_, row_offsets_, column_offsets_;
    detail::plain_list<placed_block> placed_;
};
using layout_key = basic_layout_key<0>;

} // namespace bough::detail

#endif
