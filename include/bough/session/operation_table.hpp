// SPDX-License-Identifier: BSL-1.0
// operation_table: finds an operation in flight by a number, in the same time for 16,000 as for 10.
//
// A hash table with open addressing, at most half full, so a search looks at two cells on average.
// An operation that is taken out leaves no gap: those behind it move up. Its memory grows with the
// most operations that were in it at a time, and stays.
#ifndef BOUGH_SESSION_OPERATION_TABLE_HPP
#define BOUGH_SESSION_OPERATION_TABLE_HPP

#include <bough/core/config.hpp>
#include <bough/core/plain_list.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace bough::inline BOUGH_ABI {

namespace detail {

template <class Value>
class operation_table {
public:
    std::size_t size() const noexcept { return used_; }
    std::size_t capacity() const noexcept { return cells_.size() / 2; }
    // Makes room for so many. put() does not allocate up to there.
    void reserve(std::size_t count) {
        if (2 * count > cells_.size()) grow(count);
    }
    // Pre: there is room. Of several with one key, find() gives any.
    void put(std::uint64_t key, Value& value) noexcept {
        std::size_t at = home_of(key);
        while (cells_[at].value != nullptr) at = next(at);
        cells_[at] = {key, &value};
        ++used_;
    }
    Value* find(std::uint64_t key) const noexcept {
        if (used_ == 0) return nullptr;
        for (std::size_t at = home_of(key); cells_[at].value != nullptr; at = next(at))
            if (cells_[at].key == key) return cells_[at].value;
        return nullptr;
    }
    void erase(std::uint64_t key, const Value& value) noexcept {
        if (used_ == 0) return;
        std::size_t gap = home_of(key);
        while (cells_[gap].value != &value || cells_[gap].key != key) {
            if (cells_[gap].value == nullptr) return;
            gap = next(gap);
        }
        --used_;
        for (std::size_t at = next(gap); cells_[at].value != nullptr; at = next(at)) {
            // It may move to the gap if that is not before its home.
            if (((at - home_of(cells_[at].key)) & mask()) < ((at - gap) & mask())) continue;
            cells_[gap] = cells_[at];
            gap = at;
        }
        cells_[gap] = {};
    }
    // How many cells a search for this key looks at.
    std::size_t looks(std::uint64_t key) const noexcept {
        std::size_t count = 1;
        if (used_ == 0) return count;
        for (std::size_t at = home_of(key); cells_[at].value != nullptr && cells_[at].key != key; at = next(at))
            ++count;
        return count;
    }

private:
    struct cell {
        std::uint64_t key = 0;
        Value* value = nullptr;
    };
    std::size_t mask() const noexcept { return cells_.size() - 1; }
    std::size_t next(std::size_t at) const noexcept { return (at + 1) & mask(); }
    std::size_t home_of(std::uint64_t key) const noexcept {
        return static_cast<std::size_t>(((key ^ key >> 29) * 0x9e37'79b9'7f4a'7c15u) >> shift_);
    }
    void grow(std::size_t count) {
        std::size_t size = 64;
        unsigned shift = 58;
        while (size < 2 * count) size *= 2, --shift;
        detail::plain_list<cell> old(size);
        std::swap(old, cells_);
        shift_ = shift;
        used_ = 0;
        for (const cell& c : old)
            if (c.value != nullptr) put(c.key, *c.value);
    }

    detail::plain_list<cell> cells_; // a power of two
    std::size_t used_ = 0;
    unsigned shift_ = 58; // 64 less the bits of the cells' number
};

} // namespace detail
} // namespace bough

#endif
