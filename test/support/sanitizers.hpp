// SPDX-License-Identifier: BSL-1.0
// Which sanitizers this is compiled with: g++ tells by a macro, and clang by a feature. The macros here are for what the
// preprocessor must leave out; all else asks the constants.
#ifndef BOUGH_TEST_SUPPORT_SANITIZERS_HPP
#define BOUGH_TEST_SUPPORT_SANITIZERS_HPP

#if defined(__has_feature)
#define BOUGH_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define BOUGH_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || BOUGH_TEST_HAS_FEATURE(address_sanitizer)
#define BOUGH_TEST_HAS_ADDRESS_SANITIZER 1
#else
#define BOUGH_TEST_HAS_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__) || BOUGH_TEST_HAS_FEATURE(thread_sanitizer)
#define BOUGH_TEST_HAS_THREAD_SANITIZER 1
#else
#define BOUGH_TEST_HAS_THREAD_SANITIZER 0
#endif

namespace bough_test {

// It has memory of its own, and keeps what was freed for a while.
inline constexpr bool has_address_sanitizer = BOUGH_TEST_HAS_ADDRESS_SANITIZER != 0;

// It has memory of its own: several times as much as the program.
inline constexpr bool has_thread_sanitizer = BOUGH_TEST_HAS_THREAD_SANITIZER != 0;

// It has memory of its own, too. Only clang has this one, and no preset uses it.
#if BOUGH_TEST_HAS_FEATURE(memory_sanitizer)
inline constexpr bool has_memory_sanitizer = true;
#else
inline constexpr bool has_memory_sanitizer = false;
#endif

// It needs a descriptor now and then: clang's looks at objects through a pipe. g++ does not tell of it, but the preset
// has it with AddressSanitizer.
#if defined(__SANITIZE_ADDRESS__) || BOUGH_TEST_HAS_FEATURE(undefined_behavior_sanitizer)
inline constexpr bool may_have_undefined_behavior_sanitizer = true;
#else
inline constexpr bool may_have_undefined_behavior_sanitizer = false;
#endif

} // namespace bough_test

#undef BOUGH_TEST_HAS_FEATURE

#endif
