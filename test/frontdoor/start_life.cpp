// SPDX-License-Identifier: BSL-1.0
// The life of an operation that was started: order of calls, errors, cancellation, what it keeps, and what is left of it.
#include "support/catch.hpp"
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/exact_sum.hpp>
#include <bough/reduce.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace life {

// Travels as its wire form, which is not its memory.
struct big_endian {
    std::uint32_t value = 0;
    big_endian() = default;
    explicit big_endian(std::uint32_t v) : value(v) {}
    big_endian(const big_endian& other) : value(other.value) {} // not trivial
    big_endian& operator=(const big_endian& other) { return value = other.value, *this; }
};
struct add_big_endian {
    big_endian operator()(const big_endian& a, const big_endian& b) const { return big_endian(a.value + b.value); }
};

// An op with state: x, y -> max(x, y, floor), that counts its copies.
struct at_least {
    std::uint64_t floor = 0;
    std::shared_ptr<int> alive = std::make_shared<int>(0);
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return std::max({a, b, floor}); }
};

} // namespace life

template <>
struct bough::wire<life::big_endian> {
    static constexpr std::size_t size = 4;
    static void encode(const life::big_endian& x, std::span<std::byte, 4> out) {
        if (x.value == 13) throw std::runtime_error("an unlucky number");
        for (unsigned i = 0; i != 4; ++i) out[i] = static_cast<std::byte>(x.value >> (24 - 8 * i));
    }
    static life::big_endian decode(std::span<const std::byte, 4> in) {
        std::uint32_t v = 0;
        for (const std::byte b : in) v = v << 8 | static_cast<std::uint32_t>(b);
        if (v == 31) throw std::runtime_error("a result that nobody can read");
        return life::big_endian(v);
    }
};
template <>
inline constexpr bool bough::is_commutative_v<life::at_least> = true;

namespace {

using namespace bough;
using namespace life;

// All ranks in one thread, in virtual time.
struct ranks {
    explicit ranks(rank_t p, simulated_options options = {}) : world(p, options) {
        for (rank_t r = 0; r != p; ++r) comm.emplace_back(world.connect(r));
    }
    void settle() {
        for (int idle = 0; idle != 100; ++idle) {
            for (auto& c : comm)
                if (c.progress()) idle = 0;
            if (world.advance()) idle = 0;
        }
    }
    simulated world;
    std::vector<communicator<simulated::endpoint>> comm;
};

} // namespace

static_assert(std::is_nothrow_move_constructible_v<operation> && !std::is_copy_constructible_v<operation>);
static_assert(std::is_nothrow_move_assignable_v<persistent_operation>);

TEST_CASE("operation: an empty handle is done") {
    operation op;
    CHECK(op.poll());
    CHECK(op.done());
    CHECK(op.wait_for_ns(0));
    CHECK(op.memory_bytes() == 0);
    CHECK_NOTHROW(op.wait());
    op.cancel();
    CHECK(op.result() == status{});
}

TEST_CASE("operation: returns at once, ends when the others have come, matched by its number") {
    ranks all(3);
    std::vector<std::vector<int>> x(9, std::vector<int>(4, 1));
    std::vector<operation> first(3), second(3), third(3);
    // Rank 0 starts all three; nothing can end yet.
    first[0] = start_allreduce(all.comm[0], x[0], plus{});
    second[0] = start_allreduce(all.comm[0], x[1], plus{}, fnomial{.degree = 2});
    third[0] = start_allreduce(all.comm[0], x[2], plus{});
    all.settle();
    CHECK_FALSE(first[0].done());
    CHECK_FALSE(first[0].wait_for_ns(1'000));
    CHECK(first[0].memory_bytes() > sizeof(prepared));
    for (rank_t r = 1; r != 3; ++r) {
        first[r] = start_allreduce(all.comm[r], x[r * 3u], plus{});
        second[r] = start_allreduce(all.comm[r], x[r * 3u + 1], plus{}, fnomial{.degree = 2});
        third[r] = start_allreduce(all.comm[r], x[r * 3u + 2], plus{});
    }
    all.settle();
    for (auto* ops : {&third, &first, &second})
        for (operation& op : *ops) {
            REQUIRE(op.done());
            CHECK_NOTHROW(op.wait());
        }
    for (const auto& v : x) CHECK(v == std::vector<int>(4, 3));
}

TEST_CASE("operation: counts as a call, in order with blocking ones") {
    in_process{4}.run([](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<std::uint64_t> a(3, 1), b(3, 2), c(3000, 3), d(3, 4);
        operation one = start_allreduce(comm, a, plus{});
        allreduce(comm, std::span(b), plus{});
        operation two = start_allreduce(comm, c, plus{});
        operation three = start_allreduce(comm, d, plus{});
        barrier(comm);
        three.wait();
        one.wait();
        two.wait();
        if (a[0] != 4 || b[0] != 8 || c[2999] != 12 || d[0] != 16) throw std::runtime_error("a wrong sum");
    });
}

TEST_CASE("operation: a refused call gives a handle that is done") {
    in_process{3}.run([](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<int> x(3), y(4, 1);
        operation bad = start_allreduce(comm, x, y, plus{}); // all ranks alike: nobody is harmed
        if (!bad.done() || bad.result().code != errc::invalid_argument) throw std::runtime_error("not refused");
        std::string said;
        try {
            bad.wait();
        } catch (const error& e) {
            said = e.what();
        }
        if (said.find("out: must be as long as the input") == std::string::npos) throw std::runtime_error(said);
        auto bound = bind_reduce(comm, y, plus{}, root{7});
        if (bound.result()) throw std::runtime_error("binding is no call");
        bound.start();
        if (!bound.done() || bound.result().code != errc::invalid_argument) throw std::runtime_error("not refused");
        operation good = start_allreduce(comm, y, plus{});
        good.wait();
        if (y[0] != 3) throw std::runtime_error("out of step");
    });
}

TEST_CASE("operation: what one rank refuses and others start is an error on all, and nobody hangs") {
    ranks all(3);
    std::vector<std::vector<int>> x(3, std::vector<int>(4, 1));
    std::vector<int> shorter(3);
    std::vector<operation> op;
    op.push_back(start_allreduce(all.comm[0], x[0], plus{}));
    op.push_back(start_allreduce(all.comm[1], x[1], plus{}));
    op.push_back(start_allreduce(all.comm[2], x[2], shorter, plus{}));
    all.settle();
    for (operation& o : op) {
        REQUIRE(o.done());
        CHECK(o.result().code != errc::ok);
    }
    CHECK(op[2].result().code == errc::invalid_argument);
    operation later = start_allreduce(all.comm[1], x[1], plus{});
    REQUIRE(later.done());
    CHECK(later.result().code == errc::group_poisoned);
}

TEST_CASE("operation: calls that differ") {
    ranks all(2);
    std::vector<int> x(4), y(5);
    operation a = start_allreduce(all.comm[0], x, plus{});
    operation b = start_allreduce(all.comm[1], y, plus{});
    all.settle();
    REQUIRE(a.done());
    REQUIRE(b.done());
    CHECK((a.result().code == errc::call_mismatch || b.result().code == errc::call_mismatch));
    CHECK(a.result().code != errc::ok);
    CHECK(b.result().code != errc::ok);
}

TEST_CASE("operation: cancelled, or destroyed in flight, is an error on all, and the data are free") {
    for (const bool destroy : {false, true}) {
        ranks all(3);
        auto x = std::make_unique<std::vector<double>>(5000, 1.0);
        std::vector<double> y(5000), z(5000);
        std::optional<operation> gone = start_allreduce(all.comm[0], *x, plus{});
        operation other = start_allreduce(all.comm[1], y, plus{});
        all.settle();
        if (destroy) {
            gone.reset();
        } else {
            gone->cancel();
            all.settle();
            REQUIRE(gone->done());
            CHECK(gone->result().code == errc::cancelled);
            gone->cancel(); // again does nothing
            CHECK(gone->result().code == errc::cancelled);
        }
        x.reset(); // sanitizers, and the simulated world, would see it read
        CHECK(all.world.pending(0) == 0);
        operation last = start_allreduce(all.comm[2], z, plus{});
        all.settle();
        REQUIRE(other.done());
        CHECK(other.result().code == errc::peer_aborted);
        CHECK(other.result().cause == errc::cancelled);
        REQUIRE(last.done());
        CHECK(last.result().code != errc::ok);
        CHECK(all.world.violations() == 0);
    }
}

TEST_CASE("operation: a deadline ends it in any call that polls") {
    ranks all(2);
    all.comm[0].set_timeout_ns(1'000'000);
    std::vector<int> x(4);
    operation op = start_allreduce(all.comm[0], x, plus{});
    for (int i = 0; i != 1000 && !op.poll(); ++i) all.world.advance_to(all.world.now_ns() + 10'000);
    REQUIRE(op.done());
    CHECK(op.result().code == errc::deadline);
}

TEST_CASE("operation: outlives its communicator") {
    std::vector<int> x(4, 1), y(4, 2);
    simulated world(2);
    std::optional<communicator<simulated::endpoint>> a(world.connect(0)), b(world.connect(1));
    operation first = start_allreduce(*a, x, plus{});
    operation second = start_allreduce(*b, y, plus{});
    communicator moved = std::move(*a);
    a.reset();
    { const communicator dropped = std::move(moved); }
    const auto both_end = [&] { return first.poll() + second.poll() == 2; }; // both are polled
    for (int i = 0; i != 1000 && !both_end(); ++i) world.advance();
    REQUIRE(first.done());
    CHECK_FALSE(first.result());
    CHECK(x == std::vector<int>(4, 3));
    CHECK(second.done());
}

TEST_CASE("operation: keeps its op, wire forms and lifted states until its end") {
    ranks all(3);
    const auto run = [&](auto&& start) {
        std::vector<operation> ops;
        for (rank_t r = 0; r != 3; ++r) ops.push_back(start(r));
        all.settle();
        for (operation& op : ops) {
            REQUIRE(op.done());
            CHECK(message_of(op.result()) == "success");
        }
    };
    std::vector<std::vector<std::uint64_t>> x(3, std::vector<std::uint64_t>(2, 5));
    std::weak_ptr<int> alive;
    run([&](rank_t r) {
        const at_least op{.floor = 40};
        alive = op.alive;
        return start_allreduce(all.comm[r], x[r], op); // gone before the operation runs
    });
    CHECK(x[2] == std::vector<std::uint64_t>(2, 40));
    CHECK(alive.expired()); // the handles are gone, and with them the copies

    std::vector<std::vector<big_endian>> w(3, std::vector<big_endian>(3, big_endian(7)));
    run([&](rank_t r) { return start_allreduce(all.comm[r], w[r], add_big_endian{}, fnomial{}); });
    for (const auto& v : w) CHECK(v[2].value == 21);

    std::vector<std::vector<double>> d(3, {1e300, 1.0, -1e300});
    run([&](rank_t r) { return start_allreduce(all.comm[r], d[r], exact_sum{}); });
    CHECK(d[1] == std::vector<double>{3e300, 3.0, -3e300});
    std::vector<std::vector<double>> own(3, std::vector<double>(1)), sum(3, {1.0, 2.0, 4.0});
    run([&](rank_t r) { return start_reduce_scatter(all.comm[r], sum[r], own[r], exact_sum{}); });
    CHECK(own[2][0] == 12.0);
    CHECK(own[0][0] == 3.0);

    // An encode that throws is an error of this call.
    std::vector<std::vector<big_endian>> bad(3, std::vector<big_endian>(1, big_endian(13)));
    operation op = start_allreduce(all.comm[0], bad[0], add_big_endian{}, fnomial{});
    REQUIRE(op.done());
    CHECK(op.result().code == errc::op_threw);
}

TEST_CASE("a result that cannot be read is an error of that rank; the call has been made, and the next one works") {
    std::atomic<int> right{0};
    for (const bool starts : {false, true})
        in_process{2}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            std::vector<big_endian> x(1, big_endian(comm.rank() == 0 ? 29 : 2));
            status told;
            if (starts)
                start_allreduce(comm, x, add_big_endian{}, fnomial{}).wait(told);
            else
                allreduce(comm, x, add_big_endian{}, fnomial{}, told);
            std::vector<int> sum(1, told.code == errc::op_threw ? 1 : 0);
            allreduce(comm, sum, plus{}, told);
            right += !told && sum[0] == 2;
        });
    CHECK(right == 4);
}

TEST_CASE("persistent: wire forms and lifted states are made anew in each run") {
    in_process{3}.run([](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<big_endian> w(2);
        std::vector<double> d(2);
        auto a = bind_allreduce(comm, w, add_big_endian{}, fnomial{});
        auto b = bind_allreduce(comm, d, exact_sum{});
        for (std::uint32_t i = 1; i != 5; ++i) {
            w.assign(2, big_endian(i));
            d.assign(2, 0.5 * i);
            a.start();
            b.start();
            b.wait();
            a.wait();
            if (w[1].value != 3 * i || d[1] != 1.5 * i) throw std::runtime_error("a wrong sum");
        }
    });
}

TEST_CASE("persistent: in the next epoch it is stale, and so is what is started") {
    in_process{2}.run([](auto transport) {
        communicator comm{std::move(transport)};
        std::vector<int> x(2, 1);
        auto bound = bind_allreduce(comm, x, plus{});
        bound.start();
        bound.wait();
        communicator rest = shrink(comm);
        bound.start();
        if (!bound.done() || bound.result().code != errc::group_poisoned) throw std::runtime_error("not stale");
        operation op = start_barrier(comm);
        if (!op.done() || op.result().code != errc::group_poisoned) throw std::runtime_error("not stale");
        if (message_of(op.result()).find("shrink()") == std::string::npos) throw std::runtime_error("does not say why");
        start_barrier(rest).wait();
    });
}

TEST_CASE("operations of several communicators over one transport") {
    in_process{4}.run([](auto transport) {
        communicator comm{std::move(transport)};
        communicator other = duplicate(comm), half = split(comm, comm.rank() % 2);
        std::vector<std::uint64_t> a(100, 1), b(5000, 2), c(7, 3);
        operation x = start_allreduce(comm, a, plus{});
        operation y = start_reduce(other, b, plus{}, root{2});
        operation z = start_allreduce(half, c, plus{});
        while (x.poll() + y.poll() + z.poll() != 3) {
        }
        if (a[0] != 4 || c[0] != 6 || (comm.rank() == 2 && b[0] != 8)) throw std::runtime_error("a wrong sum");
    });
}

TEST_CASE("start: a rank that is far ahead does not stop one that waits for the oldest operation") {
    // Rank 0 has 40 long operations in flight when rank 1 waits for the first: in many messages each, and the transport
    // has room for few.
    for (const std::size_t count : {std::size_t{20}, std::size_t{3'000}, std::size_t{100'000}}) {
        in_process{2}.run([&](auto transport) {
            communicator comm{std::move(transport), {.timeout_ns = 10'000'000'000}};
            std::vector<std::vector<std::uint64_t>> x(40, std::vector<std::uint64_t>(count, 1));
            std::vector<operation> ops;
            for (auto& v : x) {
                ops.push_back(start_allreduce(comm, v, plus{}, ring{}));
                if (comm.rank() == 1) ops.back().wait();
            }
            for (operation& op : ops) op.wait();
            for (auto& v : x)
                if (v[count - 1] != 2) throw std::runtime_error("a wrong sum");
        });
    }
}

TEST_CASE("start: a long message of a newer operation does not stop the older one, which others still wait for") {
    // A ring: many messages on each edge. The root sends its broadcast as soon as that is started, while the next rank,
    // which has not started it, needs the ring's messages from the same peer.
    constexpr rank_t p = 9;
    std::atomic<int> wrong{0};
    in_process{p, {.slots = 4}}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 20'000'000'000}};
        std::vector<long> x(p * 4, 1), y(150'000, static_cast<long>(comm.rank()));
        operation first = start_allreduce(comm, x, plus{}, ring{});
        status s, t;
        if (comm.rank() == 1) first.wait(s);
        operation second = start_broadcast(comm, y, root{0}, chain{});
        first.wait(s);
        second.wait(t);
        wrong += s || t || x[1] != 9 || y.back() != 0;
    });
    CHECK(wrong == 0);
}

TEST_CASE("operation: waits for as long as std::chrono says, for ever too") {
    using namespace std::chrono_literals;
    std::atomic<bool> has_waited{false};
    in_process{2}.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = forever}};
        std::vector<int> x(3, 1);
        if (comm.rank() == 1) {
            while (!has_waited) std::this_thread::yield();
            std::this_thread::sleep_for(20ms);
            start_allreduce(comm, x, plus{}).wait();
            std::this_thread::sleep_for(20ms);
            comm.set_timeout(std::chrono::hours::max());
            allreduce(comm, x, plus{});
        } else {
            operation op = start_allreduce(comm, x, plus{});
            const bool is_early = op.wait_for(-1s) || op.wait_for(2ms);
            has_waited = true;
            if (is_early) throw std::runtime_error("not yet");
            if (!op.wait_for_ns(forever)) throw std::runtime_error("gave up");
            op.wait();
            allreduce(comm, x, plus{});
        }
        if (x[0] != 4) throw std::runtime_error("a wrong sum");
    });
}

TEST_CASE("operation: its time counts from its start, and can be changed") {
    for (const bool more : {false, true}) {
        ranks all(2);
        all.comm[0].set_timeout(std::chrono::milliseconds(1));
        std::vector<int> x(4), y(4);
        operation op = start_allreduce(all.comm[0], x, plus{});
        if (more) op.set_timeout(std::chrono::milliseconds(10));
        all.world.advance_to(all.world.now_ns() + 2'000'000); // nobody polls
        operation other;
        for (int i = 0; i != 1000; ++i) { // it still asks who is missing
            op.poll();
            all.world.advance_to(all.world.now_ns() + 5'000);
        }
        CHECK(op.done() == !more);
        if (more) {
            other = start_allreduce(all.comm[1], y, plus{});
            all.settle();
        }
        REQUIRE(op.done());
        CHECK(op.result().code == (more ? errc::ok : errc::deadline));
    }
}

TEST_CASE("start: barriers keep every rank back until the last has come") {
    for (const rank_t p : {2u, 3u, 5u, 8u})
        for (rank_t last = 0; last != p; ++last) {
            ranks all(p);
            std::vector<operation> ops(p);
            for (rank_t r = 0; r != p; ++r)
                if (r != last) ops[r] = start_barrier(all.comm[r]);
            all.settle();
            CAPTURE(p, last);
            for (rank_t r = 0; r != p; ++r) CHECK(ops[r].done() == (r == last));
            ops[last] = start_barrier(all.comm[last]);
            all.settle();
            for (operation& op : ops) {
                REQUIRE(op.done());
                CHECK(op.result() == status{});
            }
        }
}

TEST_CASE("start: the same plan in flight many times is bound as often, and kept within the limit") {
    communicator comm{self{}, {.cached_plans = 4}};
    std::vector<int> x(4, 1);
    for (int again = 0; again != 3; ++again) {
        std::vector<operation> ops;
        for (int i = 0; i != 20; ++i) ops.push_back(start_allreduce(comm, x, plus{}, recursive_doubling{}));
        for (operation& op : ops) CHECK(op.poll());
    }
    CHECK(comm.core()->spare_frames.size() <= 4);
}
