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

// A hint for the few paths whose cost is counted in instructions.
#if defined(__GNUC__)
#define BOUGH_ALWAYS_INLINE [[gnu::always_inline]] inline
#define BOUGH_COLD [[gnu::cold, gnu::noinline]]
#else
#define BOUGH_ALWAYS_INLINE inline
#define BOUGH_COLD
#endif

#endif
