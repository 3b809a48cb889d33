// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/tcp/window.hpp>

using bough::detail::tcp_window;

TEST_CASE("tcp_window: a peer may send as much as the window, and again what it was told is used up") {
    tcp_window window(100);
    window.add(60);
    CHECK(window.has_room(40));
    window.add(40);
    CHECK((window.has_room(0) && !window.has_room(1)));
    CHECK_FALSE(window.owes_credit());
    *window.counter() += 24;
    CHECK_FALSE(window.owes_credit());
    *window.counter() += 1;
    CHECK((window.owes_credit() && window.used_up() == 25));
    window.credit_given();
    CHECK((!window.owes_credit() && window.used_up() == 0));
    CHECK((window.has_room(25) && !window.has_room(26)));
    window.add(25);
    CHECK_FALSE(window.has_room(1));
}
