// SPDX-License-Identifier: BSL-1.0
// Where a call cannot wake its helper for want of memory: what has ended has ended well, the rest ends with no_resources, and
// nothing is thrown at a caller who asked for a status.
#include "support/catch.hpp"
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/concepts/forwarding_transport.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <new>
#include <span>
#include <utility>

using namespace bough;

namespace {

struct bell {
    bool fails = false;
    int rung = 0;
};
class belled : public forwarding_transport<testing::transport_archetype> {
public:
    belled(testing::transport_archetype inner, bell& b)
        : forwarding_transport<testing::transport_archetype>(std::move(inner)), bell_(&b) {}
    void operation_started() {
        if (bell_->fails) throw std::bad_alloc();
        ++bell_->rung;
    }

private:
    bell* bell_;
};

struct pair {
    testing::loop_group group{2};
    bell one, other;
    communicator<belled> first{belled(group.connect(0), one)}, second{belled(group.connect(1), other)};
    int x = 1, y = 2;
    std::span<int> mine{&x, 1}, theirs{&y, 1};
};

} // namespace

TEST_CASE("helper not woken: a call that ended at once has ended well") {
    pair p;
    operation waits = start_reduce(p.first, p.mine, plus{}, root{0});
    REQUIRE(p.one.rung == 1);
    p.one.fails = true;
    int z = 7, got = 0;
    operation sends = start_broadcast(p.first, std::span(&z, 1), root{0});
    REQUIRE(sends.done());
    CHECK_FALSE(sends.result());
    CHECK_FALSE(p.first.poison());
    p.one.fails = false;
    operation there = start_reduce(p.second, p.theirs, plus{}, root{0});
    operation gets = start_broadcast(p.second, std::span(&got, 1), root{0});
    waits.wait();
    gets.wait();
    there.wait();
    CHECK((p.x == 3 && got == 7));
}

TEST_CASE("helper not woken: a call in flight ends with no_resources, on every rank") {
    pair p;
    p.one.fails = true;
    operation waits = start_reduce(p.first, p.mine, plus{}, root{0});
    REQUIRE(waits.done());
    CHECK(waits.result().code == errc::no_resources);
    status s;
    reduce(p.second, p.theirs, plus{}, root{0}, s);
    broadcast(p.second, p.theirs, root{0}, s);
    CHECK(s.cause == errc::no_resources);
}

TEST_CASE("helper not woken: a call that is refused says why") {
    pair p;
    operation waits = start_reduce(p.first, p.mine, plus{}, root{0});
    p.one.fails = true;
    status s;
    REQUIRE_NOTHROW(broadcast(p.first, p.mine, root{5}, s));
    CHECK(s.code == errc::invalid_argument);
    waits.cancel();
}
