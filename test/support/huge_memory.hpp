// SPDX-License-Identifier: BSL-1.0
// May a test ask for more memory than any machine has? Sanitizers end the program then.
#ifndef BOUGH_TEST_SUPPORT_HUGE_MEMORY_HPP
#define BOUGH_TEST_SUPPORT_HUGE_MEMORY_HPP

namespace bough_test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool may_ask_for_huge_memory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool may_ask_for_huge_memory = false;
#else
inline constexpr bool may_ask_for_huge_memory = true;
#endif
#else
inline constexpr bool may_ask_for_huge_memory = true;
#endif

} // namespace bough_test

#endif
