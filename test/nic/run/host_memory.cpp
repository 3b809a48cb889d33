// SPDX-License-Identifier: BSL-1.0
// Memory of programs on the host: load takes it, messages take none, and the end of the program, or of a load that failed,
// gives it back.
#include "support/catch.hpp"
#include "support/counted_new.hpp"
#include "support/until.hpp"
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/communicator.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

using namespace bough;

namespace {

using program_type = nic::host_program<double, plus, in_process::endpoint>;

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
        ++ended;
        bough_test::until([&] { return ended == ranks || sum.error(); }, [&] { sum.poll(); });
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
TEST_CASE("host_nic: programs of several lengths at once allocate nothing, whoever is ahead") {
    pair_of_devices on;
    // Pairs of programs, each with two banks.
    std::vector<std::unique_ptr<program_type>> low, high;
    std::vector<std::vector<double>> x;
    for (const std::uint32_t elements : {300u, 2u, 40u, 2u}) {
        std::vector<nic::program> programs = programs_of(elements, 2);
        for (nic::program& p : programs) p.head.stream = elements + 1000 * static_cast<std::uint32_t>(low.size());
        for (const bool is_low : {true, false})
            (is_low ? low : high)
                .push_back(std::make_unique<program_type>(on.device[is_low ? 0 : 1], programs[is_low ? 0 : 1], plus{}));
        x.emplace_back(elements, 1.0);
    }
    std::uint32_t drawn = 1;
    const auto draw = [&drawn](std::size_t below) { return (drawn = drawn * 1664525u + 1013904223u) / 64 % below; };
    std::size_t before = 0;
    bool failed = false;
    for (int turn = 0; turn != 4000; ++turn) {
        if (turn == 40) before = bough_test::allocations; // the transport has made its links
        const std::size_t i = draw(low.size());
        program_type& one = *(draw(2) == 0 ? low : high)[i];
        const status entered = one.start(x[i]);
        failed |= entered && entered.code != errc::would_block;
        if (draw(3) == 0) one.poll();
    }
    for (int turn = 0; turn != 100; ++turn)
        for (std::size_t i = 0; i != low.size(); ++i) {
            low[i]->poll();
            high[i]->poll();
        }
    CHECK(bough_test::allocations - before == 0);
    CHECK_FALSE(failed);
    for (std::size_t i = 0; i != low.size(); ++i) {
        // One may have been ahead of the other, by its banks at most.
        for (program_type* behind : {low[i].get(), high[i].get()})
            while (behind->started() < std::max(low[i]->started(), high[i]->started()))
                REQUIRE_FALSE(behind->start(x[i]));
        run_to_end(*low[i], *high[i]);
        REQUIRE(low[i]->started() > 50);
        for (const program_type* one : {low[i].get(), high[i].get()}) {
            REQUIRE(one->done(one->started() - 1));
            const auto sum = one->result(one->started() - 1);
            CHECK(std::ranges::count(sum, 2.0) == std::ssize(x[i]));
        }
    }
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
// After a quarter of a second its host looks after it from time to time, and has nothing to do until the deadline is near.
TEST_CASE("host_nic: an instance that waits long allocates nothing until its deadline is near", "[nic]") {
    simulated world{2};
    std::deque<communicator<simulated::endpoint>> comms;
    std::deque<nic::host_nic<simulated::endpoint>> devices;
    std::deque<nic::host_program<double, plus, simulated::endpoint>> programs;
    const std::vector<nic::program> made = programs_of(7, 2);
    for (rank_t r = 0; r != 2; ++r) {
        comms.emplace_back(world.connect(r), communicator_options{.timeout_ns = 8'000'000'000});
        devices.emplace_back(comms.back());
        programs.emplace_back(devices.back(), made[r], plus{});
    }
    const std::vector<double> x(7, 2);
    const auto poll_both = [&] {
        for (int i = 0; i != 256; ++i) // often enough that they look at the clock
            for (auto& p : programs) p.poll();
    };
    const auto finish = [&] {
        do poll_both();
        while (world.advance());
    };
    for (auto& p : programs) REQUIRE_FALSE(p.start(x));
    finish();
    for (const std::uint32_t late : {0u, 1u}) {
        const std::uint32_t instance = programs[0].started();
        REQUIRE(programs[0].done(instance - 1));
        REQUIRE_FALSE(programs[1 - late].start(x));
        finish();
        const std::size_t before = bough_test::allocations;
        for (int i = 0; i != 50; ++i) { // 5 s; it would look for the late rank after 6
            world.advance_to(world.now_ns() + 100'000'000);
            poll_both();
        }
        CHECK(bough_test::allocations - before == 0);
        REQUIRE_FALSE(programs[late].start(x));
        finish();
        for (auto& p : programs) {
            REQUIRE(p.done(instance));
            CHECK(p.result(instance)[6] == 4);
        }
    }
}
TEST_CASE("host_nic: a load for which there is no memory takes none", "[nic]") {
    pair_of_devices on;
    const std::vector<nic::program> programs = programs_of(30, 2);
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
