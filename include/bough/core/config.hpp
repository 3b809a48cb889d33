// SPDX-License-Identifier: BSL-1.0
// What the compiler can do: the only place that asks. Every macro of bough begins with BOUGH_.
#ifndef BOUGH_CORE_CONFIG_HPP
#define BOUGH_CORE_CONFIG_HPP

// Exceptions: on unless the compiler was told otherwise (-fno-exceptions).
#if defined(__cpp_exceptions)
#define BOUGH_HAS_EXCEPTIONS 1
#else
#define BOUGH_HAS_EXCEPTIONS 0
#endif

// Hosted: a C library with streams and abort() is there.
#if defined(__STDC_HOSTED__) && __STDC_HOSTED__ == 1
#define BOUGH_HOSTED 1
#else
#define BOUGH_HOSTED 0
#endif

// What a caller's tree claims is checked when a front door first relies on it: in builds without NDEBUG, as assert() is. With
// BOUGH_VERIFY_PLANS every plan of a caller is proved then, with all claims of its algorithm; that takes compile time, so it
// is off unless asked for. (bough/call/first_use.hpp) Define either as 0 or 1 before any header, alike in all units.
#if !defined(BOUGH_CHECK_CLAIMS)
#if defined(NDEBUG)
#define BOUGH_CHECK_CLAIMS 0
#else
#define BOUGH_CHECK_CLAIMS 1
#endif
#endif
#if !defined(BOUGH_VERIFY_PLANS)
#define BOUGH_VERIFY_PLANS 0
#endif

// A hint for the few paths whose cost is counted in instructions.
#if defined(__GNUC__)
#define BOUGH_ALWAYS_INLINE [[gnu::always_inline]] inline
#define BOUGH_COLD [[gnu::cold, gnu::noinline]]
#else
#define BOUGH_ALWAYS_INLINE inline
#define BOUGH_COLD
#endif

#endif
