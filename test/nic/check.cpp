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

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
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

// A set by hand: tables only.
programs made_by_hand(programs all) {
    for (std::size_t r = 0; r != all.size(); ++r) {
        nic::header& h = all[r].head;
        h.rank = static_cast<nic::u16>(r);
        h.ranks = static_cast<nic::u16>(all.size());
        h.steps = static_cast<nic::u16>(all[r].steps.size());
        h.slots = static_cast<nic::u16>(all[r].slots.size());
        h.counters = static_cast<nic::u16>(all[r].counters.size());
        h.inlets = static_cast<nic::u16>(all[r].inlets.size());
        h.checksum = nic::checksum_of(all[r]);
    }
    return all;
}
constexpr nic::u16 no = nic::no_index;
nic::step send(nic::u16 to, nic::u16 inlet, nic::u16 slot, nic::u16 wait, nic::u16 threshold, nic::u16 bump = no) {
    return {nic::kind::send, 0, to, slot, no, inlet, wait, threshold, bump};
}
nic::step notify(nic::u16 slot, nic::u16 wait, nic::u16 threshold, nic::u16 bump = no) {
    return {nic::kind::notify, 0, no, slot, no, no, wait, threshold, bump};
}
nic::step count(nic::u16 wait, nic::u16 threshold, nic::u16 bump) {
    return {nic::kind::count, 0, no, no, no, no, wait, threshold, bump};
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

TEST_CASE("a step that waits for credits alone would wait for ever", "[nic]") {
    // Rank 0 sends when it has rank 1's credit, whatever its host does. The credit of the first instance is there from the
    // start, so nothing comes that could run the step.
    nic::program p, q;
    p.head.elements = q.head.elements = 1;
    p.slots = q.slots = {{0, 0}};
    p.counters = {{1, 0, 0, 1}, {1, 1, 1, 1}};
    p.inlets = {{0, no, 0, 0}, {1, no, 1, nic::inlet_credit}};
    p.steps = {notify(no, 0, 1), send(1, 1, 0, 1, 1)};
    q.counters = {{2, 0, 0, 1}, {1, 0, 1, 2}};
    q.inlets = {{1, no, 0, 0}, {0, 0, 0, 0}};
    q.steps = {count(0, 2, 1), notify(no, 1, 1), send(0, 1, no, 1, 1)};
    CHECK(nic::check(made_by_hand({p, q})).fault == program_fault::stuck);
    // A count hands the credit on, and then the send has all it waits for: no better.
    nic::program handed = p;
    handed.counters = {{1, 0, 0, 1}, {1, 1, 1, 1}, {1, 0, 2, 1}};
    handed.steps = {notify(no, 0, 1), count(1, 1, 2), send(1, 1, 0, 2, 1)};
    const auto verdict = nic::check(made_by_hand({handed, q}));
    CHECK(verdict.fault == program_fault::stuck);
    CHECK(verdict.step == 2);
    // With the bell besides, the bank ends.
    nic::program good = p;
    good.counters = {{1, 0, 0, 2}, {2, 1, 2, 1}};
    good.steps = {notify(no, 0, 1), count(0, 1, 1), send(1, 1, 0, 1, 2)};
    CHECK(nic::check(made_by_hand({good, q})));
}

TEST_CASE("no message may land where the host reads", "[nic]") {
    // Rank 1 hands over what came from rank 0, where it came, and grants the next at once: it lands while the host reads.
    nic::program p, q;
    p.head.elements = q.head.elements = 1;
    p.slots = q.slots = {{0, 1}};
    p.counters = {{2, 1, 0, 1}, {1, 0, 1, 1}};
    p.inlets = {{0, 0, 0, 0}, {1, no, 0, nic::inlet_credit}};
    p.steps = {send(1, 1, 0, 0, 2, 1), notify(no, 1, 1)};
    q.counters = {{2, 0, 0, 1}, {1, 0, 1, 1}};
    q.inlets = {{1, no, 0, 0}, {0, 0, 0, 0}};
    q.steps = {notify(0, 0, 2, 1), send(0, 1, no, 1, 1)};
    const auto verdict = nic::check(made_by_hand({p, q}));
    CHECK(verdict.fault == program_fault::host_race);
    CHECK(verdict.inlet == 1);
    q.steps[0].a = no;
    CHECK(nic::check(made_by_hand({p, q})));
}

TEST_CASE("a slot that a message cannot count is refused", "[nic]") {
    const auto with = [](std::uint32_t elements) {
        programs all = made_of(plan_reduce(fnomial{.degree = 2}, {.size = 2}));
        for (nic::program& p : all) {
            p.head.elements *= elements;
            for (nic::slot& s : p.slots) s.first *= elements, s.count *= elements;
            p.head.checksum = nic::checksum_of(p);
        }
        return nic::check(all);
    };
    CHECK(with(65535));
    CHECK(with(65536).table == nic::table_fault::slot);
    // Neither may a step send one.
    nic::program alone;
    alone.head.elements = 65536;
    alone.slots = {{0, 65536}};
    alone.counters = {{1, 0, 0, 1}};
    alone.inlets = {{0, no, 0, 0}};
    alone.steps = {notify(0, 0, 1)};
    CHECK(nic::check(made_by_hand({alone}))); // what the host is given has no frame
    alone.steps = {send(0, 0, 0, 0, 1)};
    CHECK(nic::check(made_by_hand({alone})).table == nic::table_fault::slot);
}

TEST_CASE("every host is told exactly once", "[nic]") {
    const programs good = tree_reduction();
    programs never = good;
    {
        nic::program& p = never[1];
        nic::step& s = p.steps[step_of(p, nic::kind::notify)];
        s = count(s.wait, s.threshold, static_cast<nic::u16>(p.counters.size()));
        p.counters.push_back({1, 0, p.head.steps, 0});
    }
    CHECK(nic::check(made_by_hand(never)).fault == program_fault::notice);
    programs twice = good;
    {
        nic::program& p = twice[1];
        const std::size_t at = step_of(p, nic::kind::notify);
        const nic::step s = p.steps[at];
        p.steps.insert(p.steps.begin() + static_cast<std::ptrdiff_t>(at), s);
        for (nic::counter& c : p.counters)
            if (c.first_step > at) ++c.first_step;
        ++p.counters[s.wait].steps;
    }
    CHECK(nic::check(made_by_hand(twice)).fault == program_fault::notice);
}

namespace {

// Hosts that look, when they ring for a bank again, whether what they were given there is still the same.
struct watchers {
    const test::places& at;
    std::uint32_t instances, banks;
    std::vector<std::vector<test::value>> got{};
    std::vector<std::span<const test::value>> given{};
    std::vector<std::uint32_t> told{};
    std::uint64_t disturbed = 0;
    watchers(const test::places& p, std::uint32_t n, std::uint32_t b) : at(p), instances(n), banks(b) {
        const std::size_t all = n * p.input.size();
        got.resize(all), given.resize(all), told.resize(all, 0);
    }
    std::size_t of(rank_t r, std::uint32_t instance) const { return instance * at.input.size() + r; }
    void input(rank_t r, std::uint32_t instance, std::span<test::value> mine) {
        if (instance >= banks) {
            const std::size_t last = of(r, instance - banks);
            disturbed += std::ranges::equal(given[last], got[last]) ? 0 : 1;
        }
        for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = test::input_value(instance, r, at.input[r] + i);
    }
    void complete(rank_t r, std::uint32_t instance, std::span<const test::value> result) {
        if (instance >= instances) return void(++disturbed);
        ++told[of(r, instance)];
        given[of(r, instance)] = result;
        got[of(r, instance)].assign(result.begin(), result.end());
    }
};

} // namespace

// Every field of every header, step, slot, counter and inlet, changed by one: found; or else what is left is a set of programs
// whose results timing does not touch. They are the plan's, unless what changed says what is computed.
TEST_CASE("no change of one field goes unnoticed and does harm", "[nic]") {
    std::size_t tried = 0, found = 0, harmless = 0, other_programs = 0;
    const auto spoil = [&](const auto& plan, nic::assemble_options options) {
        constexpr std::uint32_t instances = 5;
        const programs good = made_of(plan, options);
        const auto places = test::places_of(plan, plan.goal(), options.elements);
        std::vector<std::vector<test::value>> want(instances * good.size());
        const auto run = [&](const programs& all, std::uint64_t seed, auto& values) {
            watchers hosts(places, instances, options.banks);
            const auto ran = nic::run_simulated<test::value>(
                all, test::bracket_op{}, model::lrc{}, hosts,
                {.instances = instances, .shuffle = true, .seed = seed, .duplicates_percent = 10});
            values = hosts.got;
            return ran.finished && ran.overwrites == 0 && ran.overruns == 0 && hosts.disturbed == 0 &&
                   std::ranges::all_of(hosts.told, [](std::uint32_t n) { return n == 1; });
        };
        REQUIRE(run(good, 0, want));
        for (std::size_t r = 0; r != good.size(); ++r) {
            const auto judge = [&](auto&& change, bool computes, bool seals = true) {
                programs changed = good;
                nic::program& p = changed[r];
                change(p);
                if (changed == good) return;
                const nic::header& h = p.head;
                if (seals && h.steps == p.steps.size() && h.slots == p.slots.size() &&
                    h.counters == p.counters.size() && h.inlets == p.inlets.size())
                    p.head.checksum = nic::checksum_of(p);
                ++tried;
                if (!nic::check(changed)) {
                    ++found;
                    return;
                }
                ++harmless;
                std::vector<std::vector<test::value>> first, next;
                bool same = run(changed, 0, first);
                for (std::uint64_t seed = 1; seed != 6; ++seed)
                    same = run(changed, seed, next) && next == first && same;
                other_programs += first != want ? 1 : 0;
                INFO("rank " << r << "\n" << nic::listing(good[r]) << "became\n" << nic::listing(changed[r]));
                CHECK(same);
                if (!computes) CHECK(first == want);
            };
            const auto shift = [&](auto&& field_of, bool computes, bool seals = true) {
                for (const int by : {1, -1})
                    judge(
                        [&](nic::program& p) {
                            auto& field = field_of(p);
                            field = static_cast<std::remove_cvref_t<decltype(field)>>(static_cast<int>(field) + by);
                        },
                        computes, seals);
            };
            const auto each = [&](auto table, bool computes, auto... fields) {
                for (std::size_t i = 0; i != (good[r].*table).size(); ++i)
                    (shift(
                         [&](nic::program & p) -> auto& { return (p.*table)[i].*fields; }, computes),
                     ...);
            };
            const auto head = [&](bool seals, auto... fields) {
                (shift(
                     [&](nic::program & p) -> auto& { return p.head.*fields; }, false, seals),
                 ...);
            };
            using nic::header, nic::step, nic::counter, nic::inlet;
            head(true, &header::magic, &header::version, &header::bank_bits, &header::flags, &header::rank,
                 &header::ranks, &header::steps, &header::slots, &header::counters, &header::inlets, &header::elements,
                 &header::stream);
            head(false, &header::checksum);
            each(&nic::program::steps, true, &step::what, &step::a, &step::b, &step::out, &step::wait, &step::bump);
            each(&nic::program::steps, false, &step::flags, &step::peer, &step::threshold);
            each(&nic::program::counters, false, &counter::increment, &counter::primed, &counter::first_step,
                 &counter::steps);
            each(&nic::program::inlets, true, &inlet::slot);
            each(&nic::program::inlets, false, &inlet::from, &inlet::counter, &inlet::flags);
            each(&nic::program::slots, true, &nic::slot::first, &nic::slot::count);
        }
    };
    spoil(plan_reduce(fnomial{.degree = 3}, {.size = 5}), {.banks = 2});
    spoil(plan_allreduce(recursive_doubling{}, {.size = 3}), {});
    spoil(plan_allreduce(ring{}, {.size = 3}), {.elements = 3, .banks = 2});
    spoil(plan_reduce(fnomial{.degree = 2}, {.size = 4}), {.elements = 2, .multicast = true});
    CHECK(tried > 1000);
    CHECK(found * 10 > tried * 8);
    CHECK(tried == found + harmless);
    CHECK(other_programs < harmless);
}
