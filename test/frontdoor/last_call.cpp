// SPDX-License-Identifier: BSL-1.0
// A rank destroys its communicator while others still make calls of it. A call that needs it ends at once,
// for its deadline is far away; calls that it has made, and other communicators, end well.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;

namespace {

using communicator_of_threads = communicator<in_process::endpoint>;

template <class Comm>
status add(Comm& comm) {
    status s;
    int one = 1;
    allreduce(comm, std::span(&one, 1), plus{}, s);
    if (!s && one != static_cast<int>(comm.size())) s.code = errc::protocol_error;
    return s;
}

bool has_left(const status& s, rank_t who) {
    return s.code == errc::peer_aborted && s.cause == errc::cancelled && s.peer == who;
}

template <class Comm>
void wait_and_poll(Comm& comm, std::chrono::milliseconds time) {
    for (const auto last = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < last;)
        comm.progress();
}

} // namespace

TEST_CASE("last call: a rank destroys a duplicate, and calls that need it end at once") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(60s);
        {
            auto part = duplicate(comm);
            for (int i = 0; i != 5; ++i) wrong += bool(add(part));
            if (comm.rank() == 1) std::this_thread::sleep_for(100ms); // the next call of the others is in flight
            if (comm.rank() != 1) {
                int x = 1, y = 1;
                operation o = start_allreduce(part, std::span(&x, 1), plus{});
                operation p = start_allreduce(part, std::span(&y, 1), plus{});
                wrong += !has_left(add(part), 1);
                for (operation* each : {&o, &p}) {
                    status s;
                    each->wait(s);
                    wrong += !has_left(s, 1);
                }
                for (int i = 0; i != 100; ++i) wrong += !has_left(add(part), 1);
                wrong += bool(part.poison());
            }
        }
        for (int i = 0; i != 5; ++i) wrong += bool(add(comm));
        auto next = duplicate(comm); // nothing of the old one is left
        for (int i = 0; i != 5; ++i) wrong += bool(add(next));
        wrong += next.context() != 1;
    });
    CHECK(wrong == 0);
}

TEST_CASE("last call: one that repeats an earlier call ends well where its rank has left before") {
    std::atomic<int> wrong{0};
    std::atomic<bool> is_gone{false};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(60s);
        std::optional<communicator_of_threads> part(duplicate(comm));
        const auto hear = [&](int of) {
            int x = comm.rank() == 0 ? of : -1;
            status s;
            broadcast(*part, std::span(&x, 1), root{0}, s);
            wrong += bool(s) + (x != of);
        };
        for (int i = 0; i != 5; ++i) hear(i);
        barrier(comm);
        wrong += part->find_repeated({&detail::door_tag<goal::broadcast, int, void>, 1, 0}) == nullptr;
        if (comm.rank() == 0) {
            for (int i = 5; i != 8; ++i) hear(i);
            part.reset();
            is_gone = true;
        } else {
            while (!is_gone) std::this_thread::yield();
            wait_and_poll(comm, 5ms); // it is told which call was the last
            for (int i = 5; i != 8; ++i) hear(i);
            int x = 0;
            status s;
            broadcast(*part, std::span(&x, 1), root{0}, s);
            wrong += !has_left(s, 0);
        }
        barrier(comm);
    });
    CHECK(wrong == 0);
}

TEST_CASE("last call: the first communicator, of which a handle is left") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        std::optional<communicator_of_threads> comm(std::in_place, std::move(transport));
        comm->set_timeout(60s);
        std::optional<communicator_of_threads> other(duplicate(*comm));
        int x = 1;
        operation made = start_allreduce(*comm, std::span(&x, 1), plus{});
        status s;
        if (other->rank() == 2) comm.reset(); // with its last call in flight
        made.wait(s);
        wrong += bool(s) + (x != 3);
        if (other->rank() != 2)
            for (int i = 0; i != 3; ++i) wrong += !has_left(add(*comm), 2);
        for (int i = 0; i != 5; ++i) wrong += bool(add(*other));
    });
    CHECK(wrong == 0);
}

TEST_CASE("last call: a persistent operation makes calls after its communicator has gone") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator world{std::move(transport)};
        world.set_timeout(60s);
        std::optional<communicator_of_threads> comm(duplicate(world));
        std::array<int, 2> x{};
        std::array<persistent_operation, 2> bound;
        for (std::size_t i = 0; i != 2; ++i) bound[i] = bind_allreduce(*comm, std::span(&x[i], 1), plus{});
        if (comm->rank() == 0) comm.reset();
        for (std::size_t turn = 0; turn != 6; ++turn) {
            const std::size_t i = turn < 3 ? turn % 2 : 0;
            if (turn == 3 && world.rank() == 0) bound[1] = {}; // the other one may still be started
            x[i] = 1;
            bound[i].start();
            status s;
            bound[i].wait(s);
            wrong += bool(s) + (x[i] != 3);
        }
        if (world.rank() == 0) bound[0] = {};
        if (world.rank() != 0) {
            bound[0].start();
            status s;
            bound[0].wait(s);
            wrong += !has_left(s, 0) + !has_left(add(*comm), 0);
        }
        barrier(world);
    });
    CHECK(wrong == 0);
}

TEST_CASE("last call: ranks that make different numbers of calls hear it from each other") {
    std::atomic<int> wrong{0};
    for (rank_t fewest = 0; fewest != 4; ++fewest)
        in_process{4}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            comm.set_timeout(60s);
            auto part = duplicate(comm);
            const rank_t me = comm.rank();
            const int calls = 3 + static_cast<int>((me + 4 - fewest) % 4); // 3 with the one that makes the fewest
            int well = 0;
            for (int i = 0; i != calls; ++i) {
                const status s = add(part);
                well += !s;
                wrong += s && s.code != errc::peer_aborted;
            }
            wrong += well != 3;
        });
    CHECK(wrong == 0);
}

TEST_CASE("last call: it may come before the others have opened theirs") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(60s);
        const std::array<rank_t, 2> both{0, 1};
        for (int i = 0; i != 20; ++i) {
            std::optional<communicator_of_threads> made;
            made.emplace(i % 2 == 0 ? create_group(comm, std::span(both)) : duplicate(comm));
            if (comm.rank() == 0) made.reset(); // its number may be free before rank 1 knows it
            if (made) wrong += !has_left(add(*made), 0);
            made.reset();
            barrier(comm);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("last call: what cannot be made without the rank leaves the calls that it made alone") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(60s);
        const rank_t me = comm.rank();
        std::optional<communicator_of_threads> part(duplicate(comm));
        if (me == 1) wait_and_poll(comm, 200ms); // it makes the last common call when the others are further
        int x = me == 0 ? 7 : 0;
        status s;
        broadcast(*part, std::span(&x, 1), root{0}, s);
        wrong += bool(s) + (x != 7);
        if (me == 2) part.reset();
        if (me == 0) {
            wait_and_poll(comm, 100ms);
            for (int i = 0; i != 3; ++i) {
                wrong += duplicate(*part, s).has_value() + !has_left(s, 2);
                wrong += split(*part, 0, s).has_value() + !has_left(s, 2);
            }
            wrong += bool(part->poison());
        }
        for (int i = 0; i != 3; ++i) wrong += bool(add(comm));
        auto next = duplicate(comm);
        wrong += bool(add(next)) + (next.context() > 2); // no number is lost
    });
    CHECK(wrong == 0);
}

TEST_CASE("last call: agree and create_group do not wait for the rank, and it is not lost") {
    std::atomic<int> wrong{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        comm.set_timeout(60s);
        std::optional<communicator_of_threads> part(duplicate(comm));
        wrong += bool(add(*part));
        if (comm.rank() == 2) {
            part.reset();
        } else {
            if (comm.rank() != 1) wait_and_poll(comm, 50ms); // rank 1 may hear it in the middle
            status s;
            const auto word = agree(*part, std::uint64_t{12} + comm.rank(), s);
            wrong += bool(s) + (word != 12u);
            const std::array<rank_t, 4> all{1, 0, 2, 3};
            const std::array<rank_t, 3> others{3, 0, 1};
            wrong += create_group(*part, std::span(all), s).has_value();
            wrong += s.code != errc::peer_aborted;
            auto made = create_group(*part, std::span(others), s);
            wrong += bool(s) || add(*made);
        }
        wrong += bool(add(comm));
    });
    CHECK(wrong == 0);
}
