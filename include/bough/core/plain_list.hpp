// SPDX-License-Identifier: BSL-1.0
// plain_list: a growing array of trivially copyable elements, for bough's own books.
//
// Most of what a program compiles of bough is bookkeeping: some sixty kinds of elements. For each of
// them a std::vector is about seventy functions without optimisation, and a plain_list about ten. The
// members have the names, the meaning and the growth that they have there.
#ifndef BOUGH_CORE_PLAIN_LIST_HPP
#define BOUGH_CORE_PLAIN_LIST_HPP

#include <bough/core/config.hpp>
#include <bough/core/memory_size.hpp>

#include <cstddef>
#include <new>
#include <type_traits>

namespace bough::inline BOUGH_ABI::detail {

// Copies elements into memory of their own. In a constant expression of clang's this is one step.
template <class E>
constexpr void copy_elements(E* to, const E* from, std::size_t count) {
#ifdef __clang__
    if (std::is_constant_evaluated() && count != 0) {
        __builtin_memcpy(to, from, count * sizeof(E));
        return;
    }
#endif
    for (std::size_t i = 0; i != count; ++i) to[i] = from[i];
}

template <class E>
class plain_list {
public:
    using value_type = E;
    using iterator = E*;
    using const_iterator = const E*;

    constexpr plain_list() noexcept = default;
    constexpr explicit plain_list(std::size_t count, const E& value = E()) { resize(count, value); }
    template <class I>
    requires(!std::is_arithmetic_v<I>) constexpr plain_list(I from, I until) { assign(from, until); }
    constexpr plain_list(const plain_list& other) { assign(other.begin(), other.end()); }
    constexpr plain_list(plain_list&& other) noexcept
        : first_(other.first_), size_(other.size_), capacity_(other.capacity_) {
        other.let_go();
    }
    constexpr plain_list& operator=(const plain_list& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    constexpr plain_list& operator=(plain_list&& other) noexcept {
        if (this == &other) return *this;
        free(first_);
        first_ = other.first_;
        size_ = other.size_;
        capacity_ = other.capacity_;
        other.let_go();
        return *this;
    }
    constexpr ~plain_list() {
        static_assert(std::is_trivially_copyable_v<E> && std::is_default_constructible_v<E>);
        free(first_);
    }

    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr std::size_t capacity() const noexcept { return capacity_; }
    constexpr E* data() noexcept { return first_; }
    constexpr const E* data() const noexcept { return first_; }
    constexpr E* begin() noexcept { return first_; }
    constexpr const E* begin() const noexcept { return first_; }
    constexpr E* end() noexcept { return first_ + size_; }
    constexpr const E* end() const noexcept { return first_ + size_; }
    constexpr E& operator[](std::size_t i) noexcept { return first_[i]; }
    constexpr const E& operator[](std::size_t i) const noexcept { return first_[i]; }
    constexpr E& front() noexcept { return first_[0]; }
    constexpr const E& front() const noexcept { return first_[0]; }
    constexpr E& back() noexcept { return first_[size_ - 1]; }
    constexpr const E& back() const noexcept { return first_[size_ - 1]; }

    constexpr void push_back(const E& value) {
        if (size_ != capacity_)
            first_[size_++] = value;
        else
            push_back_and_grow(value);
    }
    template <class... A>
    constexpr E& emplace_back(A&&... arguments) {
        push_back(E{static_cast<A&&>(arguments)...});
        return back();
    }
    constexpr void pop_back() noexcept { --size_; }
    constexpr void clear() noexcept { size_ = 0; }
    constexpr void reserve(std::size_t count) {
        if (count > capacity_) move_to(count);
    }
    constexpr void resize(std::size_t count, const E& value = E()) {
        const E copy = value;
        if (count > capacity_) grow(count);
        for (; size_ < count; ++size_) first_[size_] = copy;
        size_ = count;
    }
    constexpr void assign(std::size_t count, const E& value) {
        const E copy = value;
        clear();
        resize(count, copy);
    }
    // Pre: the elements do not lie in this list.
    template <class I>
    requires(!std::is_arithmetic_v<I>) constexpr void assign(I first, I last) {
        clear();
        reserve(static_cast<std::size_t>(last - first));
        for (; first != last; ++first) first_[size_++] = static_cast<E>(*first);
    }
    constexpr void assign(const E* first, const E* last) {
        clear();
        const auto count = static_cast<std::size_t>(last - first);
        reserve(count);
        copy_elements(first_, first, count);
        size_ = count;
    }
    constexpr E* insert(const E* before, const E& value) {
        const E copy = value;
        const auto at = static_cast<std::size_t>(before - first_);
        if (size_ == capacity_) grow(size_ + 1);
        for (std::size_t i = size_++; i != at; --i) first_[i] = first_[i - 1];
        first_[at] = copy;
        return first_ + at;
    }
    constexpr E* erase(const E* first, const E* last) noexcept {
        E* const at = first_ + (first - first_);
        E* to = at;
        for (const E* from = last; from != end(); ++from) *to++ = *from;
        size_ -= static_cast<std::size_t>(last - first);
        return at;
    }
    constexpr E* erase(const E* at) noexcept { return erase(at, at + 1); }

    // Takes out the elements for which `unwanted(element)` holds.
    template <class F>
    constexpr void erase_if(F&& unwanted) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i != size_; ++i)
            if (!unwanted(first_[i])) first_[kept++] = first_[i];
        size_ = kept;
    }

    friend constexpr bool operator==(const plain_list& a, const plain_list& b) {
        if (a.size_ != b.size_) return false;
        for (std::size_t i = 0; i != a.size_; ++i)
            if (!(a.first_[i] == b.first_[i])) return false;
        return true;
    }

private:
    BOUGH_COLD constexpr void push_back_and_grow(const E value) { // a copy: it may lie in this list
        grow(size_ + 1);
        first_[size_++] = value;
    }
    constexpr void grow(std::size_t least) { move_to(least > 2 * capacity_ ? least : 2 * capacity_); }
    constexpr void move_to(std::size_t count) {
        E* const made = allocate(count);
        copy_elements(made, first_, size_);
        free(first_);
        first_ = made;
        capacity_ = count;
    }
    // At run time the memory is raw: nothing is written there twice.
    static constexpr E* allocate(std::size_t count) {
        if (std::is_constant_evaluated()) return new E[count];
        const std::size_t bytes = memory_size(capped_product(count, sizeof(E)));
        if constexpr (alignof(E) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
            return static_cast<E*>(::operator new (bytes, std::align_val_t{alignof(E)}));
        else
            return static_cast<E*>(::operator new(bytes));
    }
    static constexpr void free(E* memory) noexcept {
        if (std::is_constant_evaluated())
            delete[] memory;
        else if constexpr (alignof(E) > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
            ::operator delete (memory, std::align_val_t{alignof(E)});
        else
            ::operator delete(memory);
    }
    constexpr void let_go() noexcept {
        first_ = nullptr;
        size_ = capacity_ = 0;
    }

    E* first_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

} // namespace bough::detail

#endif
