// SPDX-License-Identifier: BSL-1.0
// Forks: whether this process is the child of a fork, and what a child does with objects of its
// parent's.
#ifndef BOUGH_OS_FORKS_HPP
#define BOUGH_OS_FORKS_HPP

#include <bough/core/config.hpp>

#include <cstdint>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace bough::inline BOUGH_ABI::detail {

inline std::uint32_t fork_count = 0; // changed in the child only, while it has one thread

// How many forks there were from the first process of the program down to this one. A handler
// counts them, and asking is cheaper than asking for the process number. An object that keeps the
// number from its beginning belongs to the parent as soon as the number differs.
inline std::uint32_t forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    static const int installed = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
    (void)installed;
#endif
    return fork_count;
}

// For what a child cannot destroy: a thread that is not there, a condition variable that such a
// thread waits for. It is moved to where nothing is destroyed, with whatever it owns.
template <class T>
void leave_to_parent(T& x) noexcept {
    union nowhere {
        explicit nowhere(T& from) noexcept : kept(std::move(from)) {}
        ~nowhere() {}
        T kept;
    } const left(x);
    (void)left;
}

} // namespace bough::detail

#endif
