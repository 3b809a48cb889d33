// SPDX-License-Identifier: BSL-1.0
// quietly: drops what a function throws, where the lack of memory is told in another way, or, in destructors, cannot be.
//
//   ~endpoint() { detail::ignore_exceptions([this] { say_goodbye(); }); }
#ifndef BOUGH_CORE_IGNORE_EXCEPTIONS_HPP
#define BOUGH_CORE_IGNORE_EXCEPTIONS_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI::detail {

// Calls f(); what it throws is dropped. Pre: whatever f leaves undone does no harm.
template <class F>
void ignore_exceptions(const F& f) noexcept {
#if BOUGH_HAS_EXCEPTIONS
    try {
        f();
    } catch (...) {
    }
#else
    f();
#endif
}

} // namespace bough::detail

#endif
