// SPDX-License-Identifier: BSL-1.0
// Finds out what the compiler can do; no other header asks. Every macro of bough begins with
// BOUGH_.
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

// In builds without NDEBUG, where assert() checks, the claims of a caller's tree are checked when a
// front door first relies on them. With BOUGH_VERIFY_PLANS every plan of a caller is proved then,
// with all claims of its algorithm; that takes compile time, so it is off by default
// (bough/call/first_use.hpp). Define either as 0 or 1 before any header.
#if defined(BOUGH_CHECK_CLAIMS) || defined(BOUGH_VERIFY_PLANS) || defined(BOUGH_CONTRACT_HANDLER)
#define BOUGH_HAS_SETTINGS 1
#else
#define BOUGH_HAS_SETTINGS 0
#endif
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

// The program defines bough::contract_handler (bough/core/contract.hpp).
#if defined(BOUGH_CONTRACT_HANDLER)
#define BOUGH_HAS_CONTRACT_HANDLER 1
#else
#define BOUGH_HAS_CONTRACT_HANDLER 0
#endif

// The inline namespace of the version and of the settings above. Units that were compiled with
// different settings or versions can be linked into one program: each calls its own functions, and
// none passes its types to the other by mistake.
#define BOUGH_ABI_CAT_(version, exceptions, claims, plans, handler) v##version##_##exceptions##claims##plans##handler
#define BOUGH_ABI_(version, exceptions, claims, plans, handler)                                                        \
    BOUGH_ABI_CAT_(version, exceptions, claims, plans, handler)
#define BOUGH_ABI                                                                                                      \
    BOUGH_ABI_(0_1, BOUGH_HAS_EXCEPTIONS, BOUGH_CHECK_CLAIMS, BOUGH_VERIFY_PLANS, BOUGH_HAS_CONTRACT_HANDLER)

// The same as a string, for code that reads the names of types. Such code must find the same name
// on ranks whose programs have other settings, or a compiler that does not print inline namespaces.
#define BOUGH_TEXT_OF_(...) #__VA_ARGS__
#define BOUGH_TEXT_(...) BOUGH_TEXT_OF_(__VA_ARGS__)
#define BOUGH_ABI_TEXT BOUGH_TEXT_(BOUGH_ABI)

// The compiled form (doc/howto/compiled.md): the library bough::compiled holds functions that each
// unit would instantiate otherwise. BOUGH_COMPILED_TEMPLATE declares them in the units of a program,
// which define BOUGH_COMPILED, and defines them in the library's own units. A unit with settings of
// its own has other functions, which it instantiates itself. BOUGH_COMPILED_ELSEWHERE: this unit only
// declares them, so it does not need what only their definitions use.
#if defined(BOUGH_COMPILED_HERE)
#define BOUGH_COMPILED_TEMPLATE template
#elif defined(BOUGH_COMPILED) && !BOUGH_HAS_SETTINGS
#define BOUGH_COMPILED_TEMPLATE extern template
#define BOUGH_COMPILED_ELSEWHERE 1
#endif
// Functions that the units of the library share: one of them includes bough/compiled/common.hpp, which
// defines them.
#if defined(BOUGH_COMPILED_TEMPLATE)
#define BOUGH_COMPILED_COMMON(...) extern template __VA_ARGS__;
#else
#define BOUGH_COMPILED_COMMON(...)
#endif
#if !defined(BOUGH_COMPILED_ELSEWHERE)
#define BOUGH_COMPILED_ELSEWHERE 0
#endif

// Hints for the few paths whose cost is counted in instructions. What is cold is compiled for size.
#if defined(__GNUC__)
#define BOUGH_ALWAYS_INLINE [[gnu::always_inline]] inline
#define BOUGH_NEVER_INLINE [[gnu::noinline]]
#define BOUGH_COLD [[gnu::cold, gnu::noinline]]
#else
#define BOUGH_ALWAYS_INLINE inline
#define BOUGH_NEVER_INLINE
#define BOUGH_COLD
#endif

#endif
