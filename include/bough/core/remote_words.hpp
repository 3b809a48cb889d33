// SPDX-License-Identifier: BSL-1.0
// Reads and writes words of memory that other processes write, where a process maps the memory of
// both sides.
//
//   while (bough::remote_words::read(flag) != expected) wait();     // then what was put before the flag is there
#ifndef BOUGH_CORE_REMOTE_WORDS_HPP
#define BOUGH_CORE_REMOTE_WORDS_HPP

#include <bough/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bough::inline BOUGH_ABI::remote_words {

// Bytes of a word.
inline constexpr std::size_t word = sizeof(std::uint64_t);
static_assert(__atomic_always_lock_free(word, nullptr));

// Pre: `at` is aligned to 8 bytes. (By the compiler's built-ins: libc++ has std::atomic_ref from
// version 19 on only.)
inline std::uint64_t read(const std::byte* at) noexcept {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_ACQUIRE);
}
inline void write(std::byte* at, std::uint64_t value) noexcept {
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(at), value, __ATOMIC_RELEASE);
}

// A put into memory that this process maps: the last word, if it is aligned, lands at once and
// after all else.
BOUGH_ALWAYS_INLINE void land(std::byte* at, std::span<const std::byte> first,
                              std::span<const std::byte> second) noexcept {
    if (second.empty() && first.size() >= word) { // its end is the put's
        second = first.last(word);
        first = first.first(first.size() - word);
    }
    if (first.size() == word)
        std::memcpy(at, first.data(), word); // the most frequent size: one element
    else if (!first.empty())
        std::memcpy(at, first.data(), first.size());
    at += first.size();
    if (second.size() < word || reinterpret_cast<std::uintptr_t>(at + second.size()) % word != 0) {
        if (!second.empty()) std::memcpy(at, second.data(), second.size());
        return;
    }
    const std::size_t before = second.size() - word;
    std::uint64_t last = 0;
    std::memcpy(&last, second.data() + before, word);
    if (before == 4 * word)
        std::memcpy(at, second.data(), 4 * word); // the most frequent size: an envelope
    else if (before != 0)
        std::memcpy(at, second.data(), before);
    write(at + before, last);
}

} // namespace bough::remote_words

#endif
