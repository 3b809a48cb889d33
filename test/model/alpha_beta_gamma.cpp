// SPDX-License-Identifier: BSL-1.0
// alpha_beta_gamma is a cost model with ports; its costs; the laws of such models, and who breaks them.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/concepts/explain_cost_model.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>
#include <bough/testing/cost_model_archetype.hpp>
#include <bough/testing/cost_model_laws.hpp>
#include <bough/tree/binomial.hpp>

#include <array>

namespace {

using namespace bough::model;
using bough::rank_t;
using bough::testing::check_cost_model;
using bough::testing::cost_fault;
using bough::testing::cost_kind;
using bough::testing::cost_law;

constexpr std::array<std::uint64_t, 4> sizes{0, 1, 8, 4096};
constexpr alpha_beta_gamma simplex{
    .alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25, .f_alpha = 0.5, .f_beta = 0.75};

static_assert(bough::explain_cost_model<alpha_beta_gamma>());
static_assert(bough::explain_ported_cost_model<alpha_beta_gamma>());
static_assert(check_cost_model(simplex, 3, sizes) == cost_fault{});
static_assert(check_cost_model(alpha_beta_gamma{}, 3, sizes) == cost_fault{});

static_assert(simplex.exchange_ns(1000) == 6000);
static_assert(simplex.one_way_ns(1000) == 2500 + 750);
static_assert(simplex.port_ns(0, 1, 1000, true) == 6000 && simplex.port_ns(0, 1, 1000, false) == 3250);
static_assert(simplex.combine_ns(3, 1000) == 250);

// Faster both ways than one way: against the law, found at the first size that shows it.
struct too_good : alpha_beta_gamma {
    constexpr double port_ns(rank_t, rank_t, std::uint64_t bytes, bool duplex) const {
        return duplex && bytes > 7 ? 0.5 : 1;
    }
};
// Falls with the size.
struct falling : alpha_beta_gamma {
    constexpr double port_ns(rank_t, rank_t, std::uint64_t bytes, bool) const { return bytes == 8 ? 1 : 2; }
};

} // namespace

TEST_CASE("the laws of ports name the law, the cost, the ranks and the size") {
    CHECK(check_cost_model(falling{}, 2, sizes) ==
          cost_fault{cost_law::rises_with_bytes, cost_kind::port_one_way, 0, 0, 8});
    struct backwards : alpha_beta_gamma {
        constexpr double port_ns(rank_t from, rank_t to, std::uint64_t, bool duplex) const {
            return duplex && from == 1 && to == 0 ? 1 : 2;
        }
    };
    CHECK(check_cost_model(backwards{}, 2, sizes) ==
          cost_fault{cost_law::exchange_not_faster, cost_kind::port_exchange, 1, 0, 0});
    CHECK(check_cost_model(too_good{}, 2, sizes).law != cost_law::none);
}

TEST_CASE("the walk asks nothing but the concept of a model with ports") {
    const bough::testing::ported_cost_model_archetype model(5);
    // A latency, a port, a receipt and a combine a round.
    CHECK(walk(bough::plan_reduce(bough::binomial{}, {.size = 8}), model, 8).makespan_ns == 3 * (5 + 1 + 1 + 1));
    CHECK(walk(bough::plan_allreduce(bough::recursive_doubling{}, {.size = 8}), model, 8).makespan_ns ==
          3 * (5 + 2 + 1 + 1));
}
