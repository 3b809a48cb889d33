// SPDX-License-Identifier: BSL-1.0
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE // unshare
#endif
#include "support/catch.hpp"
#include <bough/os/address.hpp>

#include <cstdio>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
namespace {

// In a network of its own, which has loopback alone: it is down, then up, then without an address, then
// down again with one, then up without. The number of the first step that finds something else; 77: no such network here.
int look_at_interface() {
    using bough::detail::interface_state;
    if (::unshare(CLONE_NEWNET) != 0) return 77;
    const bough::detail::unique_fd asked(::socket(AF_INET, SOCK_DGRAM, 0));
    ifreq about{};
    std::strcpy(about.ifr_name, "lo");
    const auto set_flags = [&](short flags) {
        about.ifr_flags = flags;
        return ::ioctl(asked.get(), SIOCSIFFLAGS, &about) == 0;
    };
    const auto set_address = [&](in_addr_t number) {
        auto& at = reinterpret_cast<sockaddr_in&>(about.ifr_addr);
        at = {};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(number);
        return ::ioctl(asked.get(), SIOCSIFADDR, &about) == 0;
    };
    const auto is = [](interface_state expected, const std::string& address) {
        interface_state state{};
        return address_of_interface("lo", state) == address && state == expected;
    };
    if (!is(interface_state::down, "")) return 1;
    if (!set_flags(IFF_UP) || !is(interface_state::usable, "127.0.0.1")) return 2;
    if (!set_address(0x0a01'0203) || !is(interface_state::usable, "10.1.2.3")) return 3;
    if (address_of_interface("") != "10.1.2.3") return 4;
    if (!set_flags(0) || !is(interface_state::down, "") || !address_of_interface("").empty()) return 5;
    if (!set_flags(IFF_UP)) return 6;
    for (int i = 0; i != 4; ++i) (void)set_address(0); // takes one away, and the system may have given it others
    if (is(interface_state::without_address, "")) return 0;
    if (!is(interface_state::usable, "::1")) return 7; // that of IPv6 is left
    std::FILE* const off = std::fopen("/proc/sys/net/ipv6/conf/lo/disable_ipv6", "w");
    if (off == nullptr) return 0;
    std::fputs("1", off);
    std::fclose(off);
    return is(interface_state::without_address, "") ? 0 : 8;
}

} // namespace

TEST_CASE("address: none of an interface that is down, and it is known why") {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(look_at_interface());
    int how = -1;
    REQUIRE(::waitpid(child, &how, 0) == child);
    REQUIRE(WIFEXITED(how));
    CAPTURE(WEXITSTATUS(how));
    CHECK((WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == 77)); // needs root
    bough::detail::interface_state state{};
    CHECK(address_of_interface("no such one", state).empty());
    CHECK(state == bough::detail::interface_state::unknown);
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
