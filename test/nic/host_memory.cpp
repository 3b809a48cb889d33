// SPDX-License-Identifier: BSL-1.0
// Memory of programs on the host: load takes it, messages take none, and the end of the program, or of a load that failed,
// gives it back.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/communicator.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run_host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// Both ranks, of one thread.
struct pair_of_devices {
    in_process world{2};
    communicator<in_process::endpoint> comm[2] = {communicator{world.connect(0)}, communicator{world.connect(1)}};
    nic::host_nic<in_process::endpoint> device[2] = {nic::host_nic{comm[0]}, nic::host_nic{comm[1]}};
};
std::vector<nic::program> programs_of(std::uint32_t elements, std::uint32_t banks, rank_t ranks = 2) {
    const auto made =
        nic::assemble_all(plan_allreduce(fnomial{.degree = 3}, {.size = ranks}), nic::needs_of<plus, double>,
                          nic::capabilities_of<nic::host>, {.elements = elements, .banks = banks});
    REQUIRE(made);
    return made.programs;
}
void run_to_end(auto& low, auto& high) {
    for (int turns = 0; turns != 1000; ++turns) {
        const bool first = low.poll();
        if (high.poll() && first) return;
    }
}
// Loads them, runs an instance, and lets them go. Is the sum right?
bool run_once(pair_of_devices& on, const std::vector<nic::program>& programs) {
    auto low = nic::load<double>(on.device[0], programs[0], plus{});
    auto high = nic::load<double>(on.device[1], programs[1], plus{});
    const std::vector<double> x(low.input_count(), 3), y(high.input_count(), 4);
    if (low.start(x) || high.start(y)) return false;
    run_to_end(low, high);
    if (!low.done(0) || !high.done(0)) return false;
    for (const auto& sum : {low.result(0), high.result(0)})
        if (sum.size() != x.size() || std::ranges::count(sum, 7.0) != std::ssize(sum)) return false;
    return true;
}

} // namespace

TEST_CASE("programs run by hosts allocate when they are loaded, and no more", "[nic]") {
    constexpr rank_t ranks = 5;
    const std::vector<nic::program> programs = programs_of(7, 4, ranks);
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
        const std::size_t before = bough_test::allocations;
        for (std::uint32_t e = 1; e != 300;) {
            const status entered = sum.start(mine);
            if (!entered)
                ++e;
            else if (entered.code != errc::would_block)
                break;
            sum.poll();
        }
        sum.wait(299);
        made[comm.rank()] = bough_test::allocations - before;
        if (!sum.error()) last[comm.rank()] = sum.result(299)[6];
        // No barrier: its messages would be early for who is still counting, and kept in memory of their own.
        for (++ended; ended != ranks && !sum.error();) sum.poll();
    });
    for (rank_t r = 0; r != ranks; ++r) {
        CHECK(made[r] == 0);
        CHECK(last[r] == 10);
    }
}

TEST_CASE("host_nic: a thousand programs, one after the other, leave the memory where it was", "[nic]") {
    pair_of_devices on;
    std::vector<nic::program> short_one = programs_of(2, 4), long_one = programs_of(500, 2);
    std::uint32_t streams = 0;
    const auto round = [&] {
        bool good = true;
        for (auto* programs : {&short_one, &long_one}) {
            ++streams;
            for (nic::program& p : *programs) p.head.stream = streams;
            good &= run_once(on, *programs);
        }
        return good;
    };
    for (int i = 0; i != 10; ++i) REQUIRE(round());
    const std::ptrdiff_t before = bough_test::held_bytes;
    for (int i = 0; i != 500; ++i) REQUIRE(round());
    CHECK(bough_test::held_bytes - before == 0);
}
TEST_CASE("host_nic: programs that end leave others the memory that these have reserved", "[nic]") {
    pair_of_devices on;
    const std::vector<nic::program> stays = programs_of(300, 2);
    auto low = nic::load<double>(on.device[0], stays[0], plus{});
    auto high = nic::load<double>(on.device[1], stays[1], plus{});
    std::uint32_t stream = 0;
    for (const std::uint32_t elements : {2u, 700u, 1u}) {
        std::vector<nic::program> passes = programs_of(elements, 4);
        stream += 10;
        for (nic::program& p : passes) p.head.stream = stream;
        REQUIRE(run_once(on, passes));
    }
    const std::vector<double> x(300, 1);
    REQUIRE(!low.start(x));
    REQUIRE(!high.start(x));
    const std::size_t before = bough_test::allocations;
    run_to_end(low, high);
    CHECK(bough_test::allocations - before == 0);
    CHECK((low.done(0) && high.done(0)));
}
TEST_CASE("host_nic: a load for which there is no memory takes none", "[nic]") {
    pair_of_devices on;
    const std::vector<nic::program> programs = programs_of(30, 2);
    using program_type = decltype(nic::load<double>(on.device[0], programs[0], plus{}));
    long failures = 0;
    std::ptrdiff_t first = 0;
    for (bool loaded = false; !loaded; ++failures) {
        std::optional<program_type> made;
        bough_test::until_failure = failures;
        try {
            made.emplace(on.device[0], programs[0], plus{});
            loaded = true;
        } catch (const std::bad_alloc&) {
        }
        bough_test::until_failure = -1;
        made.reset();
        // Room for names of messages is kept once it is there; memory for messages is not.
        if (failures == 0) first = bough_test::held_bytes;
        CAPTURE(failures);
        CHECK(bough_test::held_bytes - first < 4096);
    }
    CHECK(failures > 10);
}
