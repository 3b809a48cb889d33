// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace bough;

namespace {

template <rank_t Slow, block_t Chunks>
constexpr auto around = [](rank_t size) {
    return plan_allreduce(slow_rank_allreduce{.slow = Slow % size},
                          {.size = size, .blocks = size == 1 ? Chunks : Chunks * (size - 1)});
};
static_assert(test::proven_for<around<0, 2>, 1, 2, 3, 5, 7>());
static_assert(test::proven_for<around<4, 5>, 2, 3, 5>());

constexpr model::lrc one_us{.message_latency_ns = 1000, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};

// One switch, on which the cable of rank 3 has a share of the speed of the others.
template <class P>
double over_switch_ms(const P& plan, double share) {
    network star(plan.size(), 1);
    for (rank_t r = 0; r != plan.size(); ++r) star.join(r, plan.size(), r == 3 ? 25 * share : 25);
    star.route();
    return simulate(plan, one_us, {.bytes = 64 << 20, .network = &star}).makespan_ns / 1e6;
}

} // namespace

TEST_CASE("slow_rank: proved for up to 64 ranks, whichever is slow") {
    for (rank_t p = 1; p <= 64; ++p)
        for (const rank_t slow : {rank_t{0}, p / 2, p - 1})
            for (const block_t chunks : {1u, 2u, 5u}) {
                if (p > 32 && chunks == 5) continue;
                const block_t others = p == 1 ? 1 : p - 1;
                const auto plan = plan_allreduce(slow_rank_allreduce{slow}, {.size = p, .blocks = chunks * others});
                const verdict v = verify(plan);
                CAPTURE(p, slow, chunks);
                REQUIRE(v);
                CHECK(verify_claims(plan));
                if (p == 1) continue;
                // The slow rank sends the vector once; another (2 - 1 / (p - 1)) of it.
                std::uint64_t sent = 0;
                for (const step& s : plan.schedule_of(slow).steps) sent += s.verb == verb::send ? s.a.count : 0;
                CHECK(sent == chunks * others);
                CHECK(v.traits.volume_max == std::max<std::uint64_t>(chunks * others, chunks * (2 * others - 1)));
            }
}

TEST_CASE("slow_rank: near its bound beside a slow cable, and slower than a ring without one") {
    for (const rank_t p : {8u, 16u}) {
        const auto cut = plan_allreduce(slow_rank_allreduce{3}, {.size = p, .blocks = 16 * (p - 1)});
        const auto ring_around = plan_allreduce(ring{}, {.size = p});
        const double vector_ms = (64 << 20) / 25.0 / 1e6;
        for (const double share : {0.5, 0.25}) {
            const double found = over_switch_ms(cut, share);
            CAPTURE(p, share, found);
            CHECK(over_switch_ms(ring_around, share) / found > 1.6);
            CHECK(found >= std::max(vector_ms / share, (2 - 1.0 / (p - 1)) * vector_ms));
            CHECK(found < 1.4 * vector_ms / share);
        }
        CHECK(over_switch_ms(cut, 1) > over_switch_ms(ring_around, 1));
    }
}

TEST_CASE("slow_rank: no mutant passes") {
    CHECK(test::spoil(plan_allreduce(slow_rank_allreduce{1}, {.size = 4, .blocks = 6})) > 100);
    CHECK(test::spoil(plan_allreduce(slow_rank_allreduce{}, {.size = 2, .root = 1, .blocks = 4})) > 20);
}

TEST_CASE("slow_rank: what it refuses, and what it is called") {
    const auto refusal = [](const slow_rank_allreduce& a, const dimensions& at) {
        const status bad = check_plan(a, at);
        return std::string(bad ? bad.argument : "");
    };
    CHECK(refusal({5}, {.size = 5}) == "slow: not a rank of the group");
    CHECK(refusal({1}, {.size = 5, .blocks = 6}) == "blocks: must be a multiple of the other ranks' number");
    CHECK(refusal({1}, {.size = 5, .blocks = 8}).empty());
    CHECK(refusal({}, {.size = 1, .blocks = 7}).empty());
    CHECK(label_of(slow_rank_allreduce{3}) == label("slow_rank{.slow = 3}"));
    CHECK(plan_allreduce(slow_rank_allreduce{}, {.size = 4, .root = 2}).schedule_of(1) ==
          plan_allreduce(slow_rank_allreduce{2}, {.size = 4}).schedule_of(1));
}
