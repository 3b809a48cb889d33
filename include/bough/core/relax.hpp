// SPDX-License-Identifier: BSL-1.0
// Relax: what a thread does between two looks at memory that another one writes.
#ifndef BOUGH_CORE_RELAX_HPP
#define BOUGH_CORE_RELAX_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI::detail {

// A hint to the core that this thread only waits.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace bough::detail

#endif
