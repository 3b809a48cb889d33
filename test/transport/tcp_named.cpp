// SPDX-License-Identifier: BSL-1.0
// Calls with names over tcp: ranks start them in different orders.
#include "frontdoor/named_calls.hpp"
#include "support/catch.hpp"
#include <bough/transport/tcp.hpp>

TEST_CASE("tcp: ranks start and wait for calls with names in any orders") {
    test::named_calls::train_over([](auto& wire) { return bough::tcp{wire}; });
}
