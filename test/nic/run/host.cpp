// SPDX-License-Identifier: BSL-1.0
// Programs run by hosts: the bits of the front doors, over threads, over processes, in virtual time with messages in any
// order; and how they fail.
#include "nic/run.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/allreduce/tree.hpp>
#include <bough/algorithm/barrier/dissemination.hpp>
#include <bough/algorithm/broadcast/tree.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allreduce.hpp>
#include <bough/broadcast.hpp>
#include <bough/communicator.hpp>
#include <bough/core/random.hpp>
#include <bough/group.hpp>
#include <bough/nic/run/host.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/simulated.hpp>
#include <bough/tree/fnomial.hpp>

#include <atomic>
#include <bit>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace bough;
using test::value;

namespace {

// All digits in use, magnitudes apart: sums show their order.
double number(std::uint32_t instance, rank_t rank, std::size_t element) {
    const std::uint64_t x = mix_bits(instance * 1'000'003u + rank * 1009u + element);
    return std::bit_cast<double>((x & 0x800f'ffff'ffff'ffffu) | std::uint64_t{1023 - 32 + (x >> 52 & 63)} << 52);
}
std::vector<double> numbers(std::uint32_t instance, rank_t rank, std::size_t count) {
    std::vector<double> x;
    for (std::size_t i = 0; i != count; ++i) x.push_back(number(instance, rank, i));
    return x;
}
bool same_bits(std::span<const double> a, std::span<const double> b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i != a.size(); ++i)
        if (std::bit_cast<std::uint64_t>(a[i]) != std::bit_cast<std::uint64_t>(b[i])) return false;
    return true;
}

template <class Plan>
std::vector<nic::program> programs_of(const Plan& plan, const nic::assemble_options& options) {
    auto made = nic::assemble_all(plan, nic::needs_of<plus, double>, nic::capabilities_of<nic::host>, options);
    if (!made) throw std::runtime_error(nic::describe(made.why.reason));
    return made.programs;
}

// What ranks have to say; Catch's own checks are for one thread.
struct complaints {
    std::mutex mutex;
    std::string text;
    void add(const std::string& what) {
        const std::lock_guard lock(mutex);
        text += what + "\n";
    }
};

// One rank: what the host gets from programs is what the front doors give, blocking and with instances under way.
template <class Communicator>
std::string compare_with_front_doors(Communicator& comm, std::uint32_t elements) {
    const rank_t p = comm.size(), me = comm.rank(), top = p / 2;
    const dimensions at{.size = p, .root = top};
    const auto all_plan = plan_allreduce(fnomial{.degree = 3}, {.size = p});
    const auto ring_plan = plan_allreduce(ring{}, {.size = p});
    const auto reduce_plan = plan_reduce(fnomial{.degree = 4}, at);
    const auto broadcast_plan = plan_broadcast(fnomial{.degree = 2}, at);
    const auto all_programs = programs_of(all_plan, {.elements = elements, .banks = 2, .stream = 1});
    const auto ring_programs = programs_of(ring_plan, {.elements = elements, .stream = 2});
    const auto reduce_programs = programs_of(reduce_plan, {.elements = elements, .banks = 4, .stream = 3});
    const auto broadcast_programs = programs_of(broadcast_plan, {.elements = elements, .stream = 4});

    nic::host_nic device(comm);
    auto all = nic::load<double>(device, all_programs[me], plus{});
    auto around = nic::load<double>(device, ring_programs[me], plus{});
    auto reduction = nic::load<double>(device, reduce_programs[me], plus{});
    auto spread = nic::load<double>(device, broadcast_programs[me], plus{});
    std::vector<double> got(elements);
    for (std::uint32_t e = 0; e != 5; ++e) {
        const std::vector<double> mine = numbers(e, me, elements);
        std::vector<double> want = mine;
        allreduce(comm, std::span(want), plus{}, all_plan);
        if (all.run(mine, got)) return "allreduce: " + std::string(describe(all.error().code));
        if (!same_bits(got, want)) return "allreduce along a tree differs";
        want = mine;
        allreduce(comm, std::span(want), plus{}, ring_plan);
        if (around.run(mine, got)) return "ring: " + std::string(describe(around.error().code));
        if (!same_bits(got, want)) return "allreduce round a ring differs";
        want = mine;
        broadcast(comm, std::span(want), root{top}, broadcast_plan);
        std::vector<double> given(spread.result_count());
        if (spread.run(std::span(mine).first(spread.input_count()), given)) return "broadcast failed";
        if (me != top && !same_bits(given, want)) return "broadcast differs";
    }
    // Four reductions under way, and the hosts do not wait for each other: a rank that is ahead finds its banks in use.
    std::uint32_t ended = 0;
    for (std::uint32_t e = 0; e != 40 || ended != 40;) {
        if (e != 40) {
            const status entered = reduction.start(numbers(e, me, elements));
            if (!entered)
                ++e;
            else if (entered.code != errc::would_block)
                return "start: " + std::string(describe(entered.code));
        }
        reduction.poll();
        for (; ended != e && reduction.done(ended); ++ended) {
            if (reduction.error()) return "reduce: " + std::string(describe(reduction.error().code));
            if (me != top) continue;
            std::vector<std::vector<double>> inputs;
            for (rank_t r = 0; r != p; ++r) inputs.push_back(numbers(ended, r, 1));
            std::vector<std::vector<double>> one = test::play(test::steps_of(reduce_plan), inputs, plus{});
            if (!same_bits(reduction.result(ended).first(1), one[top])) return "reduce differs";
        }
    }
    return "";
}

} // namespace

TEST_CASE("programs run by hosts give the bits of the front doors: threads", "[nic]") {
    for (const rank_t p : {1u, 2u, 3u, 5u, 8u})
        for (const std::uint32_t elements : {1u, 9u}) {
            complaints said;
            in_process world{p};
            world.run([&](auto transport) {
                communicator comm{std::move(transport)};
                const std::string bad = compare_with_front_doors(comm, elements);
                if (!bad.empty()) said.add("rank " + std::to_string(comm.rank()) + ": " + bad);
            });
            INFO("p = " << p << ", " << elements << " elements");
            CHECK(said.text == "");
        }
}

TEST_CASE("a device on a part of the ranks", "[nic]") {
    complaints said;
    in_process world{6};
    world.run([&](auto transport) {
        communicator comm{std::move(transport)};
        auto half = split(comm, comm.rank() % 2);
        const std::string bad = compare_with_front_doors(half, 3);
        if (!bad.empty()) said.add("rank " + std::to_string(comm.rank()) + ": " + bad);
    });
    CHECK(said.text == "");
}

namespace {

// All ranks in one thread and in virtual time: drive(r) for ranks in an order that is drawn, until each says it is done.
template <class World, class Drive>
bool drive_all(World& world, rank_t ranks, std::uint64_t seed, Drive&& drive) {
    random_sequence random(seed, 0x686f'7374, ranks);
    for (std::uint32_t turns = 0; turns != 2'000'000; ++turns) {
        bool ended = true, moved = false;
        const auto first = static_cast<rank_t>(random.below(ranks));
        for (rank_t i = 0; i != ranks; ++i) {
            const rank_t r = (first + i) % ranks;
            if (!world.is_alive(r)) continue;
            bool done = false;
            moved |= drive(r, done);
            ended &= done;
        }
        if (ended) return true;
        if (!moved && !world.advance()) return false;
    }
    return false;
}

template <class World>
struct rig {
    using transport = std::remove_cvref_t<decltype(std::declval<World&>().connect(0))>;
    World world;
    std::deque<communicator<transport>> comms;
    std::deque<nic::host_nic<transport>> devices;
    rig(rank_t ranks, std::uint64_t seed) : world(ranks, {.seed = seed}) {
        for (rank_t r = 0; r != ranks; ++r) {
            comms.emplace_back(world.connect(r), communicator_options{.timeout_ns = 1'000'000'000});
            devices.emplace_back(comms.back());
        }
    }
};

// Two programs at once on every device, each with instances under way; instance by instance the bits of the plan.
template <class World>
void two_programs(rank_t p, std::uint64_t seed) {
    constexpr std::uint32_t instances = 12;
    rig<World> at(p, seed);
    const auto reduce = plan_reduce(fnomial{.degree = 3}, {.size = p, .root = p - 1});
    const auto census = plan_allreduce(recursive_doubling{}, {.size = p});
    const auto made_reduce =
        nic::assemble_all(reduce, test::any_order, nic::capabilities_of<nic::host>, {.banks = 2, .stream = 1});
    const auto made_census =
        nic::assemble_all(census, test::any_order, nic::capabilities_of<nic::host>, {.banks = 4, .stream = 2});
    REQUIRE((made_reduce && made_census));
    using program_type = nic::host_program<value, test::bracket_op, typename rig<World>::transport>;
    struct host {
        program_type reduce, census;
        std::uint32_t seen[2] = {0, 0};
        host(nic::host_nic<typename rig<World>::transport>& d, const nic::program& a, const nic::program& b)
            : reduce(d, a, {}), census(d, b, {}) {}
    };
    std::deque<host> hosts;
    for (rank_t r = 0; r != p; ++r) hosts.emplace_back(at.devices[r], made_reduce.programs[r], made_census.programs[r]);
    const auto reduce_steps = test::steps_of(reduce), census_steps = test::steps_of(census);
    std::uint64_t wrong = 0, results = 0;
    const bool ended = drive_all(at.world, p, seed, [&](rank_t r, bool& done) {
        host& h = hosts[r];
        const auto turn = [&](program_type& one, std::uint32_t& seen, const auto& steps, bool has_result) {
            bool moved = false;
            for (; seen != one.started() && one.done(seen); ++seen) {
                if (!has_result) continue;
                ++results;
                wrong += one.result(seen)[0] != test::played(steps, seen, 1, 1, test::bracket_op{})[r][0];
            }
            if (one.started() != instances) {
                const value mine = test::input_value(one.started(), r, 0);
                const status s = one.start(std::span(&mine, 1));
                moved = !s;
                CHECK((!s || s.code == errc::would_block));
            }
            return moved;
        };
        bool moved = turn(h.reduce, h.seen[0], reduce_steps, r == p - 1);
        moved |= turn(h.census, h.seen[1], census_steps, true);
        moved |= at.devices[r].progress();
        done = h.seen[0] == instances && h.seen[1] == instances;
        return moved;
    });
    INFO("p = " << p << ", seed " << seed);
    CHECK(ended);
    CHECK(wrong == 0);
    CHECK(results == (p + 1) * instances);
}

} // namespace

TEST_CASE("several programs at once, back to back, messages in any order: virtual time", "[nic]") {
    for (std::uint64_t seed = 0; seed != 6; ++seed)
        for (const rank_t p : {2u, 5u, 9u}) {
            two_programs<simulated>(p, seed);
            if (seed == 0) two_programs<simulated_taking>(p, seed);
        }
}

TEST_CASE("a program that is loaded late takes what came before it", "[nic]") {
    rig<simulated> at(2, 3);
    const auto made = programs_of(plan_reduce(fnomial{}, {.size = 2}), {});
    auto leaf = nic::load<double>(at.devices[1], made[1], plus{});
    const double one = 1, two = 2;
    REQUIRE(!leaf.start(std::span(&one, 1)));
    REQUIRE(leaf.done(0));
    for (int i = 0; i != 100; ++i) { // it comes, for nobody yet
        at.devices[0].progress();
        at.world.advance();
    }
    auto root = nic::load<double>(at.devices[0], made[0], plus{});
    REQUIRE(!root.start(std::span(&two, 1)));
    CHECK(drive_all(at.world, 2, 1, [&](rank_t r, bool& done) {
        const bool moved = at.devices[r].progress();
        done = r == 1 || root.done(0);
        return moved;
    }));
    CHECK(root.result(0)[0] == 3);
}

namespace {

// Each rank of an allreduce enters, but for `absent`; then all are driven until every program that can has ended or failed.
template <class Op>
std::vector<status> after(rank_t p, rank_t absent, const Op& op, auto&& disturb) {
    rig<simulated> at(p, 5);
    const auto made = programs_of(plan_allreduce(fnomial{.degree = 3}, {.size = p}), {});
    std::deque<nic::host_program<double, Op, simulated::endpoint>> all;
    for (rank_t r = 0; r != p; ++r) all.emplace_back(at.devices[r], made[r], op);
    const double one = 1;
    for (rank_t r = 0; r != p; ++r)
        if (r != absent) (void)all[r].start(std::span(&one, 1));
    disturb(at);
    for (std::uint32_t i = 0; i != 200'000; ++i) {
        bool ended = true;
        for (rank_t r = 0; r != p; ++r) {
            if (!at.world.is_alive(r)) continue;
            all[r].poll();
            ended &= static_cast<bool>(all[r].error());
        }
        if (ended) break;
        if (!at.world.advance()) at.world.advance_to(at.world.now_ns() + 1'000'000);
    }
    std::vector<status> said;
    for (const auto& one_of : all) said.push_back(one_of.error());
    return said;
}

struct throwing {
    double operator()(double a, double) const { throw std::runtime_error("no " + std::to_string(a)); }
};

} // namespace

TEST_CASE("no program waits for ever", "[nic]") {
    SECTION("a host that does not enter") {
        const auto said = after(6, 4, plus{}, [](auto&) {});
        std::uint32_t deadlines = 0;
        for (const status& s : said) {
            CHECK((s.code == errc::deadline || (s.code == errc::peer_aborted && s.cause == errc::deadline)));
            deadlines += s.code == errc::deadline ? 1 : 0;
        }
        CHECK(deadlines >= 1);
    }
    SECTION("a rank that dies") {
        const auto said = after(6, no_rank, plus{},
                                [](auto& at) { at.world.happen({.what = simulated_fault::kind::crash, .rank = 3}); });
        std::uint32_t heard = 0;
        for (rank_t r = 0; r != 6; ++r) {
            if (r == 3) continue;
            INFO("rank " << r << ": " << describe(said[r].code));
            CHECK((said[r].code == errc::peer_dead || said[r].code == errc::peer_aborted));
            heard += said[r].code == errc::peer_dead && said[r].peer == 3 ? 1 : 0;
        }
        CHECK(heard >= 1);
    }
    SECTION("an op that throws") {
        const auto said = after(5, no_rank, throwing{}, [](auto&) {});
        std::uint32_t threw = 0;
        for (const status& s : said) {
            CHECK((s.code == errc::op_threw || (s.code == errc::peer_aborted && s.cause == errc::op_threw)));
            threw += s.code == errc::op_threw ? 1 : 0;
        }
        CHECK(threw >= 1);
    }
}

TEST_CASE("programs that differ between ranks are told so", "[nic]") {
    rig<simulated> at(2, 1);
    const auto longer = programs_of(plan_allreduce(fnomial{}, {.size = 2}), {.elements = 2});
    const auto shorter = programs_of(plan_allreduce(fnomial{}, {.size = 2}), {.elements = 1});
    auto a = nic::load<double>(at.devices[0], longer[0], plus{});
    auto b = nic::load<double>(at.devices[1], shorter[1], plus{});
    const double x[2] = {1, 2};
    REQUIRE(!a.start(std::span(x, 2)));
    REQUIRE(!b.start(std::span(x, 1)));
    for (int i = 0; i != 1000 && !(a.error() && b.error()); ++i) {
        a.poll(), b.poll();
        at.world.advance();
    }
    CHECK(a.error().code == errc::protocol_error);
    CHECK(b.error().code == errc::peer_aborted);
    CHECK(b.error().cause == errc::protocol_error);
    CHECK(a.start(std::span(x, 2)).code == errc::protocol_error); // for good
}
