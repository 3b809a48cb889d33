// SPDX-License-Identifier: BSL-1.0
// ignore_exceptions: drops what a function throws. For places where a lack of memory is reported in
// another way, and for destructors, which cannot report it.
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
