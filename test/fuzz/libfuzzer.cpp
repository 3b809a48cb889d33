// SPDX-License-Identifier: BSL-1.0
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_one(std::as_bytes(std::span(data, size)));
    return 0;
}
