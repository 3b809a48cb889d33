// SPDX-License-Identifier: BSL-1.0
// Optimised: it proves plans of every pair of extents up to 48.
#include "claims.hpp"
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include <bough/algorithm/bucket.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/allgather.hpp>
#include <bough/allreduce.hpp>
#include <bough/communicator.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/reduce_scatter.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace bough;

namespace {

constexpr auto ring_summed = [](rank_t size) { return plan_allreduce(bucket{}, {.size = size}); };
constexpr auto ring_scattered = [](rank_t size) { return plan_reduce_scatter(bucket{}, {.size = size}); };
constexpr auto ring_gathered = [](rank_t size) { return plan_allgather(bucket{}, {.size = size}); };
constexpr auto torus_summed = [](rank_t size) {
    return plan_allreduce(bucket{.extents = {2, size / 2}}, {.size = size});
};
constexpr auto torus_scattered = [](rank_t size) {
    return plan_reduce_scatter(bucket{.extents = {size / 2, 2}, .ports = 1}, {.size = size});
};
static_assert(test::proven_for<ring_summed, 1, 2, 3, 5>());
static_assert(test::proven_for<ring_scattered, 1, 2, 3, 5>());
static_assert(test::proven_for<ring_gathered, 1, 2, 3, 5, 7>());
static_assert(test::proven_for<torus_summed, 2, 4, 6>());
static_assert(test::proven_for<torus_scattered, 2, 4, 6, 8>());
static_assert(verify(plan_allgather(bucket{{2, 4}, 1}, {.size = 8})).traits.rounds == 4);
static_assert(bucket{.extents = {8, 8}}.algorithm_for(goal::allreduce{}).natural_blocks(64) == 4 * 64);
static_assert(bucket{.extents = {2, 8}}.algorithm_for(goal::reduce_scatter{}).natural_blocks(16) == 3 * 16);
static_assert(bucket{.extents = {1, 8}, .ports = 1}.algorithm_for(goal::allgather{}).natural_blocks(8) == 8);

rank_t product_of(const grid_extents& grid) { return grid.weight(grid.dimensions); }
// The rounds of a half.
std::uint32_t rounds_of(const grid_extents& grid) {
    std::uint32_t q = 0;
    for (std::uint32_t d = 0; d != grid.dimensions; ++d) q += grid.extent[d] - 1;
    return q;
}
network links_of(const grid_extents& grid, double host_speed) {
    network made =
        network::torus(std::vector<std::uint32_t>(grid.extent, grid.extent + grid.dimensions), 50, host_speed);
    made.hop_ns = 50;
    return made;
}

template <class P>
void check_bucket(const P& plan, const grid_extents& grid, rank_t ports, std::uint32_t halves) {
    CAPTURE(grid.text().c_str(), ports, halves);
    const plan_traits found = test::prove_with_claims(plan);
    const rank_t p = plan.size();
    if (p == 1) return;
    CHECK(found.volume_max == std::uint64_t{halves} * ports * (p - 1));
    CHECK(found.messages == std::uint64_t{halves} * ports * rounds_of(grid) * p);
    CHECK(found.combines_max == (plan.goal().kind == goal::allgather::kind ? 0 : std::uint64_t{ports} * (p - 1)));
    CHECK(found.rank_consistent);
    if (ports == 1) CHECK(found.rounds == halves * rounds_of(grid));
}

void check_grid(const grid_extents& grid) {
    const dimensions at{.size = product_of(grid)};
    const rank_t all = detail::ports_of_torus(grid);
    for (rank_t ports = 1; ports <= all; ++ports) {
        check_bucket(plan_reduce_scatter(bucket{grid, ports}, at), grid, ports, 1);
        check_bucket(plan_allgather(bucket{grid, ports}, at), grid, ports, 1);
        check_bucket(plan_allreduce(bucket{grid, ports}, at), grid, ports, 2);
    }
}

std::string refusal_of(const auto& algorithm, const dimensions& at) {
    const status bad = check_plan(algorithm, at);
    return bad ? bad.argument : "";
}

// How much of the vector the busiest link between switches carries.
template <class P>
double busiest_link(const P& plan, const grid_extents& grid) {
    const network net = links_of(grid, 50);
    std::vector<std::uint64_t> blocks(net.links().size(), 0);
    std::vector<std::uint32_t> path;
    for (rank_t r = 0; r != plan.size(); ++r)
        for (const step& sent : plan.schedule_of(r).steps) {
            if (sent.verb != verb::send) continue;
            path.clear();
            net.path(r, sent.peer, path);
            REQUIRE(path.size() == 3); // the cables of two hosts, and one between neighbours
            blocks[path[1]] += sent.a.count;
        }
    return static_cast<double>(*std::max_element(blocks.begin(), blocks.end())) / plan.blocks();
}

} // namespace

TEST_CASE("bucket: rings of up to 32 ranks, and tori of every pair of extents up to 48") {
    for (rank_t p = 1; p <= 32; ++p) check_grid({p});
    for (rank_t p = 1; p <= 48; ++p)
        for (rank_t e = 2; e <= p / 2; ++e)
            if (p % e == 0) check_grid({e, p / e});
    for (const grid_extents& grid :
         {grid_extents{4, 4, 4}, {2, 3, 5}, {3, 3, 3}, {2, 2, 2, 2}, {1, 6, 1}, {5, 1, 2}, {1, 1}, {6, 10}})
        check_grid(grid);
}

TEST_CASE("bucket: with one port on one ring, the rounds of the ring") {
    for (const rank_t p : {2u, 3u, 7u}) {
        const dimensions at{.size = p};
        const auto steps = [](const auto& plan, rank_t r) {
            std::vector<std::pair<rank_t, slice>> sent;
            for (const step& s : plan.schedule_of(r).steps)
                if (s.verb == verb::send) sent.push_back({s.peer, s.a.in(input)});
            return sent;
        };
        for (rank_t r = 0; r != p; ++r) {
            CHECK(steps(plan_reduce_scatter(bucket{.ports = 1}, at), r) == steps(plan_reduce_scatter(ring{}, at), r));
            CHECK(steps(plan_allgather(bucket{.ports = 1}, at), r) == steps(plan_allgather(ring{}, at), r));
            CHECK(steps(plan_allreduce(bucket{.ports = 1}, at), r) == steps(plan_allreduce(ring{}, at), r));
        }
    }
}

TEST_CASE("bucket: an allreduce sends slices, not parts") {
    for (const grid_extents& grid : {grid_extents{4, 4}, {3, 2, 4}})
        for (rank_t r = 0; r != product_of(grid); ++r)
            for (const step& s : plan_allreduce(bucket{grid}, {.size = product_of(grid)}).schedule_of(r).steps)
                CHECK_FALSE(s.more);
}

TEST_CASE("bucket: the formula is the walk") {
    const model::alpha_beta_gamma costs{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};
    for (const grid_extents& grid : {grid_extents{2}, {7}, {4, 4}, {3, 5}, {6, 1, 2}, {4, 4, 4}}) {
        const rank_t p = product_of(grid);
        for (const std::uint64_t per_rank : {1u, 1000u}) {
            const std::uint64_t bytes = per_rank * p;
            const double share = static_cast<double>(per_rank * (p - 1));
            const double there = rounds_of(grid) * costs.alpha_ns + share * (1 + 0.25);
            const double back = rounds_of(grid) * costs.alpha_ns + share;
            const dimensions at{.size = p};
            CAPTURE(grid.text().c_str(), per_rank);
            CHECK(model::walk(plan_reduce_scatter(bucket{grid, 1}, at), costs, bytes).makespan_ns == Approx(there));
            CHECK(model::walk(plan_allgather(bucket{grid, 1}, at), costs, bytes).makespan_ns == Approx(back));
            CHECK(model::walk(plan_allreduce(bucket{grid, 1}, at), costs, bytes).makespan_ns == Approx(there + back));
        }
    }
}

TEST_CASE("bucket: on equal extents every link carries the least that is possible") {
    for (const grid_extents& grid : {grid_extents{8, 8}, {5, 5}, {4, 4, 4}, {3, 3, 3, 3}, {9}}) {
        const dimensions at{.size = product_of(grid)};
        const double least = (1 - 1.0 / at.size) / grid.dimensions;
        CAPTURE(grid.text().c_str());
        CHECK(busiest_link(plan_allreduce(bucket{grid}, at), grid) == Approx(least));
        CHECK(busiest_link(plan_allgather(bucket{grid}, at), grid) == Approx(least / 2));
        CHECK(busiest_link(plan_reduce_scatter(bucket{grid}, at), grid) == Approx(least / 2));
    }
    CHECK(busiest_link(plan_allreduce(bucket{{6, 10}}, {.size = 60}), {6, 10}) == Approx(2 * 1.05 / 4));
}

TEST_CASE("bucket: lanes do not get in each other's way, also on unlike extents") {
    constexpr model::lrc costs{.message_latency_ns = 1000, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};
    for (const grid_extents& grid : {grid_extents{6, 10}, {4, 16}, {3, 5, 4}, {2, 8}}) {
        const network net = links_of(grid, 100.0 * grid.dimensions);
        const std::uint64_t bytes = 256 << 20;
        const auto plan = plan_allreduce(bucket{grid}, {.size = product_of(grid)});
        const double busiest_ns = busiest_link(plan, grid) * static_cast<double>(bytes) / 50;
        CAPTURE(grid.text().c_str());
        const double took_ns = simulate(plan, costs, {.bytes = bytes, .network = &net}).makespan_ns;
        CHECK(took_ns > busiest_ns);
        CHECK(took_ns < 1.1 * busiest_ns);
    }
}

TEST_CASE("bucket: results are those of a sequential fold, in place and not") {
    for (const grid_extents& grid : {grid_extents{7}, {3, 2}, {2, 2, 3}, {1, 4}})
        for (const std::size_t count : {0u, 1u, 5u, 300u}) {
            const rank_t p = product_of(grid);
            const auto value = [](rank_t r, std::size_t i) { return std::uint64_t{r} * r + 7 * i * r + i; };
            std::vector<std::uint64_t> fold(count * p), all(count * p);
            for (rank_t r = 0; r != p; ++r)
                for (std::size_t i = 0; i != count * p; ++i) fold[i] += value(r, i);
            for (rank_t r = 0; r != p; ++r)
                for (std::size_t i = 0; i != count; ++i) all[r * count + i] = value(r, i);
            in_process world{p};
            std::vector<int> wrong(p, 0);
            world.run([&](auto transport) {
                communicator comm{std::move(transport)};
                const rank_t me = comm.rank();
                std::vector<std::uint64_t> x(count * p), y(count * p), part(count);
                for (std::size_t i = 0; i != count * p; ++i) x[i] = value(me, i);
                const std::span<const std::uint64_t> in(x);
                allreduce(comm, in, std::span(y), plus{}, bucket{grid});
                wrong[me] += y != fold;
                reduce_scatter(comm, in, std::span(part), plus{}, bucket{grid});
                wrong[me] +=
                    !std::equal(part.begin(), part.end(), fold.begin() + static_cast<std::ptrdiff_t>(me * count));
                allgather(comm, in.first(count), std::span(y), bucket{grid});
                wrong[me] += y != all;
                allreduce(comm, std::span(x), plus{}, bucket{grid, 1});
                wrong[me] += x != fold;
            });
            CAPTURE(grid.text().c_str(), count);
            CHECK(wrong == std::vector<int>(p, 0));
        }
}

TEST_CASE("bucket: blocks of different lengths, also empty ones, are cut for all ports") {
    const std::vector<std::size_t> counts{3, 0, 7, 1, 12, 5};
    std::vector<int> wrong(6, 0);
    in_process{6}.run([&](auto transport) {
        communicator comm{std::move(transport)};
        const rank_t me = comm.rank();
        std::size_t total = 0, first = 0;
        for (rank_t r = 0; r != 6; ++r) {
            if (r < me) first += counts[r];
            total += counts[r];
        }
        std::vector<std::uint64_t> mine(counts[me]), all(total), x(total), part(counts[me]);
        for (std::size_t i = 0; i != total; ++i) x[i] = i * (me + 1);
        for (std::size_t i = 0; i != mine.size(); ++i) mine[i] = first + i;
        allgatherv(comm, std::span<const std::uint64_t>(mine), std::span(all), counts, bucket{{2, 3}});
        for (std::size_t i = 0; i != total; ++i) wrong[me] += all[i] != i;
        reduce_scatterv(comm, std::span<const std::uint64_t>(x), std::span(part), counts, plus{}, bucket{{2, 3}});
        for (std::size_t i = 0; i != part.size(); ++i) wrong[me] += part[i] != (first + i) * 21;
    });
    CHECK(wrong == std::vector<int>(6, 0));
}

TEST_CASE("bucket: no mutant passes") {
    CHECK(test::spoil(plan_allreduce(bucket{}, {.size = 4})) > 100);
    CHECK(test::spoil(plan_allreduce(bucket{.extents = {2, 3}}, {.size = 6})) > 100);
    CHECK(test::spoil(plan_allgather(bucket{.extents = {3, 2}}, {.size = 6})) > 100);
    CHECK(test::spoil(plan_reduce_scatter(bucket{.extents = {2, 4}}, {.size = 8})) > 100);
}

TEST_CASE("bucket: what it refuses, and what it is called") {
    using sum = bucket_allreduce;
    CHECK(refusal_of(sum{{4, 4}}, {.size = 15}) == "extents: their product is not the number of ranks");
    CHECK(refusal_of(bucket_allgather{{65536, 65536}}, {.size = 2}) ==
          "extents: their product is not the number of ranks");
    CHECK(refusal_of(sum{{4, 4}, 5}, {.size = 16}) == "ports: more than the torus has");
    CHECK(refusal_of(bucket_reduce_scatter{{2, 4}, 4}, {.size = 8}) == "ports: more than the torus has");
    // 2^31 ranks with 4 blocks each: 2^33 is 0 in 32 bits.
    CHECK(refusal_of(sum{{65536, 32768}}, {.size = 1u << 31}) ==
          "size: so many ranks have more blocks than a block_t counts");
    CHECK(refusal_of(sum{{65536, 32768}, 1}, {.size = 1u << 31}).empty());
    CHECK(refusal_of(sum{{4, 4}}, {.size = 16, .blocks = 16}) == "blocks: must be one for each rank and port");
    CHECK(refusal_of(sum{{4, 4}, 1}, {.size = 16, .blocks = 16}).empty());
    CHECK(label_of(bucket{}) == label("bucket"));
    CHECK(label_of(bucket{{4, 2}, 2}) == label("bucket{.extents = {4, 2}, .ports = 2}"));
    CHECK(label_of(bucket_allreduce{{4, 2}}) == label("bucket{.extents = {4, 2}}"));
    CHECK(label_of(bucket_reduce_scatter{{4, 2}}) == label("bucket_reduce_scatter{.extents = {4, 2}}"));
    CHECK(label_of(bucket_allgather{.ports = 1}) == label("bucket_allgather{.ports = 1}"));
}
