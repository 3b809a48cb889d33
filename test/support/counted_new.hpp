// SPDX-License-Identifier: BSL-1.0
// Counts what is allocated, and fails on demand: replaces operator new of the whole program. Weakly, so that
// several sources of a program may include this. (Under clang's AddressSanitizer its own operators win, and nothing is
// counted; the presets sanitize with g++.)
//
//   bough_test::until_failure = 2;      // two more succeed in this thread, the third throws bad_alloc
#ifndef BOUGH_TEST_SUPPORT_COUNTED_NEW_HPP
#define BOUGH_TEST_SUPPORT_COUNTED_NEW_HPP

#include <cstddef>
#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <malloc.h>
#endif

namespace bough_test {

// Of this thread.
inline thread_local std::size_t allocations = 0;
// Bytes that this thread has allocated and not freed; Linux, elsewhere 0.
inline thread_local std::ptrdiff_t held_bytes = 0;
inline std::ptrdiff_t bytes_of([[maybe_unused]] void* p) noexcept {
#if defined(__linux__)
    return static_cast<std::ptrdiff_t>(::malloc_usable_size(p));
#else
    return 0;
#endif
}
inline void* held(void* p) noexcept {
    held_bytes += bytes_of(p);
    return p;
}
// Not inlined: g++ 12 would see free() meet operator new, and warn.
[[gnu::noinline]] inline void release(void* p) noexcept {
    held_bytes -= bytes_of(p);
    std::free(p);
}
// How many more succeed before one fails; negative: all do.
inline thread_local long until_failure = -1;
// And all that follow.
inline thread_local bool fail_for_good = false;
inline bool fails_now() noexcept {
    if (until_failure == 0 && fail_for_good) return true;
    return until_failure >= 0 && until_failure-- == 0;
}

inline void* allocate(std::size_t bytes) {
    ++allocations;
    if (fails_now()) throw std::bad_alloc();
    if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return held(p);
    throw std::bad_alloc();
}
inline void* aligned(std::size_t bytes, std::align_val_t alignment) noexcept {
    const auto a = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}
inline void* allocate(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    if (fails_now()) throw std::bad_alloc();
    if (void* p = aligned(bytes, alignment)) return held(p);
    throw std::bad_alloc();
}

} // namespace bough_test

[[gnu::weak]] void* operator new(std::size_t bytes) { return bough_test::allocate(bytes); }
[[gnu::weak]] void* operator new[](std::size_t bytes) { return bough_test::allocate(bytes); }
[[gnu::weak]] void* operator new(std::size_t bytes, std::align_val_t a) { return bough_test::allocate(bytes, a); }
[[gnu::weak]] void* operator new[](std::size_t bytes, std::align_val_t a) { return bough_test::allocate(bytes, a); }
[[gnu::weak]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return ++bough_test::allocations, bough_test::held(std::malloc(bytes + 1));
}
[[gnu::weak]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return ++bough_test::allocations, bough_test::held(std::malloc(bytes + 1));
}
[[gnu::weak]] void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return ++bough_test::allocations,
           bough_test::fails_now() ? nullptr : bough_test::held(bough_test::aligned(bytes, alignment));
}
[[gnu::weak]] void operator delete(void* p, const std::nothrow_t&) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete[](void* p, const std::nothrow_t&) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete(void* p) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete[](void* p) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete(void* p, std::align_val_t) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete[](void* p, std::align_val_t) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { bough_test::release(p); }
[[gnu::weak]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { bough_test::release(p); }

#endif
