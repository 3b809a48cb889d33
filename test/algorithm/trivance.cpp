// SPDX-License-Identifier: BSL-1.0
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include "support/ports.hpp"
#include <bough/algorithm/allreduce/trivance.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/walk.hpp>
#include <bough/transport/in_process.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr auto ring_halves = [](rank_t size) { return plan_allreduce(trivance_allreduce{}, {.size = size}); };
constexpr auto ring_census = [](rank_t size) { return plan_allreduce(trivance_census{}, {.size = size}); };
constexpr auto torus_halves = [](rank_t size) {
    return plan_allreduce(trivance_allreduce{{3, size / 3}}, {.size = size});
};
static_assert(test::proven_for<ring_halves, 1, 3, 9>());
static_assert(test::proven_for<ring_census, 1, 3, 9, 27>());
static_assert(test::proven_for<torus_halves, 3>()); // nine take clang++ more steps than it allows
static_assert(trivance_allreduce{{9, 9}}.natural_blocks(81) == 162);
static_assert(trivance_allreduce{{9, 1}}.natural_blocks(9) == 9);
static_assert(trivance_census{.extents = {3, 9, 3}}.natural_blocks(81) == 3);

// All tori of up to 64 ranks, and one of 81, whose extents are powers of three; some with an extent of one.
const std::vector<grid_extents> tori{{},     {1},    {3},       {9},    {27},      {1, 3},    {9, 1},    {3, 3},
                                     {3, 9}, {9, 3}, {3, 3, 3}, {9, 9}, {1, 3, 9}, {3, 1, 3}, {1, 1, 1}, {81}};

rank_t size_of(const grid_extents& grid) { return grid.weight(grid.dimensions); }
std::uint32_t log3(rank_t size) {
    std::uint32_t q = 0;
    for (; size != 1; size /= 3) ++q;
    return q;
}
std::uint32_t parts_of(const grid_extents& grid) {
    std::uint32_t parts = 0;
    for (std::uint32_t d = 0; d != grid.dimensions; ++d) parts += grid.extent[d] > 1;
    return parts;
}

} // namespace

TEST_CASE("trivance: all tori of powers of three, in log3 p rounds for each half") {
    for (const grid_extents& grid : tori) {
        const rank_t p = size_of(grid);
        const std::uint32_t q = log3(p), parts = parts_of(grid);
        CAPTURE(grid.text().c_str());
        const plan_traits whole = test::prove_with_claims(plan_allreduce(trivance_census{grid}, {.size = p}));
        CHECK(whole.rounds == 2 * parts * q);
        CHECK(whole.hops == q);
        CHECK(whole.volume_max == 2 * parts * q);
        CHECK(whole.combines_max == 2 * parts * q);
        CHECK(whole.rank_consistent == (p == 1));
        const plan_traits halves = test::prove_with_claims(plan_allreduce(trivance_allreduce{grid}, {.size = p}));
        CHECK(halves.rounds == 4 * parts * q);
        CHECK(halves.hops == 2 * q);
        CHECK(halves.volume_max == 2 * std::uint64_t{parts} * (p - 1));
        CHECK(halves.combines_max == std::uint64_t{parts} * (p - 1));
        CHECK(halves.scratch_max == (p == 1 ? 0 : 2 * parts * p / 3));
        CHECK(halves.rank_consistent);
    }
}

TEST_CASE("trivance: a census of any number of blocks") {
    for (const block_t blocks : {0u, 1u, 2u, 5u})
        for (const grid_extents& grid : {grid_extents{9}, grid_extents{3, 3}, grid_extents{3, 3, 3}}) {
            CAPTURE(blocks, grid.text().c_str());
            test::prove_with_claims(plan_allreduce(trivance_census{grid}, {.size = size_of(grid), .blocks = blocks}));
            test::prove_with_claims(
                plan_allreduce(inexact_trivance_census{grid}, {.size = size_of(grid), .blocks = blocks}));
        }
}

TEST_CASE("trivance: the formulas of the header against the walk") {
    for (const model::alpha_beta_gamma& m :
         {model::alpha_beta_gamma{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25},
          model::alpha_beta_gamma{.alpha_ns = 0, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 2}})
        for (const grid_extents& grid : tori) {
            const rank_t p = size_of(grid);
            if (p == 1) continue;
            CAPTURE(grid.text().c_str(), m.alpha_ns);
            const double q = log3(p), c = parts_of(grid), bytes = 729 * 4 * c;
            const double move = m.beta_ns_per_byte * bytes, add = m.gamma_ns_per_byte * bytes;
            const auto walked = [&](const auto& algorithm) {
                return model::walk(plan_allreduce(algorithm, {.size = p}), m, static_cast<std::uint64_t>(bytes))
                    .makespan_ns;
            };
            CHECK(walked(trivance_census{grid}) == Approx(2 * q * (c * m.alpha_ns + move + add)));
            CHECK(walked(trivance_allreduce{grid}) ==
                  Approx(4 * q * c * m.alpha_ns + (1 - 1.0 / p) * (2 * move + add)));
        }
}

TEST_CASE("trivance: each part of a vector uses cables of its own, on both sides") {
    for (const grid_extents& grid : {grid_extents{27}, grid_extents{9, 9}, grid_extents{3, 3, 3}}) {
        CAPTURE(grid.text().c_str());
        const detail::trivance_rounds torus(grid, size_of(grid));
        for (std::uint32_t i = 0; i != torus.rounds(); ++i) {
            std::set<rank_t> peers;
            std::set<std::uint32_t> used;
            for (std::uint32_t part = 0; part != torus.parts(); ++part) {
                const auto now = torus.of(part)[i];
                used.insert(now.dimension);
                for (const bool before : {false, true}) {
                    const rank_t peer = torus.peer(5, now, before);
                    peers.insert(peer);
                    CHECK(torus.peer(peer, now, !before) == 5);
                }
            }
            CHECK(used.size() == torus.parts());
            CHECK(peers.size() == 2 * torus.parts());
        }
    }
}

TEST_CASE("trivance: results are those of a sequential fold, in place and not") {
    for (const grid_extents& grid : {grid_extents{9}, grid_extents{3, 3}, grid_extents{9, 3}})
        for (const std::size_t count : {0u, 1u, 5u, 100u}) {
            const rank_t p = size_of(grid);
            const auto value = [](rank_t r, std::size_t i) { return std::uint64_t{r} * r + 7 * i * r + i; };
            std::vector<std::uint64_t> fold(count);
            for (rank_t r = 0; r != p; ++r)
                for (std::size_t i = 0; i != count; ++i) fold[i] += value(r, i);
            in_process world{p};
            std::vector<int> wrong(p, 0);
            world.run([&](auto transport) {
                communicator comm{std::move(transport)};
                std::vector<std::uint64_t> x(count), y(count);
                for (std::size_t i = 0; i != count; ++i) x[i] = value(comm.rank(), i);
                allreduce(comm, std::span<const std::uint64_t>(x), std::span(y), plus{}, trivance_allreduce{grid});
                wrong[comm.rank()] += y != fold;
                allreduce(comm, std::span<const std::uint64_t>(x), std::span(y), plus{}, trivance_census{grid});
                wrong[comm.rank()] += y != fold;
                std::vector<std::uint64_t> z = x;
                allreduce(comm, std::span(z), plus{}, trivance_allreduce{grid});
                wrong[comm.rank()] += z != fold;
                allreduce(comm, std::span(x), plus{}, trivance_census{grid});
                wrong[comm.rank()] += x != fold;
            });
            CAPTURE(grid.text().c_str(), count);
            CHECK(wrong == std::vector<int>(p, 0));
        }
}

TEST_CASE("trivance: extents that it cannot serve") {
    const auto refused = [](const grid_extents& grid, rank_t size) {
        const status bad = trivance_allreduce{grid}.check({.size = size, .blocks = natural_blocks});
        CHECK(bad == trivance_census{grid}.check({.size = size}));
        return std::string(bad.argument == nullptr ? "" : bad.argument);
    };
    CHECK(refused({3, 3}, 27) == "extents: their product is not the number of ranks");
    CHECK(refused({3, 6}, 18) == "extents: trivance needs powers of three");
    CHECK(refused({0, 3}, 3) == "extents: each is at least 1");
    CHECK(refused({}, 8) == "extents: trivance needs powers of three");
    CHECK(refused({}, 9).empty());
    CHECK(trivance_allreduce{}.natural_blocks(8) == 8); // asked before check()
    CHECK(trivance_census{}.natural_blocks(0xffff'fffe) == 1);
    CHECK(trivance_allreduce{}.check({.size = 9, .blocks = 10}).code == errc::invalid_argument);
    // 3^20 ranks with 2 blocks each do not fit 32 bits.
    const trivance_allreduce huge{{59049, 59049}};
    CHECK(std::string(huge.check({.size = 3486784401u, .blocks = natural_blocks}).argument) ==
          "size: so many ranks have more blocks than a block_t counts");
    CHECK(std::string(label_of(trivance_allreduce{{3, 9}}).c_str()) == "trivance_allreduce{.extents = {3, 9}}");
    CHECK(std::string(label_of(trivance_census{}).c_str()) == "trivance_census");
}

TEST_CASE("no mutant of trivance passes for it") {
    for (const grid_extents& grid : {grid_extents{3}, grid_extents{9}, grid_extents{3, 3}}) {
        CAPTURE(grid.text().c_str());
        CHECK(test::spoil(plan_allreduce(trivance_census{grid}, {.size = size_of(grid)})) != 0);
        CHECK(test::spoil(plan_allreduce(trivance_allreduce{grid}, {.size = size_of(grid)})) != 0);
    }
}
