// SPDX-License-Identifier: BSL-1.0
// Counts what is allocated, and fails on demand: replaces operator new of the whole program. Several
// sources of a program may include this.
//
//   bough_test::until_failure = 2;      // two more succeed in this thread, the third throws bad_alloc
#ifndef BOUGH_TEST_SUPPORT_COUNTED_NEW_HPP
#define BOUGH_TEST_SUPPORT_COUNTED_NEW_HPP

#include "support/sanitizers.hpp"

#include <cstddef>
#include <cstdio>
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
// How many more succeed before one fails; negative: all do.
inline thread_local long until_failure = -1;
// And all that follow.
inline thread_local bool fail_for_good = false;
inline bool fails_now() noexcept {
    if (until_failure == 0 && fail_for_good) return true;
    return until_failure >= 0 && until_failure-- == 0;
}

inline void* aligned(std::size_t bytes, std::align_val_t alignment) noexcept {
    const auto a = static_cast<std::size_t>(alignment);
    return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}

// What replaces the operators. They are inline, so the linker keeps one of each. They have names that
// are used below, and in bough_counts_new of test/CMakeLists.txt.
[[gnu::used]] inline void* allocate(std::size_t) __asm__("bough_test_new");
[[gnu::used]] inline void* allocate(std::size_t, std::align_val_t) __asm__("bough_test_new_aligned");
[[gnu::used]] inline void* allocate(std::size_t, const std::nothrow_t&) noexcept __asm__("bough_test_new_or_null");
[[gnu::used]] inline void* allocate(std::size_t, std::align_val_t, const std::nothrow_t&) noexcept
    __asm__("bough_test_new_aligned_or_null");
[[gnu::used]] inline void give_back(void*) noexcept __asm__("bough_test_delete");

inline void* allocate(std::size_t bytes) {
    ++allocations;
    if (fails_now()) throw std::bad_alloc();
    if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return held(p);
    throw std::bad_alloc();
}
inline void* allocate(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    if (fails_now()) throw std::bad_alloc();
    if (void* p = aligned(bytes, alignment)) return held(p);
    throw std::bad_alloc();
}
inline void* allocate(std::size_t bytes, const std::nothrow_t&) noexcept {
    return ++allocations, held(std::malloc(bytes + 1));
}
inline void* allocate(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    return ++allocations, fails_now() ? nullptr : held(aligned(bytes, alignment));
}
// Not inlined: g++ 12 would see free() meet operator new, and warn.
[[gnu::noinline]] inline void release(void* p) noexcept {
    held_bytes -= bytes_of(p);
    std::free(p);
}
inline void give_back(void* p) noexcept { release(p); }

} // namespace bough_test

// The operators themselves are weak, so that several sources may have them. Clang's sanitizers have
// operators, too, which the linker sees first. Those of AddressSanitizer are weak: ours win if they are
// other names of the functions above, as such names are not weak. Those of ThreadSanitizer are not weak:
// there the linker gives ours to all callers (bough_counts_new in test/CMakeLists.txt).
// clang-format off
#define BOUGH_TEST_OPERATOR(name, declared, call) [[gnu::weak]] declared { return bough_test::call; }
#if defined(__clang__)
#if BOUGH_TEST_HAS_ADDRESS_SANITIZER
#undef BOUGH_TEST_OPERATOR
#define BOUGH_TEST_OPERATOR(name, declared, call) [[gnu::alias("bough_test_" name)]] declared;
#elif BOUGH_TEST_HAS_THREAD_SANITIZER
#undef BOUGH_TEST_OPERATOR
#define BOUGH_TEST_OPERATOR(name, declared, call)
#endif
#endif
BOUGH_TEST_OPERATOR("new", void* operator new(std::size_t n), allocate(n))
BOUGH_TEST_OPERATOR("new", void* operator new[](std::size_t n), allocate(n))
BOUGH_TEST_OPERATOR("new_aligned", void* operator new(std::size_t n, std::align_val_t a), allocate(n, a))
BOUGH_TEST_OPERATOR("new_aligned", void* operator new[](std::size_t n, std::align_val_t a), allocate(n, a))
BOUGH_TEST_OPERATOR("new_or_null", void* operator new(std::size_t n, const std::nothrow_t& t) noexcept, allocate(n, t))
BOUGH_TEST_OPERATOR("new_or_null", void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept,
                    allocate(n, t))
BOUGH_TEST_OPERATOR("new_aligned_or_null",
                    void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t& t) noexcept,
                    allocate(n, a, t))
BOUGH_TEST_OPERATOR("delete", void operator delete(void* p, const std::nothrow_t&) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete[](void* p, const std::nothrow_t&) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete(void* p) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete[](void* p) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete(void* p, std::size_t) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete[](void* p, std::size_t) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete(void* p, std::align_val_t) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete[](void* p, std::align_val_t) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete(void* p, std::size_t, std::align_val_t) noexcept, give_back(p))
BOUGH_TEST_OPERATOR("delete", void operator delete[](void* p, std::size_t, std::align_val_t) noexcept, give_back(p))
// clang-format on
#undef BOUGH_TEST_OPERATOR

namespace bough_test {

// A test that nothing is allocated would pass where nothing is counted.
inline const bool is_counted = [] {
    const std::size_t before = allocations;
    ::operator delete(::operator new(1));
    if (allocations != before) return true;
    std::fputs("counted_new.hpp: operator new of this program is another one, so nothing is counted\n", stderr);
    std::abort();
}();

} // namespace bough_test

#endif
