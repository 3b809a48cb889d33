// SPDX-License-Identifier: BSL-1.0
// Counts what is allocated, and fails on demand: replaces operator new of the whole program. For one source of each program.
//
//   bough_test::until_failure = 2;      // two more succeed in this thread, the third throws bad_alloc
#ifndef BOUGH_TEST_SUPPORT_COUNTED_NEW_HPP
#define BOUGH_TEST_SUPPORT_COUNTED_NEW_HPP

#include <cstddef>
#include <cstdlib>
#include <new>

namespace bough_test {

// Of this thread.
inline thread_local std::size_t allocations = 0;
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
    if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
    throw std::bad_alloc();
}
inline void* allocate(std::size_t bytes, std::align_val_t alignment) {
    ++allocations;
    if (fails_now()) throw std::bad_alloc();
    const auto a = static_cast<std::size_t>(alignment);
    if (void* p = std::aligned_alloc(a, (bytes + a - 1) / a * a)) return p;
    throw std::bad_alloc();
}

} // namespace bough_test

void* operator new(std::size_t bytes) { return bough_test::allocate(bytes); }
void* operator new[](std::size_t bytes) { return bough_test::allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t a) { return bough_test::allocate(bytes, a); }
void* operator new[](std::size_t bytes, std::align_val_t a) { return bough_test::allocate(bytes, a); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return ++bough_test::allocations, std::malloc(bytes + 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return ++bough_test::allocations, std::malloc(bytes + 1);
}
// Not inlined: g++ 12 would see free() meet operator new, and warn.
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#endif
