// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/transport/mpi/peers.hpp>

using namespace bough;
using detail::mpi_peers;

TEST_CASE("mpi_peers: a rank with which calls fail is told once, and is there until it is lost") {
    mpi_peers peers(3);
    rank_t r = 0;
    CHECK_FALSE(peers.next_failed(r));
    peers.fail(2);
    peers.fail(2);
    CHECK_FALSE(peers.is_lost(2));
    REQUIRE(peers.next_failed(r));
    CHECK(r == 2);
    CHECK_FALSE(peers.next_failed(r));
    CHECK(peers.lose(2));
    CHECK(peers.is_lost(2));
    CHECK_FALSE(peers.lose(2));
    peers.fail(2); // nobody asks it for anything any more
    CHECK_FALSE(peers.next_failed(r));
    CHECK_FALSE(peers.is_lost(1));
}

TEST_CASE("mpi_peers: who has said bye, and whose loss the user knows of") {
    mpi_peers peers(2);
    CHECK_FALSE(peers.has_parted(1));
    peers.part(1);
    CHECK(peers.lose(1));
    CHECK(peers.has_parted(1));
    CHECK_FALSE(peers.is_reported(1));
    peers.report(1);
    CHECK(peers.is_reported(1));
}
