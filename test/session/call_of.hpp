// SPDX-License-Identifier: BSL-1.0
// The envelope of a call of which nothing but the communicator and the number matters.
#ifndef BOUGH_TEST_SESSION_CALL_OF_HPP
#define BOUGH_TEST_SESSION_CALL_OF_HPP

#include <bough/concepts/transport.hpp>

#include <cstdint>

namespace test {

inline bough::envelope call_of(std::uint16_t context, std::uint32_t operation) {
    bough::envelope call;
    call.context = context;
    call.operation = operation;
    return call;
}

} // namespace test

#endif
