// SPDX-License-Identifier: BSL-1.0
// May a test ask for more memory than any machine has? Sanitizers end the program then.
#ifndef BOUGH_TEST_SUPPORT_HUGE_MEMORY_HPP
#define BOUGH_TEST_SUPPORT_HUGE_MEMORY_HPP

#include "support/sanitizers.hpp"

namespace bough_test {

inline constexpr bool may_ask_for_huge_memory =
    !has_address_sanitizer && !has_thread_sanitizer && !has_memory_sanitizer;

} // namespace bough_test

#endif
