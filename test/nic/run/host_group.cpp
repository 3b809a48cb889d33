// SPDX-License-Identifier: BSL-1.0
// Programs run by hosts beside everything else: their failure is the group's, as the group's is theirs.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using namespace bough;

constexpr rank_t ranks = 5;
std::vector<nic::program> programs_of(const nic::assemble_options& options) {
    const auto made = nic::assemble_all(plan_allreduce(fnomial{.degree = 3}, {.size = ranks}),
                                        nic::needs_of<plus, double>, nic::capabilities_of<nic::host>, options);
    return made.programs;
}

// What one rank saw of a group in which something fails.
struct seen {
    status program{}, other{};   // of the program that fails, or is under way; of one on another stream
    std::error_code operation{}; // of an allreduce afterwards
    status start_again{};
};
struct throwing {
    double operator()(double, double) const { throw std::runtime_error("no"); }
};

} // namespace

TEST_CASE("the failure of a program poisons the group, and the group's failure ends programs", "[nic]") {
    const auto first = programs_of({.stream = 1}), second = programs_of({.stream = 2});
    const auto run = [&](auto&& rank_main) {
        std::vector<seen> all(ranks);
        in_process world{ranks};
        world.run([&](auto transport) {
            communicator comm{std::move(transport), communicator_options{.timeout_ns = 60'000'000'000}};
            nic::host_nic device{comm};
            const double one = 1;
            seen& mine = all[comm.rank()];
            rank_main(comm, device, mine, std::span(&one, 1));
            double x = 1;
            allreduce(comm, std::span(&x, 1), plus{}, mine.operation);
        });
        return all;
    };
    SECTION("an op throws on some ranks") {
        const auto all = run([&](auto& comm, auto& device, seen& mine, std::span<const double> input) {
            auto fails = nic::load<double>(device, first[comm.rank()], throwing{});
            auto other = nic::load<double>(device, second[comm.rank()], plus{});
            if (!fails.start(input)) fails.wait(0);
            mine.program = fails.error();
            mine.start_again = fails.start(input);
            mine.other = other.start(input); // has nothing to do with it, but for the group
            if (!mine.other) mine.other = other.wait(0);
        });
        bool threw = false;
        for (const seen& s : all) {
            threw |= s.program.code == errc::op_threw;
            const errc first_cause = s.program.code == errc::peer_aborted ? s.program.cause : s.program.code;
            CHECK(first_cause == errc::op_threw);
            CHECK(s.start_again.code == s.program.code);
            CHECK((s.other.code == errc::group_poisoned || s.other.code == errc::peer_aborted));
            CHECK(s.other.cause == errc::op_threw);
            CHECK(s.operation == make_error_code(errc::group_poisoned));
        }
        CHECK(threw);
    }
    SECTION("an operation fails while a program is under way") {
        const auto all = run([&](auto& comm, auto& device, seen& mine, std::span<const double> input) {
            auto sum = nic::load<double>(device, first[comm.rank()], plus{});
            if (comm.rank() != 0) mine.program = sum.start(input); // waits for rank 0
            std::array<double, 2> x{1, 2};
            std::error_code ec;
            allreduce(comm, std::span(x).first(comm.rank() == 0 ? 2 : 1), plus{}, ec); // counts differ
            if (comm.rank() != 0 && !mine.program) mine.program = sum.wait(0);
            mine.other = sum.start(input);
        });
        for (rank_t r = 1; r != ranks; ++r) {
            INFO(describe(all[r].program.code));
            CHECK((all[r].program.code == errc::call_mismatch || all[r].program.code == errc::peer_aborted));
            CHECK(all[r].other.code == all[r].program.code);
        }
        for (const seen& s : all) CHECK(s.operation == make_error_code(errc::group_poisoned));
        CHECK(all[0].other.code == errc::group_poisoned);
    }
}

TEST_CASE("a program over some ranks of a group names a dead one as the group counts it", "[nic]") {
    std::vector<status> said(ranks + 1);
    in_process world{ranks + 1};
    const auto programs = programs_of({.stream = 1});
    world.run([&](auto transport) {
        communicator comm{std::move(transport), communicator_options{.timeout_ns = 60'000'000'000}};
        const rank_t me = comm.rank();
        auto part = bough::split(comm, me != 0);
        if (me == 0 || me == 3) return; // its transport goes, and it is dead to the others
        nic::host_nic device{part};
        auto sum = nic::load<double>(device, programs[part.rank()], plus{});
        const double one = 1;
        if (!sum.start(std::span(&one, 1))) sum.wait(0);
        said[me] = sum.error();
    });
    for (const rank_t r : {1u, 2u, 4u, 5u}) {
        CAPTURE(r, message_of(said[r]));
        CHECK((said[r].code == errc::peer_dead || said[r].cause == errc::peer_dead));
        if (said[r].code == errc::peer_dead) CHECK(said[r].peer == 3);
    }
}
