// SPDX-License-Identifier: BSL-1.0
// The lrc model as a value and as a CostModel; the laws, the archetype and the sentences of explain.
#include "support/catch.hpp"
#include <bough/concepts/explain_cost_model.hpp>
#include <bough/model/lrc.hpp>
#include <bough/testing/cost_model_archetype.hpp>
#include <bough/testing/cost_model_laws.hpp>

#include <array>
#include <limits>

namespace {

using bough::rank_t;
using bough::model::lrc;
using bough::testing::check_cost_model;
using bough::testing::cost_fault;
using bough::testing::cost_kind;
using bough::testing::cost_law;

constexpr std::array<std::uint64_t, 5> sizes{0, 1, 8, 4096, std::uint64_t{1} << 40};
constexpr lrc model{.message_latency_ns = 2100,
                    .receive = {.base_ns = 420, .per_byte_ns = 0.5},
                    .combine = {.base_ns = 100, .per_byte_ns = 2},
                    .startup_ns = 9200};

static_assert(bough::explain_cost_model<lrc>());
static_assert(bough::explain_cost_model<bough::testing::cost_model_archetype>());
static_assert(!bough::CostModel<int>);

static_assert(model.start_ns() == 9200);
static_assert(model.send_ns(0, 1, 8) == 0);
static_assert(model.latency_ns(0, 1, 8) == 2100);
static_assert(model.receive_ns(0, 1, 8) == 424);
static_assert(model.combine_ns(0, 8) == 116);
static_assert(model.message_ns(8) == 540);
static_assert(model.copy_ns(0, 8) == 0);
static_assert(check_cost_model(model, 3, sizes) == cost_fault{});
static_assert(check_cost_model(lrc{}, 3, sizes) == cost_fault{});
static_assert(check_cost_model(bough::testing::cost_model_archetype{5}, 3, sizes) == cost_fault{});

// A structural value: it can be a template argument.
template <lrc Model>
constexpr double latency_of = Model.message_latency_ns;
static_assert(latency_of<model> == 2100);

} // namespace

TEST_CASE("the laws object to models that break them, and name the place") {
    lrc falling = model;
    falling.receive.per_byte_ns = -0.001;
    CHECK(check_cost_model(falling, 2, sizes) == cost_fault{cost_law::rises_with_bytes, cost_kind::receive, 0, 0, 1});

    lrc negative = model;
    negative.startup_ns = -1;
    CHECK(check_cost_model(negative, 2, sizes) == cost_fault{cost_law::not_negative, cost_kind::start, 0, 0, 0});

    lrc endless = model;
    endless.combine.base_ns = std::numeric_limits<double>::infinity();
    CHECK(check_cost_model(endless, 2, sizes) == cost_fault{cost_law::finite, cost_kind::combine, 0, 0, 0});

    struct drifting : lrc {
        mutable double drift_ns = 0;
        double copy_ns(rank_t, std::uint64_t) const { return drift_ns += 1; }
    };
    CHECK(check_cost_model(drifting{}, 2, sizes).law == cost_law::same_when_repeated);
}
