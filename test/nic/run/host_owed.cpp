// SPDX-License-Identifier: BSL-1.0
// What a rank still owes others when its host has been told, and what comes for programs that are not there: neither is lost,
// neither is waited for without end.
#include "support/catch.hpp"
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/barrier.hpp>
#include <bough/communicator.hpp>
#include <bough/nic/assemble.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/tree/chain.hpp>
#include <bough/tree/flat.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

using namespace bough;

namespace {

std::vector<nic::program> programs_of(const auto& plan, const nic::assemble_options& options) {
    const auto made = nic::assemble_all(plan, nic::needs_of<plus, double>, nic::capabilities_of<nic::host>, options);
    REQUIRE(made);
    return made.programs;
}

// For ranks that wait for another's word; a minute is never needed.
void await(const std::atomic<bool>& word) {
    for (int i = 0; i != 60'000 && !word; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// A broadcast along 0 - 1 - 2 with one bank. Rank 2 enters nothing before it is `let_in`: of the second instance rank 1 is told
// at once, and cannot send it on. `middle(comm, device, sum, enter)`: what rank 1 does; enter() runs an instance.
struct chain_result {
    std::array<status, 2> last{};     // of rank 2's instances
    std::array<double, 2> received{}; // there
};
template <class Middle>
chain_result run_chain(std::uint64_t timeout_ns, std::atomic<bool>& let_in, Middle&& middle) {
    const auto programs = programs_of(plan_broadcast(chain{}, {.size = 3}), {.banks = 1});
    chain_result found;
    std::atomic<bool> middle_ended{false};
    in_process world{3};
    world.run([&](auto transport) {
        communicator comm{std::move(transport), {.timeout_ns = timeout_ns}};
        nic::host_nic device{comm};
        using program_type = decltype(nic::load<double>(device, programs[0], plus{}));
        std::optional<program_type> sum;
        sum.emplace(device, programs[comm.rank()], plus{});
        double brought = 6, got = 0;
        barrier(comm); // what is late below is late on purpose
        const auto enter = [&] {
            ++brought;
            return sum->run(std::span(&brought, sum->input_count()), std::span(&got, sum->result_count()));
        };
        if (comm.rank() == 1) {
            middle(device, sum, enter);
            middle_ended = true;
        } else if (comm.rank() == 0) {
            for (int i = 0; i != 2; ++i) (void)enter();
            while (!sum->poll()) continue;
            await(middle_ended);
        } else {
            await(let_in);
            for (std::size_t i = 0; i != 2; ++i) {
                found.last[i] = enter();
                found.received[i] = got;
            }
        }
    });
    return found;
}

void check_received(const chain_result& found) {
    for (const status& s : found.last) CHECK(describe(s.code) == describe(errc::ok));
    CHECK(found.received == std::array{7.0, 8.0});
}

} // namespace

TEST_CASE("a host that finds its bank held by what it owes gets a deadline", "[nic]") {
    std::atomic<bool> let_in{false};
    std::array<status, 3> middle{};
    status error{};
    const auto found = run_chain(4'000'000'000, let_in, [&](auto&, auto& sum, auto& enter) {
        for (status& s : middle) s = enter();
        error = sum->error();
        let_in = true;
    });
    CHECK(middle[0].code == errc::ok);
    CHECK(middle[1].code == errc::ok);
    CHECK(middle[2].code == errc::deadline);
    CHECK(error.code == errc::deadline);
    CHECK(found.last[1].code != errc::ok); // and rank 2 is told
    CHECK((found.last[1].code == errc::deadline || found.last[1].cause == errc::deadline));
}

TEST_CASE("a program that ends sends what it owes, or says that it did not", "[nic]") {
    SECTION("the last rank comes late") {
        std::atomic<bool> let_in{false};
        const auto found = run_chain(60'000'000'000, let_in, [&](auto&, auto& sum, auto& enter) {
            for (int i = 0; i != 2; ++i) (void)enter();
            let_in = true;
            sum.reset();
        });
        check_received(found);
    }
    SECTION("the last rank comes too late") {
        std::atomic<bool> let_in{false};
        const auto found = run_chain(4'000'000'000, let_in, [&](auto&, auto& sum, auto& enter) {
            for (int i = 0; i != 2; ++i) (void)enter();
            sum.reset();
            let_in = true;
        });
        CHECK(found.last[1].code != errc::ok);
        CHECK((found.last[1].code == errc::peer_aborted || found.last[1].code == errc::group_poisoned));
        CHECK(found.last[1].cause == errc::deadline);
    }
}

TEST_CASE("poll says when nothing is owed any more", "[nic]") {
    std::atomic<bool> let_in{false};
    bool early = false, told = false, failed = true;
    const auto found = run_chain(60'000'000'000, let_in, [&](auto&, auto& sum, auto& enter) {
        for (int i = 0; i != 2; ++i) (void)enter();
        told = sum->done(1) && sum->ended() == 2;
        for (int i = 0; i != 100; ++i) early |= sum->poll();
        early |= !sum->unfinished();
        let_in = true;
        while (!sum->poll()) continue;
        failed = static_cast<bool>(sum->error());
    });
    CHECK(told);
    CHECK(!early);
    CHECK(!failed);
    check_received(found);
}

namespace {

// A reduce of 1 to 0, as often as `rounds`, each time by a program of another stream. Rank 1 unloads before its credit can come.
struct flat_pair {
    std::uint64_t most_waiting; // bytes
    template <class Root, class Leaf>
    void run(Root&& root, Leaf&& leaf) const {
        in_process world{2};
        world.run([&](auto transport) {
            communicator comm{std::move(transport), {.timeout_ns = 60'000'000'000, .early = {.bytes = most_waiting}}};
            nic::host_nic device{comm};
            if (comm.rank() == 0)
                root(comm, device);
            else
                leaf(comm, device);
        });
    }
};

} // namespace

TEST_CASE("credits for programs that have ended take no memory", "[nic]") {
    constexpr std::uint32_t rounds = 200;
    const auto plan = plan_reduce(flat{}, {.size = 2});
    std::vector<std::vector<nic::program>> programs;
    for (std::uint32_t i = 0; i != rounds; ++i) programs.push_back(programs_of(plan, {.stream = i * 7 + 1}));
    std::uint32_t right = 0;
    std::array<std::error_code, 2> after{};
    const double one = 1, two = 2;
    flat_pair{4096}.run(
        [&](auto& comm, auto& device) {
            for (std::uint32_t i = 0; i != rounds; ++i) {
                double got = 0;
                {
                    auto sum = nic::load<double>(device, programs[i][0], plus{});
                    if (!sum.run(std::span(&one, 1), std::span(&got, 1)) && got == 3) ++right;
                }
                barrier(comm, after[0]);
            }
        },
        [&](auto& comm, auto& device) {
            for (std::uint32_t i = 0; i != rounds; ++i) {
                {
                    auto sum = nic::load<double>(device, programs[i][1], plus{});
                    (void)sum.start(std::span(&two, 1)); // it is told at once
                }
                barrier(comm, after[1]); // the credit is there
                device.progress();
            }
        });
    CHECK(right == rounds);
    CHECK(!after[0]);
    CHECK(!after[1]);
}

TEST_CASE("what comes for a program that is never loaded is bounded", "[nic]") {
    const auto programs = programs_of(plan_reduce(flat{}, {.size = 2}), {.credits = false});
    std::atomic<bool> ended{false};
    std::atomic<std::uint64_t> polls{0}; // of the root
    std::error_code root_after{};
    status leaf{};
    const double one = 1;
    flat_pair{16'384}.run(
        [&](auto& comm, auto& device) {
            for (; !ended; ++polls) device.progress();
            barrier(comm, root_after);
        },
        [&](auto&, auto& device) {
            auto sum = nic::load<double>(device, programs[1], plus{});
            for (int i = 0; i != 20'000 && !leaf; ++i) {
                leaf = sum.start(std::span(&one, 1));
                for (const std::uint64_t so_far = polls; polls < so_far + 2;) sum.poll(); // it has looked since
            }
            if (!leaf) sum.abort({.code = errc::cancelled}); // it was not bounded
            ended = true;
        });
    CHECK((leaf.code == errc::peer_aborted || leaf.code == errc::group_poisoned));
    CHECK(leaf.cause == errc::no_resources);
    CHECK(root_after == make_error_code(errc::group_poisoned));
}
