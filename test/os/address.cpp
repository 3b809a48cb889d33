// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/os/address.hpp>

#include <string>
#include <unistd.h>

using bough::detail::address_of_interface;
using bough::detail::address_towards;

TEST_CASE("address: of an interface") {
    CHECK(address_of_interface("lo") == "127.0.0.1");
    CHECK(address_of_interface("no such one").empty());
    const std::string any = address_of_interface("");
    CHECK(any.rfind("127.", 0) != 0);
    CHECK(any != "::1");
}
TEST_CASE("address: loopback towards loopback alone") {
    CHECK(address_towards("127.0.0.1") == "127.0.0.1");
    CHECK(address_towards("localhost") == address_towards(address_towards("localhost")));
    CHECK((address_towards("localhost") == "127.0.0.1" || address_towards("localhost") == "::1"));
    CHECK(address_towards("no.such.host.invalid").empty());
}
TEST_CASE("address: towards an address of this machine it is that one") {
    const std::string any = address_of_interface("");
    if (!any.empty()) CHECK(address_towards(any) == any); // a machine without a network has none
}
TEST_CASE("address: the own name leads to no loopback, if there is another address") {
    char name[256] = "";
    REQUIRE(::gethostname(name, sizeof name - 1) == 0);
    const std::string mine = address_towards(name), any = address_of_interface("");
    if (!mine.empty() && !any.empty()) CHECK(mine.rfind("127.", 0) != 0);
}
