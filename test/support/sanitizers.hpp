// SPDX-License-Identifier: BSL-1.0
// Which sanitizers this is compiled with: g++ tells by a macro, and clang by a feature.
#ifndef BOUGH_TEST_SUPPORT_SANITIZERS_HPP
#define BOUGH_TEST_SUPPORT_SANITIZERS_HPP

#if defined(__has_feature)
#define BOUGH_TEST_HAS_SANITIZER(name) __has_feature(name##_sanitizer)
#else
#define BOUGH_TEST_HAS_SANITIZER(name) 0
#endif

namespace bough_test {

// It has memory of its own, and keeps what was freed for a while.
#if defined(__SANITIZE_ADDRESS__) || BOUGH_TEST_HAS_SANITIZER(address)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif

// It has memory of its own: several times as much as the program.
#if defined(__SANITIZE_THREAD__) || BOUGH_TEST_HAS_SANITIZER(thread)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif

// It needs a descriptor now and then: clang's looks at objects through a pipe. g++ does not tell of it, but the preset
// has it with AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__) || BOUGH_TEST_HAS_SANITIZER(undefined_behavior)
inline constexpr bool may_have_undefined_behavior_sanitizer = true;
#else
inline constexpr bool may_have_undefined_behavior_sanitizer = false;
#endif

} // namespace bough_test

#undef BOUGH_TEST_HAS_SANITIZER

#endif
