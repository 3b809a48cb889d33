// SPDX-License-Identifier: BSL-1.0
#include "proof.hpp"
#include "support/catch.hpp"
#include "support/mutants.hpp"
#include <bough/algorithm/allreduce/slow_rank.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/lrc.hpp>
#include <bough/model/walk.hpp>
#include <bough/simulate/network.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/verify/verify_claims.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

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

// One port each way. A message takes alpha, and for each byte what one with the slow rank takes, or one
// among the others.
struct with_slow_ports : model::lrc {
    rank_t slow = 0;
    double alpha_ns = 0, of_slow_ns = 0, of_others_ns = 0; // the last two for each byte

    constexpr double port_ns(rank_t from, rank_t to, std::uint64_t bytes, bool) const {
        return alpha_ns + static_cast<double>(bytes) * (from == slow || to == slow ? of_slow_ns : of_others_ns);
    }
    constexpr bool lands_early() const { return true; }
};

struct times_of_slow_rank {
    double block_ns = 0; // of one from or to the slow rank
    double half_ns = 0;  // of one half among the others
    double all_ns = 0;   // until all is over
};
// The times of the phases, one chunk after the other, for blocks of one byte: a second derivation, which
// knows nothing of steps.
times_of_slow_rank phase_by_phase(const with_slow_ports& on, rank_t size, block_t chunks) {
    const rank_t others = size - 1;
    rank_t rounds = 0;
    while (others > rank_t{1} << rounds) ++rounds;
    const double block = on.alpha_ns + on.of_slow_ns;
    const double half = rounds * on.alpha_ns + (others - 1) * on.of_others_ns;
    double given = 0;    // until then the slow rank's out port is busy
    double taken = 0;    // and its in port
    double apart = 0;    // when the others have last reduced and scattered a chunk
    double gathered = 0; // when they have last gathered one
    std::vector<double> returned;
    for (block_t chunk = 0; chunk != chunks; ++chunk) {
        // The next chunk is reduced and scattered before the slow rank's block of this one is taken.
        if (chunk == 0) apart = half;
        if (chunk + 1 != chunks) apart = (chunk == 0 ? half : gathered) + half;
        const double from = std::max(apart, gathered);
        if (chunk >= 3) given = std::max(given, returned[chunk - 3]);
        double left = 0; // when the last of the others has returned its block
        for (rank_t r = 0; r != others; ++r) {
            const double got = std::max(from, given) + block;
            given += block;
            taken = std::max(taken, got) + block;
            left = others == 1 ? got : std::max(left, got + block);
        }
        returned.push_back(taken);
        gathered = left + half; // behind the blocks for the slow rank, on the same ports
    }
    return {block, half, others == 1 ? taken : std::max(taken, gathered)};
}

} // namespace

TEST_CASE("slow_rank: the walk takes as long as its phases, one after the other") {
    struct costs {
        double alpha, slow, others;
    };
    for (rank_t p = 2; p <= 20; ++p)
        for (block_t chunks = 1; chunks <= 12; ++chunks)
            for (const costs& c : {costs{0, 1, 0}, {0, 1, 1}, {0, 0, 1}, {0, 2, 1}, {0, 4, 1}, {7, 4, 1}, {3, 1, 1}}) {
                with_slow_ports on{
                    {.message_latency_ns = 0, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}}};
                on.slow = p / 2, on.alpha_ns = c.alpha, on.of_slow_ns = c.slow, on.of_others_ns = c.others;
                const block_t blocks = chunks * (p - 1);
                const auto plan = plan_allreduce(slow_rank_allreduce{p / 2}, {.size = p, .blocks = blocks});
                const double found = model::walk(plan, on, blocks).makespan_ns;
                const auto [block, half, all] = phase_by_phase(on, p, chunks);
                CAPTURE(p, chunks, c.alpha, c.slow, c.others);
                CHECK(found == Approx(all));
                if (p == 2) continue;
                // The formula of the page, between what one chunk adds and what the first and the last do.
                const double chunk = std::max((p - 1) * block, 2 * half + 2 * block);
                CHECK(found >= chunks * chunk * (1 - 1e-9));
                CHECK(found <= (chunks * chunk + 2 * half + 2 * block) * (1 + 1e-9));
            }
}

TEST_CASE("slow_rank: of one chunk, 2 ceil(log2(p - 1)) messages are one after the other") {
    const model::lrc one{.message_latency_ns = 1, .receive = {}, .combine = {}, .startup_ns = 0, .copy = {}};
    for (rank_t p = 2; p <= 64; ++p) {
        rank_t q = 0;
        while (p - 1 > rank_t{1} << q) ++q;
        const auto plan = plan_allreduce(slow_rank_allreduce{p / 2}, {.size = p, .blocks = p - 1});
        CAPTURE(p);
        CHECK(model::walk(plan, one, p - 1).makespan_ns == std::max<rank_t>(2 * q, 2)); // 2: there and back
    }
}

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
