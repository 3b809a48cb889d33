// SPDX-License-Identifier: BSL-1.0
// Programs as triggered operations, which fire in any order: the results and messages of every other target. Here the NICs
// are a few lines; test/fabric/deferred_work.cpp has those of libfabric.
#include "nic/conformance_programs.hpp"
#include "support/catch.hpp"
#include <bough/core/random.hpp>
#include <bough/nic/check.hpp>
#include <bough/nic/triggered.hpp>

#include <cstdint>
#include <vector>

using namespace bough;

namespace {

// Counters and memory of one rank's banks. What may fire does so in an order that is drawn.
struct descriptor_nics {
    struct bank {
        std::vector<std::uint64_t> memory;
        std::vector<std::uint32_t> counters;
        std::vector<nic::triggered> posted;
    };
    const conformance::one_case& of;
    const std::vector<nic::program>& programs;
    std::vector<nic::triggered_set> sets;
    std::vector<std::vector<bank>> banks;
    random_sequence random;
    conformance::digests found{};

    descriptor_nics(const conformance::one_case& c, const std::vector<nic::program>& all, std::uint64_t seed)
        : of(c), programs(all), random(seed, 0, 0) {
        for (const nic::program& p : all) {
            sets.push_back(nic::triggered_of(p));
            const bank begin{std::vector<std::uint64_t>(p.head.elements), sets.back().primed, {}};
            banks.emplace_back(std::size_t{1} << p.head.bank_bits, begin);
        }
    }
    void fire(std::size_t rank, bank& b, std::uint32_t e, const nic::triggered& t) {
        const conformance::combine op{of.numbers};
        for (std::uint32_t k = 0; k != t.count; ++k) {
            if (t.what == nic::triggered::kind::copy) b.memory[t.to + k] = b.memory[t.from + k];
            if (t.what == nic::triggered::kind::combine)
                b.memory[t.to + k] = op(b.memory[t.to + k], b.memory[t.from + k]);
        }
        if (t.what == nic::triggered::kind::write) {
            const std::uint32_t epoch =
                e + (t.count == 0 && of.elements != 0 ? static_cast<std::uint32_t>(banks[0].size()) : 0);
            const nic::message m{0,      epoch,   static_cast<nic::u16>(rank),
                                 t.peer, t.inlet, static_cast<nic::u16>(t.count)};
            found.messages += conformance::of_message(m, [&](std::uint32_t k) { return b.memory[t.from + k]; });
            bank& there = banks[t.peer][epoch & (banks[0].size() - 1)];
            const nic::inlet& in = programs[t.peer].inlets[t.inlet];
            for (std::uint32_t k = 0; k != t.count; ++k)
                there.memory[programs[t.peer].slots[in.slot].first + k] = b.memory[t.from + k];
            ++there.counters[in.counter];
        }
        ++b.counters[t.bump];
    }
    // One instance: every host rings, whatever may fire does, until nothing may. True: all have ended.
    bool run(std::uint32_t e) {
        const std::size_t number = e & (banks[0].size() - 1);
        const auto turn = static_cast<std::uint32_t>(e / banks[0].size());
        for (std::size_t r = 0; r != banks.size(); ++r) {
            bank& b = banks[r][number];
            b.posted = sets[r].operations;
            const nic::inlet& bell = programs[r].inlets[nic::bell_inlet];
            if (bell.slot != nic::no_index)
                for (std::uint32_t k = 0; k != programs[r].slots[bell.slot].count; ++k)
                    b.memory[programs[r].slots[bell.slot].first + k] =
                        conformance::input(of, e, static_cast<std::uint32_t>(r), k);
            ++b.counters[bell.counter];
        }
        for (;;) {
            std::vector<std::pair<std::size_t, std::size_t>> ready;
            for (std::size_t r = 0; r != banks.size(); ++r)
                for (std::size_t i = 0; i != banks[r][number].posted.size(); ++i)
                    if (banks[r][number].counters[banks[r][number].posted[i].wait] >=
                        banks[r][number].posted[i].threshold(turn))
                        ready.emplace_back(r, i);
            if (ready.empty()) break;
            const auto [r, i] = ready[static_cast<std::size_t>(random.below(ready.size()))];
            bank& b = banks[r][number];
            const nic::triggered t = b.posted[i];
            b.posted.erase(b.posted.begin() + static_cast<std::ptrdiff_t>(i));
            fire(r, b, e, t);
        }
        for (std::size_t r = 0; r != banks.size(); ++r) {
            bank& b = banks[r][number];
            if (!b.posted.empty() || !sets[r].ended(turn, [&](std::uint32_t c) { return b.counters[c]; })) return false;
            found.results +=
                conformance::of_result(e, static_cast<std::uint32_t>(r), sets[r].result_count,
                                       [&](std::uint32_t k) { return b.memory[sets[r].result_first + k]; });
        }
        return true;
    }
};

} // namespace

TEST_CASE("conformance: triggered operations in any order", "[nic]") {
    std::uint32_t run = 0;
    for (const conformance::one_case& c : conformance::cases) {
        const auto made = conformance::programs_of(c, nic::capabilities_of<nic::libfabric_deferred>);
        CHECK(static_cast<bool>(made) == (!c.multicast && !c.accumulate));
        if (!made) continue;
        INFO(c.name);
        for (std::uint64_t seed = 0; seed != 10; ++seed) {
            descriptor_nics nics(c, made.programs, seed);
            for (std::uint32_t e = 0; e != conformance::instances; ++e) REQUIRE(nics.run(e));
            CHECK(nics.found == conformance::digests{c.results, c.messages});
            for (std::uint32_t e = conformance::instances; e != 6; ++e) REQUIRE(nics.run(e)); // further turns
        }
        ++run;
    }
    CHECK(run == 5);
}

TEST_CASE("a combine into a third place takes two operations", "[nic]") {
    const auto made = conformance::programs_of(conformance::cases[0], nic::capabilities_of<nic::libfabric_deferred>);
    REQUIRE(made);
    for (const nic::program& p : made.programs) {
        const nic::triggered_set set = nic::triggered_of(p);
        std::uint32_t combines = 0, joined = 0, copied = 0;
        for (const nic::step& s : p.steps) combines += s.what == nic::kind::combine ? 1 : 0;
        for (const nic::triggered& t : set.operations) {
            joined += t.what == nic::triggered::kind::combine ? 1 : 0;
            copied += t.what == nic::triggered::kind::copy ? 1 : 0;
        }
        CHECK(joined == combines);
        CHECK(set.primed.size() == p.counters.size() + 2 + copied);
    }
}
