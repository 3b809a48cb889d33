// SPDX-License-Identifier: BSL-1.0
// A hook of the program that runs while calls wait: in every kind of wait, as often as it must, beside what it may do. And
// operations that somebody else's loop drives by progress(), without an allocation.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/last_words.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/waiting_hook.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using communicator_type = communicator<in_process::endpoint>;

// Rank 1 makes its call only after the hook of rank 0 has run so often. Without the hook the call ends by its deadline.
struct gate {
    std::atomic<int> calls{0};
    int open_at = 100;
    bool stays_awake = true;
    static bool hook(void* context, std::uint32_t) {
        auto& self = *static_cast<gate*>(context);
        ++self.calls;
        return self.stays_awake;
    }
    void wait_until_open() const {
        const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5); // then the test fails
        while (calls < open_at && std::chrono::steady_clock::now() < last) std::this_thread::yield();
    }
};

template <class F>
void opens(bool stays_awake, F&& call) {
    gate g;
    g.stays_awake = stays_awake;
    std::atomic<int> failed{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
        barrier(comm);
        if (comm.rank() == 0)
            comm.set_while_waiting({gate::hook, &g});
        else
            g.wait_until_open();
        status s;
        call(comm, s);
        if (s) ++failed;
        comm.set_while_waiting({});
        barrier(comm, s);
    });
    CHECK(failed == 0);
    CHECK(g.calls >= g.open_at);
}

} // namespace

TEST_CASE("while waiting: the hook runs in every wait") {
    for (const bool stays_awake : {true, false}) {
        opens(stays_awake, [](auto& comm, status& s) { barrier(comm, s); });
        opens(stays_awake, [](auto& comm, status& s) {
            double x = 1;
            allreduce(comm, std::span(&x, 1), plus{}, s);
            CHECK(x == 2);
        });
        opens(stays_awake, [](auto& comm, status& s) {
            std::vector<double> x(100'000, 1);
            allreduce(comm, x, plus{}, s);
            CHECK(x.back() == 2);
        });
        opens(stays_awake, [](auto& comm, status& s) {
            double x = 1;
            start_allreduce(comm, std::span(&x, 1), plus{}).wait(s);
        });
        opens(stays_awake, [](auto& comm, status& s) {
            double x = 1;
            persistent_operation bound = bind_allreduce(comm, std::span(&x, 1), plus{});
            bound.start();
            CHECK(bound.wait_for_ns(20'000'000'000));
            bound.wait(s);
        });
        opens(stays_awake, [](auto& comm, status& s) {
            auto twin = duplicate(comm, s);
            // Its options are those of the first one.
            CHECK(twin->options().while_waiting.context == comm.options().while_waiting.context);
        });
    }
}

TEST_CASE("while waiting: a call that need not wait does not call the hook") {
    int calls = 0;
    communicator comm{
        self{},
        {.while_waiting = {[](void* context, std::uint32_t) { return ++*static_cast<int*>(context), false; }, &calls}}};
    double x = 1;
    allreduce(comm, std::span(&x, 1), plus{});
    barrier(comm);
    CHECK(calls == 0);
}

TEST_CASE("while waiting: the hook drives another communicator, on which the peer waits") {
    in_process first{2}, second{2};
    std::vector<std::thread> ranks;
    std::atomic<int> wrong{0};
    for (rank_t r = 0; r != 2; ++r)
        ranks.emplace_back([&, r] {
            communicator mine{first.connect(r), {.timeout_ns = 20'000'000'000}};
            communicator host{second.connect(r), {.timeout_ns = 20'000'000'000}};
            std::vector<double> x(50'000, 1), y(50'000, 2);
            status s;
            for (int i = 0; i != 20; ++i) {
                x.assign(x.size(), 1);
                y.assign(y.size(), 2);
                operation its = start_allreduce(host, y, plus{});
                if (r == 0) {
                    // Blocks in one communicator, and moves the other: rank 1 comes only then.
                    mine.set_while_waiting({[](void* context, std::uint32_t) {
                                                static_cast<communicator_type*>(context)->progress();
                                                return true;
                                            },
                                            &host});
                    allreduce(mine, x, plus{}, s);
                    wrong += bool(s);
                    its.wait(s);
                } else {
                    its.wait(s);
                    wrong += bool(s);
                    allreduce(mine, x, plus{}, s);
                }
                wrong += bool(s) || x[0] != 2 || x.back() != 2 || y[0] != 4 || y.back() != 4;
            }
        });
    for (std::thread& t : ranks) t.join();
    CHECK(wrong == 0);
}

TEST_CASE("while waiting: the hook starts, polls and ends operations, also of the same communicator's session") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
        status s;
        auto other = duplicate(comm, s);
        struct work {
            communicator_type* on;
            operation op;
            double x = 1;
            int done = 0, calls = 0;
        } w{&*other, {}};
        const auto hook = [](void* context, std::uint32_t) {
            work& all = *static_cast<work*>(context);
            ++all.calls;
            if (!all.op.done()) return all.op.poll(), true;
            if (all.done++ == 0) {
                all.x = 1;
                all.op = start_allreduce(*all.on, std::span(&all.x, 1), plus{});
            }
            return true;
        };
        w.op = start_allreduce(*other, std::span(&w.x, 1), plus{});
        comm.set_while_waiting({hook, &w});
        for (int i = 0; i != 50; ++i) {
            double y = comm.rank();
            if (comm.rank() == 1) std::this_thread::yield();
            allreduce(comm, std::span(&y, 1), plus{}, s);
            wrong += bool(s) || y != 1;
        }
        comm.set_while_waiting({});
        if (w.done == 0) { // it never had to wait: the other rank's second one needs ours
            w.op.wait(s);
            w.x = 1;
            w.op = start_allreduce(*other, std::span(&w.x, 1), plus{});
        }
        w.op.wait(s);
        wrong += bool(s) || w.x != 2;
    });
    CHECK(wrong == 0);
}

TEST_CASE("while waiting: the hook sees how long nothing has come, and may take itself away") {
    std::atomic<bool> taken{false};
    std::uint32_t last = 0;
    int jumps = 0;
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
        barrier(comm);
        if (comm.rank() == 1) {
            while (!taken) std::this_thread::yield();
            barrier(comm);
            return;
        }
        struct state {
            communicator_type* comm;
            std::atomic<bool>* taken;
            std::uint32_t* last;
            int* jumps;
        } its{&comm, &taken, &last, &jumps};
        comm.set_while_waiting({[](void* context, std::uint32_t idle) {
                                    state& s = *static_cast<state*>(context);
                                    if (idle != 0 && idle != 1 && idle != *s.last + 1) ++*s.jumps;
                                    *s.last = idle;
                                    if (idle == 1000) {
                                        s.comm->set_while_waiting({});
                                        *s.taken = true;
                                    }
                                    return true;
                                },
                                &its});
        barrier(comm);
    });
    CHECK(last == 1000);
    CHECK(jumps == 0);
}

TEST_CASE(
    "while waiting: a blocking call in the hook on the communicator that waits ends the program with a sentence") {
    const bough_test::last_words said = bough_test::last_words_of([] {
        in_process world{2};
        communicator comm{world.connect(0)};
        communicator late{world.connect(1)};
        comm.set_while_waiting({[](void* context, std::uint32_t) {
                                    barrier(*static_cast<communicator_type*>(context));
                                    return false;
                                },
                                &comm});
        barrier(comm);
    });
    CHECK(said.aborted);
    CHECK(said.has("while_waiting: makes a blocking call on the communicator that waits"));
}

TEST_CASE("progress: somebody else's loop drives operations without an allocation") {
    std::atomic<std::size_t> most{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
        std::vector<double> x(3000, 1), y(20, 1);
        persistent_operation long_one = bind_allreduce(comm, x, plus{});
        persistent_operation short_one = bind_allreduce(comm, y, plus{});
        const auto round = [&] {
            long_one.start();
            short_one.start();
            operation third = start_barrier(comm);
            while (!long_one.done() || !short_one.done() || !third.done()) {
                comm.progress();
                std::this_thread::yield();
            }
            barrier(comm);
        };
        const auto early = [&] { return static_cast<std::size_t>(comm.shared_session()->early_allocations()); };
        for (int i = 0; i != 30; ++i) round();
        const std::size_t before = bough_test::allocations - early();
        for (int i = 0; i != 100; ++i) round();
        const std::size_t made = bough_test::allocations - early() - before;
        if (made > most) most = made;
        barrier(comm); // nobody leaves, and says so, before all have counted
    });
    CHECK(most == 0);
}
