// SPDX-License-Identifier: BSL-1.0
// Named calls that wait for their turn while their rank waits in a call of another communicator: whatever
// polls the transport starts them, and ends those that wait in vain.
#include "support/catch.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/operation.hpp>
#include <bough/progress/thread.hpp>
#include <bough/reduce.hpp>
#include <bough/testing/thread_wire_up.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/serialised.hpp>
#include <bough/transport/shared_memory.hpp>
#include <bough/transport/tcp.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;
using namespace std::chrono_literals;

namespace {

// The ways to wait in another communicator.
enum class way { blocks, waits, waits_for, polls, makes_progress, agrees, duplicates, makes_a_group, last };

template <class Comm>
void wait_elsewhere(way how, Comm& comm, const std::atomic<bool>& over, status& s) {
    switch (how) {
    case way::blocks: barrier(comm, s); break;
    case way::waits: start_barrier(comm).wait(s); break;
    case way::waits_for: {
        operation op = start_barrier(comm);
        while (!op.wait_for(1ms)) {
        }
        s = op.result();
        break;
    }
    case way::polls: {
        operation op = start_barrier(comm);
        while (!op.poll()) {
        }
        s = op.result();
        break;
    }
    case way::makes_progress:
        while (!over) comm.progress();
        break;
    case way::agrees: (void)agree(comm, 1, s); break;
    case way::duplicates: (void)duplicate(comm, s); break;
    case way::makes_a_group: {
        const std::array<rank_t, 3> all{0, 1, 2};
        (void)create_group(comm, std::span<const rank_t>(all).first(comm.size()), s);
        break;
    }
    case way::last: break;
    }
}

// Over each transport: run(p, f) calls f(transport) in p threads.
template <class F>
void over_each(rank_t p, const F& f) {
    SECTION("in_process") { in_process{p}.run(f); }
    const auto joined = [&](const auto& join) {
        testing::thread_wire_up world{p};
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != p; ++r)
            threads.emplace_back([&, r] {
                auto wire = world.of(r);
                f(join(wire));
            });
        for (std::thread& t : threads) t.join();
    };
    SECTION("shared_memory") {
        joined([](auto& wire) { return shared_memory{wire}; });
    }
    SECTION("tcp") {
        joined([](auto& wire) { return tcp{wire}; });
    }
}

} // namespace

TEST_CASE("named elsewhere: each way to wait in another communicator starts a call that waits for its turn") {
    const rank_t p = GENERATE(2u, 3u);
    for (way how{}; how != way::last; how = static_cast<way>(static_cast<int>(how) + 1)) {
        std::atomic<int> wrong{0};
        std::atomic<bool> is_over{false};
        in_process{p}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = duplicate(base);
            base.set_timeout(10s);
            comm.set_timeout(10s);
            int x = 1;
            status s;
            barrier(base);
            if (base.rank() == 0) std::this_thread::sleep_for(20ms); // so the others keep their calls
            operation op = start_allreduce(comm, x, plus{}, named{"a"});
            if (base.rank() == 0) {
                op.wait(s); // before it comes to the call for which the others wait: so they start theirs meanwhile
                wrong += bool(s) || x != static_cast<int>(p);
                is_over = true;
            }
            wait_elsewhere(how, base, is_over, s);
            wrong += bool(s);
            // It was done before rank 0 came. (Of three ranks, the third may hear later from the second.)
            wrong += p == 2 && how != way::makes_progress && !op.done();
            op.wait(s);
            wrong += bool(s) || x != static_cast<int>(p);
            barrier(base);
        });
        CAPTURE(p, static_cast<int>(how));
        CHECK(wrong == 0);
    }
}

TEST_CASE("named elsewhere: calls of two communicators with names wait for each other's ranks") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto one = duplicate(base);
        // In this one rank 1 is the first.
        auto other = split(base, 0, 1 - base.rank());
        base.set_timeout(10s);
        one.set_timeout(10s);
        other.set_timeout(10s);
        for (int i = 0; i != 20; ++i) {
            int x = 1, y = 1;
            status s;
            const std::string name = std::to_string(i);
            if (base.rank() == 0) {
                operation kept = start_allreduce(other, y, plus{}, named{name});
                allreduce(one, std::span(&x, 1), plus{}, named{name}, s);
                wrong += bool(s) || x != 2;
                kept.wait(s);
            } else {
                operation kept = start_allreduce(one, x, plus{}, named{name});
                allreduce(other, std::span(&y, 1), plus{}, named{name}, s);
                wrong += bool(s) || y != 2;
                kept.wait(s);
            }
            wrong += bool(s) || x != 2 || y != 2;
        }
        barrier(base);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named elsewhere: long calls in one order end, also where one of them waits for its turn") {
    // Longer than what may be sent ahead of an older operation. So where all ranks have the named call in
    // front of the other one, it must not stand behind that one on a rank that starts it later.
    std::atomic<int> wrong{0};
    over_each(3, [&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        base.set_timeout(20s);
        comm.set_timeout(20s);
        std::vector<double> x(300'000, 1), y(300'000, 1), z(300'000, 1);
        const std::vector<double> sum(300'000, 3);
        status s;
        barrier(base);
        if (base.rank() == 0) std::this_thread::sleep_for(20ms);
        operation before = start_allreduce(base, z, plus{});
        operation op = start_allreduce(comm, x, plus{}, named{"long"});
        allreduce(base, std::span(y), plus{}, s);
        wrong += bool(s) || y != sum;
        op.wait(s);
        wrong += bool(s) || x != sum;
        before.wait(s);
        wrong += bool(s) || z != sum;
        barrier(base);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named elsewhere: long calls of two communicators with names keep one order, whichever name comes first") {
    for (const bool is_turned : {false, true}) {
        std::atomic<int> wrong{0};
        in_process{2}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto one = duplicate(base);
            auto other = duplicate(base);
            one.set_timeout(10s);
            other.set_timeout(10s);
            std::array<std::vector<double>, 3> x;
            for (auto& its : x) its.assign(300'000, 1);
            const std::vector<double> sum(300'000, 2);
            const bool is_first = base.rank() == 0;
            barrier(base);
            if (is_first) std::this_thread::sleep_for(20ms); // so the other one keeps its calls
            std::array<operation, 3> all;
            const std::size_t a = is_turned && !is_first ? 2 : 0, c = 2 - a;
            all[a] = start_allreduce(one, x[a], plus{}, named{std::to_string(a)});
            all[1] = start_allreduce(other, x[1], plus{}, named{"between"});
            all[c] = start_allreduce(one, x[c], plus{}, named{std::to_string(c)});
            if (!is_first) std::this_thread::sleep_for(40ms); // all names have come before it polls
            status s;
            for (std::size_t i = 0; i != 3; ++i) {
                all[i].wait(s);
                wrong += bool(s) || x[i] != sum;
            }
            barrier(base);
        });
        CAPTURE(is_turned);
        CHECK(wrong == 0);
    }
}

TEST_CASE("named elsewhere: a long call behind one that waits for its turn does not stand in its way") {
    // Rank 0 waits for the named call before it makes the other one, of which the others may send it much
    // before.
    std::atomic<int> wrong{0};
    over_each(3, [&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        base.set_timeout(20s);
        comm.set_timeout(20s);
        std::vector<double> x(300'000, 1);
        std::vector<std::vector<double>> many(20, std::vector<double>(100'000, 1));
        status s;
        barrier(base);
        if (base.rank() == 0) std::this_thread::sleep_for(50ms);
        operation op = start_allreduce(comm, x, plus{}, named{"long"});
        if (base.rank() == 0) {
            op.wait(s);
            wrong += bool(s);
        }
        std::vector<operation> flying;
        for (std::vector<double>& y : many) flying.push_back(start_reduce(base, y, plus{}, root{0}));
        barrier(base, s);
        wrong += bool(s);
        for (operation& f : flying) f.wait(s), wrong += bool(s);
        op.wait(s);
        wrong += bool(s) || x != std::vector<double>(300'000, 3);
        barrier(base);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named elsewhere: a call that waits in vain ends while its rank waits in another communicator") {
    enum class end { deadline, breaks, leaves };
    for (const end how : {end::deadline, end::breaks, end::leaves}) {
        std::atomic<int> wrong{0};
        in_process{3}.run([&](auto transport) {
            communicator base{std::move(transport)};
            auto comm = std::optional(duplicate(base));
            base.set_timeout(20s);
            comm->set_timeout(20s);
            int x = 1;
            status s;
            if (base.rank() == 1) {
                if (how == end::deadline) comm->set_timeout(100ms);
                operation op = start_allreduce(*comm, x, plus{}, named{"in vain"});
                barrier(base); // rank 0 comes only when it hears of it
                wrong += !op.done() || !op.result();
                wrong += how == end::deadline && !is_deadline(op.result());
            } else if (base.rank() == 0) {
                if (how == end::breaks) barrier(*comm, named{""}, s);
                if (how == end::leaves) comm.reset();
                const auto last = std::chrono::steady_clock::now() + 10s;
                while (how == end::deadline && !comm->poison() && std::chrono::steady_clock::now() < last)
                    base.progress();
                wrong += std::chrono::steady_clock::now() >= last;
                if (how != end::deadline) std::this_thread::sleep_for(100ms);
                barrier(base);
            } else {
                barrier(base);
            }
            barrier(base);
        });
        CAPTURE(static_cast<int>(how));
        CHECK(wrong == 0);
    }
}

TEST_CASE("named elsewhere: a handle that is destroyed while others poll leaves nothing behind") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        base.set_timeout(10s);
        for (int i = 0; i != 20; ++i) {
            auto comm = std::optional(duplicate(base));
            int x = 1;
            status s;
            if (base.rank() == 1) {
                operation op = start_allreduce(*comm, x, plus{}, named{"a"});
                if (i % 2 == 0) comm.reset();
                op = {};
            }
            barrier(base, s); // polls a session that knew the call
            wrong += bool(s);
            comm.reset();
            barrier(base, s);
            wrong += bool(s);
        }
    });
    CHECK(wrong == 0);
}

TEST_CASE("named elsewhere: no call that waits starts during a shrink") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{std::move(transport)};
        auto comm = duplicate(base);
        base.set_timeout(10s);
        int x = 1;
        status s;
        barrier(base);
        std::optional<operation> kept;
        if (base.rank() == 0) {
            std::this_thread::sleep_for(20ms);
            broadcast(comm, std::span(&x, 1), root{0}, named{"a"}, s); // which ends without the other rank
        } else {
            kept = start_broadcast(comm, std::span(&x, 1), root{0}, named{"a"});
        }
        auto rest = shrink(base);
        if (kept) {
            kept->wait(s);
            wrong += s.code != errc::group_poisoned;
        }
        barrier(rest, s);
        wrong += bool(s);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named elsewhere: a progress thread starts calls that wait for their turn") {
    std::atomic<int> wrong{0};
    std::atomic<bool> is_over{false};
    in_process{3}.run([&](auto transport) {
        communicator base{serialised{std::move(transport)}};
        auto comm = duplicate(base);
        base.set_timeout(10s);
        comm.set_timeout(10s);
        progress_thread helper;
        helper.look_after(base);
        int x = 1;
        status s;
        barrier(base);
        if (base.rank() == 0) std::this_thread::sleep_for(20ms);
        operation op = start_allreduce(comm, x, plus{}, named{"a"});
        if (base.rank() == 0) {
            op.wait(s);
            wrong += bool(s);
            is_over = true;
        }
        const auto last = std::chrono::steady_clock::now() + 5s;
        while (!is_over && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(1ms);
        wrong += !is_over;
        op.wait(s);
        wrong += bool(s) || x != 3;
        barrier(base);
    });
    CHECK(wrong == 0);
}

TEST_CASE("named elsewhere: threads of other communicators start a call, end it, and its owner asks meanwhile") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        communicator base{serialised{std::move(transport)}};
        auto comm = duplicate(base), breaks = duplicate(base), elsewhere = duplicate(base);
        for (auto* c : {&base, &comm, &breaks, &elsewhere}) c->set_timeout(20s);
        progress_thread helper;
        helper.look_after(base);
        std::thread other([&] {
            status s;
            for (int i = 0; i != 300; ++i) barrier(elsewhere, s), wrong += bool(s);
        });
        for (int i = 0; i != 100; ++i) {
            status s;
            std::array<int, 3> x{1, 1, 1};
            std::array<operation, 3> all;
            for (std::size_t k = 0; k != 3; ++k) {
                const std::size_t which = base.rank() == 0 ? k : 2 - k;
                all[which] = start_allreduce(comm, x[which], plus{}, named{std::to_string(which)});
                if (i % 3 == 0) all[which].set_priority(1);
                if (i % 5 == 0) all[which].set_timeout(15s);
            }
            for (operation& op : all) {
                if (i % 2 == 0)
                    while (!op.poll()) {
                    }
                op.wait(s);
                wrong += bool(s);
            }
            wrong += x != std::array<int, 3>{2, 2, 2};
            wrong += comm.counters().calls != 3 * (static_cast<std::uint64_t>(i) + 1);
        }
        int y = 1;
        if (base.rank() == 1) {
            operation never = start_allreduce(breaks, y, plus{}, named{"never"});
            never.set_timeout(20ms);
            while (!never.done()) std::this_thread::yield();
            wrong += !is_deadline(never.result());
        }
        other.join();
        barrier(base);
    });
    CHECK(wrong == 0);
}
