// SPDX-License-Identifier: BSL-1.0
// Measuring costs of ranks: what the timed schedules take in the model itself, and that every rank gets the same values.
#include "support/catch.hpp"
#include <bough/measure_heterogeneous.hpp>
#include <bough/model/walk.hpp>
#include <bough/transport/emulated.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnf.hpp>

#include <chrono>
#include <cstdint>
#include <mutex>
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
            CHECK(found.costs.combine_ns(r, 8 * elements) >= 0.99 * least);
            CHECK(found.costs.combine_ns(r, 8 * elements) <= 4 * least + 100'000); // others want the cores too
        }
    CHECK(found.costs.combine_ns(1, 64) > 1.5 * found.costs.combine_ns(2, 64));
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
