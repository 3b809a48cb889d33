// SPDX-License-Identifier: BSL-1.0
// A communicator of a user's own, derived from bough's, is one wherever a communicator is taken.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/group.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct my_comm : communicator<in_process::endpoint> {
    using communicator<in_process::endpoint>::communicator;
    int calls = 0;
};
struct not_a_comm {
    int rank = 0;
};

} // namespace

static_assert(detail::is_communicator_v<my_comm> && detail::is_communicator_v<communicator<in_process::endpoint>>);
static_assert(!detail::is_communicator_v<in_process::endpoint> && !detail::is_communicator_v<not_a_comm> &&
              !detail::is_communicator_v<int>);

TEST_CASE("derived: a collective takes a class that is derived from a communicator") {
    std::atomic<int> wrong{0};
    in_process world{3};
    world.run([&](auto transport) {
        my_comm comm{std::move(transport)};
        const int me = static_cast<int>(comm.rank());
        std::vector<int> x{1, me};
        allreduce(comm, x, plus{});
        wrong += x[0] != 3 || x[1] != 3;
        wrong += allreduce(comm, me, max{}) != 2;
        wrong += exscan(comm, 1, plus{}) != me;
        status s;
        broadcast(comm, std::span(x), root{1}, s);
        wrong += bool(s);
        operation op = start_allreduce(comm, x, plus{});
        op.wait();
        wrong += x[0] != 9;
        auto half = split(comm, 0);
        barrier(half);
        barrier(comm);
    });
    CHECK(wrong == 0);
}
