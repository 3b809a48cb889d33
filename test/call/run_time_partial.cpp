// SPDX-License-Identifier: BSL-1.0
// Partial calls on elements whose type and op are known at run time only: in every layout, with ranks that
// come late, beside ranks that give spans; and what is refused.
#include "frontdoor/run_time.hpp"

#include "support/catch.hpp"
#include "support/sample.hpp"
#include <bough/barrier.hpp>
#include <bough/call/partial.hpp>
#include <bough/call/run_time_partial.hpp>
#include <bough/core/absence.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/run_time.hpp>
#include <bough/transport/in_process.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace test;
using namespace bough;
using endpoint = in_process::endpoint;

// The op over what the ranks of `came` have given, in their order.
affine_map fold_of(const contributors& came, std::size_t i, std::uint64_t round, bool sums) {
    affine_map all;
    bool any = false;
    for (rank_t r = 0; r != came.size(); ++r) {
        if (!came.has(r)) continue;
        const affine_map next = value_of(r, i, round);
        all = !any ? next : sums ? affine_map{all.a + next.a, all.b + next.b} : compose{}(all, next);
        any = true;
    }
    return all;
}
partial terms(std::uint64_t dice, rank_t p) {
    partial how;
    how.within = std::chrono::microseconds(dice % 4 * 100);
    how.at_least = static_cast<rank_t>(dice / 4 % (p + 1));
    how.behind = static_cast<std::uint32_t>(dice / 64 % 3);
    how.decider = static_cast<rank_t>(dice / 256 % p);
    return how;
}

struct outcome {
    std::string fault;
    std::uint64_t hash = 0, left_out = 0;
};

// One call on each pair of layouts.
void exercise(communicator<endpoint>& comm, std::uint64_t seed, outcome& had) {
    const rank_t p = comm.size(), me = comm.rank();
    contributors came;
    std::uint64_t round = seed * 100;
    for (const layout one : layouts)
        for (const layout two : layouts) {
            ++round;
            const std::uint64_t dice = bough_test::mixed(round);
            const std::size_t n = std::array<std::size_t, 4>{0, 1, 7, 1'500}[dice / 4096 % 4];
            const bool sums = dice / 65536 % 2 != 0;
            seen how{.sums = sums};
            run_time_op op{
                .function = combine_affine, .context = &how, .commutative = sums, .exact = true, .identity = 7};
            image in(one, n), out(two, n);
            if (one == two && one != layout::packed && dice / 131072 % 2 != 0) {
                const run_time_type& t = in.type();
                op.as_in_memory = true;
                how.extent = t.extent == 0 ? 16 : t.extent;
                if (!t.pieces.empty()) how.a = t.pieces[0].offset, how.b = t.pieces[1].offset;
            }
            for (std::size_t i = 0; i != n; ++i) in.set(i, value_of(me, i, round)), out.set(i, {1, 2});
            if (bough_test::mixed(dice + me) % 8 < 2)
                std::this_thread::sleep_for(std::chrono::microseconds(dice / 7 % 700));
            partial wanted = terms(dice, p);
            wanted.contributed = &came;
            status s;
            allreduce(comm, in.input(n), out.all(), op, wanted, s);
            bool right = !s && in.is_clean() && out.is_clean() && came.size() == p && came.has(wanted.decider);
            for (std::size_t i = 0; i != n && right; ++i) {
                right = in.get(i) == value_of(me, i, round) && out.get(i) == fold_of(came, i, round, sums);
                had.hash = bough_test::mixed(had.hash ^ out.get(i).a) + out.get(i).b;
            }
            for (rank_t r = 0; right && r != p; ++r) had.hash = bough_test::mixed(had.hash + came.has(r));
            had.left_out += right && came.count() != p;
            if (!right && had.fault.empty())
                had.fault = "round " + std::to_string(round) + ", layouts " + std::to_string(static_cast<int>(one)) +
                            " and " + std::to_string(static_cast<int>(two)) + ": " + message_of(s);
        }
}

} // namespace

TEST_CASE("partial calls on elements of run-time types: each layout, any ranks late, the same result everywhere") {
    std::uint64_t left_out = 0;
    for (const rank_t p : {1u, 2u, 3u, 5u, 8u}) {
        std::vector<outcome> had(p);
        in_process{p}.run([&](auto transport) {
            communicator comm{std::move(transport)};
            for (std::uint64_t seed = 0; seed != (bough_test::all() ? 40u : 3u); ++seed)
                exercise(comm, bough_test::seed() * 1'000 + seed, had[comm.rank()]);
            barrier(comm);
        });
        for (rank_t r = 0; r != p; ++r) {
            CAPTURE(p, r);
            CHECK(had[r].fault == "");
            CHECK(had[r].hash == had[0].hash);
        }
        left_out += had[0].left_out;
    }
    CHECK(left_out > 10);
}

TEST_CASE("partial calls on elements match those on spans of their type") {
    std::atomic<int> wrong{0};
    in_process{4}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const run_time_type type = run_time_type_of<double>();
        contributors came;
        for (rank_t k = 0; k != 40; ++k) {
            const std::vector<double> in(20, comm.rank() + 1.0);
            std::vector<double> out(20);
            const partial how{.at_least = k % 3 == 0 ? 4u : 2u, .behind = 2, .decider = k % 4, .contributed = &came};
            if ((comm.rank() + k) % 2 != 0)
                allreduce(comm, in, out, plus{}, how);
            else
                allreduce(comm, const_elements{in.data(), 20, type}, elements{out.data(), 20, type, {}},
                          make_any_op<double>(plus{}), how);
            double sum = 0;
            for (rank_t r = 0; r != 4; ++r) sum += came.has(r) ? r + 1 : 0;
            wrong += out != std::vector<double>(20, sum) || came.count() < how.at_least;
        }
        barrier(comm);
    });
    CHECK(wrong == 0);
}

TEST_CASE("partial calls on elements: what is refused says so") {
    in_process{1}.run([](auto transport) {
        communicator comm{std::move(transport)};
        const run_time_type type = run_time_type_of<double>();
        const any_op plus_of_doubles = make_any_op<double>(plus{});
        std::vector<double> x(4, 1), y(4);
        const auto says = [&](const const_elements& in, const elements& out, const partial& how) {
            status s;
            auto fresh = duplicate(comm); // a refused call is given up, and breaks its communicator
            allreduce(fresh, in, out, plus_of_doubles, how, s);
            return message_of(s);
        };
        const const_elements in{x.data(), 4, type};
        const elements out{y.data(), 4, type, {}};
        CHECK(says(in, out, {}) == message_of({}));
        using Catch::Matchers::Contains;
        CHECK_THAT(says(in, out, {.decider = 1}), Contains("decider: not a rank of the group"));
        CHECK_THAT(says(in, out, {.at_least = 2}), Contains("at_least: more than the ranks of the group"));
        CHECK_THAT(says(in, {x.data(), 4, type, {}}, {}), Contains("output: is the input"));
        CHECK_THAT(says(in, {y.data(), 3, type, {}}, {}), Contains("out: must be as long as the input"));
        CHECK_THAT(says({nullptr, 4, type}, out, {}), Contains("null"));
        // Two vectors of one memory, whose elements lie apart.
        struct both {
            double in = 2, out = 0;
        };
        std::vector<both> pairs(3);
        const run_time_piece first[] = {{0, 8}}, second[] = {{8, 8}};
        run_time_type from = type, to = type;
        from.extent = to.extent = sizeof(both);
        from.pieces = first, to.pieces = second;
        CHECK(says({pairs.data(), 3, from}, {pairs.data(), 3, to, {}}, {}) == message_of({}));
        CHECK((pairs[2].in == 2 && pairs[2].out == 2));
    });
}
