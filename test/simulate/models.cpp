// SPDX-License-Identifier: BSL-1.0
// The LogP family, heterogeneous ranks and remote writes against times worked by hand and the formulas of the papers.
#include "simulate/models.hpp"

#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/model/heterogeneous.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/rdma.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/testing/cost_model_laws.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/table.hpp>

#include <algorithm>
#include <array>

namespace {

using namespace test;
using bough::simulate;
using bough::simulator;
namespace model = bough::model;

constexpr std::array<std::uint64_t, 4> sizes{0, 1, 100, 100'000};
constexpr model::loggops net{.message_latency_ns = 1000, .overhead = {100, 0.5}, .gap = {200, 2}, .combine = {50}};
constexpr model::rdma via{.mpi_ns = 1300,
                          .descriptor_ns = 600,
                          .dma_startup_ns = 2000,
                          .nic_ns = 1520,
                          .transmit_ns_per_byte = 10,
                          .operation_ns_per_byte = 1.25,
                          .copy_ns_per_byte = 2.7};
static_assert(bough::testing::check_cost_model(net, 3, sizes) == bough::testing::cost_fault{});
static_assert(bough::testing::check_cost_model(via, 3, sizes) == bough::testing::cost_fault{});
static_assert(!net.check() && model::logp(10, 1, 20).check());

// One message: o + O s + L + G s + o + O s.
static_assert(simulate(bough::plan_broadcast(bough::chain{}, {.size = 2}), net, {.bytes = 100}).makespan_ns ==
              150 + 1000 + 200 + 150);

} // namespace

TEST_CASE("loggops: messages of one sender leave a gap apart, and arrive so") {
    // Flat broadcast of 100 bytes: processor 150 each, gap 200 + 200 = 400 each; the last of 4 leaves at 150 + 3 * 400.
    CHECK(simulate(bough::plan_broadcast(bough::flat{}, {.size = 5}), net, {.bytes = 100}).makespan_ns ==
          150 + 3 * 400 + 1000 + 200 + 150);
    // Flat reduce: all arrive at once, the in port takes 400 each, processor 150 + 50 hides behind it.
    CHECK(simulate(bough::plan_reduce(bough::flat{}, {.size = 5}), net, {.bytes = 100}).makespan_ns ==
          150 + 1000 - 200 + 4 * 400 + 150 + 50);
    // With g = 0 and G = 0 it is LogP without gap: the walk of a plain model.
    const auto plan = bough::plan_allreduce(bough::recursive_doubling{}, {.size = 13});
    const model::heterogeneous same{.send = std::vector<model::cost_per_size>(13, {100}),
                                    .receive = std::vector<model::cost_per_size>(13, {100}),
                                    .message_latency_ns = 1000};
    CHECK(simulate(plan, model::logp(1000, 100, 0)).makespan_ns == model::walk(plan, same, 8).makespan_ns);
}

TEST_CASE("loggops: beyond S the receiver is asked first") {
    model::loggops limited = net;
    limited.gap = {};
    const auto plan = bough::plan_broadcast(bough::chain{}, {.size = 2});
    CHECK(simulate(plan, limited, {.bytes = 100}).makespan_ns == 150 + 1000 + 150);
    limited.eager_limit_bytes = 99;
    // Notice, answer and message: three ways.
    CHECK(simulate(plan, limited, {.bytes = 100}).makespan_ns == 150 + 3 * 1000 + 150);
    CHECK(simulate(plan, limited, {.bytes = 99}).makespan_ns == 149.5 + 1000 + 149.5);
}

TEST_CASE("heterogeneous: a sender is busy for its own cost, and a receiver may send at once") {
    // Banikazemi et al. 1998: latency of a chain is the sum, of a star the multiple of its centre.
    const model::heterogeneous now{.send = {{5}, {1}, {2}, {7}}};
    CHECK(simulate(bough::plan_broadcast(bough::chain{}, {.size = 4}), now).makespan_ns == 5 + 1 + 2);
    CHECK(simulate(bough::plan_broadcast(bough::flat{}, {.size = 4}), now).makespan_ns == 3 * 5);
    const model::heterogeneous both{
        .send = {{5}, {1}}, .receive = {{3}, {4, 1}}, .combine = {{10}}, .message_latency_ns = 100};
    CHECK(simulate(bough::plan_broadcast(bough::chain{}, {.size = 2}), both).makespan_ns == 5 + 100 + 4 + 8);
    CHECK(simulate(bough::plan_reduce(bough::chain{}, {.size = 2}), both).makespan_ns == 1 + 100 + 3 + 10);
}

TEST_CASE("rdma: one step with k senders takes what the paper's best and worst cases say") {
    for (const std::uint64_t bytes : {4u, 100u, 200u, 300u, 352u, 353u, 400u, 4096u})
        for (rank_t k = 1; k <= 15; ++k) {
            CAPTURE(bytes, k);
            const double size = static_cast<double>(bytes);
            const double tt = 10 * size, ts = 2000, tn = 1520, to = 1.25 * size, senders = k;
            const double sender = 1300 + 600 + ts + tn;
            double best = 0, worst = 0;
            if (tt >= ts + tn) {
                best = tt * senders + tn + ts + to;
                worst = ts + tn + (tt + to) * senders;
            } else {
                best = tt <= ts ? tn + tt + ts * senders + to : tt * senders + tn + ts + to;
                worst = tt + (tn + ts + to) * senders;
            }
            const auto plan = bough::plan_reduce(bough::flat{}, {.size = k + 1});
            model::rdma m = via;
            CHECK(model::walk(plan, m, bytes).makespan_ns == Approx(sender + best));
            CHECK(simulate(plan, m, {.bytes = bytes}).makespan_ns == Approx(sender + best));
            m.worst = true;
            CHECK(simulate(plan, m, {.bytes = bytes}).makespan_ns == Approx(sender + worst));
        }
    CHECK(via.copies_ns(1000) == Approx(5400));
}
