// SPDX-License-Identifier: BSL-1.0
// Memory with guards on both sides, and faults collected from ranks that are threads: Catch2 counts in one thread only.
#ifndef BOUGH_TEST_SUPPORT_GUARDED_HPP
#define BOUGH_TEST_SUPPORT_GUARDED_HPP

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace test {

// `count` elements between guards; all elements begin as `fill`.
template <class T>
class guarded {
public:
    guarded(std::size_t count, const T& fill, const T& guard)
        : guard_(guard), all_(count + 2 * width, guard), count_(count) {
        std::fill_n(all_.begin() + width, count, fill);
    }
    std::span<T> span() { return std::span<T>(all_).subspan(width, count_); }
    bool intact() const {
        const auto is_guard = [this](const T& value) { return value == guard_; };
        return std::all_of(all_.begin(), all_.begin() + width, is_guard) &&
               std::all_of(all_.end() - width, all_.end(), is_guard);
    }

private:
    static constexpr std::ptrdiff_t width = 16;
    T guard_;
    std::vector<T> all_;
    std::size_t count_;
};

// What went wrong, on whichever rank.
class faults {
public:
    void expect(bool holds, const std::string& what) {
        if (holds) return;
        const std::scoped_lock lock(mutex_);
        if (text_.size() < 1000) text_ += what + "; ";
    }
    const std::string& text() const { return text_; }

private:
    std::mutex mutex_;
    std::string text_;
};

} // namespace test

#endif
