// SPDX-License-Identifier: BSL-1.0
// Two levels: a node's processes among themselves, then one program per node. The bits of the fold that the two plans say; the same
// whether hosts or simulated NICs run the upper one.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/communicator.hpp>
#include <bough/group.hpp>
#include <bough/model/lrc.hpp>
#include <bough/nic/choose_target.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/nic/run/simulated.hpp>
#include <bough/nic/run/two_level.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/flat.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

using namespace bough;
using test::value;

namespace {

std::vector<nic::program> programs_of(const auto& plan, std::uint32_t stream) {
    const auto made = nic::assemble_all(plan, test::any_order, nic::capabilities_of<nic::host>,
                                        {.elements = 2, .banks = 2, .stream = stream});
    REQUIRE(made);
    return made.programs;
}

// Hosts of simulated NICs: a node's own result is what it brings.
struct nodes {
    const std::vector<std::array<value, 2>>& brings;
    std::array<value, 2> root{};
    void input(rank_t r, std::uint32_t, std::span<value> mine) const {
        for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = brings[r][i];
    }
    void complete(rank_t r, std::uint32_t, std::span<const value> got) {
        for (std::size_t i = 0; r == 0 && i != got.size(); ++i) root[i] = got[i];
    }
};

} // namespace

TEST_CASE("processes of a node reduce, then one program per node", "[nic]") {
    for (const rank_t per_node : {1u, 2u, 3u})
        for (const rank_t node_count : {1u, 3u, 4u}) {
            constexpr std::uint32_t rounds = 6;
            const rank_t p = per_node * node_count;
            const auto local_programs = programs_of(plan_reduce(flat{}, {.size = per_node}), 1);
            const auto upper_programs = programs_of(plan_reduce(fnomial{.degree = 3}, {.size = node_count}), 2);
            std::array<std::array<value, 2>, rounds> got{};
            std::atomic<std::uint32_t> failed{0};
            in_process world{p};
            world.run([&](auto transport) {
                communicator comm{std::move(transport)};
                auto node = split(comm, comm.rank() / per_node);
                const bool first = node.rank() == 0;
                auto heads = split(comm, first ? 0 : 1);
                nic::host_nic inside(node), between(heads);
                auto local = nic::load<value>(inside, local_programs[node.rank()], test::bracket_op{});
                const auto run = [&](auto* upper) {
                    nic::two_level both(local, upper);
                    for (std::uint32_t e = 0; e != rounds; ++e) {
                        const std::array<value, 2> mine{test::input_value(e, comm.rank(), 0),
                                                        test::input_value(e, comm.rank(), 1)};
                        while (both.start(std::span<const value>(mine)).code == errc::would_block) local.poll();
                        if (both.wait()) ++failed;
                        if (comm.rank() == 0)
                            for (std::size_t i = 0; i != 2; ++i) got[e][i] = both.result()[i];
                    }
                };
                using upper_type =
                    nic::host_program<value, test::bracket_op, std::remove_cvref_t<decltype(comm.transport())>>;
                if (first) {
                    auto upper = nic::load<value>(between, upper_programs[heads.rank()], test::bracket_op{});
                    run(&upper);
                } else {
                    run(static_cast<upper_type*>(nullptr));
                }
            });
            INFO(per_node << " per node, " << node_count << " nodes");
            REQUIRE(failed == 0);
            for (std::uint32_t e = 0; e != rounds; ++e) {
                std::vector<std::array<value, 2>> brings(node_count);
                for (rank_t n = 0; n != node_count; ++n)
                    for (std::size_t i = 0; i != 2; ++i) {
                        brings[n][i] = test::input_value(e, n * per_node, i);
                        for (rank_t k = 1; k != per_node; ++k)
                            brings[n][i] = test::bracket_op{}(brings[n][i], test::input_value(e, n * per_node + k, i));
                    }
                nodes hosts{brings, {}};
                const auto simulated =
                    nic::run_simulated<value>(upper_programs, test::bracket_op{}, model::lrc{}, hosts);
                REQUIRE(simulated.finished);
                CHECK(got[e] == hosts.root);
            }
        }
}

namespace {

// A program of one process, or the driver of a NIC: takes instances, or says that it is busy; fails when it is told to.
struct driver {
    bool busy = false, fails = false;
    std::uint32_t rung = 0;
    std::array<value, 2> holds{1, 2};
    status failed{}, aborted_with{};
    std::uint32_t input_count() const noexcept { return 2; }
    std::uint32_t result_count() const noexcept { return 2; }
    std::uint32_t started() const noexcept { return rung; }
    status start(std::span<const value>) {
        if (!failed && busy) return {.code = errc::would_block};
        if (!failed) ++rung;
        return failed;
    }
    bool poll() {
        if (fails && !failed) failed = {.code = errc::peer_dead, .peer = 7};
        return true;
    }
    const status& wait(std::uint32_t) { return failed; }
    const status& error() const noexcept { return failed; }
    bool done(std::uint32_t instance) const noexcept { return failed || instance < rung; }
    std::span<const value> result(std::uint32_t) const noexcept { return holds; }
    void abort(const status& why) { failed = aborted_with = why; }
};

} // namespace

TEST_CASE("a node that fails aborts what runs between the nodes", "[nic]") {
    driver local{.fails = true}, upper;
    nic::two_level both(local, &upper);
    REQUIRE(!both.start(std::span<const value>(local.holds)));
    CHECK(both.wait().code == errc::peer_dead);
    CHECK(both.error().peer == 7);
    CHECK(upper.aborted_with.code == errc::peer_dead);
    CHECK(upper.aborted_with.peer == no_rank); // 7 is of the node's own numbers
    CHECK(upper.rung == 0);
    CHECK(both.start(std::span<const value>(local.holds)).code == errc::peer_dead);
    SECTION("also where the local program refuses to begin") {
        driver next;
        nic::two_level again(local, &next);
        CHECK(again.start(std::span<const value>(local.holds)).code == errc::peer_dead);
        CHECK(next.aborted_with.code == errc::peer_dead);
        CHECK(again.poll());
    }
}

TEST_CASE("an upper program that stays busy is waited for no longer than said", "[nic]") {
    driver local, upper{.busy = true};
    nic::two_level both(local, &upper, 20'000'000);
    REQUIRE(!both.start(std::span<const value>(local.holds)));
    SECTION("for ever") {
        CHECK(both.wait().code == errc::deadline);
        CHECK(upper.aborted_with.code == errc::deadline);
        CHECK(both.start(std::span<const value>(local.holds)).code == errc::deadline);
    }
    SECTION("for a while") {
        nic::two_level patient(local, &upper);
        REQUIRE(!patient.start(std::span<const value>(local.holds)));
        for (int i = 0; i != 100; ++i) CHECK(!patient.poll());
        upper.busy = false;
        CHECK(!patient.wait());
        CHECK(upper.rung == 1);
        CHECK(local.rung == 2);
    }
}

TEST_CASE("other nodes learn that a node failed", "[nic]") {
    // Two nodes with transports of their own inside, so that nothing but the upper program tells.
    const auto upper_programs = programs_of(plan_allreduce(fnomial{}, {.size = 2}), 2);
    std::array<status, 2> said{};
    in_process world{2};
    world.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = 60'000'000'000}};
        nic::host_nic between(comm);
        auto upper = nic::load<value>(between, upper_programs[comm.rank()], test::bracket_op{});
        driver local{.fails = comm.rank() == 1};
        nic::two_level both(local, &upper);
        (void)both.start(std::span<const value>(local.holds));
        said[comm.rank()] = both.wait();
    });
    CHECK(said[1].code == errc::peer_dead);
    CHECK((said[0].code == errc::peer_aborted || said[0].code == errc::group_poisoned));
    CHECK(said[0].cause == errc::peer_dead);
}
