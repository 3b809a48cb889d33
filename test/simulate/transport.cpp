// SPDX-License-Identifier: BSL-1.0
// The third engine: sessions over the simulated transport move real data in virtual time, and take the same time.
//
// The transport knows one cost, the latency of a message; processors are free there. Its ranks work in the order of
// dependence. So must the discrete engine, to find the same makespan.
#include "simulate/models.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/op/any_op.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/session/session.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/fnomial.hpp>

#include <memory>
#include <vector>

namespace {

using bough::rank_t;
using link = bough::simulated::endpoint;
using number = std::uint64_t;

struct one_rank {
    explicit one_rank(link end) : session(std::move(end)) {}
    bough::session<link> session;
    std::vector<number> data;
    std::unique_ptr<bough::prepared> work;
    bough::session_operation operation;
};

// Runs an allreduce of `count` numbers; when the last rank was done. Checks the result, too.
template <class Plan>
std::uint64_t executed_ns(const Plan& plan, std::size_t count, std::uint64_t latency_ns) {
    bough::simulated world(
        plan.size(),
        {.seed = 1, .latency_min_ns = latency_ns, .latency_max_ns = latency_ns, .slots = 64, .eager_bytes = 1 << 20});
    static const bough::plus op;
    const bough::any_op any = bough::make_any_op<number>(op);
    std::vector<std::unique_ptr<one_rank>> ranks;
    for (rank_t r = 0; r != plan.size(); ++r) {
        ranks.push_back(std::make_unique<one_rank>(world.connect(r)));
        one_rank& me = *ranks.back();
        me.data.assign(count, r + 1);
        me.work = std::make_unique<bough::prepared>(bough::bind_plan(plan, r));
        bough::envelope tag;
        tag.operation = 1;
        auto* bytes = reinterpret_cast<std::byte*>(me.data.data());
        me.session.start(me.operation, *me.work, {bytes, bytes, count, sizeof(number), any.function, any.state}, tag,
                         {.plan = me.work->bound().plan_id}, 1'000'000'000);
    }
    std::uint64_t last = 0;
    std::vector<char> done(plan.size(), 0);
    for (;;) {
        bool moved = false, all = true;
        for (rank_t r = 0; r != plan.size(); ++r) {
            moved |= ranks[r]->session.progress();
            if (!done[r] && ranks[r]->operation.done()) done[r] = 1, last = world.now_ns();
            all &= done[r] != 0;
        }
        if (all) break;
        if (!moved && !world.advance()) break;
    }
    for (const auto& r : ranks) {
        CHECK(r->operation.done());
        CHECK(r->data == std::vector<number>(count, number{plan.size()} * (plan.size() + 1) / 2));
    }
    CHECK(world.violations() == 0);
    return last;
}

template <class Plan>
void check(const Plan& plan) {
    constexpr std::size_t count = 24;
    const test::only_latency wire{10'000};
    // The transport's latency does not depend on the size.
    struct constant : test::only_latency {
        constexpr double latency_ns(rank_t, rank_t, std::uint64_t) const { return ns; }
    };
    const constant model{wire};
    const double simulated = bough::simulate(plan, model,
                                             {.bytes = count * sizeof(number),
                                              .element_bytes = sizeof(number),
                                              .engine = bough::simulator::discrete,
                                              .order = bough::step_order::dependence})
                                 .makespan_ns;
    const double executed = static_cast<double>(executed_ns(plan, count, 10'000));
    // A rank that has seen something may be looked at once more, 100 ns later, at most once a message on the way.
    CHECK(executed >= simulated);
    CHECK(executed <= simulated * 1.03);
}

} // namespace

TEST_CASE("simulate: the real engine over the simulated transport takes as long") {
    for (rank_t p = 1; p <= 17; ++p) {
        CAPTURE(p);
        check(bough::plan_allreduce(bough::recursive_doubling{}, {.size = p}));
        check(bough::plan_allreduce(bough::tree_allreduce{bough::binomial{}}, {.size = p}));
        check(bough::plan_allreduce(bough::tree_allreduce{bough::fnomial{.degree = 4}}, {.size = p, .blocks = 3}));
        check(bough::plan_allreduce(bough::tree_allreduce{bough::chain{}}, {.size = p, .blocks = 4}));
    }
}
