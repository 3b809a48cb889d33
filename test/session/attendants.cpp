// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/session/attendants.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

using namespace bough;
using detail::attendants;
using detail::operation_place;

namespace {

struct one final : detail::attendant {
    void attend() noexcept override {
        ++calls;
        if (then) then();
    }
    void stand(std::uint32_t starts) { oldest_ = {true, starts}; }
    int calls = 0;
    std::function<void()> then;
};

} // namespace

TEST_CASE("attendants: they are due when there is news and somebody to hear it") {
    attendants all;
    one a;
    all.hear();
    CHECK_FALSE(all.is_due());
    all.add(a);
    CHECK(all.is_due());
    all.attend();
    CHECK(a.calls == 1);
    CHECK_FALSE(all.is_due());
    all.hear();
    CHECK(all.is_due());
    all.remove(a);
    CHECK(all.empty());
    CHECK_FALSE(all.is_due());
}

TEST_CASE("attendants: each is called once, whoever leaves meanwhile") {
    for (std::size_t who = 0; who != 3; ++who)
        for (std::size_t leaves = 0; leaves != 3; ++leaves) {
            attendants all;
            std::array<one, 3> some;
            for (one& a : some) all.add(a);
            some[who].then = [&] {
                all.remove(some[leaves]);
                all.attend(); // they are being called already
            };
            all.attend();
            CAPTURE(who, leaves);
            // The last one that was added has the first turn.
            for (std::size_t i = 0; i != 3; ++i) CHECK(some[i].calls == (i == leaves && i < who ? 0 : 1));
            CHECK_FALSE(all.has(some[leaves]));
            for (std::size_t i = 0; i != 3; ++i)
                if (i != leaves) all.remove(some[i]);
            CHECK(all.empty());
        }
}

TEST_CASE("attendants: while they are paused, nobody is called, and then all are due") {
    attendants all;
    one a;
    all.add(a);
    all.pause(true);
    all.attend();
    CHECK(a.calls == 0);
    all.pause(false);
    CHECK(all.is_due());
    all.attend();
    CHECK(a.calls == 1);
}

TEST_CASE("attendants: the oldest place is found, also where tickets wrap around") {
    attendants all;
    CHECK(all.oldest({true, 7}) == operation_place{});
    std::array<one, 3> some;
    for (one& a : some) all.add(a);
    some[0].stand(5), some[1].stand(3), some[2].stand(4);
    CHECK(all.oldest({true, 7}) == operation_place{true, 3});
    some[1].stand(0x7fff'fffe);
    CHECK(all.oldest({true, 7}) == operation_place{true, 0x7fff'fffe});
}
