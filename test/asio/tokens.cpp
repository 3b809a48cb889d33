// SPDX-License-Identifier: BSL-1.0
// Completion tokens, and what a handler brings with it: its executor, its allocator, its cancellation slot.
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include <bough/call/named.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // in Asio 1.74, with sanitizers
#endif
#include <boost/asio/use_future.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#if BOOST_VERSION >= 108200
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#endif

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace bough;
using boost::system::error_code;

namespace {

// Runs body(comm, io) on every rank, each a thread with an io_context.
template <class F>
void each_rank(rank_t p, const F& body) {
    in_process{p}.run([&](auto transport) {
        asio::io_context io;
        communicator comm{on_executor{std::move(transport), io}, {.timeout_ns = 20'000'000'000}};
        body(comm, io);
    });
}
[[maybe_unused]] void expect(bool holds, const char* what) {
    if (!holds) throw std::runtime_error(what);
}

// An allocator that counts what it gives and takes back.
struct account {
    int given = 0, back = 0;
};
template <class T>
struct accounting {
    using value_type = T;
    account* book;
    explicit accounting(account* b) : book(b) {}
    template <class U>
    accounting(const accounting<U>& o) : book(o.book) {}
    T* allocate(std::size_t n) {
        ++book->given;
        return static_cast<T*>(::operator new(n * sizeof(T)));
    }
    void deallocate(T* p, std::size_t) {
        ++book->back;
        ::operator delete(p);
    }
    template <class U>
    bool operator==(const accounting<U>& o) const {
        return book == o.book;
    }
};
struct handler_with_allocator {
    using allocator_type = accounting<std::byte>;
    account* book;
    bool* all_back;
    allocator_type get_allocator() const { return allocator_type(book); }
    void operator()(error_code) const { *all_back = book->given == book->back; }
};
struct handler_with_executor {
    using executor_type = asio::thread_pool::executor_type;
    executor_type executor;
    std::promise<std::thread::id>* ran;
    executor_type get_executor() const { return executor; }
    void operator()(error_code) const { ran->set_value(std::this_thread::get_id()); }
};

} // namespace

#ifdef BOOST_ASIO_HAS_CO_AWAIT
TEST_CASE("async: calls with names, which ranks start in different orders") {
    each_rank(3, [](auto& comm, asio::io_context& io) {
        const auto me = comm.rank();
        std::vector<std::vector<int>> x;
        for (int layer = 0; layer != 6; ++layer) x.emplace_back(100, layer);
        int ended = 0;
        status of_awaited;
        for (int i = 0; i != 6; ++i) {
            const int layer = static_cast<int>((i * 5 + me * 2) % 6); // in an order of its own
            const std::string name = "gradient/" + std::to_string(layer);
            if (layer == 3) // a lazy token copies the name
                asio::co_spawn(
                    io,
                    [&, name]() -> asio::awaitable<void> {
                        of_awaited = co_await async_allreduce(comm, x[3], plus{}, named{std::string(name)},
                                                              as_status(asio::use_awaitable));
                        ++ended;
                    },
                    asio::detached);
            else
                async_allreduce(comm, x[static_cast<std::size_t>(layer)], plus{}, named{name}, [&](error_code e) {
                    expect(!e, "a call with a name failed");
                    ++ended;
                });
        }
        io.run();
        expect(ended == 6 && !of_awaited, "a call with a name has not ended, or not well");
        for (int layer = 0; layer != 6; ++layer)
            expect(x[static_cast<std::size_t>(layer)].back() == 3 * layer, "calls of other names have met");
    });
}

TEST_CASE("async: a name that is in flight breaks the communicator, as with start_") {
    each_rank(2, [](auto& comm, asio::io_context& io) {
        std::vector<int> x(10, 1), y(10, 1);
        int failed = 0;
        const auto count = [&](const status& s) { failed += s ? 1 : 0; };
        async_allreduce(comm, x, plus{}, named{"a"}, as_status(count));
        async_allreduce(comm, y, plus{}, named{"a"}, as_status(count));
        io.run();
        expect(failed == 2 && bool(comm.poison()), "a name twice went unseen");
    });
}

TEST_CASE("async: a coroutine awaits one collective after the other, beside a timer, in one thread") {
    std::atomic<int> ends{0}, went_on{0};
    each_rank(4, [&](auto& comm, asio::io_context& io) {
        int ticks = 0, five_more = -1;
        asio::steady_timer timer(io);
        bool over = false;
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                while (!over) {
                    timer.expires_after(std::chrono::microseconds(200));
                    co_await timer.async_wait(asio::use_awaitable);
                    if (++ticks == five_more) ++went_on;
                }
            },
            asio::detached);
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                const std::thread::id here = std::this_thread::get_id();
                std::vector<std::uint64_t> x(300, comm.rank()), all(4), one(1, comm.rank() * 10u);
                for (int i = 0; i != 20; ++i) {
                    co_await async_allreduce(comm, x, plus{}, asio::use_awaitable);
                    co_await async_broadcast(comm, x, root{2}, fnomial{.degree = 3}, asio::use_awaitable);
                    for (auto& v : x) v = v == 6 ? comm.rank() : 99;
                }
                co_await async_allgather(comm, std::span<const std::uint64_t>(one), all, asio::use_awaitable);
                co_await async_barrier(comm, asio::use_awaitable);
                expect(all == std::vector<std::uint64_t>{0, 10, 20, 30} && x[299] == comm.rank(), "a wrong result");
                expect(std::this_thread::get_id() == here, "another thread");
                // Rank 3 comes when the timers of the others, which wait for it, have gone on.
                for (int i = 0; comm.rank() == 3 && went_on != 3 && i != 10'000; ++i) {
                    asio::steady_timer late(io, std::chrono::milliseconds(1));
                    co_await late.async_wait(asio::use_awaitable);
                }
                five_more = comm.rank() == 3 ? -1 : ticks + 5;
                co_await async_barrier(comm, asio::use_awaitable);
                ++ends;
                over = true;
            },
            [](std::exception_ptr e) {
                if (e) std::rethrow_exception(e);
            });
        io.run();
    });
    CHECK(ends == 4);
    CHECK(went_on == 3);
}
#endif

TEST_CASE("async: use_future, with the io_context in a thread of its own") {
    std::atomic<int> wrong{0};
    in_process{3}.run([&](auto transport) {
        asio::io_context io;
        auto work = asio::make_work_guard(io);
        // Used by one thread at a time: what is started is posted to the thread that runs the io_context.
        communicator comm{on_executor{std::move(transport), io}};
        std::thread runs([&] { io.run(); });
        std::vector<int> x(5, 1);
        std::promise<std::future<void>> started;
        asio::post(io, [&] { started.set_value(async_allreduce(comm, x, plus{}, asio::use_future)); });
        started.get_future().get().get();
        wrong += x[4] != 3;
        work.reset();
        runs.join();
    });
    CHECK(wrong == 0);
}

#ifdef BOOST_ASIO_HAS_CO_AWAIT
TEST_CASE("async: errors come as error codes, thrown ones as system_error") {
    std::atomic<int> told{0};
    each_rank(2, [&](auto& comm, asio::io_context& io) {
        std::vector<int> x(2), y(3);
        // Spans of different lengths: misuse of this call, on this rank alone.
        error_code seen;
        async_allreduce(comm, std::span<const int>(x), y, plus{}, [&](error_code ec) { seen = ec; });
        expect(!seen, "called inside of the initiating function");
        io.run();
        io.restart();
        expect(seen == errc::invalid_argument && seen == boost::system::errc::invalid_argument &&
                   std::error_code(seen) == std::errc::invalid_argument,
               "not invalid_argument");
        expect(seen.message() == describe(errc::invalid_argument) && std::string(seen.category().name()) == "bough",
               "not its words");
        // Two ranks that call different things.
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                try {
                    if (comm.rank() == 0)
                        co_await async_allreduce(comm, x, plus{}, asio::use_awaitable);
                    else
                        co_await async_barrier(comm, asio::use_awaitable);
                } catch (const boost::system::system_error& e) {
                    told += e.code() == errc::call_mismatch || e.code() == errc::peer_aborted;
                }
            },
            asio::detached);
        io.run();
        io.restart();
        // The group is poisoned: it completes at once, and not inside of the call.
        async_barrier(comm, [&](error_code ec) { seen = ec; });
        expect(seen == errc::invalid_argument, "called inside of the initiating function");
        io.run();
        told += seen == errc::group_poisoned;
    });
    CHECK(told == 4);
}
#endif

TEST_CASE("async: an executor that is not run calls nothing, and a deadline ends what is alone") {
    std::atomic<int> late{0};
    in_process{2}.run([&](auto transport) {
        asio::io_context io;
        communicator comm{on_executor{std::move(transport), io, {.tick_ms = 5}}, {.timeout_ns = 30'000'000}};
        error_code seen;
        if (comm.rank() == 0) {
            std::vector<int> x(4);
            async_allreduce(comm, x, plus{}, [&](error_code ec) { seen = ec; });
            const auto begin = std::chrono::steady_clock::now();
            io.run(); // nobody else comes; nothing else is to be done
            late += seen == errc::deadline && seen == boost::system::errc::timed_out &&
                    std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(30);
        } else {
            std::vector<int> x(4);
            status s;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            allreduce(comm, x, plus{}, s); // too late
            late += s.cause == errc::deadline;
        }
    });
    CHECK(late == 2);
}

#ifdef BOOST_ASIO_HAS_CO_AWAIT
TEST_CASE("async: with as_status, every token gives the whole status") {
    std::atomic<int> told{0};
    each_rank(2, [&](auto& comm, asio::io_context& io) {
        const auto is_right = [&](const status& s) {
            const std::uint64_t mine = comm.rank() == 0 ? 4 : 5;
            return (s.code == errc::call_mismatch || s.cause == errc::call_mismatch) && s.mismatch == mismatch::count &&
                   s.operation != 0 && (s.mine == mine ? s.theirs == 9 - mine : s.mine == 9 - mine);
        };
        std::vector<int> x(4 + comm.rank(), 1);
        auto one = split(comm, 0), two = split(comm, 0), three = split(comm, 0);
        // A handler.
        status seen;
        async_allreduce(comm, x, plus{}, as_status([&](const status& s) { seen = s; }));
        io.run();
        io.restart();
        told += is_right(seen);
        // A future.
        std::future<status> later = async_allreduce(one, x, plus{}, as_status(asio::use_future));
        io.run();
        io.restart();
        told += is_right(later.get());
        // An operation.
        operation op = start_allreduce(two, x, plus{});
        seen = {};
        async_wait(two, op, as_status([&](status s) { seen = s; }));
        io.run();
        io.restart();
        told += is_right(seen);
        // A coroutine: no error is thrown.
        asio::co_spawn(
            io,
            [&]() -> asio::awaitable<void> {
                const status s = co_await async_allreduce(three, x, plus{}, as_status(asio::use_awaitable));
                told += is_right(s);
            },
            asio::detached);
        io.run();
    });
    CHECK(told == 8);
}
#endif

TEST_CASE("async: a handler that the caller keeps is copied, and may be used again") {
    each_rank(2, [](auto& comm, asio::io_context& io) {
        int calls = 0;
        std::function<void(error_code)> handler = [&](error_code ec) { calls += !ec; };
        const std::function<void(error_code)> constant = handler;
        auto with_status = as_status(std::function<void(status)>([&](const status& s) { calls += !s; }));
        operation done;
        for (int i = 0; i != 2; ++i) { // an empty std::function would throw
            async_barrier(comm, handler);
            async_barrier(comm, constant);
            async_barrier(comm, with_status);
            async_wait(comm, done, handler);
            async_wait(comm, done, with_status);
        }
        io.run();
        expect(handler && with_status.token, "a handler was moved from");
        expect(calls == 10, "a handler was not called");
    });
}

TEST_CASE("async: the handler's executor and allocator") {
    asio::io_context io;
    communicator comm{on_executor{self{}, io}};
    std::vector<int> x(3, 1);
    account book;
    bool all_back = false;
    async_allreduce(comm, x, plus{}, handler_with_allocator{&book, &all_back});
    CHECK(book.given >= 1);
    io.run();
    io.restart();
    CHECK(all_back); // before it was called
    CHECK(book.given == book.back);

    asio::thread_pool pool(1);
    std::promise<std::thread::id> ran;
    async_allreduce(comm, x, plus{}, handler_with_executor{pool.get_executor(), &ran});
    io.run();
    CHECK(ran.get_future().get() != std::this_thread::get_id());
    pool.join();
}

TEST_CASE("async: an io_context that several threads run, with a strand") {
    std::atomic<int> wrong{0};
    in_process{2}.run([&](auto transport) {
        asio::io_context io;
        auto strand = asio::make_strand(io);
        communicator comm{on_executor{std::move(transport), strand}};
        int rounds = 0;
        std::vector<std::uint64_t> x(100, 1);
        std::function<void(error_code)> next = [&](error_code ec) {
            wrong += ec || !strand.running_in_this_thread();
            if (++rounds != 200) async_allreduce(comm, x, max{}, [&](error_code e) { next(e); });
        };
        asio::post(strand, [&] { next({}); });
        std::thread other([&] { io.run(); });
        io.run();
        other.join();
        wrong += rounds != 200;
    });
    CHECK(wrong == 0);
}

TEST_CASE("async_wait: of started and persistent operations, of one that has ended, of none") {
    std::atomic<int> wrong{0}, heard{0};
    each_rank(3, [&](auto& comm, asio::io_context& io) {
        std::vector<int> x(40, 1);
        int sum = 0;
        operation op = start_allreduce(comm, x, plus{});
        persistent_operation total = bind_allreduce(comm, std::span(&sum, 1), plus{});
        for (int i = 1; i != 5; ++i) {
            sum = i;
            total.start();
            async_wait(comm, total, [&](error_code ec) { heard += !ec; });
            if (i == 1) async_wait(comm, op, [&](error_code ec) { heard += !ec; });
            io.run();
            io.restart();
            wrong += sum != 3 * i;
        }
        wrong += x[39] != 3;
        bool inside = true;
        operation none;
        async_wait(comm, op, [&](error_code ec) { heard += !ec && !inside; });
        async_wait(comm, none, [&](error_code ec) { heard += !ec && !inside; });
        inside = false;
        io.run();
    });
    CHECK(wrong == 0);
    CHECK(heard == 3 * 7);
}

TEST_CASE("async: communicators made of one share its executor") {
    std::atomic<int> wrong{0};
    each_rank(4, [&](auto& comm, asio::io_context& io) {
        communicator other = duplicate(comm), half = split(comm, comm.rank() % 2);
        std::vector<int> a(9, 1), b(2000, 2), c(3, 3);
        int heard = 0;
        async_allreduce(half, c, plus{}, [&](error_code ec) { heard += !ec; });
        async_allreduce(other, b, plus{}, [&](error_code ec) { heard += !ec; });
        async_allreduce(comm, a, plus{}, [&](error_code ec) { heard += !ec; });
        io.run();
        wrong += heard != 3 || a[0] != 4 || b[1999] != 8 || c[2] != 6;
        allreduce(comm, a, plus{}); // a blocking call still works
        wrong += a[8] != 16;
    });
    CHECK(wrong == 0);
}

#if BOOST_VERSION >= 107700
TEST_CASE("async: a cancellation slot, with terminal only") {
    std::atomic<int> told{0};
    each_rank(2, [&](auto& comm, asio::io_context& io) {
        std::vector<int> x(4, 1);
        if (comm.rank() == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            status s;
            allreduce(comm, x, plus{}, s); // too late
            told += s.cause == errc::cancelled;
            return;
        }
        asio::cancellation_signal stop;
        error_code seen;
        async_allreduce(comm, x, plus{}, asio::bind_cancellation_slot(stop.slot(), [&](error_code ec) { seen = ec; }));
        stop.emit(asio::cancellation_type::total); // cannot be had
        io.run_for(std::chrono::milliseconds(30));
        expect(!seen, "gave up on total");
        stop.emit(asio::cancellation_type::terminal);
        expect(!seen, "called inside of emit");
        io.run();
        told += seen == errc::cancelled && seen == boost::system::errc::operation_canceled;
    });
    CHECK(told == 2);
}
#endif
#if BOOST_VERSION >= 108200
TEST_CASE("async: deferred, as_tuple") {
    asio::io_context io;
    communicator comm{on_executor{self{}, io}};
    std::vector<int> x(3, 1);
    auto later = async_allreduce(comm, x, plus{}, asio::deferred);
    int heard = 0;
    std::move(later)([&](error_code ec) { heard += !ec; });
    io.run();
    CHECK(heard == 1);
}
#endif
