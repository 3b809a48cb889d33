// SPDX-License-Identifier: BSL-1.0
// Sockets of tcp: which congestion control a connection has.
#include "support/catch.hpp"
#include <bough/os/fd.hpp>
#include <bough/transport/tcp/join.hpp>
#include <bough/transport/tcp/options.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>

using namespace bough;
using namespace bough::detail;

namespace {

std::string congestion_of(const unique_fd& socket) {
    char name[16] = "";
    socklen_t length = sizeof name;
    if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name, &length) != 0) return "?";
    return name;
}
bool choose(const unique_fd& socket, const std::string& name) {
    return ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) ==
           0;
}
// False: this system lets no program choose reno, so all sockets have what the system has chosen.
bool may_choose() { return choose(open_usual_socket(AF_INET), "reno"); }
bool waits_for(const unique_fd& socket, short what) {
    pollfd asked{socket.get(), what, 0};
    return ::poll(&asked, 1, 10'000) == 1;
}

// A connection to an address of this system.
struct pair {
    pair(const char* listens, const char* address) {
        tcp_address at(boost::asio::ip::make_address(listens), 0);
        unique_fd listener;
        if (listen_at(at, {}, listener)) return;
        at.address(boost::asio::ip::make_address(address));
        caller = open_socket(at.protocol().family());
        (void)::connect(caller.get(), at.data(), static_cast<socklen_t>(at.size()));
        if (waits_for(listener, POLLIN)) called = accept_socket(listener.get());
        is_up = called && waits_for(caller, POLLOUT);
    }
    unique_fd caller, called;
    bool is_up = false;
};

} // namespace

TEST_CASE("tcp sockets: a connection inside a system is not paced, at either end", "[transport][tcp]") {
    const std::string begins_with = may_choose() ? "reno" : congestion_of(open_usual_socket(AF_INET));
    struct addresses {
        const char *listens, *called;
    };
    for (const auto& [listens, address] : {addresses{"127.0.0.1", "127.0.0.1"}, {"::1", "::1"}, {"::", "127.0.0.9"}}) {
        CAPTURE(listens);
        pair both(listens, address);
        if (!both.is_up) {
            CHECK(std::string(listens) != "127.0.0.1"); // there is no IPv6 here
            continue;
        }
        for (const unique_fd* end : {&both.caller, &both.called}) {
            CHECK(stays_on_system(end->get()));
            CHECK(congestion_of(*end) == begins_with);
            choose_congestion(end->get());
            CHECK(congestion_of(*end) == begins_with);
        }
    }
}

TEST_CASE("tcp sockets: one that leads elsewhere has what its system has chosen", "[transport][tcp]") {
    const std::string chosen = congestion_of(open_usual_socket(AF_INET));
    const unique_fd socket = open_socket(AF_INET); // it leads nowhere, so not to this system
    if (may_choose()) CHECK(congestion_of(socket) == "reno");
    CHECK_FALSE(stays_on_system(socket.get()));
    choose_congestion(socket.get());
    CHECK(congestion_of(socket) == chosen);
}

TEST_CASE("tcp sockets: one that leads elsewhere keeps what its route has chosen", "[transport][tcp]") {
    const std::string usual = congestion_of(open_usual_socket(AF_INET));
    for (const char* route : {"cubic", "bbr", "dctcp", "htcp", "vegas"}) {
        const unique_fd socket = open_socket(AF_INET);
        if (route == usual || !choose(socket, route)) continue; // this system has none of that name
        choose_congestion(socket.get());
        CHECK(congestion_of(socket) == route);
    }
}
