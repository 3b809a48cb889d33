// SPDX-License-Identifier: BSL-1.0
// What a fuzzer is: a function over bytes. Linked with libFuzzer it searches; with replay.cpp it runs a corpus again.
#ifndef BOUGH_TEST_FUZZ_FUZZ_HPP
#define BOUGH_TEST_FUZZ_FUZZ_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

void fuzz_one(std::span<const std::byte> input);

#define fuzz_check(condition)                                                                                          \
    ((condition) ? void(0) : (std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), std::abort()))

#endif
