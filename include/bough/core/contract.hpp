// SPDX-License-Identifier: BSL-1.0
// Contracts: misuse of the library ends here, at once and with a sentence.
//
// BOUGH_EXPECTS(condition, "sentence") checks a precondition. In a constant expression a broken one
// is a compile error that shows the sentence. At run time it prints the sentence and the place,
// then aborts (freestanding: traps). To do something else, define BOUGH_CONTRACT_HANDLER before
// including any header, and this function once in the program:
//
//   void bough::contract_handler(const char* sentence, const char* file, int line) noexcept { ... }  // must not return
#ifndef BOUGH_CORE_CONTRACT_HPP
#define BOUGH_CORE_CONTRACT_HPP

#include <bough/core/config.hpp>

#if BOUGH_HOSTED && !BOUGH_HAS_CONTRACT_HANDLER
#include <cstdio>
#include <cstdlib>
#endif

#if BOUGH_HAS_CONTRACT_HANDLER
// Not in the inline namespace: the program defines it once, whatever the settings of its units.
namespace bough {

[[noreturn]] void contract_handler(const char* sentence, const char* file, int line) noexcept;

} // namespace bough
#endif

namespace bough::inline BOUGH_ABI::detail {

BOUGH_COLD [[noreturn]] inline void contract_broken(const char* sentence, const char* file, int line) noexcept {
#if BOUGH_HAS_CONTRACT_HANDLER
    contract_handler(sentence, file, line);
#elif BOUGH_HOSTED
    std::fprintf(stderr, "bough: %s (%s:%d)\n", sentence, file, line);
    std::abort();
#else
    (void)sentence;
    (void)file;
    (void)line;
    __builtin_trap();
#endif
}

} // namespace bough::detail

#define BOUGH_EXPECTS(condition, sentence)                                                                             \
    ((condition) ? void(0) : ::bough::detail::contract_broken(sentence, __FILE__, __LINE__))

#endif
