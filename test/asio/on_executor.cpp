// SPDX-License-Identifier: BSL-1.0
// What on_executor says of the transport that it is over, and how its turns go on: whatever the traffic, and when memory
// runs out.
#include "asio/flights.hpp"
#include "support/catch.hpp"
#include "support/priced.hpp"
#include "support/until.hpp"
#include <bough/allreduce.hpp>
#include <bough/asio/async.hpp>
#include <bough/asio/on_executor.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>

#if defined(__linux__)
#include "support/pieces_through.hpp"
#endif

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <utility>

namespace {

using namespace bough;
using clock_type = std::chrono::steady_clock;

// There is always something to be polled: events of posts that nobody knows of.
template <Transport T>
struct talkative : forwarding_transport<T> {
    using forwarding_transport<T>::forwarding_transport;
    std::size_t poll(std::span<event> events) {
        if (const std::size_t found = this->inner_.poll(events)) return found;
        events[0] = {};
        events[0].what = event::kind::complete;
        events[0].id = std::uint64_t{0x7fff'ffff} << 32;
        return 1;
    }
};

// Counts how often it is asked for notifications.
template <Transport T>
class counting_arms : public forwarding_transport<T> {
public:
    counting_arms(T inner, int& arms) : forwarding_transport<T>(std::move(inner)), arms_(&arms) {}
    int descriptor() { return this->inner_.descriptor(); }
    bool arm() { return ++*arms_, this->inner_.arm(); }
    void disarm() { this->inner_.disarm(); }

private:
    int* arms_;
};

// Keeps its messages until it is flushed, or says so.
template <Transport T>
class gathering : public forwarding_transport<T> {
public:
    gathering(T inner, int& flushes) : forwarding_transport<T>(std::move(inner)), flushes_(&flushes) {}
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        ++accepted_;
        return this->inner_.post_send(to, tag, bytes, id);
    }
    std::size_t poll(std::span<event> events) { return this->inner_.poll(events); }
    void flush() {
        ++*flushes_;
        handed_over_ = accepted_;
    }
    bool unsent() const noexcept { return handed_over_ != accepted_; }
    std::uint64_t accepted(rank_t) const noexcept { return accepted_; }
    std::uint64_t handed_over(rank_t) const noexcept { return handed_over_; }

private:
    int* flushes_;
    std::uint64_t accepted_ = 0, handed_over_ = 0;
};

// An executor of an io_context that has no memory for what is posted next, so many times.
class forgetful {
public:
    forgetful(boost::asio::io_context& io, int& refusals) : io_(&io), refusals_(&refusals) {}
    boost::asio::io_context& context() const noexcept { return *io_; }
    void on_work_started() const noexcept { io_->get_executor().on_work_started(); }
    void on_work_finished() const noexcept { io_->get_executor().on_work_finished(); }
    template <class F, class A>
    void dispatch(F&& f, const A& a) const {
        io_->get_executor().dispatch(std::forward<F>(f), a);
    }
    template <class F, class A>
    void post(F&& f, const A& a) const {
        if (*refusals_ > 0) {
            --*refusals_;
            throw std::bad_alloc();
        }
        io_->get_executor().post(std::forward<F>(f), a);
    }
    template <class F, class A>
    void defer(F&& f, const A& a) const {
        post(std::forward<F>(f), a);
    }
    friend bool operator==(const forgetful& a, const forgetful& b) noexcept { return a.io_ == b.io_; }
    friend bool operator!=(const forgetful& a, const forgetful& b) noexcept { return a.io_ != b.io_; }

private:
    boost::asio::io_context* io_;
    int* refusals_;
};

// Two ranks in one thread; the first has the executor.
struct two_ranks {
    in_process world{2};
    boost::asio::io_context io;
    int refusals = 0;
    communicator<on_executor<in_process::endpoint, forgetful>> first{
        on_executor{world.connect(0), forgetful{io, refusals}}, {.timeout_ns = 60'000'000'000}};
    communicator<in_process::endpoint> second{world.connect(1), {.timeout_ns = 60'000'000'000}};
    std::array<int, 3> x{1, 1, 1}, y{2, 2, 2};

    // Until the handler is called, or for 20 s.
    bool run(const test::heard& h) {
        const auto last = clock_type::now() + std::chrono::seconds(20);
        while (h.calls + h.destroyed == 0 && clock_type::now() < last) {
            if (io.stopped()) io.restart();
            io.poll_one();
            second.progress();
        }
        return h.calls == 1 && h.destroyed == 0;
    }
};

} // namespace

TEST_CASE("on_executor: says of the costs what its transport says") {
    boost::asio::io_context io;
    CHECK(bough_test::says_the_same(on_executor{bough_test::priced{}, io}));
}

TEST_CASE("on_executor: a deadline passes, whatever the traffic") {
    boost::asio::io_context io;
    in_process world{2};
    const in_process::endpoint silent = world.connect(1);
    communicator comm{on_executor{talkative<in_process::endpoint>{world.connect(0)}, io}, {.timeout_ns = 20'000'000}};
    std::array<int, 4> x{};
    boost::system::error_code seen;
    async_allreduce(comm, x, plus{}, [&](boost::system::error_code ec) { seen = ec; });
    io.run_for(std::chrono::seconds(20));
    CHECK(seen == errc::deadline);
}

TEST_CASE("on_executor: each operation that waits does so by the descriptor, also when an earlier one has ended") {
    boost::asio::io_context io;
    in_process world{2};
    int arms = 0;
    communicator first{on_executor{counting_arms{world.connect(0), arms}, io}, {.timeout_ns = 60'000'000'000}};
    communicator second{world.connect(1), {.timeout_ns = 60'000'000'000}};
    for (int round = 0; round != 3; ++round) {
        int x = 1, y = 2;
        const int before = arms;
        bool ended = false;
        async_allreduce(first, std::span(&x, 1), plus{}, [&](boost::system::error_code ec) { ended = !ec; });
        const auto turn = [&] {
            if (io.stopped()) io.restart();
            io.run_one_for(std::chrono::milliseconds(1));
            second.progress();
        };
        bough_test::until([&] { return arms != before; }, turn);
        operation op = start_allreduce(second, std::span(&y, 1), plus{});
        bough_test::until([&] { return ended && op.done(); }, turn);
        CHECK(x == 3);
        CHECK(y == 3);
        for (int i = 0; i != 10; ++i) io.poll(); // those who were waited for are told that nobody waits
    }
}

TEST_CASE(
    "on_executor: a loop that sleeps goes on when its transport is used elsewhere, and ends with what it waits for") {
    boost::asio::io_context io;
    in_process world{2};
    int arms = 0;
    communicator first{on_executor{counting_arms{world.connect(0), arms}, io, {.tick_ms = 40'000}},
                       {.timeout_ns = 600'000'000'000}};
    communicator second{world.connect(1), {.timeout_ns = 600'000'000'000}};
    for (const bool elsewhere : {false, true}) {
        CAPTURE(elsewhere);
        int x = 1, y = 2;
        const int before = arms;
        bool ended = false;
        async_allreduce(first, std::span(&x, 1), plus{}, [&](boost::system::error_code ec) { ended = !ec; });
        const auto turn = [&] {
            if (io.stopped()) io.restart();
            io.run_one_for(std::chrono::milliseconds(1));
            second.progress();
        };
        bough_test::until([&] { return arms != before; }, turn);
        const auto from = clock_type::now();
        operation op = start_allreduce(second, std::span(&y, 1), plus{});
        if (elsewhere) // what the descriptor would report is taken
            bough_test::until([&] { return x == 3; }, [&] { first.progress(), second.progress(); });
        bough_test::until([&] { return ended && op.done(); }, turn);
        if (io.stopped()) io.restart();
        io.run();                                                   // nothing is left to be done
        CHECK(clock_type::now() - from < std::chrono::seconds(20)); // long before the tick
        CHECK(x == 3);
    }
}

TEST_CASE("on_executor: what a transport keeps is flushed") {
    static_assert(GatheringTransport<gathering<in_process::endpoint>>);
    boost::asio::io_context io;
    in_process world{2};
    int flushes = 0;
    communicator first{on_executor{gathering{world.connect(0), flushes}, io}, {.timeout_ns = 60'000'000'000}};
    communicator second{world.connect(1), {.timeout_ns = 60'000'000'000}};
    int x = 1, y = 2;
    operation op = start_allreduce(second, std::span(&y, 1), plus{});
    bool ended = false;
    async_allreduce(first, std::span(&x, 1), plus{}, [&](boost::system::error_code ec) { ended = !ec; });
    bough_test::until([&] { return ended && op.done(); },
                      [&] {
                          if (io.stopped()) io.restart();
                          io.run_one_for(std::chrono::milliseconds(1));
                          second.progress();
                      });
    CHECK(flushes != 0);
    CHECK(x == 3);
    CHECK(y == 3);
}

TEST_CASE("on_executor: what cannot be posted is thrown, and later calls have their turns") {
    two_ranks at;
    operation op = start_allreduce(at.first, at.x, plus{}); // nobody is attached yet: nothing is posted
    auto lost = std::make_shared<test::heard>();
    at.refusals = 1;
    CHECK_THROWS_AS(async_wait(at.first, op, test::counting_handler(lost)), std::bad_alloc);
    CHECK(lost->calls == 0);
    CHECK(lost->destroyed == 1);
    const auto h = test::initiated([&](auto handler) { async_wait(at.first, op, std::move(handler)); });
    at.refusals = 1;
    at.io.restart();                                   // it had run out of work
    CHECK_THROWS_AS(at.io.poll_one(), std::bad_alloc); // a turn, for the next one
    operation other = start_allreduce(at.second, at.y, plus{});
    CHECK(at.run(*h));
    CHECK_FALSE(h->error);
    CHECK(at.x[2] == 3);
    other.wait();
}

TEST_CASE("on_executor: an operation whose handler cannot be kept is given up") {
    two_ranks at;
    auto lost = std::make_shared<test::heard>();
    at.refusals = 1;
    CHECK_THROWS_AS(async_allreduce(at.first, at.x, plus{}, test::counting_handler(lost)), std::bad_alloc);
    CHECK(lost->calls == 0);
    CHECK(lost->destroyed == 1);
    CHECK_FALSE(at.first.poison());
    status s;
    allreduce(at.second, at.y, plus{}, s); // the call that the first rank has given up
    CAPTURE(message_of(s));                // it ends well if what the first rank had sent is there already
    CHECK((!s || (s.code == errc::peer_aborted && s.cause == errc::cancelled)));
    const auto h = test::initiated([&](auto handler) { async_allreduce(at.first, at.x, plus{}, std::move(handler)); });
    operation other = start_allreduce(at.second, at.y, plus{});
    CHECK(at.run(*h));
    CHECK_FALSE(h->error);
    other.wait();
}

TEST_CASE("on_executor: what there was no room for is told, though no operation is in flight") {
    enum class left { by_last_call, by_the_end, refused };
    const left how = GENERATE(left::by_last_call, left::by_the_end, left::refused);
    CAPTURE(static_cast<int>(how));
    boost::asio::io_context io;
    in_process world{2, {.slots = 2}};
    using communicator_here = communicator<on_executor<in_process::endpoint, boost::asio::io_context::executor_type>>;
    communicator_here first{on_executor{world.connect(0), io}, {.timeout_ns = 60'000'000'000}};
    communicator second{world.connect(1), {.timeout_ns = 60'000'000'000}};
    const std::array<rank_t, 2> both{0, 1};
    std::optional<communicator_here> part;
    std::optional<communicator<in_process::endpoint>> other;
    std::thread makes([&] { other = create_group(second, both); });
    part = create_group(first, both);
    makes.join();

    std::array<int, 3> x{5, 6, 7}, y{};
    operation kept = start_broadcast(*part, std::span(&x[0], 1), root{0});
    const auto h = test::initiated(
        [&](auto handler) { async_broadcast(*part, std::span(&x[1], 1), root{0}, std::move(handler)); });
    io.run(); // it has no more to do; both messages lie where the next one would
    REQUIRE((kept.done() && h->calls == 1));
    if (how == left::by_the_end) kept = {};
    if (how == left::refused)
        kept = start_broadcast(*part, std::span(&x[2], 1), root{2}); // no such rank
    else
        part.reset();
    for (int i = 0; i != 3; ++i) {
        operation op = start_broadcast(*other, std::span(&y[static_cast<std::size_t>(i)], 1), root{0});
        const auto last = clock_type::now() + std::chrono::seconds(10);
        while (!op.poll() && clock_type::now() < last) {
            if (io.stopped()) io.restart();
            io.poll_one();
        }
        REQUIRE(op.done());
        CAPTURE(i, message_of(op.result()));
        if (i != 2)
            CHECK((!op.result() && y[static_cast<std::size_t>(i)] == 5 + i));
        else if (how == left::refused)
            CHECK((op.result().code == errc::peer_aborted && op.result().cause == errc::invalid_argument));
        else
            CHECK((op.result().code == errc::peer_aborted && op.result().cause == errc::cancelled));
    }
}

TEST_CASE("on_executor: a call that waits for its turn starts while the loop waits for another one, or for none") {
    for (const bool waits : {true, false}) {
        std::atomic<int> wrong{0};
        in_process{2}.run([&](auto transport) {
            boost::asio::io_context io;
            communicator base{on_executor{std::move(transport), io}, {.timeout_ns = 10'000'000'000}};
            auto comm = duplicate(base);
            int x = 1;
            async_barrier(base, [&](boost::system::error_code ec) { wrong += bool(ec); }); // the loop knows bough now
            io.run();
            io.restart();
            if (base.rank() == 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20)); // so the other rank keeps its call
                status s;
                allreduce(comm, std::span(&x, 1), plus{}, named{"a"}, s);
                wrong += bool(s) || x != 2;
                if (waits) barrier(base);
            } else {
                operation op = start_allreduce(comm, x, plus{}, named{"a"});
                int calls = 0;
                if (waits) async_barrier(base, [&](boost::system::error_code ec) { calls += !ec; });
                io.run();
                wrong += calls != (waits ? 1 : 0) || !op.done() || op.result() || x != 2;
            }
        });
        CAPTURE(waits);
        CHECK(wrong == 0);
    }
}

#if defined(__linux__)
TEST_CASE("on_executor: long messages are combined piece by piece") {
    boost::asio::io_context io;
    CHECK(bough_test::pieces_through([&](auto end, rank_t) { return on_executor{std::move(end), io}; }));
}
#endif
