// SPDX-License-Identifier: BSL-1.0
// Once warm, a collective allocates nothing: not on the heap of any rank, for short messages and for long ones. Except when
// more messages are early at a time than ever before: then one allocation for each, see bough/session/unexpected.hpp.
// Compiled alone, optimised: it makes a million calls.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/until.hpp"
#include <bough/algorithm/alltoall/bruck.hpp>
#include <bough/algorithm/circulant.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/alltoall.hpp>
#include <bough/barrier.hpp>
#include <bough/batch.hpp>
#include <bough/broadcast.hpp>
#include <bough/exscan.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/scan.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bough;
using bough_test::allocations, bough_test::fail_for_good, bough_test::until_failure;

// Allocations of one rank after warm-up, by collective: allreduce, reduce, broadcast, barrier, scans, and those of blocks.
// A barrier keeps the ranks together: a message is early by one operation at most. In the warm-up it is, as much as can be:
// each rank in turn is late, and looks at what comes from the others.
using counts = std::array<std::size_t, 8>;
template <class X>
counts counted(communicator<X>& comm, std::size_t count) {
    const std::size_t p = comm.size(), each = (count + p - 1) / p;
    std::vector<std::uint64_t> in(each * p, 1), out(each * p, 0);
    const std::span<const std::uint64_t> from(in);
    const std::span<std::uint64_t> into(out);
    status s;
    std::error_code ec;
    const auto measure = [&](auto&&... calls) {
        const auto all = [&] { ((calls(), barrier(comm, ec)), ...); };
        all();
        for (rank_t late = 0; late != comm.size(); ++late) {
            const auto one = [&](auto&& call_it) {
                const auto last = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
                while (comm.rank() == late && std::chrono::steady_clock::now() < last) {
                    comm.progress();
                    std::this_thread::yield();
                }
                call_it();
                barrier(comm, ec);
            };
            for (int i = 0; i != 2; ++i) (one(calls), ...);
        }
        const auto of_early = [&] { return static_cast<std::size_t>(comm.shared_session()->early_allocations()); };
        const std::size_t before = allocations - of_early();
        for (int i = 0; i != 200; ++i) all();
        const std::size_t made = allocations - of_early() - before;
        barrier(comm, ec); // nobody leaves, and says so, before all have counted
        // What is early at a time is what a rank sends in one operation: 32 blocks to each of two others, twice at most.
        return s || ec || of_early() > 150 ? ~std::size_t{0} : made;
    };
    return {measure([&] { allreduce(comm, from, into, plus{}, s); },
                    [&] { allreduce(comm, into, plus{}, recursive_doubling{}, s); },
                    [&] { allreduce(comm, into, plus{}, fnomial{.degree = 3}, ec); }),
            measure([&] { reduce(comm, from, into, plus{}, root{comm.size() - 1}, s); },
                    [&] { reduce(comm, into, plus{}, root{0}, fnomial{.degree = 4}, ec); }),
            measure([&] { broadcast(comm, into, root{0}, s); },
                    [&] { broadcast(comm, into, root{comm.size() - 1}, fnomial{.degree = 2}, ec); }),
            measure([&] { barrier(comm, s); }),
            measure([&] { scan(comm, from, into, plus{}, s); }, [&] { exscan(comm, from, into, plus{}, ec); }),
            measure([&] { reduce_scatter(comm, from.first(each * p), into.first(each), plus{}, s); },
                    [&] { reduce_scatter(comm, into.first(each * p), plus{}, circulant{}, ec); }),
            measure([&] { allgather(comm, from.first(each), into.first(each * p), s); },
                    [&] { allgather(comm, into.first(each * p), circulant{}, ec); }),
            measure([&] { alltoall(comm, from.first(each * p), into.first(each * p), s); },
                    [&] { alltoall(comm, from.first(each * p), into.first(each * p), bruck_alltoall{}, ec); })};
}

} // namespace

TEST_CASE("front doors: once warm, nothing is allocated") {
    for (const rank_t size : {1u, 2u, 4u})
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{100 * 1024}}) {
            std::mutex guard;
            std::vector<counts> seen;
            in_process(size).run([&](auto end) {
                communicator comm{std::move(end)};
                const auto mine = counted(comm, bytes / 8);
                const std::scoped_lock lock(guard);
                seen.push_back(mine);
            });
            REQUIRE(seen.size() == size);
            for (const auto& s : seen) {
                CAPTURE(size, bytes, s);
                CHECK(s == counts{});
            }
        }
}

TEST_CASE("persistent operations allocate nothing from their second start on, started ones nothing once warm") {
    for (const std::size_t count : {std::size_t{3}, std::size_t{20'000}}) {
        std::atomic<std::size_t> of_bound{0}, of_started{0}, wrong{0};
        in_process(4).run([&](auto end) {
            communicator comm{std::move(end)};
            std::vector<std::uint64_t> x(count, 1), y(4 * count), z(count);
            const std::vector<std::size_t> counts(4, count);
            const std::span<const std::uint64_t> in(x);
            std::vector<double> d(count, 0.5);
            std::error_code ec;
            auto a = bind_allreduce(comm, in, z, plus{});
            auto b = bind_allgatherv(comm, in, y, counts);
            auto c = bind_allreduce(comm, d, exact_sum{});
            std::array<double, 3> mine{};
            std::uint32_t most = 0;
            batch all, more;
            all.add(mine, plus{}).add(most, bough::max{}).add(in, z, plus{});
            more.add(mine, exact_sum{}).add(most, bough::max{});
            auto h = bind_allreduce(comm, all);
            const auto early = [&] { return static_cast<std::size_t>(comm.shared_session()->early_allocations()); };
            const auto round = [&] {
                a.start(), b.start(), c.start();
                c.wait(ec), wrong += ec ? 1 : 0;
                b.wait(ec), wrong += ec ? 1 : 0;
                a.wait(ec), wrong += ec || z[0] != 4 ? 1 : 0;
                d.assign(count, 0.5);
                mine = {1, 2, 3};
                h.start(), h.wait(ec), wrong += ec || mine[2] != 12 || z[0] != 4 ? 1 : 0;
                barrier(comm, ec);
            };
            round();
            std::size_t before = allocations - early();
            for (int i = 0; i != 50; ++i) round();
            of_bound += allocations - early() - before;
            const auto again = [&] {
                operation e = start_allreduce(comm, in, z, plus{});
                operation f = start_allreduce(comm, d, exact_sum{});
                operation g = start_allreduce(comm, y, plus{}, recursive_doubling{});
                f.wait(ec), e.wait(ec), g.wait(ec);
                barrier(comm, ec);
            };
            for (int i = 0; i != 5; ++i) again();
            before = allocations - early();
            for (int i = 0; i != 50; ++i) again();
            of_started += allocations - early() - before;
            const auto batched = [&] {
                operation k = start_allreduce(comm, more);
                k.wait(ec);
                allreduce(comm, more, ec);
                barrier(comm, ec);
            };
            for (int i = 0; i != 5; ++i) batched();
            before = allocations - early();
            for (int i = 0; i != 50; ++i) batched();
            of_started += allocations - early() - before;
            barrier(comm, ec);
        });
        CAPTURE(count);
        CHECK(wrong == 0);
        CHECK(of_bound == 0);
        CHECK(of_started == 0);
    }
}

TEST_CASE("front doors: nor over self, and the counter counts") {
    communicator comm{self{}};
    CHECK(counted(comm, 1) == counts{});
    const std::size_t before = allocations;
    ::operator delete(::operator new(400)); // a new-expression may be left out
    const std::size_t after = allocations;
    CHECK(after == before + 1);
}

TEST_CASE("persistent operations allocate nothing from their first start on, once the transport knows all peers") {
    std::atomic<std::size_t> made{0}, wrong{0};
    in_process(4).run([&](auto end) {
        communicator comm{std::move(end)};
        std::error_code ec;
        std::vector<std::uint64_t> from(4, 1), to(4, 0);
        alltoall(comm, std::span<const std::uint64_t>(from), std::span(to), pairwise_alltoall{}, ec); // a channel each
        auto twin = duplicate(comm);
        std::vector<double> x(20'000, 1), y(80'000), z(20'000);
        const std::vector<std::size_t> counts(4, x.size());
        auto a = bind_allreduce(twin, std::span<const double>(x), std::span(z), plus{});
        auto b = bind_allgatherv(twin, std::span<const double>(x), std::span(y), counts);
        auto c = bind_barrier(twin);
        auto d = bind_broadcast(twin, std::span(y), root{1});
        auto e = bind_allreduce(twin, std::span(z).first(1), exact_sum{});
        auto f = bind_scan(twin, std::span(z), plus{});
        auto g = bind_allreduce(twin, std::span(from), plus{}, fnomial{3});
        barrier(comm, ec);
        const auto early = [&] { return static_cast<std::size_t>(comm.shared_session()->early_allocations()); };
        const std::size_t before = allocations - early();
        for (auto* op : {&a, &b, &c, &d, &e, &f, &g}) {
            op->start();
            op->wait(ec);
            wrong += ec ? 1 : 0;
        }
        made += allocations - early() - before;
        barrier(comm, ec);
        wrong += z[0] != 4.0 * (comm.rank() + 1) && z[1] != 4.0 * (comm.rank() + 1);
    });
    CHECK(wrong == 0);
    CHECK(made == 0);
}

// After a quarter of a second a rank asks those that it waits for.
TEST_CASE("a wait so long that the rank asks its peers allocates nothing") {
    std::atomic<std::size_t> made{0}, wrong{0};
    in_process(4).run([&](auto end) {
        communicator comm{std::move(end)};
        std::error_code ec;
        std::uint64_t x = 1;
        for (int i = 0; i != 5; ++i) allreduce(comm, std::span(&x, 1), plus{}, ec);
        if (comm.rank() == 3) std::this_thread::sleep_for(std::chrono::milliseconds(700));
        const auto early = [&] { return static_cast<std::size_t>(comm.shared_session()->early_allocations()); };
        const std::size_t before = allocations - early();
        allreduce(comm, std::span(&x, 1), plus{}, ec);
        made += allocations - early() - before;
        barrier(comm, ec);
        wrong += ec || x != 4096 ? 1 : 0;
    });
    CHECK(wrong == 0);
    CHECK(made == 0);
}

// Rank 1 starts hundreds of operations while rank 0 does something else, again and again.
TEST_CASE("operations allocate nothing from the second round on, also when a peer runs ahead by hundreds") {
    constexpr std::size_t many = 400;
    in_process world(2);
    const communicator_options keeps{.cached_plans = many}; // each operation in flight has a bound plan of its own
    communicator a{world.connect(0), keeps}, b{world.connect(1), keeps};
    std::vector<std::uint64_t> x(many, 1), y(many, 2);
    std::vector<operation> of_a(many), of_b(many);
    std::size_t of_round = 0;
    for (int round = 0; round != 6; ++round) {
        const std::size_t before = allocations;
        for (std::size_t i = 0; i != many; ++i) {
            of_b[i] = start_allreduce(b, std::span(y).subspan(i, 1), plus{}, recursive_doubling{});
            if (i % 8 == 0) a.progress(), b.progress();
        }
        for (int i = 0; i != 2'000; ++i) a.progress(), b.progress();
        for (std::size_t i = 0; i != many; ++i) {
            of_a[i] = start_allreduce(a, std::span(x).subspan(i, 1), plus{}, recursive_doubling{});
            a.progress(), b.progress();
        }
        for (std::size_t i = 0; i != many; ++i)
            while (!of_a[i].poll() || !of_b[i].poll()) a.progress(), b.progress();
        for (std::size_t i = 0; i != many; ++i) REQUIRE((!of_a[i].result() && !of_b[i].result()));
        of_round = allocations - before;
    }
    CHECK(of_round == 0);
}

// Rank 1 is always one behind, so rank 0 has an operation in flight at any time.
TEST_CASE("operations that overlap without end take no more memory than the first hundred of them") {
    in_process world(2);
    communicator a{world.connect(0)}, b{world.connect(1)};
    std::array<std::uint64_t, 2> x{}, y{};
    std::array<operation, 2> of_a, of_b;
    std::size_t before = 0, ended_well = 0;
    for (std::size_t i = 0; i != 20'100; ++i) {
        if (i == 100) before = allocations;
        const std::size_t now = i % 2, old = 1 - now;
        x[now] = i;
        of_a[now] = start_allreduce(a, std::span(x).subspan(now, 1), plus{}, recursive_doubling{});
        if (i == 0) continue;
        y[old] = 1;
        of_b[old] = start_allreduce(b, std::span(y).subspan(old, 1), plus{}, recursive_doubling{});
        while (!of_a[old].poll() || !of_b[old].poll()) a.progress(), b.progress();
        ended_well += !of_a[old].result() && !of_b[old].result() && x[old] == i && y[old] == i && !of_a[now].poll();
    }
    CHECK(allocations == before);
    CHECK(ended_well == 20'099);
    of_a = {};
}

// What is remembered is bounded: choices, bound plans, and the memory of operations.
TEST_CASE("front doors: a million calls of other sizes and roots do not grow the memory") {
    in_process world(48);
    communicator comm{world.connect(5), {.cached_plans = 16, .cached_choices = 32}};
    std::vector<double> x(5'000, 1.0);
    const auto ask = [&](std::size_t calls) {
        for (std::size_t i = 0; i != calls; ++i) {
            const std::span<double> some = std::span(x).first(i * 7 % x.size());
            if (i % 512 != 0)
                (void)bind_allreduce(comm, some, plus{});
            else
                (void)bind_broadcast(comm, some, root{static_cast<rank_t>(i / 512 % 48)});
        }
    };
    ask(100'000);
    const std::ptrdiff_t before = bough_test::held_bytes;
    ask(1'000'000);
    CHECK(bough_test::held_bytes <= before + 1'000);
    CHECK(comm.core()->remembered_choices() == 32);
}

// In split phase: nothing is thrown but by what says so, each handle ends, and no result is wrong, whether one allocation
// fails or all from one on. Rank 1 has little memory, and is sent early messages of ten operations.
TEST_CASE("memory runs out while operations are in flight: poll and wait do not throw, and what ended well is right") {
    for (const bool all_from_then : {false, true}) {
        bool ran_through = false;
        std::size_t failures = 0;
        for (long n = 0; !ran_through && n < 3'000; n += 1 + n / 24) {
            std::atomic<int> wrong{0};
            in_process world(2);
            std::optional<communicator<in_process::endpoint>> a(world.connect(0)), b(world.connect(1));
            std::vector<std::vector<std::uint64_t>> x(22, std::vector<std::uint64_t>(1, 1));
            std::vector<operation> ops(22);
            const auto turn = [&](auto&& poll) {
                for (int i = 0; i != 30; ++i) {
                    const long left = std::exchange(until_failure, -1); // rank 0 has memory
                    a->progress();
                    until_failure = left;
                    poll();
                }
            };
            // Early for rank 1, of which it only polls.
            for (std::size_t i = 0; i != 10; ++i) ops[i] = start_allreduce(*a, x[i], plus{}, recursive_doubling{});
            until_failure = n;
            fail_for_good = all_from_then;
            try {
                turn([&] { b->progress(); });
                for (std::size_t i = 0; i != 10; ++i) {
                    ops[11 + i] = start_allreduce(*b, x[11 + i], plus{}, recursive_doubling{});
                    turn([&] { ops[11].poll(); });
                }
                for (std::size_t i = 0; i != 10; ++i) (void)ops[11 + i].wait_for_ns(1'000);
                ops[11].cancel();
            } catch (...) {
                ++wrong;
            }
            ran_through = until_failure > 0;
            until_failure = -1;
            fail_for_good = false;
            turn([&] { b->progress(); });
            for (std::size_t i = 0; i != 21; ++i) {
                if (!ops[i].done()) ++wrong;
                if (ops[i].result())
                    ++failures;
                else if (i != 10 && x[i][0] != 2)
                    ++wrong;
            }
            CAPTURE(n, all_from_then);
            REQUIRE(wrong == 0);
        }
        CHECK(ran_through);
        CHECK(failures > 10);
    }
}

TEST_CASE("memory runs out while a persistent operation is bound: no call has been made, and its starts are refused") {
    bool ran_through = false;
    int refused = 0;
    for (long n = 0; !ran_through && n < 1'000; ++n) {
        simulated world(2);
        std::vector<communicator<simulated::endpoint>> comm;
        for (rank_t r = 0; r != 2; ++r) comm.emplace_back(world.connect(r));
        std::vector<std::uint64_t> x(2, 1), y(2, 1);
        const auto settle = [&] {
            for (int i = 0; i != 300; ++i) comm[0].progress(), comm[1].progress(), world.advance();
        };
        until_failure = n;
        auto bound = bind_allreduce(comm[0], x, plus{}, recursive_doubling{});
        ran_through = until_failure >= 0;
        until_failure = -1;
        CAPTURE(n);
        operation one = start_allreduce(comm[0], x, plus{}), two = start_allreduce(comm[1], y, plus{});
        settle();
        REQUIRE((one.done() && two.done()));
        REQUIRE((!one.result() && !two.result())); // still in step
        bound.start();
        two = start_allreduce(comm[1], y, plus{}, recursive_doubling{});
        settle();
        REQUIRE((bound.done() && two.done()));
        REQUIRE(bool(bound.result()) == !ran_through);
        if (ran_through) continue;
        ++refused;
        REQUIRE(bound.result().code == errc::no_resources);
        REQUIRE(two.result().code != errc::ok);
    }
    CHECK(ran_through);
    CHECK(refused >= 2);
}

TEST_CASE("memory runs out at any one allocation: the call ends, on every rank, and never with a wrong answer") {
    for (const rank_t p : {rank_t{1}, rank_t{2}, rank_t{3}}) {
        for (const std::size_t count : {std::size_t{3}, std::size_t{1000}}) {
            std::size_t failures = 0;
            bool ran_through = false;
            // A choice allocates for every candidate: the later ones are sampled.
            for (long n = 0; !ran_through && n < 100'000; n += 1 + n / 24) {
                std::atomic<int> wrong{0};
                in_process{p}.run([&](auto transport) {
                    communicator comm{std::move(transport), {.timeout_ns = 5'000'000'000}};
                    std::vector<std::uint64_t> data(count, comm.rank() + 1);
                    status s;
                    if (comm.rank() == p - 1) until_failure = n;
                    allreduce(comm, std::span(data), plus{}, s);
                    if (comm.rank() == p - 1) {
                        ran_through = until_failure >= 0;
                        until_failure = -1;
                        if (s) ++failures;
                        if (s && s.code != errc::no_resources) ++wrong;
                    } else if (s && s.code != errc::peer_dead &&
                               (s.code != errc::peer_aborted || s.cause != errc::no_resources || s.peer != p - 1)) {
                        ++wrong;
                    }
                    if (!s && data[0] != std::uint64_t{p} * (p + 1) / 2) ++wrong;
                    for (int again = 0; again != 2; ++again) { // it can be called again, whatever happened
                        std::vector<std::uint64_t> more(count, 1);
                        status t;
                        allreduce(comm, std::span(more), plus{}, t);
                        if (!t && more[0] != p) ++wrong;
                        if (t && t.code == errc::deadline) ++wrong;
                    }
                });
                CHECK(wrong == 0);
            }
            CHECK(ran_through);
            CHECK(failures >= 3);
        }
    }
}
TEST_CASE("late ranks: once warm, started, bound and blocking calls allocate nothing") {
    std::atomic<std::size_t> made{0};
    std::atomic<int> wrong{0}, over{0};
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        constexpr automatic late{.late_ranks = true};
        std::array<std::uint64_t, 8> x{};
        std::uint64_t y = 1, z = 1;
        persistent_operation bound = bind_reduce(comm, y, plus{}, root{1}, late);
        const auto run = [&] {
            std::array<operation, 8> ops; // more than there are banks
            for (std::size_t i = 0; i != 8; ++i) {
                x[i] = i;
                ops[i] = start_allreduce(comm, x[i], plus{}, late);
            }
            bound.start();
            barrier(comm, late);
            bound.wait();
            allreduce(comm, std::span(&z, 1), max{}, late);
            for (std::size_t i = 0; i != 8; ++i) {
                ops[i].wait();
                wrong += x[i] != 3 * i;
            }
        };
        for (int i = 0; i != 3; ++i) run();
        const std::size_t before = allocations;
        for (int i = 0; i != 20; ++i) run();
        made += allocations - before;
        ++over;
        bough_test::until([&] { return over == 3; }, [&] { comm.progress(); });
    });
    CHECK(made == 0);
    CHECK(wrong == 0);
}
TEST_CASE("memory runs out at any one allocation of duplicate, on one rank: each is told, in this call or the next") {
    for (const rank_t who : {rank_t{0}, rank_t{2}}) {
        int failures = 0;
        bool ran_through = false;
        for (long n = 0; !ran_through && n < 1000; ++n) {
            std::atomic<int> wrong{0}, told{0}, over{0};
            in_process{3}.run([&](auto transport) {
                communicator comm{std::move(transport), {.timeout_ns = 30'000'000'000}};
                const bool fails = comm.rank() == who;
                status s, later;
                if (fails) until_failure = n;
                const auto twin = duplicate(comm, s);
                if (fails) {
                    ran_through = until_failure >= 0;
                    until_failure = -1;
                    wrong += ran_through ? bool(s) : s.code != errc::no_resources;
                }
                wrong += twin.has_value() == bool(s);
                int x = 1;
                if (!fails || ran_through) allreduce(comm, std::span(&x, 1), plus{}, recursive_doubling{}, later);
                for (const status& t : {s, later}) wrong += t.code == errc::deadline || t.code == errc::peer_dead;
                told += s || later;
                ++over;
                // What it has told is all that the others know of it.
                bough_test::until([&] { return over == 3; }, [&] { comm.progress(); });
            });
            CAPTURE(who, n);
            CHECK(wrong == 0);
            CHECK(told == (ran_through ? 0 : 3));
            failures += !ran_through;
        }
        CHECK(ran_through);
        CHECK(failures >= 3);
    }
}

TEST_CASE("memory runs out at any one allocation while a communicator is made: it is an exception") {
    long refused = 0;
    for (bool is_made = false; !is_made; ++refused) {
        self alone;
        until_failure = refused;
        try {
            const communicator<self> made{std::move(alone)};
            is_made = until_failure >= 0;
        } catch (const std::bad_alloc&) {
        }
        until_failure = -1;
    }
    CHECK(refused > 3);
}

TEST_CASE("memory that is reserved for messages between sessions serves those that are heard at once, too") {
    in_process world{2};
    communicator zero{world.connect(0)}, one{world.connect(1)};
    session<in_process::endpoint>& hears = *one.shared_session();
    hears.with_lock([&] { return hears.messages().reserve(1, 200), 0; });
    const std::vector<rank_t> both{0, 1};
    constexpr std::uint32_t warm = 9; // the list of refused calls has room for 16 then
    for (std::uint32_t turn = 1; turn != 16; ++turn) {
        CAPTURE(turn);
        envelope call;
        call.context = 7;
        call.operation = turn;
        zero.shared_session()->refuse(call, errc::no_resources, both);
        for (int i = 0; i != 4; ++i) zero.progress();
        until_failure = turn <= warm ? -1 : 0;
        bough_test::fail_for_good = turn > warm;
        for (int i = 0; i != 4; ++i) one.progress();
        until_failure = -1;
        bough_test::fail_for_good = false;
        CHECK_FALSE(one.poison());
    }
}
