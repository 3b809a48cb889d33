// SPDX-License-Identifier: BSL-1.0
// The cases of test/nic/conformance.hpp in constant evaluation, on simulated NICs and by hosts.
#include "nic/conformance.hpp"

#include "nic/conformance_host.hpp"
#include "nic/conformance_programs.hpp"
#include "support/catch.hpp"
#include <bough/model/lrc.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/transport/in_process.hpp>

#include <atomic>
#include <span>
#include <vector>

using namespace bough;

namespace {

constexpr bool plays(std::uint32_t i) {
    const auto made = conformance::programs_of(conformance::cases[i], nic::capabilities_of<nic::host>);
    if (!made) return false;
    std::vector<nic::state<conformance::u64>> states;
    for (const nic::program& p : made.programs) states.push_back(nic::make_state<conformance::u64>(p));
    conformance::network net;
    return net.play(conformance::cases[i], made.programs, states,
                    conformance::combine{conformance::cases[i].numbers}) &&
           net.found.results == conformance::cases[i].results && net.found.messages == conformance::cases[i].messages;
}
static_assert(plays(0));
static_assert(plays(1));
static_assert(plays(2));
static_assert(plays(3));
static_assert(plays(4));
static_assert(plays(5));
static_assert(plays(6));
static_assert(plays(7));
static_assert(plays(8));
static_assert(conformance::case_count == 9);

// Hosts of the simulation: run free where there are credits, else each instance by itself.
struct hosts {
    const conformance::one_case& of;
    std::uint32_t first = 0; // instance
    conformance::digests found{};
    void input(rank_t rank, std::uint32_t instance, std::span<conformance::u64> mine) const {
        for (std::uint32_t k = 0; k != mine.size(); ++k) mine[k] = conformance::input(of, first + instance, rank, k);
    }
    void complete(rank_t rank, std::uint32_t instance, std::span<const conformance::u64> got) {
        found.results += conformance::of_result(first + instance, rank, static_cast<std::uint32_t>(got.size()),
                                                [&](std::uint32_t k) { return got[k]; });
    }
    void sent(const nic::message& m, std::span<const conformance::u64> payload) {
        found.messages += conformance::of_message(m, [&](std::uint32_t k) { return payload[k]; });
    }
};

} // namespace

TEST_CASE("conformance: simulated NICs", "[nic]") {
    for (const conformance::one_case& c : conformance::cases) {
        INFO(c.name);
        const auto made = conformance::programs_of(c, nic::capabilities_of<nic::simulated>);
        REQUIRE(made);
        for (const bool shuffle : {false, true}) {
            if (shuffle && !c.credits) continue;
            hosts all{c, 0, {}};
            for (std::uint32_t e = 0; e < conformance::instances; e += c.credits ? conformance::instances : 1) {
                all.first = e;
                const nic::run_options how{.instances = c.credits ? conformance::instances : 1,
                                           .shuffle = shuffle,
                                           .seed = 11,
                                           .first_epoch = c.credits ? 0 : e};
                const auto run = nic::run_simulated<conformance::u64>(made.programs, conformance::combine{c.numbers},
                                                                      model::lrc{}, all, how);
                REQUIRE(run.finished);
            }
            CHECK(all.found.results == c.results);
            CHECK(all.found.messages == c.messages);
        }
    }
}

TEST_CASE("conformance: hosts that are threads", "[nic]") {
    for (const conformance::one_case& c : conformance::cases) {
        std::atomic<conformance::u64> results{0}, messages{0};
        std::atomic<std::uint32_t> failed{0};
        in_process world{static_cast<rank_t>(c.ranks)};
        world.run([&](auto transport) {
            communicator comm{std::move(transport)};
            conformance::digests mine;
            if (conformance::run_by_host(comm, c, mine)) ++failed;
            results += mine.results;
            messages += mine.messages;
        });
        INFO(c.name);
        CHECK(failed == 0);
        CHECK(results == c.results);
        CHECK(messages == c.messages);
    }
}
