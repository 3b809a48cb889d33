// SPDX-License-Identifier: BSL-1.0
// list_view: a run of elements that somebody else owns. It has what the engine needs of std::span,
// and compiles faster.
//
//   list_view<const bound_step> steps = bound.steps; // bound.steps must outlive it
//
// It views a vector, a std::array or a span.
//
// A std::span of a vector costs the compiler some 15 ms for each type of element (g++ -O0: ranges,
// iterators and their concepts), and the engine has about ten of them.
#ifndef BOUGH_ENGINE_LIST_VIEW_HPP
#define BOUGH_ENGINE_LIST_VIEW_HPP

#include <bough/core/config.hpp>

#include <cstddef>

namespace bough::inline BOUGH_ABI {

template <class T>
class list_view {
public:
    constexpr list_view() noexcept = default;
    constexpr list_view(T* first, std::size_t count) noexcept : first_(first), count_(count) {}
    template <class List>
    requires requires(List& list) {
        static_cast<T*>(list.data());
        list.size();
    }
    constexpr list_view(List& list) noexcept : first_(list.data()), count_(list.size()) {}

    constexpr std::size_t size() const noexcept { return count_; }
    constexpr bool empty() const noexcept { return count_ == 0; }
    constexpr T* data() const noexcept { return first_; }
    constexpr T* begin() const noexcept { return first_; }
    constexpr T* end() const noexcept { return first_ + count_; }
    constexpr T& operator[](std::size_t i) const noexcept { return first_[i]; } // pre: i < size()

private:
    T* first_ = nullptr;
    std::size_t count_ = 0;
};

} // namespace bough

#endif
