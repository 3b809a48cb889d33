// SPDX-License-Identifier: BSL-1.0
// How often this process is the child of a fork, counted by a handler: cheaper to ask than the process number.
#ifndef BOUGH_TRANSPORT_DETAIL_FORKS_HPP
#define BOUGH_TRANSPORT_DETAIL_FORKS_HPP

#include <cstdint>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace bough::detail {

inline std::uint32_t fork_count = 0; // changed in the child only, while it has one thread

inline std::uint32_t forks() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    static const int installed = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
    (void)installed;
#endif
    return fork_count;
}

} // namespace bough::detail

#endif
