// SPDX-License-Identifier: BSL-1.0
// The checker of programs: what assemble makes passes (catalogue.cpp), and whatever is broken by hand does not.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/listing.hpp>
#include <bough/tree/binomial.hpp>
#include <bough/tree/fnomial.hpp>

#include <cstddef>
#include <vector>

using namespace bough;
using nic::program_fault;

namespace {

using programs = std::vector<nic::program>;

programs made_of(const auto& plan, nic::assemble_options options = {}) {
    auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::host>, options);
    REQUIRE(made);
    return made.programs;
}
programs tree_reduction() { return made_of(plan_reduce(fnomial{.degree = 3}, {.size = 9})); }

// The fault that is found after a change.
program_fault after(programs all, auto&& change) {
    change(all);
    for (nic::program& p : all) p.head.checksum = nic::checksum_of(p);
    return nic::check(all).fault;
}

std::size_t step_of(const nic::program& p, nic::kind what) {
    for (std::size_t i = 0; i != p.steps.size(); ++i)
        if (p.steps[i].what == what) return i;
    FAIL("no such step");
    return 0;
}

} // namespace

TEST_CASE("each rule of the machine is checked", "[nic]") {
    const programs good = tree_reduction();
    REQUIRE(nic::check(good).fault == program_fault::none);
    CHECK(nic::check({}).fault == program_fault::set);

    CHECK(after(good, [](programs& all) { all[0].steps[0].threshold = 1; }) == program_fault::two_conditions);
    CHECK(after(good, [](programs& all) { all[0].counters[1].increment = 3; }) == program_fault::two_conditions);
    CHECK(after(good, [](programs& all) { all[0].steps[1].bump = all[0].steps[0].wait; }) == program_fault::backwards);
    CHECK(after(good, [](programs& all) { all[0].counters[1].first_step = 0; }) == program_fault::first_step);
    CHECK(after(good, [](programs& all) { all[1].steps[step_of(all[1], nic::kind::send)].peer = 5; }) ==
          program_fault::lost_message);
    CHECK(after(good, [](programs& all) { all[1].steps[step_of(all[1], nic::kind::send)].out = 2; }) ==
          program_fault::lost_message);
    CHECK(after(good, [](programs& all) { all[8].head.stream = 1; }) == program_fault::set);
    CHECK(after(good, [](programs& all) { std::swap(all[7], all[8]); }) == program_fault::set);
    CHECK(after(good, [](programs& all) { all[3].steps[0].a = 99; }) == program_fault::table);
    CHECK(after(good, [](programs& all) { // the result of one combine goes where another message lands
              all[0].steps[0].out = all[0].steps[2].b;
          }) == program_fault::race);
    {
        programs changed = good;
        changed[4].slots[0].count = 0;
        CHECK(nic::check(changed).fault == program_fault::checksum);
    }
}

TEST_CASE("without credits a reduction is refused, and an allreduce along a tree needs none", "[nic]") {
    CHECK(nic::check(made_of(plan_reduce(fnomial{.degree = 3}, {.size = 9}), {.credits = false})).fault ==
          program_fault::no_room);
    CHECK(nic::check(made_of(plan_allreduce(recursive_doubling{}, {.size = 8}), {.credits = false})).fault ==
          program_fault::no_room);
    const auto with = made_of(plan_allreduce(fnomial{.degree = 3}, {.size = 9}));
    CHECK(with == made_of(plan_allreduce(fnomial{.degree = 3}, {.size = 9}), {.credits = false}));
    CHECK(nic::check(with));
    const auto multicast = made_of(plan_reduce(binomial{}, {.size = 16}), {.multicast = true});
    CHECK(multicast == made_of(plan_reduce(binomial{}, {.size = 16}), {.multicast = true, .credits = false}));
    CHECK(nic::check(multicast));
}

TEST_CASE("ranks that wait for each other are found", "[nic]") {
    // Each of two ranks sends only when the other's message has come.
    programs all = made_of(plan_allreduce(recursive_doubling{}, {.size = 2}));
    REQUIRE(nic::check(all));
    for (nic::program& p : all) {
        const std::size_t send = step_of(p, nic::kind::send);
        // The send moves behind the combine, whose counter is full only when both have come.
        const std::size_t combine = step_of(p, nic::kind::combine);
        p.steps[send].wait = p.steps[combine].wait;
        p.steps[send].threshold = p.steps[combine].threshold;
        p.steps[send].bump = nic::no_index;
        p.head.checksum = nic::checksum_of(p);
    }
    CHECK_FALSE(nic::check(all));
}

// Every field of every step, slot, counter and inlet, changed by one: found, or else harmless, which a run must show.
TEST_CASE("no change of one field goes unnoticed and does harm", "[nic]") {
    std::size_t tried = 0, found = 0, harmless = 0;
    const auto spoil = [&](const auto& plan, nic::assemble_options options) {
        const programs good = made_of(plan, options);
        const auto places = test::places_of(plan, plan.goal(), options.elements);
        const auto steps = test::steps_of(plan);
        for (std::size_t r = 0; r != good.size(); ++r) {
            const auto judge = [&](auto&& change) {
                programs changed = good;
                change(changed[r]);
                if (changed == good) return;
                changed[r].head.checksum = nic::checksum_of(changed[r]);
                ++tried;
                if (!nic::check(changed)) {
                    ++found;
                    return;
                }
                ++harmless;
                bool same = true;
                for (std::uint64_t seed = 0; seed != 5 && same; ++seed) {
                    test::hosts hosts(places, 4);
                    const auto run = nic::run_simulated<test::value>(changed, test::sum_op{}, model::lrc{}, hosts,
                                                                     {.instances = 4, .shuffle = true, .seed = seed});
                    same = run.finished && run.overwrites == 0 && run.overruns == 0;
                }
                INFO("rank " << r << "\n" << nic::listing(good[r]) << "became\n" << nic::listing(changed[r]));
                CHECK(same);
            };
            const auto each = [&](auto table, auto... fields) {
                for (std::size_t i = 0; i != (good[r].*table).size(); ++i)
                    for (const int by : {1, -1}) {
                        (judge([&](nic::program& p) {
                             auto& field = (p.*table)[i].*fields;
                             field =
                                 static_cast<std::remove_reference_t<decltype(field)>>(static_cast<int>(field) + by);
                         }),
                         ...);
                    }
            };
            each(&nic::program::steps, &nic::step::peer, &nic::step::a, &nic::step::b, &nic::step::out,
                 &nic::step::wait, &nic::step::threshold, &nic::step::bump);
            each(&nic::program::counters, &nic::counter::increment, &nic::counter::primed, &nic::counter::first_step,
                 &nic::counter::steps);
            each(&nic::program::inlets, &nic::inlet::from, &nic::inlet::slot, &nic::inlet::counter, &nic::inlet::flags);
            each(&nic::program::slots, &nic::slot::first, &nic::slot::count);
        }
    };
    spoil(plan_reduce(fnomial{.degree = 3}, {.size = 5}), {.banks = 2});
    spoil(plan_allreduce(recursive_doubling{}, {.size = 3}), {});
    spoil(plan_allreduce(ring{}, {.size = 3}), {.elements = 3, .banks = 2});
    CHECK(tried > 500);
    CHECK(found * 10 > tried * 7);
    CHECK(tried == found + harmless);
}
