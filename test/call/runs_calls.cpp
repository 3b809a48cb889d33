// SPDX-License-Identifier: BSL-1.0
// RunsCalls: communicators and initiators run calls; a contiguous call runs plans only; one with nothing but what the
// concepts ask for is enough, and one that lacks a thing is not.
#include "support/catch.hpp"
#include <bough/call/contiguous_call.hpp>
#include <bough/call/initiator.hpp>
#include <bough/call/runs_calls.hpp>
#include <bough/testing/transport_archetype.hpp>

#include <cstdint>
#include <memory>
#include <vector>

using namespace bough;
using detail::RunsCalls;
using detail::RunsPlans;

namespace {

using link = bough::testing::transport_archetype;
struct derived : communicator<link> {};

static_assert(RunsCalls<communicator<link>> && RunsCalls<derived> && RunsCalls<detail::initiator<link>>);
static_assert(RunsPlans<detail::contiguous_call<communicator<link>>>);
static_assert(RunsPlans<detail::contiguous_call<detail::initiator<link>>>);
static_assert(!RunsCalls<detail::contiguous_call<communicator<link>>>); // it has no op to hold, and no result to make
static_assert(!RunsPlans<const communicator<link>> && !RunsPlans<link> && !RunsPlans<int>);

struct least_plans {
    rank_t rank() const;
    link& transport();
    const communicator_options& options() const;
    template <class P, class F>
    const P* remember_plan(const detail::choice_key& key, F&& choose);
    template <class P>
    const P* find_bound(const P& plan);
    template <class P>
    status run(const P& plan, const call&, const call_signature&);
    status refuse(const status& why);
};
struct least_calls : least_plans {
    rank_t size() const;
    template <class O>
    const O& hold(const O& op);
    template <class E>
    std::vector<E> room();
    template <class F>
    status before(F&& make_ready);
    template <class F>
    status then(const status&, F&& make_result);
};
static_assert(RunsPlans<least_plans> && !RunsCalls<least_plans> && RunsCalls<least_calls>);

// Members that hide those of the least ones.
struct has_no_transport : least_calls {
    int transport();
};
struct states_its_problem : has_no_transport {
    problem problem_of(std::uint8_t size_class, bool exact_op) const;
};
static_assert(!RunsPlans<has_no_transport> && RunsPlans<states_its_problem> && !RunsCalls<states_its_problem>);

struct refuses_nothing : least_calls {
    void refuse(const status& why);
};
struct forgets_plans : least_calls {
    void remember_plan() = delete;
};
struct finds_nothing : least_calls {
    void find_bound() = delete;
};
struct runs_nothing : least_calls {
    void run() = delete;
};
static_assert(!RunsPlans<refuses_nothing> && !RunsPlans<forgets_plans> && !RunsPlans<finds_nothing> &&
              !RunsPlans<runs_nothing>);

struct has_no_size : least_calls {
    void size() const = delete;
};
struct holds_nothing : least_calls {
    void hold() = delete;
};
struct has_no_room : least_calls {
    void room() = delete;
};
struct makes_nothing_ready : least_calls {
    void before() = delete;
};
struct makes_no_result : least_calls {
    void then() = delete;
};
static_assert(RunsPlans<has_no_size> && RunsPlans<holds_nothing> && RunsPlans<has_no_room> &&
              RunsPlans<makes_nothing_ready> && RunsPlans<makes_no_result>);
static_assert(!RunsCalls<has_no_size> && !RunsCalls<holds_nothing> && !RunsCalls<has_no_room> &&
              !RunsCalls<makes_nothing_ready> && !RunsCalls<makes_no_result>);

} // namespace

TEST_CASE("runs_calls: checked while it is compiled") { STATIC_REQUIRE(RunsCalls<least_calls>); }
