// SPDX-License-Identifier: BSL-1.0
// Contracts: misuse of the library ends here, at once and with a sentence.
//
// BOUGH_EXPECTS(condition, "sentence") checks a precondition. In a constant expression a broken one is a compile error
// that shows the sentence; at run time it calls the contract handler, which by default prints the sentence and the
// place, then aborts (freestanding: traps). Define BOUGH_CONTRACT_HANDLER(sentence, file, line) before including any
// header to replace it; the handler must not return.
#ifndef BOUGH_CORE_CONTRACT_HPP
#define BOUGH_CORE_CONTRACT_HPP

#include <bough/core/config.hpp>

#if BOUGH_HOSTED && !defined(BOUGH_CONTRACT_HANDLER)
#include <cstdio>
#include <cstdlib>
#endif

namespace bough::detail {

BOUGH_COLD [[noreturn]] inline void contract_broken(const char* sentence, const char* file, int line) noexcept {
#if defined(BOUGH_CONTRACT_HANDLER)
    BOUGH_CONTRACT_HANDLER(sentence, file, line);
    __builtin_unreachable();
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
