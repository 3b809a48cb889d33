// SPDX-License-Identifier: BSL-1.0
// Programs run by hosts beside everything else: they take memory when they are loaded and none per message, and their failure
// is the group's, as the group's is theirs.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run_host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

thread_local std::size_t allocations = 0;
void* allocate(std::size_t bytes) {
    ++allocations;
    if (void* p = std::malloc(bytes == 0 ? 1 : bytes)) return p;
    throw std::bad_alloc();
}

} // namespace

// Not inlined: g++ 12 would see free() meet operator new, and warn.
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

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

TEST_CASE("programs run by hosts allocate when they are loaded, and no more", "[nic]") {
    const auto programs = programs_of({.elements = 7, .banks = 4});
    std::array<std::size_t, ranks> made{};
    std::array<double, ranks> last{};
    std::atomic<rank_t> ended{0};
    in_process world{ranks};
    world.run([&](auto transport) {
        communicator comm{std::move(transport)};
        nic::host_nic device{comm};
        auto sum = nic::load<double>(device, programs[comm.rank()], plus{});
        const std::array<double, 7> mine{1, 2, 3, 4, 5, 6, static_cast<double>(comm.rank())};
        std::array<double, 7> got{};
        if (sum.run(mine, got)) return; // the transport makes a link when the first message to a rank is sent
        const std::size_t before = allocations;
        for (std::uint32_t e = 1; e != 300;) {
            const status entered = sum.start(mine);
            if (!entered)
                ++e;
            else if (entered.code != errc::would_block)
                break;
            sum.poll();
        }
        sum.wait(299);
        made[comm.rank()] = allocations - before;
        if (!sum.error()) last[comm.rank()] = sum.result(299)[6];
        // No barrier: its messages would be early for who is still counting, and kept in memory of their own.
        for (++ended; ended != ranks && !sum.error();) sum.poll();
    });
    for (rank_t r = 0; r != ranks; ++r) {
        CHECK(made[r] == 0);
        CHECK(last[r] == 10);
    }
}

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
