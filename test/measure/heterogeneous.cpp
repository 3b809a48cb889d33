// SPDX-License-Identifier: BSL-1.0
// Measuring costs of ranks: what the timed schedules take in the model itself, and that every rank gets the same values.
#include "support/catch.hpp"
#include <bough/measure/heterogeneous.hpp>
#include <bough/model/walk.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/costs.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnf.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

const model::heterogeneous model_of_5{
    {{100, 1}, {300, 2}, {50, 0}, {70, 1}, {90, 3}}, {{10, 0}, {20, 1}, {30, 0}, {40, 0}, {5, 0}}, {}, 25, 0.5};
double walked(const auto& algorithm, std::uint64_t bytes, rank_t root = 0) {
    const plan<goal::broadcast, std::remove_cvref_t<decltype(algorithm)>> timed(algorithm, {.size = 5, .root = root});
    return model::walk(timed, model_of_5, bytes).root_finish_ns;
}

} // namespace

TEST_CASE("in the model, a burst costs its sends beside the round trip, and a round trip the costs of both ranks") {
    const auto& m = model_of_5;
    for (const std::uint64_t bytes : {8u, 4096u})
        for (rank_t from = 0; from != 5; ++from) {
            const auto rest = [&](rank_t r) { return m.send_ns(r, r, bytes) + m.receive_ns(r, r, bytes); };
            for (rank_t echo = 0; echo != 5; ++echo) {
                if (echo == from) continue;
                CAPTURE(bytes, from, echo);
                const double trip = rest(from) + rest(echo) + 2 * m.latency_ns(0, 0, bytes);
                CHECK(walked(detail::cost_probe{from, echo, 0}, bytes, from) == Approx(trip));
                for (const std::uint32_t burst : {1u, 2u, 7u})
                    CHECK(walked(detail::cost_probe{from, echo, burst}, bytes, from) ==
                          Approx(trip + burst * m.send_ns(from, echo, bytes)));
            }
        }
    // What is taken off an acknowledged broadcast leaves the broadcast.
    const detail::acknowledged_broadcast<flat> last{{}, 1}; // a flat tree serves it last
    const double back = m.send_ns(1, 0, 8) + m.latency_ns(1, 0, 8) + m.receive_ns(1, 0, 8);
    CHECK(walked(last, 8) - back == Approx(4 * m.send_ns(0, 1, 8) + m.latency_ns(0, 1, 8) + m.receive_ns(0, 1, 8)));
}

TEST_CASE("from the walked times of a model comes the model: sends, receives and the latency, at two sizes") {
    constexpr rank_t size = 5;
    constexpr std::uint64_t sizes[2] = {8, 4096};
    const auto& m = model_of_5;
    for (const std::uint32_t burst : {1u, 4u}) {
        const auto told = [&](std::uint64_t bytes) {
            std::vector<double> trips{walked(detail::cost_probe{1, 2, 0}, bytes, 1)}, bursts;
            for (rank_t r = 1; r != size; ++r) trips.push_back(walked(detail::cost_probe{r, 0, 0}, bytes, r));
            trips.push_back(walked(detail::cost_probe{0, 1, 0}, bytes));
            for (rank_t r = 0; r != size; ++r)
                bursts.push_back(walked(detail::cost_probe{r, r == 0 ? 1u : 0u, burst}, bytes, r));
            return detail::costs_of_times(trips, bursts, burst);
        };
        // Rank 4 receives in 5 ns, the least: that counts as latency.
        const auto found = detail::model_of_costs(sizes, told(8), told(4096));
        CAPTURE(burst);
        CHECK(found.message_latency_ns == Approx(30));
        CHECK(found.latency_ns_per_byte == Approx(0.5));
        for (rank_t r = 0; r != size; ++r) {
            CAPTURE(r);
            CHECK(found.send[r].base_ns == Approx(m.send[r].base_ns));
            CHECK(found.send[r].per_byte_ns == Approx(m.send[r].per_byte_ns).margin(1e-9));
            CHECK(found.receive[r].base_ns == Approx(m.receive[r].base_ns - 5).margin(1e-6));
            CHECK(found.receive[r].per_byte_ns == Approx(m.receive[r].per_byte_ns).margin(1e-9));
        }
    }
    // Times that no costs explain: what would be below zero is zero.
    const auto none = detail::costs_of_times(std::vector<double>{9, 1, 1, 1}, std::vector<double>{0, 0, 0}, 2);
    CHECK(none.send == std::vector<double>{0, 0, 0});
    CHECK(none.receive == std::vector<double>{0, 1, 1});
    CHECK(none.latency == 0);
    CHECK(detail::line_through(sizes, 10, 4) == model::cost_per_size{10, 0});
    CHECK(detail::line_through({10, 20}, 5, 25) == model::cost_per_size{0, 2});
}

TEST_CASE("an acknowledged broadcast without its acknowledgement is when the broadcast reached that rank") {
    const auto& m = model_of_5;
    for (const std::uint64_t bytes : {8u, 4096u})
        for (rank_t who = 1; who != 5; ++who) {
            CAPTURE(bytes, who);
            // A flat tree serves rank 4 first. The root takes the acknowledgement when all its sends are done.
            const double reached =
                (5 - who) * m.send_ns(0, who, bytes) + m.latency_ns(0, who, bytes) + m.receive_ns(0, who, bytes);
            const double back = m.send_ns(who, 0, bytes) + m.latency_ns(who, 0, bytes) + m.receive_ns(who, 0, bytes);
            const double seen = walked(detail::acknowledged_broadcast<flat>{{}, who}, bytes);
            const double waits = 4 * m.send_ns(0, 1, bytes) + m.receive_ns(who, 0, bytes);
            CHECK(seen == Approx(std::max(reached + back, waits)));
            if (reached + back >= waits)
                CHECK(detail::without_acknowledgement(seen, who, 0, bytes, m) == Approx(reached));
        }
    CHECK(detail::without_acknowledgement(1000, 1, 0, 8, m) == 1000 - (300 + 2 * 8) - (25 + 4) - 10);
}

namespace {

// Ranks are threads of which one runs at a time, over a simulated world. When all of them wait, time goes on to whatever
// comes next: what a rank computes takes no time, so that the clock shows emulated costs alone.
class one_at_a_time {
public:
    explicit one_at_a_time(rank_t ranks)
        : world_(ranks, {.latency_min_ns = 1, .latency_max_ns = 1, .slots = 64}), left_(ranks, false),
          wakes_(ranks, never) {
        for (rank_t r = 0; r != ranks; ++r) ends_.push_back(world_.connect(r));
    }
    class endpoint {
    public:
        endpoint(one_at_a_time& all, rank_t r) : all_(&all), rank_(r) {}
        rank_t rank() const noexcept { return rank_; }
        rank_t size() const noexcept { return all_->world_.size(); }
        std::uint64_t now_ns() const noexcept { return all_->world_.now_ns(); }
        posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
            return inner().post_send(to, tag, bytes, id);
        }
        std::size_t poll(std::span<event> events) {
            const std::size_t found = inner().poll(events);
            if (found != 0) all_->idle_ = 0;
            return found;
        }
        posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
            return inner().take(handle, into, id);
        }
        bool claim(std::uint64_t handle) { return inner().claim(handle); }
        void release(std::uint64_t handle) { inner().release(handle); }
        errc cancel(std::uint64_t id) { return inner().cancel(id); }
        void wait(std::uint32_t, std::uint64_t until_ns) { all_->wait(rank_, until_ns); }

    private:
        simulated::endpoint& inner() const { return all_->ends_[rank_]; }
        one_at_a_time* all_;
        rank_t rank_;
    };

    // f(endpoint) on all ranks.
    template <class F>
    void run(const F& f) {
        std::vector<std::thread> threads;
        for (rank_t r = 0; r != world_.size(); ++r)
            threads.emplace_back([&, r] {
                std::unique_lock lock(one_);
                changed_.wait(lock, [&] { return turn_ == r; });
                f(endpoint(*this, r));
                left_[r] = true;
                wakes_[r] = never;
                idle_ = 0;
                next(r);
            });
        for (std::thread& t : threads) t.join();
    }
    std::uint64_t violations() const { return world_.violations(); }

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    void next(rank_t r) {
        for (rank_t i = 1; i <= world_.size(); ++i) {
            turn_ = (r + i) % world_.size();
            if (!left_[turn_]) break;
        }
        changed_.notify_all();
    }
    // The thread of rank r holds `one_`, since it runs.
    void wait(rank_t r, std::uint64_t until_ns) {
        wakes_[r] = until_ns;
        if (++idle_ > 2 * world_.size()) {
            idle_ = 0;
            const std::uint64_t first = *std::min_element(wakes_.begin(), wakes_.end());
            if (first > world_.now_ns()) world_.wake_at(first);
            world_.advance();
        }
        next(r);
        std::unique_lock lock(one_, std::adopt_lock);
        changed_.wait(lock, [&] { return turn_ == r; });
        lock.release(); // it runs on
        wakes_[r] = never;
    }

    simulated world_;
    std::vector<simulated::endpoint> ends_;
    std::vector<char> left_;
    std::vector<std::uint64_t> wakes_;
    std::mutex one_;
    std::condition_variable changed_;
    rank_t turn_ = 0;
    std::uint64_t idle_ = 0; // waits in a row without an event
};

// Sends return when they have left, in the order of the calls: where one is refused, the engine would offer others first.
template <class T>
class sends_in_turn : public T {
public:
    explicit sends_in_turn(T inner) : T(std::move(inner)) {}
    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        posted result = T::post_send(to, tag, bytes, id);
        for (; result == posted::would_block; result = T::post_send(to, tag, bytes, id)) {
            std::array<event, 1> one; // a receive that had begun
            if (T::poll(one) != 0) early_.push_back(one[0]);
            T::wait(0, ~std::uint64_t{0});
        }
        return result;
    }
    std::size_t poll(std::span<event> events) {
        const std::size_t first = std::min(events.size(), early_.size());
        std::copy_n(early_.begin(), first, events.begin());
        early_.erase(early_.begin(), early_.begin() + static_cast<std::ptrdiff_t>(first));
        return first + T::poll(events.subspan(first));
    }

private:
    std::vector<event> early_;
};

} // namespace

TEST_CASE("measured over emulated ranks in virtual time, costs and broadcasts are what was emulated") {
    // In units of 1 ms; the wire and the polls of the world take microseconds.
    const std::vector<model::cost_per_size> send{{1e6, 10}, {3e6, 20}, {5e5, 0}, {2e6, 40}},
        receive{{3e5, 0}, {2e5, 0}, {4e5, 100}, {2e5, 0}};
    const emulation all{.send = send, .receive = receive, .latency_ns = 250'000, .work = emulated_work::polled};
    const std::vector<double> send_8{1e6 + 80, 3e6 + 160, 5e5, 2e6 + 320}, receive_8{3e5, 2e5, 4e5 + 800, 2e5};
    const tree_costs<double> costs{send_8, receive_8, 250'000};
    const table over = fnf_tree(costs, 1);
    one_at_a_time world(4);
    std::vector<heterogeneous_measurement> found(4);
    std::vector<double> latency(4);
    world.run([&](auto transport) {
        const rank_t me = transport.rank();
        communicator comm{sends_in_turn{emulated{std::move(transport), all}}};
        found[me] = measure_heterogeneous(comm, {.burst = 3, .repetitions = 3});
        latency[me] = broadcast_latency_ns(comm, over, root{1}, 8, found[me].costs, 3);
    });
    CHECK(world.violations() == 0);
    const model::heterogeneous& m = found[0].costs;
    constexpr double wire_ns = 20'000;
    for (rank_t r = 0; r != 4; ++r) {
        CAPTURE(r);
        CHECK(found[r].costs == m);
        for (const std::uint64_t bytes : {8u, 4096u}) {
            CHECK(m.send_ns(r, r, bytes) == Approx(send[r].at_ns(bytes)).margin(wire_ns));
            // The least of the receives, 0.2 ms, counts as latency.
            CHECK(m.receive_ns(r, r, bytes) == Approx(receive[r].at_ns(bytes) - 2e5).margin(wire_ns));
            CHECK(m.latency_ns(0, r, bytes) == Approx(450'000).margin(wire_ns));
        }
    }
    CHECK(latency[0] == Approx(broadcast_time(over, costs)).margin(3 * wire_ns));
    CHECK(latency[3] == latency[0]);
}

namespace {

// A rank whose combines take `element_ns` for each element, busy.
struct slow_plus {
    std::uint64_t element_ns = 0;
    double operator()(double a, double b) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(element_ns);
        while (std::chrono::steady_clock::now() < end) {
        }
        return a + b;
    }
};

} // namespace

TEST_CASE("combine costs are each rank's own, per element, and do not hang on what its messages cost") {
    constexpr std::uint64_t element_ns[] = {0, 10'000, 2'000};
    heterogeneous_measurement found;
    in_process{3}.run([&](auto transport) {
        const slow_plus op{element_ns[transport.rank()]};
        communicator comm{emulated{std::move(transport), emulation{.send = {3, {50'000, 0}}}}};
        const auto mine =
            measure_heterogeneous(comm, {.long_bytes = 64, .burst = 1, .repetitions = 9}, make_any_op<double>(op));
        if (comm.rank() == 0) found = mine;
    });
    REQUIRE(found.costs.combine.size() == 3);
    for (rank_t r = 0; r != 3; ++r)
        for (const std::uint64_t elements : {1u, 8u}) {
            CAPTURE(r, elements);
            const auto least = static_cast<double>(element_ns[r] * elements);
            CHECK(found.costs.combine_ns(r, 8 * elements) >=
                  0.75 * least - 1'000); // runs of one combine may have been late
            CHECK(found.costs.combine_ns(r, 8 * elements) <= 4 * least + 100'000); // others want the cores too
        }
    CHECK(found.costs.combine_ns(1, 64) > 1.5 * found.costs.combine_ns(2, 64));
}

TEST_CASE("costs of messages longer than any memory are not measured") {
    in_process{3}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const auto found = measure_heterogeneous(comm, {.long_bytes = ~std::uint64_t{0}});
        CHECK(std::string(found.error.argument) == "bytes: no memory is so long");
    });
}

TEST_CASE("every rank gets the same costs, one for each rank, not negative; two ranks are too few") {
    for (const rank_t ranks : {3u, 5u}) {
        std::mutex one;
        std::vector<heterogeneous_measurement> all;
        std::vector<double> latencies;
        in_process{ranks}.run([&](auto transport) {
            communicator comm{emulated{std::move(transport), emulation{.send = {ranks, {200'000, 0}}}}};
            const auto found = measure_heterogeneous(comm, {.burst = 2, .repetitions = 2});
            const auto send = found.send_ns(8);
            const double ns = broadcast_latency_ns(comm, fnf_tree(std::span(send), 1), root{1}, 8, found.costs, 1);
            const std::lock_guard lock(one);
            all.push_back(found);
            latencies.push_back(ns);
        });
        for (std::size_t i = 0; i != ranks; ++i) {
            CHECK(!all[i].error);
            CHECK(all[i].costs == all[0].costs);
            CHECK(latencies[i] == latencies[0]);
        }
        CHECK(all[0].costs.send.size() == ranks);
        CHECK(all[0].costs.receive.size() == ranks);
        CHECK(all[0].costs.combine.size() == ranks);
        CHECK(all[0].combine_ns(8).size() == ranks);
        for (rank_t r = 0; r != ranks; ++r) {
            CHECK(all[0].costs.send_ns(r, r, 8) >= 0);
            CHECK(all[0].costs.receive_ns(r, r, 8) >= 0);
            CHECK(all[0].costs.combine_ns(r, 8) >= 0);
        }
    }
    in_process{2}.run([](auto transport) {
        communicator comm{std::move(transport)};
        const auto found = measure_heterogeneous(comm);
        if (!found.error) throw 1;
    });
}
