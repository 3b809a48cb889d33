// SPDX-License-Identifier: BSL-1.0
// moved_list: a growing array of elements that own something, for bough's own books.
//
// It is what plain_list is for elements that are moved, not copied: about ten functions for each kind
// of element, where a std::vector is about seventy. The members have the names that they have there, and
// the list grows as there. Differences: it has no copies; no move may throw; insert() and erase() return
// nothing; what is put in must not lie in the list.
#ifndef BOUGH_CORE_MOVED_LIST_HPP
#define BOUGH_CORE_MOVED_LIST_HPP

#include <bough/core/config.hpp>
#include <bough/core/memory_size.hpp>

#include <cstddef>
#include <new>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

template <class E>
class moved_list {
public:
    moved_list() noexcept = default;
    explicit moved_list(std::size_t count) : moved_list() { resize(count); } // an exception leaks nothing
    moved_list(moved_list&& other) noexcept : first_(other.first_), size_(other.size_), capacity_(other.capacity_) {
        other.first_ = nullptr;
        other.size_ = other.capacity_ = 0;
    }
    moved_list& operator=(moved_list&& other) noexcept {
        if (this == &other) return *this;
        this->~moved_list();
        return *::new (static_cast<void*>(this)) moved_list(static_cast<moved_list&&>(other));
    }
    ~moved_list() {
        static_assert(std::is_nothrow_move_constructible_v<E>);
        static_assert(alignof(E) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        clear();
        ::operator delete(first_);
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return capacity_; }
    E* begin() noexcept { return first_; }
    const E* begin() const noexcept { return first_; }
    E* end() noexcept { return first_ + size_; }
    const E* end() const noexcept { return first_ + size_; }
    E& operator[](std::size_t i) noexcept { return first_[i]; }
    const E& operator[](std::size_t i) const noexcept { return first_[i]; }
    E& front() noexcept { return first_[0]; }
    E& back() noexcept { return first_[size_ - 1]; }

    template <class... A>
    E& emplace_back(A&&... arguments) {
        if (size_ == capacity_) reserve(capacity_ == 0 ? 1 : 2 * capacity_);
        E* made = first_ + size_;
        if constexpr (std::is_constructible_v<E, A...>)
            ::new (static_cast<void*>(made)) E(static_cast<A&&>(arguments)...);
        else
            ::new (static_cast<void*>(made)) E{static_cast<A&&>(arguments)...};
        ++size_;
        return *made;
    }
    void push_back(E&& value) { emplace_back(static_cast<E&&>(value)); }
    void pop_back() noexcept { first_[--size_].~E(); }
    void clear() noexcept {
        while (size_ != 0) pop_back();
    }
    void reserve(std::size_t count) {
        if (count <= capacity_) return;
        E* const made = static_cast<E*>(::operator new(memory_size(capped_product(count, sizeof(E)))));
        for (std::size_t i = 0; i != size_; ++i) {
            ::new (static_cast<void*>(made + i)) E(static_cast<E&&>(first_[i]));
            first_[i].~E();
        }
        ::operator delete(first_);
        first_ = made;
        capacity_ = count;
    }
    void resize(std::size_t count) {
        if (count > capacity_) reserve(count > 2 * capacity_ ? count : 2 * capacity_);
        while (size_ < count) emplace_back();
        while (size_ > count) pop_back();
    }
    void insert(const E* before, E&& value) {
        const auto at = static_cast<std::size_t>(before - first_);
        push_back(static_cast<E&&>(value));
        for (std::size_t i = size_ - 1; i != at; --i) {
            E moved = static_cast<E&&>(first_[i]);
            first_[i] = static_cast<E&&>(first_[i - 1]);
            first_[i - 1] = static_cast<E&&>(moved);
        }
    }
    void erase(const E* at) noexcept {
        static_assert(std::is_nothrow_move_assignable_v<E>);
        for (E* to = first_ + (at - first_); to + 1 != end(); ++to) *to = static_cast<E&&>(to[1]);
        pop_back();
    }

    // Takes out the elements for which `unwanted(element)` holds.
    template <class F>
    void erase_if(F&& unwanted) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i != size_; ++i)
            if (!unwanted(first_[i])) {
                if (kept != i) first_[kept] = static_cast<E&&>(first_[i]);
                ++kept;
            }
        while (size_ > kept) pop_back();
    }

private:
    E* first_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

} // namespace bough::detail

#endif
