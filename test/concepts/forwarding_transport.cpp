// SPDX-License-Identifier: BSL-1.0
// A transport over another one says of the costs what that one says: plans are chosen by them, and ranks must not choose
// differently where one of them has a transport more. (on_executor: test/asio/on_executor.cpp)
#include "support/catch.hpp"
#include "support/priced.hpp"
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/testing/faulty.hpp>
#include <bough/testing/recording.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/serialised.hpp>

using namespace bough;
using bough_test::priced;
using bough_test::says_the_same;

TEST_CASE("forwarding_transport: every transport over another one says the same of costs", "[concepts]") {
    testing::record log;
    testing::fault_point fault;
    CHECK(says_the_same(priced{}));
    CHECK_FALSE(bough_test::price(default_costs_of(self{})) == bough_test::price(priced::default_costs()));
    CHECK(says_the_same(forwarding_transport<priced>{priced{}}));
    CHECK(says_the_same(serialised{priced{}}));
    CHECK(says_the_same(emulated{priced{}, emulation{}}));
    CHECK(says_the_same(testing::recording{priced{}, log}));
    CHECK(says_the_same(testing::faulty{priced{}, fault}));
    CHECK(says_the_same(serialised{emulated{priced{}, emulation{}}}));
}
